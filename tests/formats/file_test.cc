#include "limpid/formats/file.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <set>
#include <thread>

#include "limpid/core/in_quotes.h"
#include "limpid/core/system_error.h"
#include "tests/formats/helpers.h"
#include "tests/memory_limit.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::text_of;

void write_text(const std::filesystem::path& path, std::string_view text) {
  const std::array parts = {std::as_bytes(std::span(text))};
  write_file_atomically(path, parts);
}

TEST(InQuotes, EscapesWhatWouldBreakALine) {
  EXPECT_EQ(in_quotes("layers.0.weight"), "'layers.0.weight'");
  EXPECT_EQ(in_quotes("a\nb\x7f'\\\x1b[31m"), "'a\\x0ab\\x7f\\x27\\x5c\\x1b[31m'");
  EXPECT_EQ(in_quotes("\u65e5\u672c \u00e9"), "'\u65e5\u672c \u00e9'");
  EXPECT_EQ(in_quotes("\xe6\x97 \xff \xc2\x9b"), "'\\xe6\\x97 \\xff \\xc2\\x9b'");
  EXPECT_EQ(in_quotes("\xc2\x9f\xc2\xa0"), "'\\xc2\\x9f\xc2\xa0'");
  const std::string longest(96, 'x');
  EXPECT_EQ(in_quotes(longest), std::string("'") + longest + "'");
  EXPECT_EQ(in_quotes(longest + "x"), std::string("'") + longest + "...'");
}

TEST(ReadFile, GivesTheBytes) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "a", bytes_of("limpid"));
  const Tensor bytes = read_file(folder / "a", 6);
  EXPECT_EQ(bytes.type(), (Type{Dtype::kU8, Shape{6}}));
  EXPECT_EQ(text_of(bytes.bytes()), "limpid");
}

TEST(Files, GiveTheReasonOfTheSystem) {
  const testing::TemporaryFolder folder;
  const auto reason = [](const auto& code) {
    try {
      code();
    } catch (const SystemError& e) {
      EXPECT_EQ(e.code(), ErrorCode::kIo);
      return e.reason();
    }
    return 0;
  };
  EXPECT_EQ(reason([&] { read_file(folder / "none", 1); }), ENOENT);
  EXPECT_EQ(reason([&] { read_file(folder.path(), 1); }), EISDIR);
  EXPECT_EQ(reason([&] { write_text(folder / "none" / "a", "a"); }), ENOENT);
  EXPECT_EQ(reason([&] { AppendFile(folder.path()); }), EISDIR);
}

TEST(ReadFile, GivesNoBytesOfAnEmptyFile) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "a", {});
  EXPECT_EQ(read_file(folder / "a", 0).elements(), 0);
}

TEST(ReadFile, SurvivesThatTheFileIsCutShortLater) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "a", Bytes(100'000, std::byte{7}));
  const Tensor bytes = read_file(folder / "a", 100'000);
  std::filesystem::resize_file(folder / "a", 0);
  EXPECT_EQ(bytes.values<std::uint8_t>().back(), 7);
}

TEST(ReadFile, RefusesMoreThanTheLimit) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "a", bytes_of("limpid"));
  expect_refused(ErrorCode::kUnsupported, [&] { read_file(folder / "a", 5); });
}

TEST(ReadFile, RefusesAFileOfAnySizeBeyondTheLimitWithoutReadingIt) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "a", {});
  std::filesystem::resize_file(folder / "a", std::uintmax_t{1} << 40);  // sparse
  expect_refused(ErrorCode::kUnsupported, [&] { read_file(folder / "a", 1'000'000); });
}

#if defined(__linux__) && !LIMPID_SANITIZED
TEST(ReadFile, NamesTheFileThatFindsNoMemory) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "a", {});
  constexpr std::uintmax_t kSize = std::uintmax_t{1} << 36;
  std::filesystem::resize_file(folder / "a", kSize);  // sparse
  const MemoryLimit limit(kSize / 2);
  if (!limit.holds()) GTEST_SKIP() << "skipped: memory has no limit here";
  expect_refused(ErrorCode::kNoMemory, [&] { read_file(folder / "a", kSize); });
}
#endif

