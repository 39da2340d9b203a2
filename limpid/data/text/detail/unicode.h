// Unicode 15.0: general categories, case, normal forms and grapheme clusters, by tables that
// make_unicode_tables.py writes. Included only by sources.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "limpid/data/text/detail/unicode_tables.inc"

namespace limpid::detail {

// The general categories. Letters are kLl to kLu, marks kMc to kMn, numbers kNd to kNo,
// punctuation kPc to kPs, symbols kSc to kSo, separators kZl to kZs.
enum class Category : std::uint8_t {
  kCn,
  kCc,
  kCf,
  kCo,
  kCs,
  kLl,
  kLm,
  kLo,
  kLt,
  kLu,
  kMc,
  kMe,
  kMn,
  kNd,
  kNl,  //
  kNo,
  kPc,
  kPd,
  kPe,
  kPf,
  kPi,
  kPo,
  kPs,
  kSc,
  kSk,
  kSm,
  kSo,
  kZl,
  kZp,
  kZs
};

// A set of categories: a bit for each.
using Categories = std::uint32_t;
constexpr Categories bit_of(Category c) { return Categories{1} << static_cast<unsigned>(c); }
constexpr Categories bits_of(Category first, Category last) {
  return (bit_of(last) << 1) - bit_of(first);
}
inline constexpr Categories kLetters = bits_of(Category::kLl, Category::kLu);
inline constexpr Categories kMarks = bits_of(Category::kMc, Category::kMn);
inline constexpr Categories kNumbers = bits_of(Category::kNd, Category::kNo);
inline constexpr Categories kPunctuation = bits_of(Category::kPc, Category::kPs);
inline constexpr Categories kSymbols = bits_of(Category::kSc, Category::kSo);
inline constexpr Categories kSeparators = bits_of(Category::kZl, Category::kZs);
inline constexpr Categories kOthers = bits_of(Category::kCn, Category::kCs);

constexpr std::uint32_t property_of(const std::uint32_t* begin, const std::uint32_t* end,
                                    char32_t c) {
  const std::uint32_t* const behind =
      std::upper_bound(begin, end, static_cast<std::uint32_t>(c) << 5 | 31);
  return behind == begin ? 0 : behind[-1] & 31;
}

// By binary search; category_of() is faster.
constexpr Category searched_category(char32_t c) {
  return static_cast<Category>(
      property_of(std::begin(kCategoryChanges), std::end(kCategoryChanges), c));
}

// The general category of a code point.
Category category_of(char32_t c);
inline bool is_in(char32_t c, Categories set) { return (bit_of(category_of(c)) & set) != 0; }

// White_Space, which no version of Unicode has changed since 6.3.
constexpr bool is_space_in(char32_t c, Category category) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x85 || (bit_of(category) & kSeparators) != 0;
}
inline bool is_white_space(char32_t c) { return is_space_in(c, category_of(c)); }
// \w of Rust's regular expressions: Alphabetic, M, Nd, Pc and Join_Control.
bool is_word(char32_t c);
// \w of Oniguruma's: L, M, N and Pc.
inline bool is_pattern_word(char32_t c) {
  return is_in(c, kLetters | kMarks | kNumbers | bit_of(Category::kPc));
}

// The character classes of the patterns of GPT-2 and Llama 3: \p{L}, \p{N} and \s.
enum class CharacterClass : std::uint8_t { kOther, kLetter, kNumber, kSpace };
constexpr CharacterClass class_in(char32_t c, Category category) {
  if (is_space_in(c, category)) return CharacterClass::kSpace;
  if ((bit_of(category) & kLetters) != 0) return CharacterClass::kLetter;
  return (bit_of(category) & kNumbers) != 0 ? CharacterClass::kNumber : CharacterClass::kOther;
}

// Appends the lower-case form: one code point, or two for U+0130.
void append_lower(std::string& to, char32_t c);
// The simple lower-case mapping.
char32_t simple_lower(char32_t c);

// The canonical combining class.
std::uint8_t combining_class(char32_t c);
// Appends the full decomposition, without reordering; `compatible` is that of NFKD.
void append_decomposition(std::u32string& to, char32_t c, bool compatible);
// The canonical composition of two code points, or 0.
char32_t composition_of(char32_t first, char32_t second);
// Which normal form a text is brought to: NFKD and NFKC are compatible, NFC and NFKC composed.
struct NormalTraits {
  bool compatible = false, composed = false;
};
// Whether a code point has no part in that form: it does not decompose, is no combining mark and
// composes with none before it.
bool stays(char32_t c, NormalTraits traits);

// The bytes of the first extended grapheme cluster (UAX 29) of a text, which is UTF-8 and not
// empty.
std::size_t first_grapheme(std::string_view text);

}  // namespace limpid::detail
