// Random keys. A key stands for an endless table of random 32-bit words; word i depends on (key, i)
// alone. The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As
// Easy as 1, 2, 3; SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace limpid {

// Ten rounds of the bijection, as published.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

// An immutable value: drawing numbers does not change it.
class Key {
 public:
  explicit Key(std::uint64_t bits) : bits_(bits) {}  // equal bits give equal words

  // Word i of the table: word i mod 4 of philox(counter = i / 4 in its low 64 bits, key = bits()).
  std::uint32_t word(std::uint64_t i) const;

  // A child key for the purpose `data`, independent of this key's words and of its other children:
  // the first two words of philox(counter = (low(data), high(data), 0, 1), key = bits()).
  Key fold_in(std::uint64_t data) const;

  // An integer in [0, bound) from word i: floor(word * bound / 2^32). Requires 0 < bound <= 2^32.
  std::uint32_t below(std::uint64_t bound, std::uint64_t i) const {
    return static_cast<std::uint32_t>((word(i) * bound) >> 32);
  }
  // A number in [0, 1), a multiple of 2^-24: the upper 24 bits of word i.
  float uniform(std::uint64_t i) const { return static_cast<float>(word(i) >> 8) * 0x1p-24f; }

  std::uint64_t bits() const { return bits_; }
  bool operator==(const Key&) const = default;

 private:
  std::uint64_t bits_;
};

}  // namespace limpid
