// Pre-tokenizers of tokenizer.json: what splits a text into words.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "limpid/core/utf8.h"
#include "limpid/data/text/detail/byte_alphabet.h"
#include "limpid/data/text/detail/code_points.h"
#include "limpid/data/text/detail/pattern.h"
#include "limpid/data/text/detail/text_steps.h"
#include "limpid/data/text/detail/unicode.h"
#include "limpid/data/text/pre_tokenizer.h"

namespace limpid::detail {
namespace {

// Receives the parts of a text, delimiters and what is between them, in order.
using PartSink = std::function<void(std::size_t begin, std::size_t end, bool delimits)>;
// Finds the delimiters of a text.
using Delimiters = std::function<void(std::string_view text, const PartSink&)>;

// What becomes of delimiters.
enum class Behavior : std::uint8_t { kRemoved, kIsolated, kWithPrevious, kWithNext, kContiguous };

Behavior behavior_of(const JsonView& json) {
  constexpr std::pair<std::string_view, Behavior> kNames[] = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kWithPrevious},
      {"MergedWithNext", Behavior::kWithNext},
      {"Contiguous", Behavior::kContiguous}};
  const std::string& name = json.as_string();
  for (const auto& [known, behavior] : kNames)
    if (name == known) return behavior;
  json.refuse("what becomes of delimiters");
}

// Joins parts, as the behaviour says, and passes them on.
class PartJoiner {
 public:
  PartJoiner(Behavior behavior, const Piece& piece, const PieceSink& sink)
      : behavior_(behavior), piece_(piece), sink_(sink) {}

  void take(std::size_t begin, std::size_t end, bool delimits) {
    switch (behavior_) {
      case Behavior::kRemoved:
        if (!delimits) pass(begin, end);
        return;
      case Behavior::kIsolated:
        pass(begin, end);
        return;
      case Behavior::kContiguous:
        join(begin, end, held_ && delimits == delimited_);
        break;
      case Behavior::kWithPrevious:
        join(begin, end, held_ && delimits && !delimited_);
        break;
      case Behavior::kWithNext:
        join(begin, end, held_ && delimited_ && !delimits);
        break;
    }
    delimited_ = delimits;
  }
  void end() {
    if (held_) pass(held_->first, held_->second);
    held_.reset();
  }

 private:
  void join(std::size_t begin, std::size_t end, bool joins) {
    if (joins) {
      held_->second = end;
      return;
    }
    if (held_) pass(held_->first, held_->second);
    held_ = {begin, end};
  }
  void pass(std::size_t begin, std::size_t end) const {
    if (end > begin) sink_(piece_.part(begin, end));
  }

  const Behavior behavior_;
  const Piece& piece_;
  const PieceSink& sink_;
  std::optional<std::pair<std::size_t, std::size_t>> held_ = {};
  bool delimited_ = false;
};

Splitter splitter(Delimiters delimiters, Behavior behavior, bool invert = false) {
  return [delimiters = std::move(delimiters), behavior, invert](const Piece& piece,
                                                                const PieceSink& sink) {
    PartJoiner joiner(behavior, piece, sink);
    delimiters(piece.text, [&](std::size_t begin, std::size_t end, bool delimits) {
      joiner.take(begin, end, delimits != invert);
    });
    joiner.end();
  };
}

// ---- delimiters

// Passes on delimiters that a function finds one by one, and the text between them.
template <class Next>
void pass_parts(std::string_view text, const PartSink& sink, const Next& next) {
  std::size_t done = 0;
  while (const std::optional<Pattern::Match> match = next()) {
    if (match->begin > done) sink(done, match->begin, false);
    sink(match->begin, match->end, true);
    done = match->end;
  }
  if (text.size() > done) sink(done, text.size(), false);
}

