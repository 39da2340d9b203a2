// Shared by the tests of files: temporary folders, bytes from text, and expected errors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/error.h"
#include "tests/formats/archives.h"

namespace limpid::testing {

inline Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A folder that ends with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "limpid-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "cannot make " << pattern;
    path_ = pattern;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  // The names in the folder, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::filesystem::path path_;
};

// A folder of data that is not part of the project: below LIMPID_DATA, or in shared/data beside a
// folder above this one.
inline std::optional<std::filesystem::path> data_folder(std::string_view name) {
  namespace fs = std::filesystem;
  if (const char* data = std::getenv("LIMPID_DATA")) return fs::path(data) / name;
  for (fs::path up = fs::current_path(); up.has_relative_path(); up = up.parent_path())
    if (fs::exists(up / "shared/data" / name)) return up / "shared/data" / name;
  return {};
}

inline void write(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary) << text_of(bytes);
}

// Writes `bytes` into a file that is there, at an offset.
inline void overwrite(const std::filesystem::path& path, std::size_t offset,
                      std::span<const std::byte> bytes) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset)) << text_of(bytes);
}

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The message of the Error that `f` must throw: of one printable line, with this code.
template <class F>
std::string error_of(ErrorCode code, const F& f, int line = __builtin_LINE()) {
  const ::testing::ScopedTrace trace("the caller", line, "here");
  try {
    f();
  } catch (const Error& error) {
    std::string message = error.what();
    EXPECT_EQ(name(error.code()), name(code)) << message;
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char c) {
      return c >= 0x20 && c <= 0x7e;
    })) << message;
    return message;
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

// Expects an Error of this code whose message contains `part`.
template <class F>
void expect_error(ErrorCode code, std::string_view part, const F& f, int line = __builtin_LINE()) {
  const std::string message = error_of(code, f, line);
  EXPECT_NE(message.find(part), std::string::npos)
      << "called at line " << line << "\n  expected: " << part << "\n  message:  " << message;
}

}  // namespace limpid::testing
