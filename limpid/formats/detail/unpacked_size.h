// Checks a claimed uncompressed size before memory is allocated. Depends on report.h; included only
// by sources.
#pragma once

#include <cstdint>

#include "limpid/formats/detail/report.h"

namespace limpid::detail {

// The maximum compression ratio of deflate: it packs at most 258 bytes into two bits.
inline constexpr std::uint64_t kMostDeflated = 1032;

// Whether this size may be allocated without a check. Otherwise the stream is first decompressed
// without storing it, to verify its size.
inline bool is_modest(std::uint64_t packed, std::uint64_t unpacked) {
  constexpr std::uint64_t kModest = std::uint64_t{48} << 20;
  return unpacked <= kModest || unpacked - kModest <= packed;
}

// Throws for a suspected decompression bomb: large, and with a higher compression ratio than real
// data.
inline void refuse_bomb(std::uint64_t packed, std::uint64_t unpacked, const Reporter& report) {
  constexpr std::uint64_t kSmall = std::uint64_t{64} << 20;
  constexpr std::uint64_t kMostRatio = 100;
  if (unpacked > kSmall && unpacked / kMostRatio > packed)
    report.unsupported(
        "{} compressed bytes declare {}, more than {} times as many: decompression bomb refused",
        packed, unpacked, kMostRatio);
}

}  // namespace limpid::detail
