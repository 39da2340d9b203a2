#include "tests/fuzz/support.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>

#include "limpid/core/error.h"
#include "tests/source_folder.h"

namespace limpid::fuzz {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Bytes file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return bytes_of(text);
}

bool goes_well(const std::function<void()>& code) {
  try {
    code();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void touch(const Tensor& tensor) {
  std::byte all{};
  for (const std::byte b : tensor.bytes()) all |= b;
  require(tensor.dtype() != Dtype::kBool || all <= std::byte{1}, "a bool is 0 or 1");
}

MemoryFile::MemoryFile(std::span<const std::byte> bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
  if (fd_ < 0) fail("memfd_create");
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0) fail("write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

MemoryFile::~MemoryFile() { ::close(fd_); }

fs::path MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

TemporaryFolder::TemporaryFolder() {
  // In memory where there is such a place: a disk takes milliseconds for every file.
  const fs::path memory = "/dev/shm";
  const fs::path above = fs::is_directory(memory) ? memory : fs::temp_directory_path();
  std::string pattern = (above / "limpid-fuzz-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail("mkdtemp");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() { fs::remove_all(path_); }

void TemporaryFolder::write(std::string_view name, std::span<const std::byte> bytes) const {
  std::ofstream(path_ / name, std::ios::binary) << text_of(bytes);
}

Bytes saved(const std::function<void(const fs::path&)>& save) {
  const TemporaryFolder folder;
  save(folder.path() / "file");
  return file_bytes(folder.path() / "file");
}

std::vector<Bytes> fixtures(std::string_view folder, std::string_view ending) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(testing::source_folder() / "tests" / folder))
    if (entry.path().filename().string().ends_with(ending)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> files;
  for (const fs::path& path : paths) files.push_back(file_bytes(path));
  return files;
}

std::span<const Target* const> all_targets() {
  static const Target* const targets[] = {
      &safetensors(), &model(),     &npy(),           &npz(),         &idx(),
      &gzip(),        &csv(),       &table(),         &function(),    &train_config(),
      &data_config(), &tokenizer(), &chat_template(), &huggingface(),
#ifdef LIMPID_FUZZ_PNG
      &png(),
#endif
#ifdef LIMPID_FUZZ_JPEG
      &jpeg(),
#endif
#ifdef LIMPID_FUZZ_ONNX
      &onnx_model(),
#endif
#ifdef LIMPID_FUZZ_SERVE
      &http(),
#endif
      &run_log()};
  return targets;
}

}  // namespace limpid::fuzz
