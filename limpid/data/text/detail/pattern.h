// Pattern: the regular expressions of tokenizer files, matched by backtracking within a bounded
// number of steps. Depends on unicode.h; included only by sources.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "limpid/data/text/detail/unicode.h"

namespace limpid::detail {

// A set of characters.
class CharacterSet {
 public:
  // One part: categories, a range, white space or characters of words.
  struct Part {
    Categories categories = 0;
    char32_t first = 1, last = 0;
    bool space = false, word = false;
    bool negated = false;
  };

  void add(const Part& part) { parts_.push_back(part); }
  void add(char32_t c) { add({.first = c, .last = c}); }
  void add(const CharacterSet& other) { nested_.push_back(other); }
  void negate() { negated_ = !negated_; }
  void ignore_case() { any_case_ = true; }
  // Makes has() ready.
  void finish();

  bool has(char32_t c) const { return c < 128 ? ascii_[c] : holds(c); }

 private:
  bool holds(char32_t c) const;
  bool holds_case(char32_t c) const;

  std::vector<Part> parts_;
  std::vector<CharacterSet> nested_;
  bool negated_ = false, any_case_ = false;
  std::bitset<128> ascii_;
};

class Pattern {
 public:
  // Supports: alternatives, groups, (?:) (?i:) (?=) (?!), (?i) at the start of a group, classes
  // with ranges and nested classes, . ^ $ (of lines), \s \d \w and their negations, \p{...} of
  // general categories, \r \n \t \f \v \x{...} \uXXXX, and the quantifiers ? * + {n} {n,} {n,m},
  // lazy and, of single characters, possessive. Throws kUnsupported, naming what it is, for
  // anything else.
  explicit Pattern(std::string_view expression);

  struct Match {
    std::size_t begin, end;
  };

  // The matches of a text, which is UTF-8, one after the other, as Oniguruma's find_iter: the first
  // alternative that matches is taken, and an empty match does not follow another match
  // immediately. next() throws kUnsupported if the text takes more steps than kStepsPerByte allows.
  class Search {
   public:
    Search(const Pattern& pattern, std::string_view text)
        : pattern_(pattern), text_(text), steps_(kFirstSteps + kStepsPerByte * text.size()) {}
    std::optional<Match> next();

   private:
    // Where to go on if what follows does not match.
    struct Choice {
      enum Kind : std::uint8_t { kGo, kShrink, kGrow } kind;
      std::size_t at;  // the instruction to go to, or the run
      std::size_t
          number;  // the least place of a run that shrinks; the characters by which one grows
      std::size_t place;
    };
    std::optional<std::size_t> match_at(std::size_t at, std::size_t place);
    void count(std::size_t steps);

    const Pattern& pattern_;
    std::string_view text_;
    std::size_t steps_;
    std::size_t from_ = 0;
    std::optional<std::size_t> last_end_ = {};
    std::vector<Choice> choices_ = {};
  };

  static constexpr std::size_t kFirstSteps = 1 << 20;
  static constexpr std::size_t kStepsPerByte = 256;

 private:
  friend class PatternParser;
  enum class Op : std::uint8_t { kRun, kSplit, kJump, kLook, kBegin, kEnd, kMatch };
  enum class Greed : std::uint8_t { kGreedy, kLazy, kPossessive };
  struct Instruction {
    Op op = Op::kMatch;
    Greed greed = Greed::kGreedy;
    bool negated = false;             // kLook
    std::size_t set = 0;              // kRun
    std::size_t least = 1, most = 1;  // kRun
    std::size_t to = 0, other = 0;    // kSplit, in this order; kJump; kLook's end
  };
  static constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

  std::vector<Instruction> program_;
  std::vector<CharacterSet> sets_;
};

}  // namespace limpid::detail
