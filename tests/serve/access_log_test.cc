#include "limpid/serve/access_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "tests/formats/helpers.h"

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
  ::close(reader);
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
