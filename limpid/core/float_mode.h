// The floating-point modes of a thread that change results: the rounding direction, and whether
// subnormals are flushed to zero. Programs and libraries set them (linking with -ffast-math does,
// for one); docs/arithmetic.md assumes the default.
#pragma once

#include <cfenv>
#include <cstdint>

namespace limpid {

// Sets the default mode (round to nearest, keep subnormals) for its lifetime, then restores the
// previous one. Costs some nanoseconds if the default is already set. Traps and sticky flags are
// unchanged.
class DefaultFloatMode {
 public:
#if defined(__x86_64__)
  DefaultFloatMode() : before_(__builtin_ia32_stmxcsr()) {
    if ((before_ & kModes) != 0) __builtin_ia32_ldmxcsr(before_ & ~kModes);
  }
  ~DefaultFloatMode() {
    if ((before_ & kModes) != 0) __builtin_ia32_ldmxcsr(before_);
  }
#elif defined(__aarch64__)
  DefaultFloatMode() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    if ((before_ & kModes) != 0) set(before_ & ~kModes);
  }
  ~DefaultFloatMode() {
    if ((before_ & kModes) != 0) set(before_);
  }
#elif defined(__arm__) && defined(__ARM_FP)
  DefaultFloatMode() {
    asm volatile("vmrs %0, fpscr" : "=r"(before_));
    if ((before_ & kModes) != 0) set(before_ & ~kModes);
  }
  ~DefaultFloatMode() {
    if ((before_ & kModes) != 0) set(before_);
  }
#elif defined(FE_TONEAREST)
  DefaultFloatMode() : before_(std::fegetround()) {
    if (before_ != FE_TONEAREST) std::fesetround(FE_TONEAREST);
  }
  ~DefaultFloatMode() {
    if (before_ != FE_TONEAREST) std::fesetround(before_);
  }
#else
  // Floating point in software, as of a Cortex-M0, has one mode. Not trivial: it may stand unused.
  DefaultFloatMode() {}
  ~DefaultFloatMode() {}
#endif
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
#if defined(__x86_64__)
  // Bits of MXCSR: flush to zero, rounding control, denormals-are-zero.
  static constexpr std::uint32_t kModes = 0x8000 | 0x6000 | 0x0040;
  std::uint32_t before_;
#elif defined(__aarch64__)
  // Bits of FPCR: alternate handling, flush to zero (three kinds), rounding mode.
  static constexpr std::uint64_t kModes = 0x1 | 0x2 | 0x80000 | 0x1000000 | 0xc00000;
  static void set(std::uint64_t fpcr) { asm volatile("msr fpcr, %0" ::"r"(fpcr)); }
  std::uint64_t before_;
#elif defined(__arm__) && defined(__ARM_FP)
  // Bits of FPSCR: alternate half precision, default NaN, flush to zero (two kinds), rounding mode.
  static constexpr std::uint32_t kModes = 0x4000000 | 0x2000000 | 0x1000000 | 0x80000 | 0xc00000;
  static void set(std::uint32_t fpscr) { asm volatile("vmsr fpscr, %0" ::"r"(fpscr)); }
  std::uint32_t before_;
#elif defined(FE_TONEAREST)
  int before_;
#endif
};

}  // namespace limpid
