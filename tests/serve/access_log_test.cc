#include "limpid/serve/access_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "limpid/core/error.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid::serve {
namespace {

// A pipe that nobody empties: at most 4 MiB of lines wait, and further ones are lost.
TEST(AccessLog, KeepsABoundedNumberOfLines) {
  const limpid::testing::TemporaryFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  ::signal(SIGPIPE, SIG_IGN);  // as the server does
  AccessLog log(path);
  const std::string megabyte(1 << 20, 'x');
  for (int i = 0; i < 10; ++i) log.event("event", megabyte);
  // Up to three lines are taken before the thread finds the pipe full, and three wait.
  EXPECT_GE(log.lost(), 4u);
  EXPECT_LE(log.lost(), 7u);
  // The waiting lines cannot be written after the reader has left: each counts as lost.
  ::close(reader);
  for (int i = 0; i < 2000 && log.lost() < 10; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(log.lost(), 10u);
}

TEST(AccessLog, ALineHasEachNumberUnderItsName) {
  const limpid::testing::TemporaryFolder folder;
  const std::string path = folder / "log";
  {
    AccessLog log(path);
    log.write({.client = "::1",
               .method = "POST",
               .target = "/\xc3\xa4",
               .status = 404,
               .request_bytes = 5,
               .answer_bytes = 6,
               .seconds = 0.0012345678,
               .facts = {.model = "m", .queue_seconds = 0.25, .compute_seconds = 0.5, .rows = 3}});
    log.write({"", "", "", 200});
  }
  std::ifstream file(path);
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  // After the time: "2026-11-25T16:22:56.123Z".
  ASSERT_GT(first.size(), 35u);
  EXPECT_EQ(first.substr(0, 9), R"({"time":")");
  EXPECT_EQ(first.substr(32, 3), R"(Z",)");
  EXPECT_EQ(first[28], '.');
  EXPECT_EQ(
      first.substr(35),
      R"("client":"::1","method":"POST","target":"/\u00e4","status":404,"in":5,"out":6,)"
      R"("seconds":0.001235,"model":"m","queue_seconds":0.25,"compute_seconds":0.5,"rows":3})");
  EXPECT_EQ(second.substr(35), R"("client":"","method":"","target":"","status":200,"in":0,"out":0,)"
                               R"("seconds":0.0})");
  // Others on the machine may not read who asked what.
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0007, 0u);
}

// A target may be cut off within a character, and may have been none from the start.
TEST(AccessLog, ALineOfBytesThatAreNoTextIsWritten) {
  const limpid::testing::TemporaryFolder folder;
  const std::string path = folder / "log";
  {
    AccessLog log(path);
    log.write({"", "GET", "/\xff", 400});
    log.write({"", "GET", std::string(255, 'x') + "\u00e4", 404});
    EXPECT_EQ(log.lost(), 0u);
  }
  std::ifstream file(path);
  std::string line;
  for (const std::string& target : {std::string("/"), std::string(255, 'x')}) {
    std::getline(file, line);
    EXPECT_NE(line.find(R"("target":")" + target + R"(\ufffd",)"), std::string::npos) << line;
  }
}

TEST(AccessLog, SaysWhichFileCannotBeOpened) {
  const limpid::testing::TemporaryFolder folder;
  expect_refused(ErrorCode::kIo, [&] { AccessLog(folder / "none/log"); });
}

// Those that wait when a server ends are written, and the next one goes on behind them.
TEST(AccessLog, HasEveryLineOfEveryServer) {
  const limpid::testing::TemporaryFolder folder;
  const std::string path = folder / "log";
  constexpr int kLines = 2000;
  for (int server = 0; server < 2; ++server) {
    AccessLog log(path);
    for (int i = 0; i < kLines; ++i) log.event("event", std::to_string(i));
  }
  std::ifstream file(path);
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, 2 * kLines);
}

}  // namespace
}  // namespace limpid::serve
