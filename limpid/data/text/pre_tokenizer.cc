#include "limpid/data/text/pre_tokenizer.h"

#include <array>
#include <optional>

#include "limpid/core/utf8.h"
#include "limpid/data/text/detail/unicode.h"

namespace limpid {
namespace {

using detail::CharacterClass;

struct Character {
  CharacterClass kind = CharacterClass::kOther;
  std::size_t bytes = 0;  // 0: there is none
};

constexpr std::array<CharacterClass, 128> kAscii = [] {
  std::array<CharacterClass, 128> kinds{};
  for (char32_t c = 0; c < kinds.size(); ++c)
    kinds[c] = detail::class_in(c, detail::searched_category(c));
  return kinds;
}();

Character character_at(std::string_view text, std::size_t place) {
  if (place >= text.size()) return {};
  const auto first = static_cast<unsigned char>(text[place]);
  if (first < kAscii.size()) return {kAscii[first], 1};
  const std::optional<CodePoint> point = first_code_point(text.substr(place));
  if (!point) return {CharacterClass::kOther, 1};
  return {detail::class_in(point->value, detail::category_of(point->value)), point->bytes};
}

// The end of the run of characters of a class that begins at `place`; at most `most` of them.
std::size_t run_end(std::string_view text, std::size_t place, CharacterClass kind,
                    std::size_t most = std::string_view::npos) {
  for (; most > 0; --most) {
    const Character c = character_at(text, place);
    if (c.bytes == 0 || c.kind != kind) break;
    place += c.bytes;
  }
  return place;
}

bool is_line_end(std::string_view text, std::size_t place) {
  return place < text.size() && (text[place] == '\r' || text[place] == '\n');
}

// 's, 't, 're, 've, 'm, 'll, 'd: their bytes, or 0.
std::size_t contraction(std::string_view text, bool any_case) {
  if (text.empty() || text.front() != '\'') return 0;
  text.remove_prefix(1);
  const auto begins = [&](std::string_view lower) {
    if (text.size() < lower.size()) return false;
    for (std::size_t i = 0; i < lower.size(); ++i)
      if (text[i] != lower[i] && !(any_case && text[i] == lower[i] - 'a' + 'A')) return false;
    return true;
  };
  for (const std::string_view lower : {"s", "t", "re", "ve", "m", "ll", "d"})
    if (begins(lower)) return 1 + lower.size();
  // The only non-ASCII character that equals one of these letters when case is ignored: the long s.
  constexpr std::string_view kLongS = "\xc5\xbf";
  return any_case && text.substr(0, kLongS.size()) == kLongS ? 1 + kLongS.size() : 0;
}

// White space at the front, without its last character if a word follows (that character belongs to
// the word): \s+(?!\S)|\s+.
std::size_t blank(std::string_view text) {
  std::size_t end = 0;
  std::size_t before_last = 0;
  for (Character c = character_at(text, 0); c.bytes > 0 && c.kind == CharacterClass::kSpace;
       c = character_at(text, end)) {
    before_last = end;
    end += c.bytes;
  }
  return end == text.size() || before_last == 0 ? end : before_last;
}

std::size_t gpt2_word(std::string_view text) {
  if (const std::size_t bytes = contraction(text, false)) return bytes;
  const std::size_t begin = text.front() == ' ' ? 1 : 0;
  const Character first = character_at(text, begin);
  if (first.bytes == 0 || first.kind == CharacterClass::kSpace) return blank(text);
  return run_end(text, begin, first.kind);
}

// \s*[\r\n]+ at the front: its bytes, or 0.
std::size_t up_to_line_end(std::string_view text) {
  const std::size_t end = run_end(text, 0, CharacterClass::kSpace);
  const std::size_t last = text.substr(0, end).find_last_of("\r\n");
  return last == std::string_view::npos ? 0 : last + 1;
}

std::size_t llama3_word(std::string_view text, std::size_t digits) {
  if (const std::size_t bytes = contraction(text, true)) return bytes;
  const Character first = character_at(text, 0);
  if (first.kind == CharacterClass::kLetter) return run_end(text, 0, first.kind);
  if (first.kind == CharacterClass::kNumber) return run_end(text, 0, first.kind, digits);
  if (!is_line_end(text, 0)) {
    const std::size_t end = run_end(text, first.bytes, CharacterClass::kLetter);
    if (end > first.bytes) return end;
  }
  const std::size_t begin = text.front() == ' ' ? 1 : 0;
  std::size_t end = run_end(text, begin, CharacterClass::kOther);
  if (end > begin) {
    while (is_line_end(text, end)) ++end;
    return end;
  }
  const std::size_t lines = up_to_line_end(text);
  return lines > 0 ? lines : blank(text);
}

}  // namespace

std::string_view expression_of(PreTokenizer pattern) {
  switch (pattern) {
    case PreTokenizer::kGpt2:
      return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
    case PreTokenizer::kLlama3:
      return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
             R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    case PreTokenizer::kQwen2:
      break;
  }
  return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
         R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

std::size_t first_word(std::string_view text, PreTokenizer pattern) {
  if (text.empty()) return 0;
  if (pattern == PreTokenizer::kGpt2) return gpt2_word(text);
  return llama3_word(text, pattern == PreTokenizer::kLlama3 ? 3 : 1);
}

}  // namespace limpid
