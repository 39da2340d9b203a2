// Byte pairs from text, and as text.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/data/text/detail/byte_alphabet.h"
#include "limpid/data/text/detail/byte_pair_text.h"

namespace limpid::detail {
namespace {

[[noreturn]] void bad_bytes(const std::string& what) {
  throw Error(ErrorCode::kFormat, "byte pairs: " + what);
}

std::string bytes_of_token(const std::string& token) {
  const std::optional<std::string> bytes = from_byte_alphabet(token);
  if (!bytes)
    bad_bytes(
        fmt::format("the token {} has a character that represents no byte", in_quotes(token)));
  return *bytes;
}

}  // namespace

BytePairText to_text(const BytePairRules& rules) {
  BytePairText text;
  text.special = rules.special;
  for (const std::string& token : rules.tokens) text.tokens.push_back(to_byte_alphabet(token));
  for (const auto& [left, right] : rules.merges)
    text.merges.push_back(fmt::format("{} {}", text.tokens.at(static_cast<std::size_t>(left)),
                                      text.tokens.at(static_cast<std::size_t>(right))));
  for (const std::int32_t i : rules.special)
    text.tokens.at(static_cast<std::size_t>(i)) = rules.tokens[static_cast<std::size_t>(i)];
  return text;
}

BytePairRules rules_of(const BytePairText& text) {
  BytePairRules rules{.tokens = text.tokens, .merges = {}, .special = text.special};
  std::vector<bool> special(text.tokens.size());
  for (const std::int32_t i : text.special)
    if (i >= 0 && static_cast<std::size_t>(i) < special.size())
      special[static_cast<std::size_t>(i)] = true;
  std::unordered_map<std::string_view, std::int32_t> numbers;
  for (std::size_t i = 0; i < text.tokens.size(); ++i) {
    if (special[i]) continue;
    rules.tokens[i] = bytes_of_token(text.tokens[i]);
    numbers.emplace(text.tokens[i], static_cast<std::int32_t>(i));
  }
  const auto number = [&](std::string_view token, const std::string& merge) {
    const auto found = numbers.find(token);
    if (found == numbers.end())
      bad_bytes(
          fmt::format("the merge {}: there is no token {}", in_quotes(merge), in_quotes(token)));
    return found->second;
  };
  for (const std::string& merge : text.merges) {
    const std::string_view both = merge;
    const std::size_t space = both.find(' ');
    if (space == std::string_view::npos)
      bad_bytes(fmt::format("expected a merge of two tokens separated by a space, got {}",
                            in_quotes(merge)));
    rules.merges.emplace_back(number(both.substr(0, space), merge),
                              number(both.substr(space + 1), merge));
  }
  return rules;
}

}  // namespace limpid::detail
