#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <string_view>

#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

// Changes one file, drawing its choices from a key's words.
class Mutator {
 public:
  Mutator(Bytes& file, std::span<const Bytes> others, std::span<const std::string> words, Key key)
      : file_(file), others_(others), words_(words), key_(key) {}

  void change() {
    switch (below(10)) {
      case 0:
        return flip_bits();
      case 1:
        return set_bytes();
      case 2:
        return truncate();
      case 3:
        return remove_part();
      case 4:
        return repeat_part();
      case 5:
        return splice();
      case 6:
      case 7:
        return set_number();
      case 8:
        return replace_digits();
      default:
        return insert_word();
    }
  }

 private:
  // In [0, bound), or 0 where the bound is 0.
  std::size_t below(std::size_t bound) {
    return bound == 0 ? 0
                      : key_.below(std::min<std::uint64_t>(bound, std::uint64_t{1} << 32), next_++);
  }
  std::size_t place() { return below(file_.size() + 1); }
  auto at(std::size_t place) { return file_.begin() + static_cast<std::ptrdiff_t>(place); }
  // A part of `bytes`, mostly a short one.
  std::span<const std::byte> part(std::span<const std::byte> bytes) {
    const std::size_t begin = below(bytes.size() + 1);
    const std::size_t most = below(4) == 0 ? bytes.size() : 16;
    return bytes.subspan(begin, below(std::min(most, bytes.size() - begin) + 1));
  }
  void insert(std::size_t place, std::span<const std::byte> bytes) {
    file_.insert(at(place), bytes.begin(), bytes.end());
  }

  void flip_bits() {
    for (std::size_t i = 0, count = 1 + below(8); i < count && !file_.empty(); ++i)
      file_[below(file_.size())] ^= std::byte{1} << below(8);
  }
  void set_bytes() {
    for (std::size_t i = 0, count = 1 + below(8); i < count && !file_.empty(); ++i)
      file_[below(file_.size())] = static_cast<std::byte>(below(256));
  }
  void truncate() { file_.resize(place()); }
  void remove_part() {
    const std::size_t begin = place();
    file_.erase(at(begin), at(begin + below(std::min<std::size_t>(64, file_.size() - begin) + 1)));
  }
  void repeat_part() {
    const Bytes repeated = bytes_of(part(file_));
    const std::size_t to = place();
    constexpr std::size_t kMost = 64 * 1024;
    for (std::size_t i = 0, times = 1 + below(below(8) == 0 ? 1000 : 4);
         i < times && file_.size() < kMost; ++i)
      insert(to, repeated);
  }
  void splice() {
    const Bytes& other = others_[below(others_.size())];
    if (below(2) == 0) return insert(place(), part(other));
    file_.resize(place());
    const std::size_t from = below(other.size() + 1);
    insert(file_.size(), std::span(other).subspan(from));
  }

  void set_number() {
    const std::size_t bytes = std::size_t{1} << below(4);
    if (file_.size() < bytes) return;
    const std::size_t to = below(file_.size() - bytes + 1);
    std::uint64_t number = 0;
    for (std::size_t i = bytes; i-- > 0;)
      number = number << 8 | std::to_integer<std::uint64_t>(file_[to + i]);
    const std::size_t size = file_.size();
    const std::array<std::uint64_t, 12> choices = {0,
                                                   1,
                                                   number + 1,
                                                   number - 1,
                                                   number * 2,
                                                   ~std::uint64_t{0},
                                                   ~std::uint64_t{0} >> 1,
                                                   std::uint64_t{1} << (bytes * 8 - 1),
                                                   size,
                                                   size + 1,
                                                   size * 1000,
                                                   std::uint64_t{1} << below(64)};
    number = choices[below(choices.size())];
    const bool big_endian = below(2) == 0;
    for (std::size_t i = 0; i < bytes; ++i, number >>= 8)
      file_[to + (big_endian ? bytes - 1 - i : i)] = static_cast<std::byte>(number & 0xff);
  }

  void replace_digits() {
    constexpr std::string_view kDigits = "0123456789";
    const std::string_view text = text_of(file_);
    const std::size_t begin = text.find_first_of(kDigits, below(file_.size() + 1));
    if (begin == std::string_view::npos) return;
    const std::size_t end = std::min(text.find_first_not_of(kDigits, begin), text.size());
    static constexpr std::array<std::string_view, 12> kNumbers = {"0",
                                                                  "1",
                                                                  "-1",
                                                                  "7",
                                                                  "65536",
                                                                  "2147483648",
                                                                  "4294967296",
                                                                  "9223372036854775807",
                                                                  "18446744073709551616",
                                                                  "1e999",
                                                                  "-0.0",
                                                                  "576460752303423488"};
    file_.erase(at(begin), at(end));
    insert(begin, std::as_bytes(std::span(kNumbers[below(kNumbers.size())])));
  }
  void insert_word() {
    if (!words_.empty()) insert(place(), std::as_bytes(std::span(words_[below(words_.size())])));
  }

  Bytes& file_;
  std::span<const Bytes> others_;
  std::span<const std::string> words_;
  Key key_;
  std::uint64_t next_ = 0;
};

}  // namespace

Bytes mutated(Bytes file, std::span<const Bytes> others, std::span<const std::string> words,
              Key key) {
  const std::uint32_t changes = key.below(2, 0) == 0 ? 1 : 2 + key.below(3, 1);
  for (std::uint32_t i = 1; i <= changes; ++i)
    Mutator(file, others, words, key.fold_in(i)).change();
  return file;
}

}  // namespace limpid::fuzz
