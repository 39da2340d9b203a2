// How fast this machine can be: multiply-adds from registers, and memory by where it is cached.
// What bounds every figure of the comparison.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace bench {

inline constexpr std::size_t kLevels = 4;
inline constexpr std::array<const char*, kLevels> kLevelNames = {"L1", "L2", "L3", "DRAM"};

struct Speeds {
  int threads = 1;
  // Of all threads together, each on a CPU of its own; 0 where this program does not know the
  // instructions.
  double gflops = 0;                   // f32 multiply-adds, counted as two
  std::array<double, kLevels> read{};  // GB/s
  std::array<double, kLevels> copy{};  // GB/s of a copy, reads and writes together
  // Bytes: of one core, of one core, of all.
  std::array<std::size_t, 3> caches{};
};

// The best of several attempts.
Speeds measure_speeds(int threads);

// What a call has to do at the least.
struct Work {
  double flops = 0;
  double read = 0;    // bytes that are only read
  double copied = 0;  // bytes read and bytes written by what writes as much as it reads
};

// Nanoseconds that the work takes at the least when the call before it has touched the same memory:
// the arithmetic, or moving the bytes, as many of them from each cache as it can hold; 0 where it
// is not known.
double bound(const Work& work, const Speeds& speeds);

}  // namespace bench
