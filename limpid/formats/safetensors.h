// Named tensors in a file: the safetensors format, as PyTorch's users exchange weights. Leans on
// core and on file.h.
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

// What one file holds. Tensors and metadata keep the order of the file's header.
struct Safetensors {
  Params tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// The limit of the format's reference for the header, in bytes, and ours for the number of tensors
// and that of keys of metadata.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr std::size_t kMaxSafetensorsCount = 16'384;

// Reads a file of at most `limit` bytes. The tensors borrow the file's bytes in memory where these
// are aligned for their dtype, which they are in every file that save_safetensors wrote, and are
// copies otherwise.
//
// Strict: every byte of the file belongs to the header or to exactly one tensor; no key comes twice
// at any level; no field is unknown; a bool is 0 or 1. Errors name the file, the tensor, what was
// expected and what came. Throws kIo where the file cannot be read, kFormat where it breaks the
// format, kUnsupported for a dtype, a rank or a number of tensors or keys beyond this library.
Safetensors load_safetensors(const std::filesystem::path& path,
                             std::uint64_t limit = std::uint64_t{64} << 30);

// The same from a file that is mapped, not read (see map_file).
Safetensors map_safetensors(const std::filesystem::path& path,
                            std::uint64_t limit = std::uint64_t{64} << 30);

// The same from memory; every tensor is a copy. `where` names the source in errors.
Safetensors parse_safetensors(std::span<const std::byte> bytes, std::string_view where);

// The bytes of a file, a function of the argument alone. The header lists the metadata first, where
// there is any, and then the tensors in their order, and is padded with spaces to a multiple of 8
// bytes. The data lies in order of falling element size, tensors of one size in their order, so
// that every tensor is aligned for its dtype. Throws kInvalidArgument for a tensor's name that is
// empty or `__metadata__`, a key of the metadata that comes twice, text that is not UTF-8, or more
// than the limits above.
std::vector<std::byte> serialize_safetensors(const Safetensors& content);

// Writes those bytes to a file, atomically (see write_file_atomically, also for kIo).
void save_safetensors(const std::filesystem::path& path, const Safetensors& content);

}  // namespace limpid
