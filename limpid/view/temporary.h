// The bytes of a request as a temporary file, for readers that take a path. Depends on
// formats/file.h.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "limpid/core/error.h"
#include "limpid/formats/file.h"

namespace limpid::view {

// A private temporary file, removed by the destructor. Mappings of it stay valid.
class TemporaryFile {
 public:
  TemporaryFile(std::span<const std::byte> bytes, std::string_view ending) {
    std::string pattern = (std::filesystem::temp_directory_path() / "limpid-view-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw Error(ErrorCode::kIo, "cannot create a temporary folder");
    folder_ = pattern;
    try {
      write_file_atomically(path(ending), {&bytes, 1});
    } catch (...) {
      remove();
      throw;
    }
    path_ = path(ending);
  }
  ~TemporaryFile() { remove(); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path(std::string_view ending) const {
    return folder_ / ("file" + std::string(ending));
  }
  void remove() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path folder_, path_;
};

// Replaces the path of the temporary file in error messages by the name of the uploaded file.
template <class Read>
auto named_as(std::string_view name, const std::filesystem::path& path, const Read& read) {
  try {
    return read();
  } catch (const Error& e) {
    std::string message = e.what();
    for (std::size_t at; (at = message.find(path.string())) != std::string::npos;)
      message.replace(at, path.string().size(), name);
    throw Error(e.code(), message);
  }
}

}  // namespace limpid::view
