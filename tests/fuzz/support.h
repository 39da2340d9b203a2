// What targets share: bytes and text, files in memory, and promises about what was read.
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "limpid/core/tensor.h"
#include "tests/fuzz/target.h"

namespace limpid::fuzz {

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
inline Bytes bytes_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

// An invariant that does not hold is a finding, not an Error: nobody must take it for a refusal.
inline void require(bool holds, const char* promise) {
  if (!holds) throw std::logic_error(promise);
}

// Calls `code`; false where it throws Error.
bool goes_well(const std::function<void()>& code);

// Whether the tensor's bytes can all be read, and its bools are 0 or 1.
void touch(const Tensor& tensor);

// A file of these bytes without a place on a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const;

 private:
  int fd_;
};

// A folder that ends with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(std::string_view name, std::span<const std::byte> bytes) const;

 private:
  std::filesystem::path path_;
};

Bytes file_bytes(const std::filesystem::path& path);

// The bytes that `save` writes to the path that it is given.
Bytes saved(const std::function<void(const std::filesystem::path&)>& save);

// The files of a folder of tests/, by name, whose names end so.
std::vector<Bytes> fixtures(std::string_view folder, std::string_view ending);

}  // namespace limpid::fuzz
