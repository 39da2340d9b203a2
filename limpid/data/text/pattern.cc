// Regular expressions of tokenizers.
#include "limpid/data/text/detail/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/text/detail/code_points.h"

namespace limpid::detail {
namespace {

constexpr char32_t kLastCodePoint = 0x10ffff;

// The categories of \p{name}; nullopt for another property.
std::optional<Categories> categories_named(std::string_view name) {
  constexpr std::string_view kTwo = "CnCcCfCoCsLlLmLoLtLuMcMeMnNdNlNoPcPdPePfPiPoPsScSkSmSoZlZpZs";
  constexpr std::pair<std::string_view, Categories> kOthersNamed[] = {
      {"L", kLetters},
      {"M", kMarks},
      {"N", kNumbers},
      {"P", kPunctuation},
      {"S", kSymbols},
      {"Z", kSeparators},
      {"C", kOthers},
      {"Letter", kLetters},
      {"Mark", kMarks},
      {"Number", kNumbers},
      {"Symbol", kSymbols},
      {"Punct", kPunctuation},
      {"Punctuation", kPunctuation}};
  for (std::size_t i = 0; i < kTwo.size(); i += 2)
    if (name == kTwo.substr(i, 2)) return Categories{1} << (i / 2);
  for (const auto& [other, categories] : kOthersNamed)
    if (name == other) return categories;
  return std::nullopt;
}

}  // namespace

// ---- sets

void CharacterSet::finish() {
  for (CharacterSet& other : nested_) other.finish();
  for (char32_t c = 0; c < 128; ++c) ascii_[c] = holds(c);
}

bool CharacterSet::holds(char32_t c) const {
  bool found = holds_case(c);
  if (any_case_ && !found) {
    const char32_t lower = simple_lower(c);
    constexpr char32_t kLongS = 0x17f, kKelvin = 0x212a;
    found = holds_case(lower) || (lower >= 'a' && lower <= 'z' && holds_case(lower - 'a' + 'A')) ||
            (c == kLongS && (holds_case('s') || holds_case('S'))) ||
            (c == kKelvin && (holds_case('k') || holds_case('K')));
  }
  return found != negated_;
}

bool CharacterSet::holds_case(char32_t c) const {
  const auto in_part = [c](const Part& part) {
    const bool found = (c >= part.first && c <= part.last) || is_in(c, part.categories) ||
                       (part.space && is_white_space(c)) || (part.word && is_pattern_word(c));
    return found != part.negated;
  };
  return std::any_of(parts_.begin(), parts_.end(), in_part) ||
         std::any_of(nested_.begin(), nested_.end(),
                     [c](const CharacterSet& set) { return set.holds(c); });
}

// ---- reading an expression

class PatternParser {
 public:
  PatternParser(std::string_view expression, Pattern& pattern)
      : rest_(expression), whole_(expression), pattern_(pattern) {}

  void parse() {
    if (!is_utf8(rest_)) refuse("it is not UTF-8");
    alternatives(0);
    if (!rest_.empty()) refuse("expected no ')'");
    emit({.op = Pattern::Op::kMatch});
    for (CharacterSet& set : pattern_.sets_) set.finish();
  }

