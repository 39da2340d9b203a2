// Files when calls move only a part of their bytes, or fail.
#include "limpid/formats/file.h"

#include <cerrno>

#include "limpid/core/key.h"
#include "tests/formats/helpers.h"
#include "tests/lives/system_calls.h"

namespace limpid::lives {
namespace {

using testing::Bytes;
using testing::TemporaryFolder;

Bytes random_bytes(std::size_t n) {
  Bytes bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(Key(1).word(i));
  return bytes;
}

void write(const std::filesystem::path& path, const Bytes& first, const Bytes& second) {
  const std::span<const std::byte> parts[] = {first, second};
  write_file_atomically(path, parts);
}

TEST(Files, AreReadAndWrittenByCallsThatMoveAPart) {
  const TemporaryFolder folder;
  const Bytes first = random_bytes(10007), second = random_bytes(4099);
  SystemCalls calls{.folder = folder.path(), .most_bytes = 1000};
  const Watch watch(calls);
  write(folder / "a", first, second);
  EXPECT_EQ(std::count(calls.done.begin(), calls.done.end(), "write temporary"), 11 + 5);
  Bytes both = first;
  both.insert(both.end(), second.begin(), second.end());
  const Tensor bytes = read_file(folder / "a", 1 << 20);
  EXPECT_TRUE(std::equal(both.begin(), both.end(), bytes.bytes().begin(), bytes.bytes().end()));

  AppendFile log(folder / "a");
  log.write(first);
  EXPECT_EQ(read_file(folder / "a", 1 << 20).bytes().size(), both.size() + first.size());
}

// On a full disk, say, that has room again later.
TEST(Files, ThatAreAppendedToHaveAllBytesOfACallOrNone) {
  const TemporaryFolder folder;
  SystemCalls calls{.folder = folder.path(), .first_failure = 1, .failures = 1, .error = ENOSPC};
  const Watch watch(calls);
  AppendFile log(folder / "a");
  log.write(testing::bytes_of("first\n"));
  testing::expect_error(ErrorCode::kIo, std::generic_category().message(ENOSPC),
                        [&] { log.write(testing::bytes_of("second\n")); });
  log.write(testing::bytes_of("third\n"));
  EXPECT_EQ(testing::read(folder / "a"), "first\nthird\n");
}

// A signal interrupts a call before it has moved a byte.
TEST(Files, GoOnWhereASignalInterruptsACall) {
  const TemporaryFolder folder;
  const Bytes first = random_bytes(10), second = random_bytes(20);
  SystemCalls calls{.folder = folder.path(),
                    .most_bytes = 1,
                    .first_failure = 2,
                    .failures = 3,
                    .error = EINTR,
                    .failing_reads = 2};
  const Watch watch(calls);
  write(folder / "a", first, second);
  EXPECT_EQ(calls.done.back(), "fsync folder");
  Bytes both = first;
  both.insert(both.end(), second.begin(), second.end());
  const Tensor bytes = read_file(folder / "a", 1 << 20);
  EXPECT_EQ(calls.failing_reads, 0);
  EXPECT_TRUE(std::equal(both.begin(), both.end(), bytes.bytes().begin(), bytes.bytes().end()));
}

TEST(Files, GiveTheReasonWhyTheyCannotBeRead) {
  const TemporaryFolder folder;
  testing::write(folder / "a", random_bytes(10));
  SystemCalls calls{.folder = folder.path(), .error = EIO, .failing_reads = 1};
  const Watch watch(calls);
  testing::expect_error(ErrorCode::kIo, "/a': " + std::generic_category().message(EIO),
                        [&] { read_file(folder / "a", 10); });
}

// The folder of a plain name is the current one.
TEST(Files, OfThisFolderReachTheDiskWithTheirName) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  SystemCalls calls{.folder = folder.path()};
  {
    const Watch watch(calls);
    write("a", random_bytes(10), random_bytes(20));
  }
  std::filesystem::current_path(before);
  EXPECT_EQ(calls.done.back(), "fsync folder");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

// After a power failure a file is the old one or the new one.
TEST(Files, ReachTheDiskBeforeTheirName) {
  const TemporaryFolder folder;
  SystemCalls calls{.folder = folder.path()};
  const Watch watch(calls);
  write(folder / "a", random_bytes(10), random_bytes(20));
  const std::vector<std::string> in_order{"write temporary", "write temporary", "fsync temporary",
                                          "rename a", "fsync folder"};
  EXPECT_EQ(calls.done, in_order);
}

// One call fails, as with a temporary fault, or all calls from it on.
TEST(Files, StayWhatTheyWereWhereAnyCallFails) {
  for (const int error : {ENOSPC, EIO})
    for (const std::int64_t failures : {1, 1000})
      for (std::int64_t failing = 0; failing < 4; ++failing) {
        const TemporaryFolder folder;
        const Bytes before = random_bytes(100);
        testing::write(folder / "a", before);
        SystemCalls calls{.folder = folder.path(),
                          .first_failure = failing,
                          .failures = failures,
                          .error = error};
        {
          const Watch watch(calls);
          testing::expect_error(ErrorCode::kIo, std::generic_category().message(error),
                                [&] { write(folder / "a", random_bytes(10), random_bytes(20)); });
        }
        EXPECT_EQ(testing::read(folder / "a"), testing::text_of(before)) << failing;
        EXPECT_EQ(folder.names(), std::vector<std::string>{"a"}) << failing;
      }
}

}  // namespace
}  // namespace limpid::lives
