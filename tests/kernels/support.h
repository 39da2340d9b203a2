// What the tests of kernels share: guarded memory at any misalignment, values that matter, and
// equality of bits.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/kernels/kernels.h"

namespace limpid::kernels {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Floats that begin `offset` floats behind a 64-byte boundary, between guards. Exactly `n` are
// allocated behind the offset on the heap's side that sanitizers watch; the guards catch writes.
class Guarded {
 public:
  Guarded(std::size_t n, std::size_t offset) : n_(n), offset_(offset), memory_(n + 2 * kGuard) {
    std::memset(memory_.data(), 0xA5, memory_.size() * sizeof(float));
  }
  float* data() { return memory_.data() + kGuard / 2 + offset_; }
  std::size_t size() const { return n_; }
  float& operator[](std::size_t i) { return data()[i]; }
  bool guards_intact() const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(memory_.data());
    const std::size_t begin = (kGuard / 2 + offset_) * sizeof(float);
    const std::size_t end = begin + n_ * sizeof(float);
    for (std::size_t i = 0; i < memory_.size() * sizeof(float); ++i)
      if ((i < begin || i >= end) && bytes[i] != 0xA5) return false;
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 32;
  std::size_t n_, offset_;
  std::vector<float> memory_;
};

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
inline std::vector<float> values(std::uint64_t seed, std::size_t n) {
  std::vector<float> all(n);
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