 private:
  using Op = Pattern::Op;
  using Instruction = Pattern::Instruction;
  static constexpr std::size_t kMostInstructions = 1 << 14;
  static constexpr std::size_t kMostDepth = 32;
  static constexpr std::size_t kMostRepeats = 1000;

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the pattern {} at byte {}: {}", in_quotes(whole_),
                            whole_.size() - rest_.size() + 1, what));
  }

  std::vector<Instruction>& program() { return pattern_.program_; }
  std::size_t emit(Instruction instruction) {
    if (program().size() >= kMostInstructions) refuse("it is too long");
    program().push_back(instruction);
    return program().size() - 1;
  }

  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  char32_t next() {
    if (rest_.empty()) refuse("it ends too early");
    const CodePoint point = code_point_at(rest_, 0);
    rest_.remove_prefix(point.bytes);
    return point.value;
  }

  // a|b|c, up to a closing bracket.
  void alternatives(std::size_t depth) {
    if (depth > kMostDepth) refuse("its groups are nested too deeply");
    if (take("(?i)")) any_case_ = true;
    std::vector<std::size_t> ends;
    for (;;) {
      const std::size_t begin = program().size();
      sequence(depth);
      if (!take("|")) break;
      insert(begin, {.op = Op::kSplit, .to = begin + 1, .other = 0});
      ends.push_back(emit({.op = Op::kJump}));
      program()[begin].other = program().size();
    }
    for (const std::size_t end : ends) program()[end].to = program().size();
  }

  // Inserts an instruction before those of the part that begins there, which jump only within it.
  void insert(std::size_t at, Instruction instruction) {
    emit({});
    program().pop_back();
    for (std::size_t i = at; i < program().size(); ++i)
      for (std::size_t* target : {&program()[i].to, &program()[i].other})
        if (*target >= at) ++*target;
    program().insert(program().begin() + static_cast<std::ptrdiff_t>(at), instruction);
  }

  void sequence(std::size_t depth) {
    while (!rest_.empty() && rest_[0] != '|' && rest_[0] != ')') {
      const std::size_t begin = program().size();
      if (rest_[0] == '(') {
        group(depth);
        repeat_part(begin);
      } else if (take("^")) {
        emit({.op = Op::kBegin});
      } else if (take("$")) {
        emit({.op = Op::kEnd});
      } else {
        CharacterSet set = character();
        pattern_.sets_.push_back(std::move(set));
        Instruction run{.op = Op::kRun, .set = pattern_.sets_.size() - 1};
        repeat_character(run);
        emit(run);
      }
    }
  }

  void group(std::size_t depth) {
    const bool before = any_case_;
    take("(");
    bool look = false;
    std::size_t begin = program().size();
    if (take("?")) {
      if (take("i:")) {
        any_case_ = true;
      } else if (rest_.starts_with("=") || rest_.starts_with("!")) {
        look = true;
        begin = emit({.op = Op::kLook, .negated = next() == '!'});
      } else if (!take(":")) {
        refuse("this kind of group is not supported");
      }
    }
    alternatives(depth + 1);
    if (!take(")")) refuse("expected ')'");
    any_case_ = before;
    if (!look) return;
    emit({.op = Op::kMatch});
    program()[begin].to = program().size();
  }

  struct Quantifier {
    std::size_t least = 1, most = 1;
    Pattern::Greed greed = Pattern::Greed::kGreedy;
  };

  std::optional<std::size_t> number() {
    if (rest_.empty() || rest_[0] < '0' || rest_[0] > '9') return std::nullopt;
    std::size_t value = 0;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      value = value * 10 + static_cast<std::size_t>(rest_[0] - '0');
      if (value > kMostRepeats) refuse("it repeats too often");
      rest_.remove_prefix(1);
    }
    return value;
  }

  std::optional<Quantifier> quantifier() {
    Quantifier q;
    if (take("*")) {
      q = {.least = 0, .most = Pattern::kNoLimit};
    } else if (take("+")) {
      q = {.least = 1, .most = Pattern::kNoLimit};
    } else if (take("?")) {
      q = {.least = 0, .most = 1};
    } else if (take("{")) {
      const std::optional<std::size_t> least = number();
      q.least = least.value_or(0);
      q.most = q.least;
      if (take(",")) q.most = number().value_or(Pattern::kNoLimit);
      if (!least || !take("}") || q.most < q.least) refuse("expected a number of repetitions");
      if (rest_.starts_with("+")) refuse("possessive numbers of repetitions are not supported");
    } else {
      return std::nullopt;
    }
    if (take("?"))
      q.greed = Pattern::Greed::kLazy;
    else if (take("+"))
      q.greed = Pattern::Greed::kPossessive;
    if (rest_.starts_with("*") || rest_.starts_with("+") || rest_.starts_with("?"))
      refuse("a repetition of a repetition is not supported");
    return q;
  }

  void repeat_character(Instruction& run) {
    const std::optional<Quantifier> q = quantifier();
    if (!q) return;
    run.least = q->least;
    run.most = q->most;
    run.greed = q->greed;
  }

  // Repeats the instructions from `begin`.
  void repeat_part(std::size_t begin) {
    const std::optional<Quantifier> q = quantifier();
    if (!q) return;
    if (q->greed == Pattern::Greed::kPossessive)
      refuse("a possessive repetition of a group is not supported");
    const bool lazy = q->greed == Pattern::Greed::kLazy;
    const std::vector<Instruction> body(program().begin() + static_cast<std::ptrdiff_t>(begin),
                                        program().end());
    if (q->most == Pattern::kNoLimit && may_be_empty(begin, program().size()))
      refuse("a repetition of a group that may be empty is not supported");
    program().resize(begin);
    const auto again = [&] {
      const std::size_t at = program().size();
      for (Instruction one : body) {
        one.to += at - begin;
        one.other += at - begin;
        emit(one);
      }
    };
    const auto split = [&](std::size_t at, std::size_t out) {
      program()[at].to = lazy ? out : at + 1;
      program()[at].other = lazy ? at + 1 : out;
    };
    for (std::size_t i = 0; i < q->least; ++i) again();
    if (q->most == Pattern::kNoLimit) {
      const std::size_t loop = emit({.op = Op::kSplit});
      again();
      emit({.op = Op::kJump, .to = loop});
      split(loop, program().size());
      return;
    }
    std::vector<std::size_t> splits;
    for (std::size_t i = q->least; i < q->most; ++i) {
      splits.push_back(emit({.op = Op::kSplit}));
      again();
    }
    for (const std::size_t at : splits) split(at, program().size());
  }

  // Whether the end of a part can be reached without a character.
  bool may_be_empty(std::size_t begin, std::size_t end) const {
    std::vector<std::size_t> left = {begin};
    std::vector<bool> seen(end + 1);
    while (!left.empty()) {
      const std::size_t at = left.back();
      left.pop_back();
      if (at >= end) return true;
      if (seen[at]) continue;
      seen[at] = true;
      const Instruction& one = pattern_.program_[at];
      if (one.op == Op::kSplit) {
        left.push_back(one.to);
        left.push_back(one.other);
      } else if (one.op == Op::kJump || one.op == Op::kLook) {
        left.push_back(one.to);
      } else if (one.op != Op::kRun || one.least == 0) {
        left.push_back(at + 1);
      }
    }
    return false;
  }

  // ---- characters

  CharacterSet character() {
    CharacterSet set;
    if (take("[")) {
      set = character_class(0);
    } else if (take(".")) {
      set.add('\n');
      set.negate();
      return set;
    } else if (take("\\")) {
      add_escape(set);
    } else {
      if (rest_[0] == '*' || rest_[0] == '+' || rest_[0] == '?') refuse("expected a character");
      set.add(next());
    }
    if (any_case_) set.ignore_case();
    return set;
  }

  CharacterSet character_class(std::size_t depth) {
    if (depth > kMostDepth) refuse("its classes are nested too deeply");
    CharacterSet set;
    const bool negated = take("^");
    for (bool first = true; first || !rest_.starts_with("]"); first = false) {
      if (rest_.starts_with("&&")) refuse("'&&' is not supported");
      if (rest_.starts_with("[:")) refuse("'[:' is not supported");
      if (take("[")) {
        set.add(character_class(depth + 1));
        continue;
      }
      std::optional<char32_t> low;
      if (take("\\"))
        low = add_escape(set);
      else
        set.add(*(low = next()));
      if (!low || !rest_.starts_with("-") || rest_.starts_with("-]")) continue;
      take("-");
      CharacterSet ignored;
      const std::optional<char32_t> high = take("\\") ? add_escape(ignored) : next();
      if (!high || *high < *low) refuse("expected the last character of a range");
      set.add({.first = *low, .last = *high});
    }
    take("]");
    if (negated) set.negate();
    return set;
  }

  // What follows a backslash; the character, if it is a single one.
  std::optional<char32_t> add_escape(CharacterSet& set) {
    const char32_t c = next();
    const auto one = [&](char32_t value) {
      set.add(value);
      return value;
    };
    switch (c) {
      case 'r':
        return one('\r');
      case 'n':
        return one('\n');
      case 't':
        return one('\t');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case 's':
      case 'S':
        set.add({.space = true, .negated = c == 'S'});
        return std::nullopt;
      case 'd':
      case 'D':
        set.add({.categories = bit_of(Category::kNd), .negated = c == 'D'});
        return std::nullopt;
      case 'w':
      case 'W':
        set.add({.word = true, .negated = c == 'W'});
        return std::nullopt;
      case 'p':
      case 'P':
        set.add(property(c == 'P'));
        return std::nullopt;
      case 'u':
        return one(hexadecimal(4));
      case 'x':
        if (!take("{")) return one(hexadecimal(2));
        {
          const std::size_t end = rest_.find('}');
          if (end == std::string_view::npos || end == 0 || end > 6) refuse("expected '}'");
          const char32_t value = hexadecimal(end);
          take("}");
          return one(value);
        }
      default:
        if (c >= 0x80 || is_pattern_word(c)) refuse("this escape is not supported");
        return one(c);
    }
  }

  CharacterSet::Part property(bool negated) {
    const std::size_t end = rest_.find('}');
    if (!take("{") || end == std::string_view::npos) refuse("expected '{' and '}'");
    std::string_view name = rest_.substr(0, end - 1);
    rest_.remove_prefix(end);
    if (name.starts_with("^")) {
      negated = !negated;
      name.remove_prefix(1);
    }
    const std::optional<Categories> categories = categories_named(name);
    if (!categories) refuse(fmt::format("the property {} is not supported", in_quotes(name)));
    return {.categories = *categories, .negated = negated};
  }

  char32_t hexadecimal(std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char32_t c = next();
      if (c >= '0' && c <= '9')
        value = value * 16 + (c - '0');
      else if ((c | 32) >= 'a' && (c | 32) <= 'f')
        value = value * 16 + ((c | 32) - 'a' + 10);
      else
        refuse("expected a hexadecimal digit");
    }
    if (value > kLastCodePoint) refuse("there is no such code point");
    return value;
  }

  std::string_view rest_;
  const std::string_view whole_;
  Pattern& pattern_;
  bool any_case_ = false;
};