TEST(ReadFile, RefusesWhatIsNoRegularFile) {
  const testing::TemporaryFolder folder;
  expect_refused(ErrorCode::kIo, [&] { read_file(folder / "b", 1); });
  expect_refused(ErrorCode::kIo, [&] { read_file(folder.path(), 1); });
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_refused(ErrorCode::kIo, [&] { read_file(folder / "pipe", 1); });
  expect_refused(ErrorCode::kIo, [&] { read_file("/dev/zero", 1); });
}

TEST(ReadFile, ReportsAFileThatEndsBeforeItsSize) {
  // The kernel reports a page as the size of these files, and returns a few bytes.
  const std::filesystem::path path = "/sys/class/net/lo/mtu";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "skipped: no " << path;
  expect_refused(ErrorCode::kIo, [&] { read_file(path, 4096); });
}

TEST(MapFile, GivesNoBytesOfAnEmptyFile) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "a", {});
  EXPECT_EQ(map_file(folder / "a", 0).type(), (Type{Dtype::kU8, Shape{0}}));
}

// A mapped file shows what is written into it later; one that was read may be cut short.
TEST(ReadOrMapFile, MapsLargeFilesAndNoOthers) {
  const testing::TemporaryFolder folder;
  constexpr std::size_t kLarge = std::size_t{64} << 20;
  testing::write(folder / "large", {});
  std::filesystem::resize_file(folder / "large", kLarge);  // sparse
  const Tensor large = read_or_map_file(folder / "large", kLarge);
  testing::overwrite(folder / "large", kLarge - 1, bytes_of("x"));
  EXPECT_EQ(large.values<std::uint8_t>().back(), 'x');

  testing::write(folder / "small", Bytes(100'000, std::byte{7}));
  const Tensor small = read_or_map_file(folder / "small", kLarge);
  std::filesystem::resize_file(folder / "small", 0);
  EXPECT_EQ(small.values<std::uint8_t>().back(), 7);
}

#ifdef __linux__
TEST(MapFile, EndsWithTheLastTensor) {
  const testing::TemporaryFolder folder;
  write_text(folder / "mapped", "some bytes");
  const auto is_mapped = [&] {
    std::ifstream maps("/proc/self/maps");
    const std::string all((std::istreambuf_iterator<char>(maps)), {});
    return all.find((folder / "mapped").string()) != std::string::npos;
  };
  {
    const Tensor part = map_file(folder / "mapped", 100).rows(1, 3);
    EXPECT_TRUE(is_mapped());
    EXPECT_EQ(part.bytes()[0], std::byte{'o'});
  }
  EXPECT_FALSE(is_mapped());
}
#endif

TEST(ReadFile, NamesThePathOnOneLine) {
  expect_refused(ErrorCode::kIo, [] { read_file("no\nsuch", 1); });
}

TEST(WriteFile, JoinsTheParts) {
  const testing::TemporaryFolder folder;
  const Bytes a = bytes_of("lim");
  const Bytes b = bytes_of("pid");
  const std::array<std::span<const std::byte>, 3> parts = {a, {}, b};
  write_file_atomically(folder / "a", parts);
  EXPECT_EQ(testing::read(folder / "a"), "limpid");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(WriteFile, ReplacesWhatIsThere) {
  const testing::TemporaryFolder folder;
  write_text(folder / "a", "a longer text");
  write_text(folder / "a", "short");
  EXPECT_EQ(testing::read(folder / "a"), "short");
}

TEST(WriteFile, KeepsTheModeOfAFileThatItReplaces) {
  const testing::TemporaryFolder folder;
  write_text(folder / "a", "old");
  for (const mode_t mode : {0640, 0600, 0444, 0755, 04755}) {
    ASSERT_EQ(::chmod((folder / "a").c_str(), mode), 0);
    struct stat before {
    }, after{};
    ASSERT_EQ(::stat((folder / "a").c_str(), &before), 0);
    write_text(folder / "a", "new");
    ASSERT_EQ(::stat((folder / "a").c_str(), &after), 0);
    EXPECT_EQ(after.st_mode & 07777, mode);
    EXPECT_EQ(after.st_uid, before.st_uid);
    EXPECT_EQ(after.st_gid, before.st_gid);
  }
}

// The usual mode of a new file: 0666 without the bits of the umask.
TEST(WriteFile, GivesANewFileTheModeOfTheProcess) {
  const testing::TemporaryFolder folder;
  const mode_t before = ::umask(0002);
  write_text(folder / "written", "x");
  { AppendFile appended(folder / "appended"); }
  ::umask(before);
  for (const char* const name : {"written", "appended"}) {
    struct stat status {};
    ASSERT_EQ(::stat((folder / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0664U) << name;
  }
}

TEST(WriteFile, KeepsTheOwnerOfAFileThatItReplaces) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: only the superuser gives files away";
  const testing::TemporaryFolder folder;
  write_text(folder / "a", "old");
  if (::chown((folder / "a").c_str(), 12, 34) != 0) GTEST_SKIP() << "skipped: no other users";
  write_text(folder / "a", "new");
  struct stat status {};
  ASSERT_EQ(::stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 12U);
  EXPECT_EQ(status.st_gid, 34U);
}

// Of a shared folder: a user may give a file to a group of theirs, but not to another user.
TEST(WriteFile, KeepsTheGroupWhereItCannotKeepTheOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: only the superuser becomes another user";
  const testing::TemporaryFolder folder;
  write_text(folder / "a", "old");
  const gid_t group = 34;
  if (::chown((folder / "a").c_str(), 13, group) != 0) GTEST_SKIP() << "skipped: no other users";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  std::vector<gid_t> groups(static_cast<std::size_t>(::getgroups(0, nullptr)));
  ASSERT_GE(::getgroups(static_cast<int>(groups.size()), groups.data()), 0);
  if (::setgroups(1, &group) != 0) GTEST_SKIP() << "skipped: groups stay what they are";
  ASSERT_EQ(::seteuid(12), 0);
  const bool reached = ::eaccess((folder / "a").c_str(), F_OK) == 0;
  if (reached) {
    EXPECT_NO_THROW(write_text(folder / "a", "new"));
  }
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_EQ(::setgroups(groups.size(), groups.data()), 0);
  if (!reached) GTEST_SKIP() << "skipped: another user cannot enter the folder";
  struct stat status {};
  ASSERT_EQ(::stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(testing::read(folder / "a"), "new");
  EXPECT_EQ(status.st_uid, 12U);
  EXPECT_EQ(status.st_gid, group);
}

TEST(WriteFile, FollowsLinks) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "far");
  write_text(folder / "far" / "file", "old");
  std::filesystem::create_symlink("far/file", folder / "link");
  std::filesystem::create_symlink("../link", folder / "far" / "link");
  write_text(folder / "far" / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "far" / "link"));
  EXPECT_EQ(testing::read(folder / "far" / "file"), "new");

  std::filesystem::create_symlink("far/nothing", folder / "dangling");
  write_text(folder / "dangling", "made");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "dangling"));
  EXPECT_EQ(testing::read(folder / "far" / "nothing"), "made");

  // As many links as Linux follows.
  write_text(folder / "0", "old");
  for (int i = 0; i < 41; ++i)
    std::filesystem::create_symlink(std::to_string(i), folder / std::to_string(i + 1));
  write_text(folder / "40", "new");
  EXPECT_EQ(testing::read(folder / "0"), "new");
  expect_refused(ErrorCode::kIo, [&] { write_text(folder / "41", "x"); });

  std::filesystem::create_symlink("loop", folder / "loop");
  expect_refused(ErrorCode::kIo, [&] { write_text(folder / "loop", "x"); });
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "loop"));
}

