// NumPy's files: .npy, one array behind a short header, and .npz, a ZIP archive of them. Leans on
// core, file.h and zlib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "limpid/core/params.h"

namespace limpid {

// The most bytes that an array, and all arrays of an archive together, may have.
inline constexpr std::uint64_t kMaxNpyBytes = std::uint64_t{4} << 30;
// The most arrays that an archive may have.
inline constexpr std::size_t kMaxNpzCount = 16'384;

// Reads a file of version 1, 2 or 3 of the format: f32, f64, f16, i32, i64, i8, u8 or bool of
// either byte order and any rank to Shape::kMaxRank, in C or Fortran order; the tensor is
// row-major. It borrows the file's bytes in memory where these are in its order and aligned, and is
// a copy otherwise.
//
// Strict: the bytes after the header are exactly the array's; a bool is 0 or 1. Errors name the
// file, what was expected and what came. Throws kIo where the file cannot be read, kFormat where it
// breaks the format, kUnsupported for another element type (objects and records among them) or what
// is beyond the limits.
Tensor load_npy(const std::filesystem::path& path);

// The same from memory. `where` names the source in errors.
Tensor parse_npy(std::span<const std::byte> bytes, std::string_view where);

// The bytes of a file, those that NumPy 1.24 writes for the same array: version 1, C order. Throws
// kUnsupported for bf16, which NumPy does not have.
std::vector<std::byte> serialize_npy(const Tensor& tensor);

// Writes those bytes to a file, atomically (see write_file_atomically, also for kIo).
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

// Reads an archive as numpy.savez and numpy.savez_compressed write it: entries that are stored or
// deflated, ZIP64 too, each an array NAME.npy; they come under their names in the order of the
// archive's directory. What is unpacked is bounded by the directory, and the directory by what so
// few packed bytes can hold; checksums must hold, entries may not overlap, no name comes twice.
// Throws what load_npy throws, kUnsupported for encrypted entries, other compressions, more than
// kMaxNpzCount arrays, or more than 64 MiB that take less than a hundredth of them in the file.
Params load_npz(const std::filesystem::path& path);

// The same from memory. `where` names the source in errors.
Params parse_npz(std::span<const std::byte> bytes, std::string_view where);

// The bytes of an archive of these arrays, each an entry NAME.npy, stored as numpy.savez does it:
// weights hardly shrink, and what is stored can be mapped. The same arrays make the same bytes: the
// entries bear the first day that the format has. Throws kUnsupported for bf16, which NumPy does
// not have, and beyond 4 GiB; kInvalidArgument for an empty name or one that is not UTF-8.
std::vector<std::byte> serialize_npz(const Params& arrays);

// Writes those bytes to a file, atomically (see write_file_atomically, also for kIo).
void save_npz(const std::filesystem::path& path, const Params& arrays);

}  // namespace limpid
