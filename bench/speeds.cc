#include "bench/speeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <thread>
#include <vector>

#include "bench/cpus.h"

#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSteps = 200000;
constexpr int kChains = 12;  // a little more than latency times throughput

#ifdef __x86_64__

// One multiply-add on each of the chains, kSteps times. Assembly, here and below, so that the
// compiler cannot compute the answer ahead.
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

// Whole blocks of 512 bytes.
__attribute__((target("avx2"))) void read_avx2(const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 512)
#pragma GCC unroll 16
    for (std::size_t j = 0; j < 512; j += 32) {
      __m256 value;
      asm volatile("vmovaps %1,%0"
                   : "=x"(value)
                   : "m"(*reinterpret_cast<const __m256*>(from + i + j)));
    }
}

__attribute__((target("avx512f"))) void read_avx512(const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 512)
#pragma GCC unroll 8
    for (std::size_t j = 0; j < 512; j += 64) {
      __m512 value;
      asm volatile("vmovaps %1,%0"
                   : "=v"(value)
                   : "m"(*reinterpret_cast<const __m512*>(from + i + j)));
    }
}

// Copies the first half to the second with streaming stores.
__attribute__((target("avx2"))) void stream_half(std::byte* memory, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes / 2; i += 32) {
    const __m256i value = _mm256_load_si256(reinterpret_cast<const __m256i*>(memory + i));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(memory + bytes / 2 + i), value);
  }
  _mm_sfence();
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() { return __builtin_cpu_supports("avx512f"); }

#endif

// Copies the first half to the second.
void copy_half(std::byte* memory, std::size_t bytes) {
  std::memcpy(memory + bytes / 2, memory, bytes / 2);
  asm volatile("" ::: "memory");
}

std::size_t cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}", index);
    std::ifstream level_file(folder + "/level"), type_file(folder + "/type"),
        size_file(folder + "/size");
    int found = 0;
    std::string type;
    std::size_t size = 0;
    char unit = 0;
    if (level_file >> found && type_file >> type && size_file >> size && found == level &&
        type != "Instruction") {
      size_file >> unit;
      return size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
    }
  }
  constexpr std::size_t kUsual[] = {32 << 10, 1 << 20, 32 << 20};
  return kUsual[level - 1];
}

// Makes the call on all threads at once, several times. Returns the shortest time in seconds; each
// time is that of the slowest thread.
double best_seconds(int threads, int attempts, const std::function<void(int)>& call) {
  const std::vector<int> cpus = allowed_cpus();
  std::atomic<int> arrived{0};
  std::vector<std::vector<double>> seconds(static_cast<std::size_t>(threads));
  const auto work = [&](int self) {
    pin(0, cpus[static_cast<std::size_t>(self) % cpus.size()]);
    call(self);
    for (int attempt = 1; attempt <= attempts; ++attempt) {
      arrived.fetch_add(1);
      while (arrived.load() < attempt * threads) {
      }
      const auto start = Clock::now();
      call(self);
      seconds[static_cast<std::size_t>(self)].push_back(
          std::chrono::duration<double>(Clock::now() - start).count());
    }
  };
  std::vector<std::thread> others;
  for (int t = 0; t < threads; ++t) others.emplace_back(work, t);
  for (std::thread& t : others) t.join();
  double best = 1e30;
  for (std::size_t attempt = 0; attempt < static_cast<std::size_t>(attempts); ++attempt) {
    double slowest = 0;
    for (const auto& s : seconds) slowest = std::max(slowest, s[attempt]);
    best = std::min(best, slowest);
  }
  return best;
}

double gflops(int threads, void (*chains)(), int lanes) {
  return 2.0 * lanes * kChains * kSteps * threads /
         best_seconds(threads, 50, [&](int) { chains(); }) / 1e9;
}

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<std::byte, Free>;

