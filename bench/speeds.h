// Upper bounds of this machine's speed: multiply-adds from registers, and memory bandwidth by level
// of cache.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace bench {

inline constexpr std::size_t kLevels = 4;
inline constexpr std::array<const char*, kLevels> kLevelNames = {"L1", "L2", "L3", "DRAM"};

struct Speeds {
  int threads = 1;
  // Of all threads together, each on its own CPU.
  double gflops = 0;                   // from measure_gflops()
  std::array<double, kLevels> read{};  // GB/s
  std::array<double, kLevels> copy{};  // GB/s of a copy, reads and writes together
  // Bytes of each cache: the first two of one core, the last of all cores.
  std::array<std::size_t, 3> caches{};
};

// The GFLOP/s that all threads reach together; an f32 multiply-add counts as two operations. The
// result is 0 if this program does not know the CPU's instructions. The best of several attempts.
double measure_gflops(int threads);
// The best of several attempts.
Speeds measure_speeds(int threads);

// The least work of a call.
struct Work {
  double flops = 0;
  double read = 0;    // bytes that are only read
  double copied = 0;  // bytes read plus bytes written where both are equal
};

// The least time of the work in nanoseconds if the previous call used the same memory: the larger
// of the arithmetic and of moving the bytes, each cache serving as many as it can hold; 0 if
// unknown.
double bound(const Work& work, const Speeds& speeds);

}  // namespace bench
