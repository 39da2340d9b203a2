// A float mode that a host program may have set.
#pragma once

#include <cstdint>

namespace limpid::testing {

// From here on the calling thread takes subnormal numbers as 0, as operands and as results.
inline void flush_subnormals() {
#if defined(__x86_64__)
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
  std::uint64_t fpcr = 0;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  asm volatile("msr fpcr, %0" ::"r"(fpcr | 0x1000000));
#endif
}

}  // namespace limpid::testing