TEST(WriteFile, WritesThroughPipesAndDevices) {
  const testing::TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", folder / "link");
  for (const char* const name : {"pipe", "link"}) {
    std::string got;
    std::thread reader([&] { got = testing::read(folder / "pipe"); });
    write_text(folder / name, "through");
    reader.join();
    EXPECT_EQ(got, "through");
  }
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
  write_text("/dev/null", "gone");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  expect_refused(ErrorCode::kIo, [] { write_text("/dev/full", "x"); });
}

// A file that a shell has opened for the output gets the bytes between what was printed before and
// after.
TEST(WriteFile, GoesOnWhereTheOutputOfTheProcessIs) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = folder / "output";
  for (std::FILE* const output : {stdout, stderr}) {
    write_text(path, "");
    std::fflush(output);
    const int usual = ::dup(::fileno(output)), file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(::dup2(file, ::fileno(output)), 0);
    std::fputs("before, ", output);
    EXPECT_NO_THROW(write_text(path, "between"));
    const bool is_output = is_standard_output(path), is_other = is_standard_output(folder.path());
    std::fputs(", after", output);
    std::fflush(output);
    ::dup2(usual, ::fileno(output));
    ::close(usual);
    ::close(file);
    EXPECT_EQ(testing::read(path), "before, between, after");
    EXPECT_EQ(is_output, output == stdout);
    EXPECT_FALSE(is_other);
  }
}

