// The instruction sets that the kernels are built for, and which of them this process may use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace limpid::kernels {

// kExact is portable code that uses std::fma: slow, but with the same bits.
enum class Isa : std::uint8_t { kAvx512, kAvx2, kNeon, kExact };

// "avx512", "avx2", "neon", "exact".
std::string_view name(Isa isa);
std::optional<Isa> isa_from_name(std::string_view name);

// The instruction sets that are built in and that this CPU supports, fastest first; kExact is
// always last.
std::span<const Isa> available_isas();

// The first of available_isas(), or the one named by the environment variable LIMPID_ISA. Throws
// kInvalidArgument if that one is unknown or not available.
Isa default_isa();

}  // namespace limpid::kernels