Pattern::Pattern(std::string_view expression) { PatternParser(expression, *this).parse(); }

// ---- matching

void Pattern::Search::count(std::size_t steps) {
  if (steps > steps_)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("a pattern of the tokenizer takes more than {} steps for each of {} "
                            "bytes",
                            kStepsPerByte, text_.size()));
  steps_ -= steps;
}

std::optional<std::size_t> Pattern::Search::match_at(std::size_t at, std::size_t place) {
  const std::size_t bottom = choices_.size();
  const std::vector<Instruction>& program = pattern_.program_;
  for (;;) {
    bool fits = true;
    const Instruction& one = program[at];
    count(1);
    switch (one.op) {
      case Op::kMatch:
        choices_.resize(bottom);
        return place;
      case Op::kBegin:
        fits = place == 0 || text_[place - 1] == '\n';
        ++at;
        break;
      case Op::kEnd:
        fits = place == text_.size() || text_[place] == '\n';
        ++at;
        break;
      case Op::kJump:
        at = one.to;
        break;
      case Op::kSplit:
        choices_.push_back({Choice::kGo, one.other, 0, place});
        at = one.to;
        break;
      case Op::kLook:
        fits = match_at(at + 1, place).has_value() != one.negated;
        at = one.to;
        break;
      case Op::kRun: {
        const CharacterSet& set = pattern_.sets_[one.set];
        const std::size_t wanted = one.greed == Greed::kLazy ? one.least : one.most;
        std::size_t taken = 0;
        std::size_t least = place;  // where the least number of characters ends
        while (taken < wanted && place < text_.size()) {
          const CodePoint c = code_point_at(text_, place);
          if (!set.has(c.value)) break;
          place += c.bytes;
          if (++taken <= one.least) least = place;
        }
        count(taken);
        fits = taken >= one.least;
        if (fits && one.greed == Greed::kGreedy && place > least)
          choices_.push_back({Choice::kShrink, at, least, place});
        // Each further character of a lazy run is tried after all that follows it.
        if (fits && one.greed == Greed::kLazy && taken < one.most)
          choices_.push_back({Choice::kGrow, at, one.most - taken, place});
        ++at;
        break;
      }
    }
    if (fits) continue;
    for (;;) {
      if (choices_.size() == bottom) return std::nullopt;
      Choice& choice = choices_.back();
      place = choice.place;
      at = choice.kind == Choice::kGo ? choice.at : choice.at + 1;
      if (choice.kind == Choice::kGo) {
        choices_.pop_back();
        break;
      }
      if (choice.kind == Choice::kShrink) {
        place = choice.place = before_place(text_, choice.place);
        if (place == choice.number) choices_.pop_back();
        break;
      }
      const CodePoint c = place < text_.size() ? code_point_at(text_, place) : CodePoint{0, 0};
      if (c.bytes == 0 || !pattern_.sets_[program[choice.at].set].has(c.value)) {
        choices_.pop_back();
        continue;
      }
      place = choice.place += c.bytes;
      if (--choice.number == 0) choices_.pop_back();
      break;
    }
  }
}

std::optional<Pattern::Match> Pattern::Search::next() {
  std::size_t place = from_;
  while (place <= text_.size()) {
    const std::optional<std::size_t> end = match_at(0, place);
    if (end && !(*end == place && last_end_ == end)) {
      from_ = *end;
      last_end_ = end;
      return Match{place, *end};
    }
    if (place == text_.size()) break;
    place += code_point_at(text_, place).bytes;
  }
  from_ = text_.size() + 1;
  return std::nullopt;
}

}  // namespace limpid::detail
