// The safetensors format: named tensors in a file. Depends on core and file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limpid/core/params.h"

namespace limpid {

// The contents of a file. Tensors and metadata are in the order of the file's header.
struct Safetensors {
  Params tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Limits: the size of the header in bytes, as in the reference implementation, and the number of
// tensors and of metadata keys.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr std::size_t kMaxSafetensorsCount = 16'384;

// Reads a file of at most `limit` bytes. A tensor borrows the bytes of the file if they are aligned
// for its dtype, as in every file that save_safetensors wrote; otherwise it is a copy.
//
// Strict: every byte belongs to the header or to exactly one tensor; keys are distinct at every
// level; there are no unknown fields; a bool is 0 or 1. Errors name the file, the tensor, what was
// expected and what was found. Throws kIo if the file cannot be read, kFormat if it violates the
// format, kUnsupported for a larger file, an unsupported dtype or rank, or too many tensors or
// keys.
Safetensors load_safetensors(const std::filesystem::path& path,
                             std::uint64_t limit = std::uint64_t{64} << 30);

// The same, but maps the file (see map_file).
Safetensors map_safetensors(const std::filesystem::path& path,
                            std::uint64_t limit = std::uint64_t{64} << 30);

// The same from memory; every tensor is a copy. `where` names the source in errors.
Safetensors parse_safetensors(std::span<const std::byte> bytes, std::string_view where);

// The bytes of a file; the same content gives the same bytes. The header lists the metadata, if
// any, then the tensors in order, and is padded with spaces to a multiple of 8 bytes. The data is
// sorted by decreasing element size, otherwise in order, so that every tensor is aligned for its
// dtype. Throws kInvalidArgument for a tensor name that is empty or `__metadata__`, a repeated
// metadata key, text that is not UTF-8, or beyond the limits above.
std::vector<std::byte> serialize_safetensors(const Safetensors& content);

// Writes those bytes to a file, atomically (see write_file_atomically, also for kIo).
void save_safetensors(const std::filesystem::path& path, const Safetensors& content);

}  // namespace limpid
