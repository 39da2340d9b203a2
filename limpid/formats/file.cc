#include "limpid/formats/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <new>
#include <string>
#include <system_error>

#include "limpid/core/error.h"
#include "limpid/formats/in_quotes.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;

// One system call moves at most this much: Linux stops at 2 GiB, others before.
constexpr std::size_t kChunk = std::size_t{1} << 30;

[[noreturn]] void fail(std::string_view verb, const fs::path& path, std::string_view reason) {
  throw Error(ErrorCode::kIo, fmt::format("{} {}: {}", verb, in_quotes(path.string()), reason));
}

[[noreturn]] void fail_with_errno(std::string_view verb, const fs::path& path) {
  fail(verb, path, std::generic_category().message(errno));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;
};

std::size_t checked_size(const Descriptor& file, const fs::path& path, std::uint64_t limit) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_with_errno("read", path);
  if (S_ISDIR(status.st_mode)) fail("read", path, "is a directory");
  if (!S_ISREG(status.st_mode)) fail("read", path, "is not a regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > limit) fail("read", path, fmt::format("has {} bytes, the limit is {}", size, limit));
  return size;
}

void read_exactly(const Descriptor& file, const fs::path& path, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::read(file.get(), out.data() + done, std::min(out.size() - done, kChunk));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_errno("read", path);
    if (n == 0) fail("read", path, fmt::format("ended after {} of its {} bytes", done, out.size()));
    done += static_cast<std::size_t>(n);
  }
}

void write_all(const Descriptor& file, const fs::path& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), std::min(bytes.size(), kChunk));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_errno("write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

// A name that no other thread or process takes, short whatever the final name is.
fs::path temporary_name(const fs::path& path) {
  static std::atomic<std::uint64_t> counter{0};
  return path.parent_path() / fmt::format(".limpid-{}-{}.tmp", ::getpid(), counter++);
}

// Removes the file unless it was moved to its final name.
class Temporary {
 public:
  explicit Temporary(fs::path path) : path_(std::move(path)) {}
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void rename_to(const fs::path& path) {
    if (::rename(path_.c_str(), path.c_str()) != 0) fail_with_errno("write", path);
    path_.clear();
  }

 private:
  fs::path path_;
};

Descriptor open_to_read(const fs::path& path) {
  // Not blocking: opening a pipe that nobody writes to would wait for ever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail_with_errno("open", path);
  return Descriptor(fd);
}

}  // namespace

Tensor read_file(const fs::path& path, std::uint64_t limit) {
  const Descriptor file = open_to_read(path);
  const std::size_t size = checked_size(file, path, limit);
  try {
    return Tensor::generate<std::uint8_t>(Shape{static_cast<std::int64_t>(size)},
                                          [&](std::span<std::uint8_t> out) {
                                            read_exactly(file, path, std::as_writable_bytes(out));
                                          });
  } catch (const std::bad_alloc&) {
    fail("read", path, fmt::format("no memory for its {} bytes", size));
  }
}

Tensor map_file(const fs::path& path, std::uint64_t limit) {
  const Descriptor file = open_to_read(path);
  const std::size_t size = checked_size(file, path, limit);
  const Type type{Dtype::kU8, Shape{static_cast<std::int64_t>(size)}};
  if (size == 0) return Tensor::zeros(type);  // nothing cannot be mapped
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) fail_with_errno("map", path);
  const std::shared_ptr<const void> owner(start, [size](void* p) { ::munmap(p, size); });
  return Tensor::borrow(type, static_cast<const std::byte*>(start), owner);
}

void write_file_atomically(const fs::path& path,
                           std::span<const std::span<const std::byte>> parts) {
  const fs::path name = temporary_name(path);
  const Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) fail_with_errno("write", path);
  Temporary temporary(name);
  for (const std::span<const std::byte> part : parts) write_all(file, path, part);
  if (::fsync(file.get()) != 0) fail_with_errno("write", path);
  temporary.rename_to(path);
}

}  // namespace limpid
