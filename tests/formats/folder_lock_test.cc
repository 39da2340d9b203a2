#include "limpid/formats/folder_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace {

bool locks_only_files = false;  // as NFS does

}  // namespace

// Instead of the C library's.
extern "C" int flock(int descriptor, int operation) {
  struct stat found {};
  if (locks_only_files && ::fstat(descriptor, &found) == 0 && S_ISDIR(found.st_mode)) {
    errno = EBADF;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
}

namespace limpid {
namespace {

TEST(FolderLock, IsThatOfAFileWhereFoldersHaveNone) {
  const testing::TemporaryFolder folder;
  locks_only_files = true;
  auto lock = std::make_unique<FolderLock>(folder.path());
  EXPECT_THROW(FolderLock second(folder.path()), Error);
  lock.reset();
  EXPECT_NO_THROW(FolderLock again(folder.path()));
  locks_only_files = false;
  EXPECT_EQ(folder.names(), std::vector<std::string>{".limpid-lock"});
}

TEST(FolderLock, HasOneHolder) {
  const testing::TemporaryFolder folder;
  auto lock = std::make_unique<FolderLock>(folder.path());
  expect_refused(ErrorCode::kIo, [&] { FolderLock second(folder.path()); });
  lock.reset();
  FolderLock again(folder.path());
  EXPECT_TRUE(folder.names().empty());
}

// The descriptor that the next file gets.
int lowest() {
  const int descriptor = ::dup(STDERR_FILENO);
  ::close(descriptor);
  return descriptor;
}

// A program that outlives its run would keep the folder.
TEST(FolderLock, IsNotThatOfAProgramThatIsStarted) {
  const testing::TemporaryFolder folder;
  const int descriptor = lowest();
  const FolderLock lock(folder.path());
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), FD_CLOEXEC);
}

// Who waits for a folder tries again and again.
TEST(FolderLock, ThatIsRefusedKeepsNoFileOpen) {
  const testing::TemporaryFolder folder;
  const FolderLock lock(folder.path());
  const int before = lowest();
  EXPECT_THROW(FolderLock(folder.path()), Error);
  EXPECT_THROW(FolderLock(folder / "none"), Error);
  EXPECT_EQ(lowest(), before);
}

TEST(FolderLock, NeedsAFolder) {
  const testing::TemporaryFolder folder;
  expect_refused(ErrorCode::kIo, [&] { FolderLock lock(folder / "none"); });
  testing::write(folder / "file", {});
  expect_refused(ErrorCode::kIo, [&] { FolderLock lock(folder / "file"); });
}

TEST(FolderLock, EndsWithItsProcessHoweverThatEnds) {
  const testing::TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    FolderLock lock(folder.path());
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THROW(FolderLock(folder.path()), Error);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  FolderLock lock(folder.path());
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace limpid
