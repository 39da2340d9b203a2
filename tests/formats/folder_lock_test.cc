#include "limpid/formats/folder_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <memory>

#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

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
