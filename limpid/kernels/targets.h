// Which of Highway's targets the kernels are built for, and how a family of kernels reaches the
// code of one of them. Included before any header of Highway. SSE4 and older have no fused
// multiply-add, so their place is taken by HWY_SCALAR, the exact path (docs/arithmetic.md,
// "Instruction sets").
#pragma once

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// The exact path is always built, also where the compiler's flags make it superfluous.
#define HWY_COMPILE_ALL_ATTAINABLE
// One lane a time: HWY_EMU128 meets a bug of GCC before 12.3 and has no fused multiply-add either.
#define HWY_BROKEN_EMU128 1
// Highway's own checks end in its library, which is not linked: CMakeLists.txt says why.
#define HWY_IS_DEBUG_BUILD 0

#include "hwy/detect_targets.h"

#if HWY_TARGETS & HWY_AVX3
#define LIMPID_CASE_AVX512(call) \
  case Isa::kAvx512:             \
    return N_AVX3::call;
#else
#define LIMPID_CASE_AVX512(call)
#endif
#if HWY_TARGETS & HWY_AVX2
#define LIMPID_CASE_AVX2(call) \
  case Isa::kAvx2:             \
    return N_AVX2::call;
#else
#define LIMPID_CASE_AVX2(call)
#endif
#if HWY_TARGETS & HWY_NEON
#define LIMPID_CASE_NEON(call) \
  case Isa::kNeon:             \
    return N_NEON::call;
#else
#define LIMPID_CASE_NEON(call)
#endif

// Returns from a function with `call`, evaluated in the namespace of `isa`.
#define LIMPID_RETURN_FOR_ISA(isa, call) \
  switch (isa) {                         \
    LIMPID_CASE_AVX512(call)             \
    LIMPID_CASE_AVX2(call)               \
    LIMPID_CASE_NEON(call)               \
    default:                             \
      return N_SCALAR::call;             \
  }
