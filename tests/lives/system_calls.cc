#include "tests/lives/system_calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <optional>

namespace limpid::lives {
namespace {

namespace fs = std::filesystem;

std::atomic<SystemCalls*> watched{nullptr};

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

// The name of a file below the folder that is watched; nothing for another.
std::optional<std::string> name_of(const SystemCalls& calls, const fs::path& path) {
  if (path == calls.folder) return "folder";
  const fs::path inside = path.lexically_relative(calls.folder);
  if (inside.empty() || inside.native().starts_with("..")) return {};
  const std::string name = inside.string();
  return name.find(".limpid-") != std::string::npos ? "temporary" : name;
}
std::optional<std::string> name_of(const SystemCalls& calls, int fd) {
  std::array<char, 4096> target{};
  const std::string link = fmt::format("/proc/self/fd/{}", fd);
  const ssize_t n = ::readlink(link.c_str(), target.data(), target.size());
  if (n <= 0) return {};
  return name_of(calls, fs::path(std::string(target.data(), static_cast<std::size_t>(n))));
}

// Counts a change; whether it fails.
bool fails(SystemCalls& calls, const std::string& what) {
  calls.done.push_back(what);
  const std::int64_t behind = calls.changes++ - calls.first_failure;
  if (behind < 0 || behind >= calls.failures) return false;
  errno = calls.error;
  return true;
}

}  // namespace

Watch::Watch(SystemCalls& calls) { watched = &calls; }
Watch::~Watch() { watched = nullptr; }

}  // namespace limpid::lives

using limpid::lives::fails;
using limpid::lives::name_of;
using limpid::lives::next;
using limpid::lives::SystemCalls;
using limpid::lives::watched;

extern "C" {

ssize_t read(int fd, void* out, std::size_t n) {
  static const auto real = next<ssize_t(int, void*, std::size_t)>("read");
  SystemCalls* const calls = watched;
  if (calls == nullptr || !name_of(*calls, fd)) return real(fd, out, n);
  if (calls->failing_reads > 0) {
    --calls->failing_reads;
    errno = calls->error;
    return -1;
  }
  return real(fd, out, std::min(n, calls->most_bytes));
}

ssize_t write(int fd, const void* from, std::size_t n) {
  static const auto real = next<ssize_t(int, const void*, std::size_t)>("write");
  SystemCalls* const calls = watched;
  if (calls == nullptr) return real(fd, from, n);
  if (const auto name = name_of(*calls, fd)) {
    n = std::min(n, calls->most_bytes);
    if (fails(*calls, "write " + *name)) {
      const int error = errno;
      (void)!real(fd, from, n / 2);
      errno = error;
      return -1;
    }
  }
  return real(fd, from, n);
}

int fsync(int fd) {
  static const auto real = next<int(int)>("fsync");
  SystemCalls* const calls = watched;
  if (calls == nullptr) return real(fd);
  const auto name = name_of(*calls, fd);
  return name && fails(*calls, "fsync " + *name) ? -1 : 0;  // nobody cuts the power here
}

int rename(const char* from, const char* to) noexcept {
  static const auto real = next<int(const char*, const char*)>("rename");
  SystemCalls* const calls = watched;
  if (calls == nullptr) return real(from, to);
  const auto name = name_of(*calls, to);
  return name && fails(*calls, "rename " + *name) ? -1 : real(from, to);
}

}  // extern "C"
