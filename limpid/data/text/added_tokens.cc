// Finds added tokens.
#include "limpid/data/text/detail/added_tokens.h"

#include <algorithm>
#include <utility>

#include "limpid/core/utf8.h"
#include "limpid/data/text/detail/code_points.h"
#include "limpid/data/text/detail/unicode.h"

namespace limpid::detail {
namespace {

// The texts may be any bytes.
std::optional<char32_t> last_character(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 && continues_character(text[begin])) --begin;
  const std::optional<CodePoint> point = first_code_point(text.substr(begin));
  return point && begin + point->bytes == text.size() ? std::optional(point->value) : std::nullopt;
}

bool word_at_end(std::string_view text) {
  const std::optional<char32_t> c = last_character(text);
  return c && is_word(*c);
}
bool word_at_start(std::string_view text) {
  const std::optional<CodePoint> c = first_code_point(text);
  return c && is_word(c->value);
}

std::size_t space_at_end(std::string_view text) {
  std::size_t end = text.size();
  for (;;) {
    const std::optional<char32_t> c = last_character(text.substr(0, end));
    if (!c || !is_white_space(*c)) return text.size() - end;
    end -= utf8_of(*c).size();
  }
}
std::size_t space_at_start(std::string_view text) {
  std::size_t bytes = 0;
  for (;;) {
    const std::optional<CodePoint> c = first_code_point(text.substr(bytes));
    if (!c || !is_white_space(c->value)) return bytes;
    bytes += c->bytes;
  }
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::vector<std::pair<std::string, std::int32_t>> entries;
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    entries.emplace_back(tokens_[i].text, static_cast<std::int32_t>(i));
  trie_ = ByteTrie(std::move(entries));
}

void AddedTokens::split(std::string_view text, bool special, const Sink& sink) const {
  std::size_t done = 0;
  for (std::size_t place = 0; place < text.size();) {
    std::size_t end = place;
    std::int32_t found = ByteTrie::kNone;
    trie_.for_each_prefix(text.substr(place), [&](std::size_t bytes, std::int32_t i) {
      end = place + bytes;
      found = i;
    });
    if (found == ByteTrie::kNone) {
      ++place;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(found)];
    std::size_t begin = place;
    place = end;
    if (token.special && !special) continue;
    if (token.single_word &&
        (word_at_end(text.substr(0, begin)) || word_at_start(text.substr(end))))
      continue;
    if (token.left) begin = std::max(begin - space_at_end(text.substr(0, begin)), done);
    if (token.right) end += space_at_start(text.substr(end));
    if (begin > done) sink(std::nullopt, done, begin);
    sink(token.id, begin, end);
    done = end;
  }
  if (text.size() > done) sink(std::nullopt, done, text.size());
}

}  // namespace limpid::detail
