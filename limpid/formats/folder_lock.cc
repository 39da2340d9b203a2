#include "limpid/formats/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "limpid/core/in_quotes.h"
#include "limpid/core/system_error.h"

namespace limpid {

namespace {

constexpr const char* kLockFile = ".limpid-lock";

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  const auto fail = [&](int reason) {
    throw SystemError(reason,
                      fmt::format("lock {}: {}", in_quotes(folder.string()),
                                  reason == EWOULDBLOCK ? "another run is writing into this folder"
                                                        : std::generic_category().message(reason)));
  };
  const auto locks = [&] { return ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0; };
  if (descriptor_ < 0) fail(errno);
  if (locks()) return;
  int reason = errno;
  // NFS has locks, for all of its hosts, of files that are open for writing alone.
  if (reason == EBADF || reason == ENOLCK || reason == EOPNOTSUPP || reason == EINVAL) {
    ::close(descriptor_);
    descriptor_ = ::open((folder / kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(errno);
    if (locks()) return;
    reason = errno;
  }
  ::close(descriptor_);
  fail(reason);
}

FolderLock::~FolderLock() { ::close(descriptor_); }

}  // namespace limpid
