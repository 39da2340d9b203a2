#include "apps/limpid/run_folder.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <system_error>

#include "limpid/core/error.h"
#include "limpid/formats/file.h"
#include "limpid/formats/in_quotes.h"

namespace limpid::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostText = std::uint64_t{1} << 28;

[[noreturn]] void fail(const fs::path& path, const std::string& reason) {
  throw Error(ErrorCode::kIo, fmt::format("write {}: {}", in_quotes(path.string()), reason));
}

void write_text(const fs::path& path, std::string_view text) {
  const std::array<std::span<const std::byte>, 1> parts{std::as_bytes(std::span(text))};
  write_file_atomically(path, parts);
}

}  // namespace

bool RunFolder::has_checkpoint() const {
  std::error_code ignored;
  return fs::exists(checkpoint(), ignored);
}

void RunFolder::begin(std::string_view config_json) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) fail(path_, error.message());
  for (const fs::path& old : {checkpoint(), model(), log(), report()}) {
    fs::remove(old, error);
    if (error) fail(old, error.message());
  }
  tidy();
  write_text(config(), config_json);
}

// Named as write_file_atomically names them.
void RunFolder::tidy() const {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".limpid-") && name.ends_with(".tmp")) fs::remove(entry.path(), ignored);
  }
}

std::string read_text(const fs::path& path) {
  const Tensor bytes = read_file(path, kMostText);
  const auto values = bytes.values<std::uint8_t>();
  return {reinterpret_cast<const char*>(values.data()), values.size()};
}

LogFile::LogFile(const fs::path& path, std::string_view text) : path_(path) {
  write_text(path, text);
  errno = 0;
  file_.open(path, std::ios::binary | std::ios::app);
  if (!file_) fail(path, std::strerror(errno));
}

void LogFile::write(std::string_view line) {
  errno = 0;
  file_ << line << std::flush;
  if (!file_) fail(path_, std::strerror(errno));
}

}  // namespace limpid::tool
