// Whole files: read at once under a limit, written so that nobody ever sees half of one. Leans on
// core and POSIX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "limpid/core/tensor.h"

namespace limpid {

// The bytes of the file at `path` as u8 [size]: memory that is aligned as every tensor's is and
// that other tensors may borrow from. The file is read, not mapped: a mapping would end the process
// where somebody else cuts the file short later.
// Throws kIo where the path cannot be opened, is no regular file, is larger than `limit` bytes, or
// ends before its size.
Tensor read_file(const std::filesystem::path& path, std::uint64_t limit);

// The same without reading it: the bytes come from the disk where they are looked at, and stay
// shared with whoever else maps the file. For weights that are larger than what one would read; a
// file that somebody else cuts short while it is in use ends the process. Throws kIo.
Tensor map_file(const std::filesystem::path& path, std::uint64_t limit);

// Writes the concatenation of `parts` to `path`. A regular file, or a path where nothing is: into a
// temporary file of the same folder, onto the disk (fsync), under its name (rename), and the folder
// onto the disk. A file that is replaced hands on its mode, and its owner where the system allows
// it; symbolic links are followed. Pipes, character devices and this process's own standard output
// (/dev/stdout) are written to as they are. Throws kIo with the path and the system's reason; then
// a file is as it was and the temporary file is gone.
void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> parts);

// A file that grows at its end.
class AppendFile {
 public:
  // Opens the file at `path`, or makes it. Throws kIo.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Throws kIo; then a part of `bytes` may be there.
  void write(std::span<const std::byte> bytes);
  // Returns when what was written is on the disk (fsync). Throws kIo.
  void sync();

 private:
  std::filesystem::path path_;
  int descriptor_;
};

// Whether `path` is where this process's standard output goes (/dev/stdout, or the file that a
// shell opened for it), so that what is written to it should stand there alone.
bool is_standard_output(const std::filesystem::path& path);

}  // namespace limpid