template <class IsDelimiter>
Delimiters characters(IsDelimiter is_delimiter) {
  return [is_delimiter](std::string_view text, const PartSink& sink) {
    std::size_t place = 0;
    pass_parts(text, sink, [&]() -> std::optional<Pattern::Match> {
      while (place < text.size()) {
        const CodePoint c = code_point_at(text, place);
        place += c.bytes;
        if (is_delimiter(c.value)) return Pattern::Match{place - c.bytes, place};
      }
      return std::nullopt;
    });
  };
}

Delimiters literal(std::string searched) {
  return [searched = std::move(searched)](std::string_view text, const PartSink& sink) {
    std::size_t place = 0;
    pass_parts(text, sink, [&]() -> std::optional<Pattern::Match> {
      const std::size_t found =
          searched.empty() ? std::string_view::npos : text.find(searched, place);
      if (found == std::string_view::npos) return std::nullopt;
      place = found + searched.size();
      return Pattern::Match{found, place};
    });
  };
}

// Words of one of the patterns that are code.
Delimiters words(PreTokenizer pattern) {
  return [pattern](std::string_view text, const PartSink& sink) {
    for (std::size_t place = 0; place < text.size();) {
      const std::size_t end = place + first_word(text.substr(place), pattern);
      sink(place, end, true);
      place = end;
    }
  };
}

Delimiters expression(std::string_view regex) {
  for (const PreTokenizer known :
       {PreTokenizer::kGpt2, PreTokenizer::kLlama3, PreTokenizer::kQwen2})
    if (regex == expression_of(known)) return words(known);
  const auto pattern = std::make_shared<const Pattern>(regex);
  return [pattern](std::string_view text, const PartSink& sink) {
    Pattern::Search search(*pattern, text);
    pass_parts(text, sink, [&] { return search.next(); });
  };
}

// ---- the pre-tokenizers

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}
bool is_punctuation(char32_t c) { return is_ascii_punctuation(c) || is_in(c, kPunctuation); }

// What represents each byte.
const std::array<std::string, 256>& byte_characters() {
  static const std::array<std::string, 256> characters = [] {
    std::array<std::string, 256> made;
    for (std::size_t byte = 0; byte < made.size(); ++byte) {
      const char value = static_cast<char>(byte);
      made[byte] = to_byte_alphabet({&value, 1});
    }
    return made;
  }();
  return characters;
}

void add_byte_level(const JsonView& json, std::vector<Splitter>& to) {
  if (flag_or(json, "add_prefix_space", true))
    to.emplace_back([](const Piece& piece, const PieceSink& sink) {
      if (piece.text.starts_with(' ')) return sink(piece);
      AlignedText changed{.tracks = piece.origins != nullptr};
      changed.append(" ", piece.start());
      changed.append(piece);
      sink(changed.piece(piece.starts));
    });
  if (flag_or(json, "use_regex", true))
    to.push_back(splitter(words(PreTokenizer::kGpt2), Behavior::kIsolated));
  to.emplace_back([](const Piece& piece, const PieceSink& sink) {
    const std::array<std::string, 256>& characters = byte_characters();
    AlignedText changed{.tracks = piece.origins != nullptr};
    for (std::size_t i = 0; i < piece.text.size(); ++i)
      changed.append(characters[static_cast<unsigned char>(piece.text[i])], piece.origin(i, i + 1));
    sink(changed.piece(piece.starts));
  });
}

// Where Metaspace marks the start of a text.
enum class PrependScheme : std::uint8_t { kAlways, kFirst, kNever };

PrependScheme prepend_scheme_of(const JsonView& json) {
  if (const std::optional<JsonView> scheme = json.find("prepend_scheme");
      scheme && !scheme->value().is_null()) {
    const std::string& name = scheme->as_string();
    if (name == "always") return PrependScheme::kAlways;
    if (name == "first") return PrependScheme::kFirst;
    if (name == "never") return PrependScheme::kNever;
    scheme->refuse("'always', 'first' or 'never'");
  }
  return flag_or(json, "add_prefix_space", true) ? PrependScheme::kAlways : PrependScheme::kNever;
}