TEST(WriteFile, RefusesWhatTakesNoBytes) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  expect_refused(ErrorCode::kIo, [&] { write_text(path, "x"); });
  EXPECT_TRUE(std::filesystem::is_socket(path));
  ::close(socket);
}

#ifdef __linux__
// Calls of fsync while it is watched: a file (under a temporary name) or a folder.
std::vector<std::string>* synced = nullptr;

TEST(WriteFile, SynchronisesTheFileBeforeItsNameAndTheFolderAfterIt) {
  const testing::TemporaryFolder folder;
  std::vector<std::string> order;
  synced = &order;
  write_text(folder / "a", "x");
  synced = nullptr;
  ASSERT_EQ(order.size(), 2U);
  EXPECT_NE(order[0].find(".limpid-"), std::string::npos) << order[0];
  EXPECT_TRUE(is_left_behind(order[0])) << order[0];
  EXPECT_EQ(std::filesystem::path(order[1]), std::filesystem::canonical(folder.path()));
}
#endif

// What the names of temporary files have of this host.
std::string host() {
  char name[256] = {};
  EXPECT_EQ(::gethostname(name, sizeof name - 1), 0);
  const std::string_view text(name);
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x",
                static_cast<unsigned>(hash(std::as_bytes(std::span(text)))));
  return digits;
}

// In a container every process has the same number, and one that was killed leaves its file.
TEST(WriteFile, TakesAnotherNameThanFilesThatAreThere) {
  const testing::TemporaryFolder folder;
  write_text(folder / "a", "x");
  const std::string prefix = ".limpid-" + host() + "-" + std::to_string(::getpid()) + "-";
  for (int i = 0; i < 2000; ++i)
    std::ofstream(folder / (prefix + std::to_string(i) + ".tmp")) << "left";
  write_text(folder / "a", "y");
  EXPECT_EQ(read_file(folder / "a", 10).bytes()[0], std::byte{'y'});
  EXPECT_EQ(folder.names().size(), 2001u);
}

