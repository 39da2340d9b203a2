// Unicode's properties and normal forms.
#include "limpid/data/text/detail/unicode.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "limpid/core/utf8.h"

namespace limpid::detail {
namespace {

constexpr char32_t kPlane = 0x10000;

using Plane = std::array<std::uint8_t, kPlane>;

// The categories of the first plane, laid out for a look-up without a search.
const Plane& first_plane() {
  static const std::unique_ptr<const Plane> plane = [] {
    auto made = std::make_unique<Plane>();
    const std::uint32_t* next = std::begin(kCategoryChanges);
    std::uint8_t category = 0;
    for (char32_t c = 0; c < kPlane; ++c) {
      if (next != std::end(kCategoryChanges) && *next >> 5 == c)
        category = static_cast<std::uint8_t>(*next++ & 31);
      (*made)[c] = category;
    }
    return made;
  }();
  return *plane;
}

// The entry of a sorted table whose upper 24 bits are c, or nullptr.
const std::uint32_t* entry_of(const std::uint32_t* begin, const std::uint32_t* end, char32_t c) {
  const std::uint32_t* const found =
      std::lower_bound(begin, end, static_cast<std::uint32_t>(c) << 8);
  return found != end && *found >> 8 == c ? found : nullptr;
}

// Where the mapping of each entry of kDecompositions begins in kDecomposed.
const std::vector<std::uint32_t>& decomposition_places() {
  static const std::vector<std::uint32_t> places = [] {
    std::vector<std::uint32_t> made;
    std::uint32_t place = 0;
    for (const std::uint32_t entry : kDecompositions) {
      made.push_back(place);
      place += (entry & 0xff) >> 1;
    }
    return made;
  }();
  return places;
}

constexpr char32_t kFirstDecomposed = 0xa0;

// Hangul's syllables (The Unicode Standard, section 3.12).
constexpr char32_t kSyllables = 0xac00, kLead = 0x1100, kVowel = 0x1161, kTail = 0x11a7;
constexpr char32_t kVowels = 21, kTails = 28, kLeads = 19;
constexpr char32_t kSyllableCount = kLeads * kVowels * kTails;
constexpr bool is_syllable(char32_t c) { return c - kSyllables < kSyllableCount; }

// How a code point takes part in normal forms.
enum Part : std::uint8_t { kDecomposes = 1, kIsCompatible = 2, kCombines = 4, kComposes = 8 };

std::uint8_t searched_parts(char32_t c) {
  std::uint8_t parts = 0;
  if (is_syllable(c)) parts |= kDecomposes;
  if (const std::uint32_t* const found =
          entry_of(std::begin(kDecompositions), std::end(kDecompositions), c))
    parts |= (*found & 1) != 0 ? kIsCompatible : kDecomposes;
  if (entry_of(std::begin(kCombining), std::end(kCombining), c)) parts |= kCombines;
  if (c - kVowel < kVowels || c - kTail < kTails) parts |= kComposes;
  for (std::size_t i = 1; i < std::size(kCompositions); i += 3)
    if (kCompositions[i] == c) parts |= kComposes;
  return parts;
}

const Plane& parts_of_first_plane() {
  static const std::unique_ptr<const Plane> plane = [] {
    auto made = std::make_unique<Plane>();
    for (char32_t c = kSyllables; c < kSyllables + kSyllableCount; ++c) (*made)[c] |= kDecomposes;
    for (const std::uint32_t entry : kDecompositions)
      if (entry >> 8 < kPlane)
        (*made)[entry >> 8] |= (entry & 1) != 0 ? kIsCompatible : kDecomposes;
    for (const std::uint32_t entry : kCombining)
      if (entry >> 8 < kPlane) (*made)[entry >> 8] |= kCombines;
    for (char32_t i = 0; i < kVowels; ++i) (*made)[kVowel + i] |= kComposes;
    for (char32_t i = 1; i < kTails; ++i) (*made)[kTail + i] |= kComposes;
    for (std::size_t i = 1; i < std::size(kCompositions); i += 3)
      if (kCompositions[i] < kPlane) (*made)[kCompositions[i]] |= kComposes;
    return made;
  }();
  return *plane;
}

// In the order of make_unicode_tables.py.
enum class GraphemeBreak : std::uint8_t {
  kOther,
  kCr,
  kLf,
  kControl,
  kExtend,
  kZwj,
  kRegional,
  kPrepend,
  kSpacing,
  kL,
  kV,
  kT,
  kLv,
  kLvt,
  kPictographic
};

GraphemeBreak break_of(char32_t c) {
  if (is_syllable(c))
    return (c - kSyllables) % kTails == 0 ? GraphemeBreak::kLv : GraphemeBreak::kLvt;
  return static_cast<GraphemeBreak>(
      property_of(std::begin(kBreakChanges), std::end(kBreakChanges), c));
}

// Whether there is a boundary between two code points, the rules about pictographs and flags aside.
bool breaks_between(GraphemeBreak a, GraphemeBreak b) {
  using enum GraphemeBreak;
  if (a == kCr && b == kLf) return false;
  if (a == kControl || a == kCr || a == kLf || b == kControl || b == kCr || b == kLf) return true;
  if (a == kL && (b == kL || b == kV || b == kLv || b == kLvt)) return false;
  if ((a == kLv || a == kV) && (b == kV || b == kT)) return false;
  if ((a == kLvt || a == kT) && b == kT) return false;
  return !(b == kExtend || b == kZwj || b == kSpacing || a == kPrepend);
}

}  // namespace

Category category_of(char32_t c) {
  static const Plane& plane = first_plane();
  return c < kPlane ? static_cast<Category>(plane[c]) : searched_category(c);
}

bool is_word(char32_t c) {
  if (c < 0x80) return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
  constexpr Categories kWord =
      kLetters | kMarks | bit_of(Category::kNd) | bit_of(Category::kNl) | bit_of(Category::kPc);
  if (is_in(c, kWord)) return true;
  // Other_Alphabetic that are neither letters nor marks: letters in circles and squares.
  if ((c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
      (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189))
    return true;
  return c == 0x200c || c == 0x200d;
}

char32_t simple_lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
  std::size_t low = 0, high = std::size(kLower) / 2;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (kLower[2 * middle] < c)
      low = middle + 1;
    else
      high = middle;
  }
  return low < std::size(kLower) / 2 && kLower[2 * low] == c ? kLower[2 * low + 1] : c;
}

