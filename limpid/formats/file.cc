#include "limpid/formats/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/stop_check.h"
#include "limpid/core/system_error.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;

// One system call moves at most this much: Linux stops at 2 GiB, others before, and Ctrl-C waits
// for its end.
constexpr std::size_t kChunk = std::size_t{1} << 24;

// What the names of temporary files begin and end with; between them are the host, the number of
// the process on it, and one more number.
constexpr std::string_view kTemporary = ".limpid-", kTemporaryEnd = ".tmp";

// Tells the hosts that share a folder apart: 8 hexadecimal digits.
std::string this_host() {
  char name[256] = {};
  (void)::gethostname(name, sizeof name - 1);
  const std::string_view text(name);
  return fmt::format("{:08x}", static_cast<std::uint32_t>(hash(std::as_bytes(std::span(text)))));
}

std::string message_of(std::string_view verb, const fs::path& path, std::string_view reason) {
  return fmt::format("{} {}: {}", verb, in_quotes(path.string()), reason);
}

[[noreturn]] void fail(std::string_view verb, const fs::path& path, std::string_view reason,
                       ErrorCode code = ErrorCode::kIo) {
  throw Error(code, message_of(verb, path, reason));
}

[[noreturn]] void fail_with_errno(std::string_view verb, const fs::path& path) {
  const int reason = errno;
  throw SystemError(reason, message_of(verb, path, std::generic_category().message(reason)));
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
  if (S_ISDIR(status.st_mode))
    throw SystemError(EISDIR, message_of("read", path, "is a directory"));
  if (!S_ISREG(status.st_mode)) fail("read", path, "is not a regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > limit)
    fail("read", path, fmt::format("has {} bytes, the limit is {}", size, limit),
         ErrorCode::kUnsupported);
  return size;
}

void read_exactly(const Descriptor& file, const fs::path& path, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    throw_if_stopped();
    const ssize_t n = ::read(file.get(), out.data() + done, std::min(out.size() - done, kChunk));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_errno("read", path);
    if (n == 0) fail("read", path, fmt::format("ended after {} of its {} bytes", done, out.size()));
    done += static_cast<std::size_t>(n);
  }
}

void write_all(int file, const fs::path& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    throw_if_stopped();
    const ssize_t n = ::write(file, bytes.data(), std::min(bytes.size(), kChunk));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with_errno("write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

// A name that no other thread takes, short whatever the final name is. Another process may: in a
// container all have the same number, and one that was killed leaves its file.
fs::path temporary_name(const fs::path& path) {
  static std::atomic<std::uint64_t> counter{0};
  return path.parent_path() /
         fmt::format("{}{}-{}-{}{}", kTemporary, this_host(), ::getpid(), counter++, kTemporaryEnd);
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

// Nothing where there is no such file, or a link to none.
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno != ENOENT) fail_with_errno("write", path);
  return std::nullopt;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// What takes bytes one after the other: this process's own standard output or error, whatever they
// are (/dev/stdout), a pipe or a character device. No descriptor (-1) for anything else.
Descriptor open_stream(const fs::path& path, const std::optional<struct stat>& found) {
  if (!found) return Descriptor(-1);
  for (std::FILE* const standard : {stdout, stderr}) {
    struct stat status {};
    if (::fstat(::fileno(standard), &status) != 0 || !same_file(status, *found)) continue;
    if (std::fflush(standard) != 0) fail_with_errno("write", path);
    const int fd = ::fcntl(::fileno(standard), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) fail_with_errno("write", path);
    return Descriptor(fd);
  }
  if (!S_ISFIFO(found->st_mode) && !S_ISCHR(found->st_mode)) return Descriptor(-1);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) fail_with_errno("write", path);
  return Descriptor(fd);
}

// Where the links at `path`, if any, lead to; there may be no file yet.
fs::path follow_links(fs::path path) {
  constexpr int kMostLinks = 40;  // Linux's own limit
  for (int links = 0; links <= kMostLinks; ++links) {
    std::error_code no_link;
    const fs::path target = fs::read_symlink(path, no_link);
    if (no_link) return path;
    path = path.parent_path() / target;
  }
  errno = ELOOP;
  fail_with_errno("write", path);
}

// So that the new name outlives a power failure. A folder that cannot be opened or synchronised (a
// file system without it) is left to the system.
void sync_folder(const fs::path& folder) {
  const Descriptor open(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (open.get() >= 0) (void)::fsync(open.get());
}

void replace_file(const fs::path& path, const std::optional<struct stat>& old,
                  std::span<const std::span<const std::byte>> parts) {
  const fs::path target = follow_links(path);
  fs::path name;
  int fd = -1;
  do {
    name = temporary_name(target);
    fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? 0600 : 0666);
  } while (fd < 0 && errno == EEXIST);
  if (fd < 0) fail_with_errno("write", path);
  const Descriptor file(fd);
  Temporary temporary(name);
  for (const std::span<const std::byte> part : parts) write_all(file.get(), path, part);
  if (old) {
    // Only the superuser may give files away; others keep what they can.
    if (::fchown(file.get(), old->st_uid, old->st_gid) != 0)
      (void)!::fchown(file.get(), static_cast<uid_t>(-1), old->st_gid);
    if (::fchmod(file.get(), old->st_mode & 07777) != 0) fail_with_errno("write", path);
  }
  if (::fsync(file.get()) != 0) fail_with_errno("write", path);
  temporary.rename_to(target);
  sync_folder(target.parent_path());
}

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
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNoMemory) throw;
    fail("read", path, fmt::format("cannot allocate memory for its {} bytes", size),
         ErrorCode::kNoMemory);
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
  return Tensor::borrow(type, {static_cast<const std::byte*>(start), size}, owner);
}

