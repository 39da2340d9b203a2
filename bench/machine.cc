#include "bench/machine.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <utility>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace bench {
namespace {

// The value of a "key : value" or KEY=value line, without quotes.
std::string line_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const std::size_t value = line.find_first_not_of("\t :=\"", key.size());
    if (value == std::string::npos) continue;
    line = line.substr(value);
    line.erase(std::remove(line.begin(), line.end(), '"'), line.end());
    return line;
  }
  return "unknown";
}

constexpr int kSteps = 200000;
constexpr int kChains = 12;  // latency times throughput, and some more

#ifdef __x86_64__

// One multiply-add on each of the chains, kSteps times. Assembly, so that no compiler sees that the
// answer is known.
__attribute__((target("avx2,fma"))) void chains_avx2() {
  __m256 a[kChains] = {};
  const __m256 one = _mm256_set1_ps(1.0f);
  for (int s = 0; s < kSteps; ++s)
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) asm volatile("vfmadd231ps %1,%1,%0" : "+x"(a[c]) : "x"(one));
}

__attribute__((target("avx512f"))) void chains_avx512() {
  __m512 a[kChains] = {};
  const __m512 one = _mm512_set1_ps(1.0f);
  for (int s = 0; s < kSteps; ++s)
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) asm volatile("vfmadd231ps %1,%1,%0" : "+v"(a[c]) : "v"(one));
}

#endif

double gflops(void (*chains)(), int lanes) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int attempt = 0; attempt < 50; ++attempt) {
    const auto start = Clock::now();
    chains();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, 2.0 * lanes * kChains * kSteps / seconds / 1e9);
  }
  return best;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.cpu = line_of("/proc/cpuinfo", "model name");
  const std::string flags = " " + line_of("/proc/cpuinfo", "flags") + " ";
  for (const char* name : {"amx_bf16", "avx512_bf16", "avx512_vnni", "avx512f", "fma", "avx2"})
    if (flags.find(" " + std::string(name) + " ") != std::string::npos)
      machine.isa += (machine.isa.empty() ? "" : " ") + std::string(name);
  utsname system;
  uname(&system);
  machine.system = std::string(system.sysname) + " " + system.release + ", " +
                   line_of("/etc/os-release", "PRETTY_NAME");
#ifdef __clang__
  machine.compiler = "Clang " __clang_version__;
#else
  machine.compiler = "GCC " __VERSION__;
#endif
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) machine.cpus.push_back(cpu);
  return machine;
}

double peak_gflops() {
  double best = 0;
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    best = std::max(best, gflops(chains_avx2, 8));
  if (__builtin_cpu_supports("avx512f")) best = std::max(best, gflops(chains_avx512, 16));
#endif
  return best;
}

}  // namespace bench