void append_lower(std::string& to, char32_t c) {
  constexpr char32_t kDottedI = 0x130;
  to += c == kDottedI ? "i\xcc\x87" : utf8_of(simple_lower(c));
}

bool stays(char32_t c, NormalTraits traits) {
  static const Plane& plane = parts_of_first_plane();
  const std::uint8_t parts = c < kPlane ? plane[c] : searched_parts(c);
  return (parts & (kDecomposes | kCombines)) == 0 &&
         !(traits.compatible && (parts & kIsCompatible) != 0) &&
         !(traits.composed && (parts & kComposes) != 0);
}

std::uint8_t combining_class(char32_t c) {
  const std::uint32_t* const found = entry_of(std::begin(kCombining), std::end(kCombining), c);
  return found ? static_cast<std::uint8_t>(*found & 0xff) : 0;
}

void append_decomposition(std::u32string& to, char32_t c, bool compatible) {
  if (is_syllable(c)) {
    const char32_t index = c - kSyllables;
    to.push_back(kLead + index / (kVowels * kTails));
    to.push_back(kVowel + index % (kVowels * kTails) / kTails);
    if (index % kTails != 0) to.push_back(kTail + index % kTails);
    return;
  }
  const std::uint32_t* const found =
      c < kFirstDecomposed ? nullptr
                           : entry_of(std::begin(kDecompositions), std::end(kDecompositions), c);
  if (!found || ((*found & 1) != 0 && !compatible)) {
    to.push_back(c);
    return;
  }
  const std::uint32_t place =
      decomposition_places()[static_cast<std::size_t>(found - std::begin(kDecompositions))];
  for (std::uint32_t i = 0; i < (*found & 0xff) >> 1; ++i)
    append_decomposition(to, kDecomposed[place + i], compatible);
}

char32_t composition_of(char32_t first, char32_t second) {
  if (first - kLead < kLeads && second - kVowel < kVowels)
    return kSyllables + ((first - kLead) * kVowels + second - kVowel) * kTails;
  if (is_syllable(first) && (first - kSyllables) % kTails == 0 && second - kTail - 1 < kTails - 1)
    return first + second - kTail;
  std::size_t low = 0, high = std::size(kCompositions) / 3;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const std::uint32_t* const entry = &kCompositions[3 * middle];
    if (entry[0] < first || (entry[0] == first && entry[1] < second))
      low = middle + 1;
    else
      high = middle;
  }
  if (low == std::size(kCompositions) / 3) return 0;
  const std::uint32_t* const entry = &kCompositions[3 * low];
  return entry[0] == first && entry[1] == second ? entry[2] : 0;
}

std::size_t first_grapheme(std::string_view text) {
  CodePoint point = first_code_point(text).value();
  std::size_t bytes = point.bytes;
  GraphemeBreak last = break_of(point.value);
  bool pictograph = last == GraphemeBreak::kPictographic;  // and extensions of it
  bool flag = last == GraphemeBreak::kRegional;            // the first half of one
  while (bytes < text.size()) {
    point = first_code_point(text.substr(bytes)).value();
    const GraphemeBreak next = break_of(point.value);
    const bool joins =
        pictograph && last == GraphemeBreak::kZwj && next == GraphemeBreak::kPictographic;
    const bool completes = flag && next == GraphemeBreak::kRegional;
    if (!joins && !completes && breaks_between(last, next)) break;
    pictograph = next == GraphemeBreak::kPictographic ||
                 (pictograph && (next == GraphemeBreak::kExtend || next == GraphemeBreak::kZwj));
    flag = false;
    bytes += point.bytes;
    last = next;
  }
  return bytes;
}

}  // namespace limpid::detail