TEST(WriteFile, LeavesItsNamesBehindAndNoOthers) {
  const std::string own = std::to_string(::getpid());
  EXPECT_TRUE(is_left_behind(".limpid-" + own + "-0.tmp"));
  // The first process is always there.
  if (::getpid() != 1) {
    EXPECT_FALSE(is_left_behind(".limpid-1-0.tmp"));
  }
  // Nothing happens to a process that is asked about.
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  ASSERT_GT(child, 0);
  EXPECT_FALSE(is_left_behind(".limpid-" + std::to_string(child) + "-0.tmp"));
  ::kill(child, SIGKILL);
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  EXPECT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL) << how;
  EXPECT_FALSE(is_left_behind(".limpid-" + own + "-0"));
  EXPECT_FALSE(is_left_behind("limpid-" + own + "-0.tmp"));
  for (const char* name : {".limpid-.tmp", ".limpid-x-0.tmp", ".limpid-0-0.tmp", ".limpid-1.tmp"})
    EXPECT_TRUE(is_left_behind(name)) << name;  // of no process
}

// Of two hosts that share a folder, each has processes of the same numbers.
TEST(WriteFile, LeavesTheFilesOfOtherHosts) {
  const testing::TemporaryFolder folder;
  const std::string own = std::to_string(::getpid());
  EXPECT_TRUE(is_left_behind(".limpid-" + host() + "-" + own + "-0.tmp"));
  if (::getpid() != 1) {
    EXPECT_FALSE(is_left_behind(".limpid-" + host() + "-1-0.tmp"));
  }
  const std::string other = host() == "00000000" ? "00000001" : "00000000";
  const auto file = folder / (".limpid-" + other + "-" + own + "-0.tmp");
  EXPECT_FALSE(is_left_behind(file)) << "there is none";
  std::ofstream(file) << "is written";
  EXPECT_FALSE(is_left_behind(file));
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(file, now - std::chrono::hours(23));
  EXPECT_FALSE(is_left_behind(file));
  std::filesystem::last_write_time(file, now - std::chrono::hours(25));
  EXPECT_TRUE(is_left_behind(file));
}

TEST(WriteFile, TakesAnyName) {
  const testing::TemporaryFolder folder;
  const std::string name(255, 'n');  // the longest name allowed: the temporary one is shorter
  write_text(folder / name, "x");
  EXPECT_EQ(folder.names(), std::vector<std::string>{name});
}

TEST(WriteFile, ReportsWhereItCannotWrite) {
  const testing::TemporaryFolder folder;
  expect_refused(ErrorCode::kIo, [&] { write_text(folder / "no/a", "x"); });
}

TEST(WriteFile, LeavesNothingBehindWhenTheNameCannotBeTaken) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "a");
  expect_refused(ErrorCode::kIo, [&] { write_text(folder / "a", "x"); });
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(WriteFile, LeavesTheOldFileWhenTheDiskIsFull) {
  const testing::TemporaryFolder folder;
  write_text(folder / "a", "old");
  // A limit on file size simulates the full disk: the write fails half way.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  expect_refused(ErrorCode::kIo, [&] { write_text(folder / "a", std::string(5000, 'n')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(testing::read(folder / "a"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

// A process that is started later does not keep the file open.
TEST(AppendFile, IsOfThisProcessAlone) {
  const testing::TemporaryFolder folder;
  const int lowest = ::dup(STDERR_FILENO);
  ::close(lowest);
  const AppendFile file(folder / "a");
  EXPECT_EQ(::fcntl(lowest, F_GETFD), FD_CLOEXEC);
}

TEST(WriteFile, ShowsAReaderOneWholeFileOrTheOther) {
  const testing::TemporaryFolder folder;
  const std::set<std::string> wholes = {std::string(200'000, 'a'), std::string(300'000, 'b')};
  write_text(folder / "a", *wholes.begin());
  std::vector<std::thread> writers;
  for (const std::string& text : wholes)
    writers.emplace_back([&folder, &text] {
      for (int i = 0; i < 20; ++i) write_text(folder / "a", text);
    });
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(wholes.contains(testing::read(folder / "a")));
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace limpid

#ifdef __linux__
// Stands before the C library's.
extern "C" int fsync(int fd) {
  if (limpid::synced)
    limpid::synced->push_back(
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)).string());
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
#endif
