#include "limpid/data/text/byte_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <queue>
#include <set>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/stop_check.h"
#include "limpid/data/text/detail/byte_alphabet.h"

namespace limpid {
namespace {

[[noreturn]] void bad_byte_pairs(const std::string& what) {
  throw Error(ErrorCode::kFormat, "byte pairs: " + what);
}

std::string in_byte_quotes(std::string_view bytes) {
  return in_quotes(detail::to_byte_alphabet(bytes));
}

void check_count(std::size_t count, std::size_t most, const char* what) {
  if (count > most)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("byte pairs: {} {}, expected at most {}", count, what, most));
}

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
}

}  // namespace

BytePair::BytePair(BytePairRules rules) : rules_(std::move(rules)) {
  check_count(rules_.tokens.size(), kMaxTokens, "tokens");
  check_count(rules_.merges.size(), kMaxMerges, "merges");
  index_tokens();
  index_merges();
}

void BytePair::index_tokens() {
  const std::set<std::int32_t> special(rules_.special.begin(), rules_.special.end());
  const auto count = static_cast<std::int32_t>(rules_.tokens.size());
  if (!special.empty() && (*special.begin() < 0 || *special.rbegin() >= count))
    bad_byte_pairs(fmt::format("special token {} is outside of {} tokens",
                               *special.begin() < 0 ? *special.begin() : *special.rbegin(), count));
  for (std::int32_t i = 0; i < count; ++i) {
    const std::string& token = rules_.tokens[static_cast<std::size_t>(i)];
    if (token.empty()) bad_byte_pairs(fmt::format("token {} is empty", i));
    if (!special.contains(i) && !numbers_.emplace(token, i).second)
      bad_byte_pairs(fmt::format("duplicate token {}", in_byte_quotes(token)));
  }
  for (std::size_t byte = 0; byte < std::size(byte_tokens_); ++byte) {
    const char value = static_cast<char>(byte);
    const auto found = numbers_.find({&value, 1});
    if (found == numbers_.end()) bad_byte_pairs(fmt::format("the byte {:#04x} has no token", byte));
    byte_tokens_[byte] = found->second;
  }
}

void BytePair::index_merges() {
  const auto count = static_cast<std::int32_t>(rules_.tokens.size());
  merges_.reserve(rules_.merges.size());
  std::string joined;
  for (const auto& [left, right] : rules_.merges) {
    if (left < 0 || right < 0 || left >= count || right >= count)
      bad_byte_pairs(
          fmt::format("a merge of tokens {} and {} is outside of {} tokens", left, right, count));
    const std::string& first = rules_.tokens[static_cast<std::size_t>(left)];
    const std::string& second = rules_.tokens[static_cast<std::size_t>(right)];
    joined = first + second;
    const auto found = numbers_.find(joined);
    if (found == numbers_.end())
      bad_byte_pairs(fmt::format("{} and {} are merged, but there is no token {}",
                                 in_byte_quotes(first), in_byte_quotes(second),
                                 in_byte_quotes(joined)));
    const auto rank = static_cast<std::int32_t>(merges_.size());
    if (!merges_.emplace(key_of(left, right), Merge{rank, found->second}).second)
      bad_byte_pairs(fmt::format("duplicate merge of {} and {}", in_byte_quotes(first),
                                 in_byte_quotes(second)));
  }
}

// Merges the symbols of one word: a doubly linked list of symbols, and a heap of possible merges
// with the next one on top.
class BytePair::Word {
 public:
  explicit Word(const BytePair& rules) : rules_(rules) {}

  void append_tokens(std::string_view word, std::vector<std::int32_t>& out) {
    begin(word);
    while (!candidates_.empty()) {
      throw_if_stopped();
      const Candidate next = candidates_.top();
      candidates_.pop();
      merge(next);
    }
    for (std::size_t i = 0; i != kNone; i = symbols_[i].next) out.push_back(symbols_[i].token);
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Symbol {
    std::int32_t token;  // -1: it went into the one before it
    std::size_t previous, next;
  };
  struct Candidate {
    std::int32_t rank;
    std::size_t left;
    std::int32_t tokens[2];
    bool operator<(const Candidate& other) const {  // for a queue with the largest on top
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  void begin(std::string_view word) {
    symbols_.clear();
    for (std::size_t i = 0; i < word.size(); ++i)
      symbols_.push_back({rules_.byte_tokens_[static_cast<unsigned char>(word[i])],
                          i == 0 ? kNone : i - 1, i + 1 == word.size() ? kNone : i + 1});
    for (std::size_t i = 0; i + 1 < word.size(); ++i) consider(i);
  }

  // Adds the merge of a symbol and the next one, if the vocabulary has it.
  void consider(std::size_t left) {
    if (left == kNone || symbols_[left].next == kNone) return;
    const std::int32_t first = symbols_[left].token;
    const std::int32_t second = symbols_[symbols_[left].next].token;
    const auto found = rules_.merges_.find(key_of(first, second));
    if (found != rules_.merges_.end())
      candidates_.push({found->second.rank, left, {first, second}});
  }

  void merge(const Candidate& candidate) {
    Symbol& left = symbols_[candidate.left];
    // Either symbol may have been merged with another one since.
    if (left.token != candidate.tokens[0] || left.next == kNone ||
        symbols_[left.next].token != candidate.tokens[1])
      return;
    Symbol& right = symbols_[left.next];
    left.token = rules_.merges_.at(key_of(candidate.tokens[0], candidate.tokens[1])).result;
    right.token = -1;
    left.next = right.next;
    if (left.next != kNone) symbols_[left.next].previous = candidate.left;
    consider(left.previous);
    consider(candidate.left);
  }

  const BytePair& rules_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate> candidates_;
};

std::vector<std::int32_t> BytePair::encode(std::string_view text) const {
  // The position in the result of the tokens of a word seen before.
  struct Place {
    std::size_t begin, count;
  };
  constexpr std::size_t kLongest = 64;  // of the words that are remembered, in bytes
  std::unordered_map<std::string_view, Place> known;
  std::vector<std::int32_t> tokens;
  Word merging(*this);
  while (const std::size_t bytes = first_word(text, rules_.pre_tokenizer)) {
    throw_if_stopped();
    const std::string_view word = text.substr(0, bytes);
    text.remove_prefix(bytes);
    const std::size_t begin = tokens.size();
    if (bytes <= kLongest) {
      const auto [place, is_new] = known.try_emplace(word, Place{begin, 0});
      if (!is_new) {
        for (std::size_t i = 0; i < place->second.count; ++i)
          tokens.push_back(tokens[place->second.begin + i]);
        continue;
      }
      append_word(word, merging, tokens);
      place->second.count = tokens.size() - begin;
    } else {
      append_word(word, merging, tokens);
    }
  }
  return tokens;
}

void BytePair::append_word(std::string_view word, Word& merging,
                           std::vector<std::int32_t>& tokens) const {
  const auto whole = rules_.whole_words ? numbers_.find(word) : numbers_.end();
  if (whole != numbers_.end())
    tokens.push_back(whole->second);
  else
    merging.append_tokens(word, tokens);
}

std::string BytePair::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (const std::int32_t token : tokens) {
    if (token < 0 || static_cast<std::size_t>(token) >= rules_.tokens.size())
      throw Error(
          ErrorCode::kInvalidArgument,
          fmt::format("tokenizer: token {} is outside of {} tokens", token, rules_.tokens.size()));
    text += rules_.tokens[static_cast<std::size_t>(token)];
  }
  return text;
}

}  // namespace limpid
