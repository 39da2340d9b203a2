// The Highway targets of the kernels, and the dispatch to the code of a target. Include it before
// any header of Highway. SSE4 and older have no fused multiply-add, so HWY_SCALAR, the exact path,
// replaces them (docs/arithmetic.md, "Instruction sets").
#pragma once

// All other targets, also those that later versions of Highway add.
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_NEON | HWY_WASM | HWY_SCALAR))
// Always builds the exact path, even if the compiler flags make it unnecessary.
#define HWY_COMPILE_ALL_ATTAINABLE
// HWY_SCALAR instead of HWY_EMU128, which triggers a bug of GCC before 12.3 and has no fused
// multiply-add either.
#define HWY_BROKEN_EMU128 1
// Highway's debug checks need its library, which is not linked; CMakeLists.txt gives the reason.
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
#elif HWY_TARGETS & HWY_WASM
#define LIMPID_CASE_NEON(call) \
  case Isa::kNeon:             \
    return N_WASM::call;
#else
#define LIMPID_CASE_NEON(call)
#endif

// Returns `call`, evaluated in the namespace of `isa`.
#define LIMPID_RETURN_FOR_ISA(isa, call) \
  switch (isa) {                         \
    LIMPID_CASE_AVX512(call)             \
    LIMPID_CASE_AVX2(call)               \
    LIMPID_CASE_NEON(call)               \
    default:                             \
      return N_SCALAR::call;             \
  }
