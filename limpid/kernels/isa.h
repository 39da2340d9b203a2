// The instruction sets that the kernels are built for, and which of them this process may use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace limpid::kernels {

// kExact is portable code whose every fused step is std::fma: slow, and the same bits.
enum class Isa : std::uint8_t { kAvx512, kAvx2, kNeon, kExact };

// "avx512", "avx2", "neon", "exact".
std::string_view name(Isa isa);
std::optional<Isa> isa_from_name(std::string_view name);

// Those that are built in and that this CPU runs, the fastest first; kExact is always the last.
std::span<const Isa> available_isas();

// The first of available_isas(), or the one that the environment variable LIMPID_ISA names. Throws
// kInvalidArgument where LIMPID_ISA names one that is unknown or not available here.
Isa default_isa();

}  // namespace limpid::kernels
