// IDX, the format of MNIST's files: an array of numbers after a short big-endian header, plain or
// gzipped. Depends on core, file.h and zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "limpid/core/tensor.h"

namespace limpid {

// The maximum size of an array in bytes.
inline constexpr std::uint64_t kMaxIdxBytes = std::uint64_t{4} << 30;

// Reads an IDX file: u8 (type 0x08), i8 (0x09), i32 (0x0C), f32 (0x0D) or f64 (0x0E), of rank 1 to
// Shape::kMaxRank. Gzip is recognised by its first two bytes, not by the file name.
//
// Strict: the bytes after the header must be exactly the array; there must be no bytes after a gzip
// stream, and its checksum must match. Each size is checked before memory is allocated. Errors name
// the file, what was expected and what was found. Throws kIo if the file cannot be read; kFormat if
// it violates the format; kUnsupported for another element type, for a rank or size beyond the
// limits, and for a suspected decompression bomb: over 64 MiB, compressed to less than a hundredth.
Tensor load_idx(const std::filesystem::path& path);

// The same, but maps a large file (see read_or_map_file) and, if its elements are bytes, borrows
// them.
Tensor map_idx(const std::filesystem::path& path);

// The same from memory. `where` names the source in errors.
Tensor parse_idx(std::span<const std::byte> bytes, std::string_view where);

}  // namespace limpid
