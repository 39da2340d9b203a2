// What the tests of kernels share: guarded memory at any misalignment, values that matter, and
// equality of bits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/kernels/kernels.h"
#include "tests/guarded_memory.h"

namespace limpid::kernels {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Floats at the edge of memory that may be touched, so that a read beyond them faults: those of
// offset 0 at its beginning, those of an odd offset at its end. Those of an even one begin as many
// floats after its beginning, misaligned whatever n is. A write where nothing is mapped beyond
// them faults too; guards_intact() tells of the others.
class Guarded {
 public:
  Guarded(std::size_t n, std::size_t offset)
      : n_(n),
        offset_(offset % 2 == 0 ? offset : 0),
        edge_(offset % 2 == 0 && bytes() != 0 ? Edge::kBegin : Edge::kEnd),
        memory_(map_guarded(bytes(), edge_)) {
    for_each_byte_around([](std::byte& b) { b = kPattern; });
    std::memset(data(), 0xA5, n * sizeof(float));
  }
  ~Guarded() { unmap_guarded(memory_, bytes()); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  float* data() { return reinterpret_cast<float*>(memory_) + offset_; }
  std::size_t size() const { return n_; }
  float& operator[](std::size_t i) { return data()[i]; }
  bool guards_intact() const {
    bool intact = true;
    for_each_byte_around([&](const std::byte& b) { intact = intact && b == kPattern; });
    return intact;
  }

 private:
  static constexpr std::byte kPattern{0xA5};

  std::size_t bytes() const { return (offset_ + n_) * sizeof(float); }
  // Up to 128 bytes on each side that are mapped and belong to nobody.
  template <class Visit>
  void for_each_byte_around(const Visit& visit) const {
    constexpr std::size_t kMost = 128;
    const std::size_t slack = limpid::detail::whole_pages(bytes()) - bytes();
    const std::size_t before = edge_ == Edge::kEnd ? std::min(slack, kMost) : 0;
    const std::size_t after = edge_ == Edge::kBegin ? std::min(slack, kMost) : 0;
    for (std::byte* b = memory_ - before; b != memory_ + offset_ * sizeof(float); ++b) visit(*b);
    for (std::byte* b = memory_ + bytes(); b != memory_ + bytes() + after; ++b) visit(*b);
  }

  std::size_t n_, offset_;
  Edge edge_;
  std::byte* memory_;
};

// Operands that end at a protected page.
using Floats = GuardedVector<float>;

inline std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
inline float from_bits(std::uint32_t x) { return std::bit_cast<float>(x); }

// The same bits, where any NaN is the same as any other.
inline bool same(float a, float b) {
  return bits(a) == bits(b) || (std::isnan(a) && std::isnan(b));
}

inline ::testing::AssertionResult same_values(const float* got, const float* want, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    if (!same(got[i], want[i]))
      return ::testing::AssertionFailure()
             << "at " << i << " of " << n << ": got " << got[i] << " (0x" << std::hex
             << bits(got[i]) << "), want " << want[i] << " (0x" << bits(want[i]) << ")";
  return ::testing::AssertionSuccess();
}

inline const std::vector<float>& special_values() {
  static const std::vector<float> values = {
      0.0f,    -0.0f,       1.0f,     -1.0f,   0.5f,   -0.5f,   kInf,      -kInf,
      kNan,    -kNan,       1e-45f,   -1e-45f, 1e-39f, -1e-39f, 0x1p-126f, -0x1p-126f,
      3.4e38f, -3.4e38f,    88.7f,    88.8f,   -87.3f, -103.9f, -104.1f,   0.625f,
      1.0f,    0.99999994f, 2.0f / 3, 4.0f,    -4.0f,  10.0f,   -10.0f,    1e-8f,
      -1e-8f,  2.5f,        3.5f,     1e9f,    -1e9f,  100.0f,  -110.0f,   16777216.0f};
  return values;
}

// A value in [-1, 1) for every index.
inline float value(std::uint64_t seed, std::uint64_t i) {
  return 2.0f * Key(seed).uniform(i) - 1.0f;
}
inline Floats values(std::uint64_t seed, std::size_t n) {
  Floats all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = value(seed, i);
  return all;
}

// One instance of a test for every instruction set that this CPU runs.
class OnEveryIsa : public ::testing::TestWithParam<Isa> {
 protected:
  const Kernels& k() const { return kernels(GetParam()); }
};
inline std::string isa_label(const ::testing::TestParamInfo<Isa>& info) {
  return std::string(name(info.param));
}

}  // namespace limpid::kernels

#define LIMPID_ON_EVERY_ISA(Suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(Isa, Suite,                                                            \
                           ::testing::ValuesIn(available_isas().begin(), available_isas().end()), \
                           isa_label)