constexpr std::string_view kMetaspace = "\xe2\x96\x81";

void add_metaspace(const JsonView& json, std::vector<Splitter>& to) {
  const std::string mark = text_or(json, "replacement", kMetaspace);
  if (mark.empty()) json.at("replacement").refuse("a character");
  const PrependScheme scheme = prepend_scheme_of(json);
  to.emplace_back([mark, scheme](const Piece& piece, const PieceSink& sink) {
    AlignedText changed{.tracks = piece.origins != nullptr};
    const bool marked = piece.text.starts_with(mark) || piece.text.starts_with(' ');
    if (!marked &&
        (scheme == PrependScheme::kAlways || (scheme == PrependScheme::kFirst && piece.starts)))
      changed.append(mark, piece.start());
    for (std::size_t i = 0; i < piece.text.size(); ++i)
      if (piece.text[i] == ' ')
        changed.append(mark, piece.origin(i, i + 1));
      else
        changed.append(piece.part(i, i + 1));
    sink(changed.piece(piece.starts));
  });
  if (flag_or(json, "split", true)) to.push_back(splitter(literal(mark), Behavior::kWithNext));
}

// \w+|[^\w\s]+
void word_runs(std::string_view text, const PartSink& sink) {
  enum Kind : std::uint8_t { kWordKind, kOtherKind, kSpaceKind };
  const auto kind_of = [](char32_t c) {
    return is_word(c) ? kWordKind : is_white_space(c) ? kSpaceKind : kOtherKind;
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const CodePoint first = code_point_at(text, begin);
    const Kind kind = kind_of(first.value);
    std::size_t end = begin + first.bytes;
    while (end < text.size()) {
      const CodePoint c = code_point_at(text, end);
      if (kind_of(c.value) != kind) break;
      end += c.bytes;
    }
    sink(begin, end, kind == kSpaceKind);
    begin = end;
  }
}

Splitter split(const JsonView& json) {
  const JsonView pattern = json.at("pattern");
  const std::optional<JsonView> regex = pattern.find("Regex");
  return splitter(
      regex ? expression(regex->as_string()) : literal(pattern.at("String").as_string()),
      behavior_of(json.at("behavior")), flag_or(json, "invert", false));
}

void add_splitters(const JsonView& json, std::vector<Splitter>& to) {
  const std::string type = type_of_step(json);
  if (type == "ByteLevel")
    add_byte_level(json, to);
  else if (type == "Metaspace")
    add_metaspace(json, to);
  else if (type == "Whitespace")
    to.push_back(splitter(word_runs, Behavior::kRemoved));
  else if (type == "WhitespaceSplit")
    to.push_back(splitter(characters(is_white_space), Behavior::kRemoved));
  else if (type == "BertPreTokenizer") {
    to.push_back(splitter(characters(is_white_space), Behavior::kRemoved));
    to.push_back(splitter(characters(is_punctuation), Behavior::kIsolated));
  } else if (type == "Digits")
    to.push_back(splitter(
        characters([](char32_t c) { return is_in(c, kNumbers); }),
        flag_or(json, "individual_digits", false) ? Behavior::kIsolated : Behavior::kContiguous));
  else if (type == "Punctuation") {
    const std::optional<JsonView> behavior = json.find("behavior");
    to.push_back(splitter(characters(is_punctuation),
                          behavior ? behavior_of(*behavior) : Behavior::kIsolated));
  } else if (type == "CharDelimiterSplit")
    to.push_back(splitter(literal(json.at("delimiter").as_string()), Behavior::kRemoved));
  else if (type == "Split")
    to.push_back(split(json));
  else
    unsupported_step(json);
}

}  // namespace

std::vector<Splitter> splitters_of(const JsonView& json) {
  std::vector<Splitter> steps;
  for (const JsonView& step : steps_of(json, "pretokenizers")) add_splitters(step, steps);
  return steps;
}

}  // namespace limpid::detail