// On huge pages where it fills them: the bound is the fastest possible read.
Buffer buffer_of(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  Buffer buffer(static_cast<std::byte*>(std::aligned_alloc(kHugePage, whole)));
  if (!buffer) throw std::bad_alloc();
#ifdef __linux__
  (void)madvise(buffer.get(), whole, MADV_HUGEPAGE);
#endif
  std::memset(buffer.get(), 1, bytes);
  return buffer;
}

// GB/s of a call that all threads make at once, each on its own buffer. On a small buffer they make
// it many times, as one call would be too short to measure.
double bandwidth(std::span<const Buffer> buffers, std::size_t bytes,
                 const std::function<void(std::byte*, std::size_t)>& call) {
  const auto threads = static_cast<int>(buffers.size());
  const std::size_t repeats = std::max<std::size_t>(1, (std::size_t{1} << 26) / bytes);
  // Fewer where caches are so large that each call on the buffer beyond them moves gigabytes.
  const auto attempts =
      static_cast<int>(std::clamp<std::size_t>((std::size_t{1} << 32) / bytes, 3, 15));
  const double seconds = best_seconds(threads, attempts, [&](int self) {
    for (std::size_t r = 0; r < repeats; ++r)
      call(buffers[static_cast<std::size_t>(self)].get(), bytes);
  });
  return static_cast<double>(bytes) * static_cast<double>(repeats) * threads / seconds / 1e9;
}

}  // namespace

double measure_gflops(int threads) {
  double best = 0;
#ifdef __x86_64__
  if (has_avx2()) best = std::max(best, gflops(threads, chains_avx2, 8));
  if (has_avx512()) best = std::max(best, gflops(threads, chains_avx512, 16));
#endif
  return best;
}

Speeds measure_speeds(int threads) {
  Speeds speeds;
  speeds.threads = threads;
  for (int level = 1; level <= 3; ++level)
    speeds.caches[static_cast<std::size_t>(level - 1)] = cache_bytes(level);
  const auto share = static_cast<std::size_t>(threads);
  // Well below the size of each cache, since it holds other data, too. For the memory far beyond
  // the last one, or twice its size where that is over 512 MiB: to touch more may take longer than
  // all else that is measured.
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  const std::size_t last = speeds.caches[2];
  const std::size_t beyond = std::max(2 * last, std::min(8 * last, kGiB));
  const std::size_t sizes[kLevels] = {speeds.caches[0] / 2, speeds.caches[1] / 2, last / 4 / share,
                                      beyond / share};
  for (std::size_t level = 0; level < kLevels; ++level) {
    const std::size_t bytes = sizes[level] / 4096 * 4096;
    std::vector<Buffer> buffers;
    for (int t = 0; t < threads; ++t) buffers.push_back(buffer_of(bytes));
    const auto faster = [&](double& best,
                            const std::function<void(std::byte*, std::size_t)>& call) {
      best = std::max(best, bandwidth(buffers, bytes, call));
    };
#ifdef __x86_64__
    if (has_avx2()) faster(speeds.read[level], read_avx2);
    if (has_avx512()) faster(speeds.read[level], read_avx512);
    if (has_avx2()) faster(speeds.copy[level], stream_half);
#endif
    faster(speeds.copy[level], copy_half);
  }
  speeds.gflops = measure_gflops(threads);
  return speeds;
}

double bound(const Work& work, const Speeds& speeds) {
  if (speeds.gflops == 0) return 0;
  const double bytes = work.read + work.copied;
  double moving = 0, nearer = 0;
  for (std::size_t level = 0; level < kLevels; ++level) {
    double held = bytes;
    if (level < speeds.caches.size())
      held = static_cast<double>(speeds.caches[level]) * (level < 2 ? speeds.threads : 1);
    const double here = std::clamp(bytes, nearer, std::max(nearer, held)) - nearer;
    nearer += here;
    if (here > 0)
      moving += here / bytes * (work.read / speeds.read[level] + work.copied / speeds.copy[level]);
  }
  return std::max(work.flops / speeds.gflops, moving);
}

}  // namespace bench
