// NumPy's files: .npy, an array after a short header, and .npz, a ZIP archive of such files.
// Depends on core, file.h and zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "limpid/core/params.h"

namespace limpid {

// The maximum size in bytes of an array, and of all arrays of an archive together.
inline constexpr std::uint64_t kMaxNpyBytes = std::uint64_t{4} << 30;
// The maximum number of arrays in an archive.
inline constexpr std::size_t kMaxNpzCount = 16'384;

// Reads a file of version 1, 2 or 3 of the format: f32, f64, f16, i32, i64, i8, u8 or bool of
// either byte order and any rank to Shape::kMaxRank, in C or Fortran order; the tensor is
// row-major. It borrows the bytes of the file if they are aligned and in this order; otherwise it
// is a copy.
//
// Strict: the bytes after the header must be exactly the array; a bool must be 0 or 1. Errors name
// the file, what was expected and what was found. Throws kIo if the file cannot be read, kFormat if
// it violates the format, kUnsupported for another element type (such as objects and records) and
// beyond the limits.
Tensor load_npy(const std::filesystem::path& path);

// The same, but maps a large file (see read_or_map_file).
Tensor map_npy(const std::filesystem::path& path);

// The same from memory. `where` names the source in errors.
Tensor parse_npy(std::span<const std::byte> bytes, std::string_view where);

// The bytes of a file, identical to those of NumPy 1.24: version 1, C order. Throws kUnsupported
// for bf16, which NumPy lacks.
std::vector<std::byte> serialize_npy(const Tensor& tensor);

// Writes those bytes to a file, atomically (see write_file_atomically, also for kIo).
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

// Reads an archive of numpy.savez or numpy.savez_compressed: stored or deflated entries NAME.npy,
// also ZIP64. The arrays are in the order of the archive's directory. Each size is checked before
// memory is allocated; checksums must match, entries must not overlap, names must be distinct.
// Throws what load_npy throws; kUnsupported for encrypted entries, other compression methods, more
// than kMaxNpzCount arrays, and a suspected decompression bomb: over 64 MiB, compressed to less
// than a hundredth.
Params load_npz(const std::filesystem::path& path);

// The same from memory. `where` names the source in errors.
Params parse_npz(std::span<const std::byte> bytes, std::string_view where);

// The bytes of an archive of these arrays, each an uncompressed entry NAME.npy, as numpy.savez
// writes it: weights hardly compress, and uncompressed entries can be mapped. The same arrays give
// the same bytes, as the entries have a fixed date. Throws kUnsupported for bf16, which NumPy
// lacks, and beyond 4 GiB; kInvalidArgument for a name that is empty or not UTF-8.
std::vector<std::byte> serialize_npz(const Params& arrays);

// Writes those bytes to a file, atomically (see write_file_atomically, also for kIo).
void save_npz(const std::filesystem::path& path, const Params& arrays);

}  // namespace limpid
