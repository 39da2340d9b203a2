// What an announcement of unpacked bytes is held against before memory is asked for. Leans on
// report.h; included by sources alone.
#pragma once

#include <cstdint>

#include "limpid/formats/detail/report.h"

namespace limpid::detail {

// Deflate packs at most 258 bytes into two bits.
inline constexpr std::uint64_t kMostDeflated = 1032;

// Whether so many bytes may be asked for on the word of the file alone. Where not, the stream is
// unpacked once into nothing, to see whether it holds them.
inline bool is_modest(std::uint64_t packed, std::uint64_t unpacked) {
  constexpr std::uint64_t kModest = std::uint64_t{48} << 20;
  return unpacked <= kModest || unpacked - kModest <= packed;
}

// Throws for a bomb: much, packed more tightly than data that anybody measured or learnt.
inline void refuse_bomb(std::uint64_t packed, std::uint64_t unpacked, const Reporter& report) {
  constexpr std::uint64_t kSmall = std::uint64_t{64} << 20;
  constexpr std::uint64_t kMostRatio = 100;
  if (unpacked > kSmall && unpacked / kMostRatio > packed)
    report.unsupported("{} packed bytes announce {}, more than {} times as many: a bomb is refused",
                       packed, unpacked, kMostRatio);
}

}  // namespace limpid::detail