Tensor read_or_map_file(const fs::path& path, std::uint64_t limit) {
  constexpr std::uintmax_t kMapped = std::uintmax_t{64} << 20;
  std::error_code error;  // of a file that cannot be read, either
  const std::uintmax_t size = fs::file_size(path, error);
  return !error && size >= kMapped ? map_file(path, limit) : read_file(path, limit);
}

bool is_left_behind(const fs::path& file) {
  constexpr std::size_t kHost = 8;
  constexpr std::chrono::hours kLongestWrite{24};
  const std::string whole = file.filename().string();
  std::string_view name = whole;
  if (!name.starts_with(kTemporary) || !name.ends_with(kTemporaryEnd)) return false;
  name.remove_prefix(kTemporary.size());
  // Versions before 0.3 wrote no host.
  if (name.find('-') == kHost && name.find('-', kHost + 1) != std::string_view::npos) {
    if (!name.starts_with(this_host())) {
      // Whether a process runs on another host is not known here.
      std::error_code error;
      const auto written = fs::last_write_time(file, error);
      return !error && fs::file_time_type::clock::now() - written > kLongestWrite;
    }
    name.remove_prefix(kHost + 1);
  }
  pid_t process = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
  if (error != std::errc{} || *end != '-' || process <= 0 || process == ::getpid()) return true;
  return ::kill(process, 0) != 0 && errno != EPERM;
}

AppendFile::AppendFile(fs::path path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail_with_errno("write", path_);
}

AppendFile::~AppendFile() { ::close(descriptor_); }

// What follows a line that is cut would be unreadable.
void AppendFile::write(std::span<const std::byte> bytes) {
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  try {
    write_all(descriptor_, path_, bytes);
  } catch (...) {
    if (before >= 0) (void)!::ftruncate(descriptor_, before);
    throw;
  }
}

void AppendFile::sync() {
  if (::fsync(descriptor_) != 0) fail_with_errno("write", path_);
}

bool is_standard_output(const fs::path& path) {
  struct stat output {
  }, named{};
  return ::fstat(STDOUT_FILENO, &output) == 0 && ::stat(path.c_str(), &named) == 0 &&
         same_file(output, named);
}

void write_file_atomically(const fs::path& path,
                           std::span<const std::span<const std::byte>> parts) {
  const std::optional<struct stat> old = status_of(path);
  if (old && S_ISDIR(old->st_mode)) fail("write", path, "is a directory");
  if (const Descriptor open = open_stream(path, old); open.get() >= 0) {
    for (const std::span<const std::byte> part : parts) write_all(open.get(), path, part);
  } else if (old && !S_ISREG(old->st_mode)) {
    fail("write", path, "is neither a file, a pipe nor a character device");
  } else {
    replace_file(path, old, parts);
  }
}

}  // namespace limpid
