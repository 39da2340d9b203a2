// AugmentDraws: the random numbers of a step of an augmentation. Depends on key.h.
#pragma once

#include <array>
#include <cstdint>

#include "limpid/core/key.h"

namespace limpid {

// The random numbers of one step: the words of its key, one after another.
class AugmentDraws {
 public:
  explicit AugmentDraws(Key key) : key_(key) {}

  std::uint32_t word() {
    if (next_ % 4 == 0) {
      const std::uint64_t block = next_ / 4;
      words_ = philox4x32(
          {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0, 0},
          {static_cast<std::uint32_t>(key_.bits()), static_cast<std::uint32_t>(key_.bits() >> 32)});
    }
    return words_[next_++ % 4];
  }
  // In [0, 1), a multiple of 2^-24.
  double unit() { return static_cast<double>(word() >> 8) * 0x1p-24; }
  double within(double low, double high) { return low + (high - low) * unit(); }
  // In [-most, most).
  double either_side(double most) { return most * (2 * unit() - 1); }
  std::uint32_t below(std::uint64_t bound) {
    return static_cast<std::uint32_t>((word() * bound) >> 32);
  }
  double sign() { return below(2) == 0 ? 1 : -1; }
  Key key() const { return key_; }

 private:
  Key key_;
  std::uint64_t next_ = 0;
  std::array<std::uint32_t, 4> words_{};
};

}  // namespace limpid
