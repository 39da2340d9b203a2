// IDX, the format of MNIST's files: one array of numbers behind a short big-endian header, plain or
// gzipped. Leans on core, file.h and zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "limpid/core/tensor.h"

namespace limpid {

// The most bytes that an array may have.
inline constexpr std::uint64_t kMaxIdxBytes = std::uint64_t{4} << 30;

// Reads an IDX file: u8 (type 0x08), i8 (0x09), i32 (0x0C), f32 (0x0D) or f64 (0x0E), of rank 1 to
// Shape::kMaxRank. Gzip is told by its first two bytes, not by the file's name.
//
// Strict: the bytes after the header are exactly the array's, and those after a gzip stream none;
// its checksum must hold. What a gzip stream unpacks to is bounded by the header in it, and the
// header by what so few packed bytes could ever unpack to. Errors name the file, what was expected
// and what came. Throws kIo where the file cannot be read, kFormat where it breaks the format,
// kUnsupported for another element type, a rank or a size beyond the limits, or more than 64 MiB
// that take less than a hundredth of them in the file.
Tensor load_idx(const std::filesystem::path& path);

// The same from memory. `where` names the source in errors.
Tensor parse_idx(std::span<const std::byte> bytes, std::string_view where);

}  // namespace limpid
