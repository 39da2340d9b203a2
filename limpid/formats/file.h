// Whole files: read under a size limit, written atomically. Depends on core and POSIX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "limpid/core/tensor.h"

namespace limpid {

// Reads the file at `path` as u8 [size], in memory aligned like every tensor, from which other
// tensors may borrow. The file is read, not mapped: with a mapping, truncating the file later would
// kill the process. Throws kIo if the path cannot be opened, is not a regular file or ends before
// its size, kUnsupported if it is larger than `limit` bytes.
Tensor read_file(const std::filesystem::path& path, std::uint64_t limit);

// The same by mapping the file: pages are loaded on access and shared with other processes. For
// large weight files. If the file is truncated while in use, the process is killed. Throws as
// read_file does.
Tensor map_file(const std::filesystem::path& path, std::uint64_t limit);

// Maps a file of 64 MiB or more, of whose size a process may not have the memory, and reads a
// smaller one. For data sets. Throws what the two throw.
Tensor read_or_map_file(const std::filesystem::path& path, std::uint64_t limit);

// Writes the concatenation of `parts` to `path`. A regular or new file is written atomically: to a
// temporary file in the same folder, fsync, rename, and fsync of the folder. A replaced file passes
// on its mode, and its owner if the system allows it; symbolic links are followed. Pipes, character
// devices and this process's standard output (/dev/stdout) are written directly. Throws kIo with
// the path and the system's reason; then an existing file is unchanged and the temporary file is
// removed.
void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> parts);

// Whether this is a temporary file of write_file_atomically, by its name, that nobody writes any
// more: of a process that has ended, or of an earlier one with this process's number; of another
// host that shares the folder, one that was not written to for a day.
bool is_left_behind(const std::filesystem::path& file);

// A file to append to.
class AppendFile {
 public:
  // Opens or creates the file at `path`. Throws kIo.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Appends bytes. Throws kIo; then the file is as long as before, if the system allows it.
  void write(std::span<const std::byte> bytes);
  // Returns when everything written is on the disk (fsync). Throws kIo.
  void sync();

 private:
  std::filesystem::path path_;
  int descriptor_;
};

// Whether `path` is this process's standard output (/dev/stdout, or the file that a shell redirects
// it to). Then nothing else should be printed there.
bool is_standard_output(const std::filesystem::path& path);

}  // namespace limpid
