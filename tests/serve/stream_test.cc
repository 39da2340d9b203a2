// Answers in parts, as a client of sockets meets them: chunks, events, clients that leave or read
// nothing, a server that ends.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "limpid/core/error.h"
#include "limpid/serve/deferred_posts.h"
#include "limpid/serve/event_stream.h"
#include "limpid/serve/server.h"

namespace limpid::serve {
namespace {

using std::chrono::milliseconds;

void wait_until(const std::function<bool()>& done) {
  while (!done()) std::this_thread::sleep_for(milliseconds(1));
}

// A server with the test's handler; it ends as `limpid serve` does.
class Served {
 public:
  using Handle = std::function<void(Request, std::shared_ptr<Answer>)>;

  explicit Served(Handle handle, const Limits& limits = {})
      : server_({.port = 0, .limits = limits, .handle = std::move(handle)}, metrics_, log_),
        thread_([this] { server_.run(); }) {}
  ~Served() {
    if (thread_.joinable()) stop();
  }

  void drain() { ::kill(::getpid(), SIGTERM); }
  bool draining() const { return server_.draining(); }
  void join() { thread_.join(); }
  void stop() {
    drain();
    join();
  }
  int port() const { return std::stoi(server_.url().substr(server_.url().rfind(':') + 1)); }
  bool counted(int status) const {
    return metrics_.text({}).find("code=\"" + std::to_string(status) + "\"} 1\n") !=
           std::string::npos;
  }

 private:
  Metrics metrics_;
  AccessLog log_{""};
  Server server_;
  std::thread thread_;
};

class Client {
 public:
  explicit Client(const Served& server) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(server.port()));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~Client() { leave(); }

  void leave() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void ask(const std::string& request = "GET / HTTP/1.1\r\nHost: 1\r\n\r\n") {
    EXPECT_EQ(::send(fd_, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
  }
  // Sends as much as the server and the system take before they take no more for a while.
  std::size_t push(std::size_t most) {
    constexpr int kWhile = 300;  // milliseconds
    const std::string bytes(65'536, 'x');
    std::size_t sent = 0;
    for (pollfd one{fd_, POLLOUT, 0}; sent<most&& ::poll(&one, 1, kWhile)> 0;) {
      const ssize_t size = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size <= 0) break;
      sent += static_cast<std::size_t>(size);
    }
    return sent;
  }
  // The bytes up to a text, or up to the end of the connection if it never comes.
  std::string read_to(const std::string& text) {
    while (text.empty() || buffer_.find(text) == std::string::npos) {
      char bytes[65'536];
      const ssize_t size = ::recv(fd_, bytes, sizeof bytes, 0);
      if (size <= 0) return std::exchange(buffer_, {});
      buffer_.append(bytes, static_cast<std::size_t>(size));
    }
    const std::size_t end = buffer_.find(text) + text.size();
    std::string found = buffer_.substr(0, end);
    buffer_.erase(0, end);
    return found;
  }
  std::string read_all() { return read_to(""); }
  bool has_news() const {
    pollfd one{fd_, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
  }
  // Sends nothing more, as `nc -N` after its input.
  void end_sending() const { ::shutdown(fd_, SHUT_WR); }
  // The server's end of the connection, a socket of this process; -1 if there is none.
  int other_end() const {
    const auto port_by = [](auto name, int fd) {
      sockaddr_in address{};
      socklen_t size = sizeof address;
      return name(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 ? address.sin_port : 0;
    };
    const int port = port_by(::getsockname, fd_);
    for (int fd = 0; fd < 1024; ++fd)
      if (port_by(::getpeername, fd) == port) return fd;
    return -1;
  }

 private:
  int fd_;
  std::string buffer_;
};

std::string body_of(const std::string& answer) {
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void three_parts(const Request&, const std::shared_ptr<Answer>& answer) {
  answer->begin({.body = "one,", .content_type = "text/plain"});
  EXPECT_TRUE(answer->part("two,"));
  EXPECT_TRUE(answer->part(""));
  EXPECT_TRUE(answer->part(std::string(20, '3')));
  answer->end({});
  EXPECT_FALSE(answer->part("four"));
  answer->end({});
  answer->send({.body = "five"});
}

TEST(Stream, ComesInChunksAndTheNextRequestBehindIt) {
  Served server(three_parts);
  Client client(server);
  for (int i = 0; i < 2; ++i) {
    client.ask();
    const std::string head = client.read_to("\r\n\r\n");
    EXPECT_TRUE(has(head, "\r\nTransfer-Encoding: chunked\r\n")) << head;
    EXPECT_TRUE(has(head, "\r\nConnection: keep-alive\r\n")) << head;
    EXPECT_FALSE(has(head, "Content-Length")) << head;
    EXPECT_EQ(client.read_to("\r\n0\r\n\r\n"),
              "4\r\none,\r\n4\r\ntwo,\r\n14\r\n33333333333333333333\r\n0\r\n\r\n");
  }
}

TEST(Stream, OfTwoRequestsAtOnceComesInOrder) {
  Served server(three_parts);
  Client client(server);
  client.ask(
      "GET /a HTTP/1.1\r\nHost: 1\r\n\r\nGET /b HTTP/1.1\r\nHost: 1\r\nConnection: close\r\n\r\n");
  const std::string both = client.read_all();
  const std::size_t second = both.find("HTTP/1.1 200", 1);
  ASSERT_NE(second, std::string::npos) << both;
  EXPECT_TRUE(both.substr(0, second).ends_with("0\r\n\r\n"));
  EXPECT_TRUE(both.ends_with("0\r\n\r\n"));
}

TEST(Stream, ToHttp10EndsWithTheConnection) {
  Served server(three_parts);
  Client client(server);
  client.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_FALSE(has(answer, "chunked")) << answer;
  EXPECT_TRUE(has(answer, "\r\nConnection: close\r\n")) << answer;
  EXPECT_EQ(body_of(answer), "one,two," + std::string(20, '3'));
}

TEST(Stream, OfHeadIsItsHeadAlone) {
  const auto handle = [](Request request, const std::shared_ptr<Answer>& answer) {
    if (request.method != "HEAD") return answer->send({.body = "next"});
    answer->begin({.body = "one"});
    wait_until([&] { return request.ticket->given_up(); });
    EXPECT_FALSE(answer->part("two"));
  };
  // The handler of a large body may block. Beside POST, a body is at most as large as a header.
  Served server(handle, {.header = 400'000});
  Client client(server);
  const std::string body(300'000, ' ');
  client.ask("HEAD / HTTP/1.1\r\nHost: 1\r\nContent-Length: 300000\r\n\r\n" + body);
  client.read_to("\r\n\r\n");
  client.ask();
  EXPECT_TRUE(has(client.read_to("next"), "HTTP/1.1 200 OK"));
}

TEST(Stream, EventsHaveTheirLines) {
  Served server([](const Request&, std::shared_ptr<Answer> answer) {
    EventStream events(std::move(answer));
    EXPECT_TRUE(events.event("{\"a\": 1}"));
    EXPECT_TRUE(events.event("x\ny\r\nz\r", "lines"));
    EXPECT_TRUE(events.beat());
    EXPECT_TRUE(events.event(""));
    EXPECT_TRUE(events.event("a", "", "7"));
    events.end();
  });
  Client client(server);
  client.ask("GET / HTTP/1.0\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_TRUE(has(answer, "\r\nContent-Type: text/event-stream\r\n")) << answer;
  EXPECT_TRUE(has(answer, "\r\nCache-Control: no-cache\r\n")) << answer;
  EXPECT_TRUE(has(answer, "\r\nX-Accel-Buffering: no\r\n")) << answer;
  EXPECT_EQ(body_of(answer),
            "data: {\"a\": 1}\n\nevent: lines\ndata: x\ndata: y\ndata: z\ndata: \n\n:\n\ndata: \n\n"
            "id: 7\ndata: a\n\n");
}

TEST(Listening, APortHasOneServer) {
  Metrics metrics;
  AccessLog log("");
  const auto handle = [](const Request&, const std::shared_ptr<Answer>&) {};
  const Server first({.port = 0, .handle = handle}, metrics, log);
  const std::string url = first.url();
  EXPECT_TRUE(url.starts_with("http://127.0.0.1:")) << url;
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  try {
    const Server second({.port = port, .handle = handle}, metrics, log);
    ADD_FAILURE() << url;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kIo) << e.what();
  }
}

bool has_ipv6() {
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const int fd = ::socket(AF_INET6, SOCK_STREAM, 0);
  const bool has =
      fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) == 0;
  if (fd >= 0) ::close(fd);
  return has;
}

TEST(Listening, AnAddressOfIpv6IsInBrackets) {
  Metrics metrics;
  AccessLog log("");
  if (!has_ipv6()) GTEST_SKIP() << "no address ::1 on this machine";
  const Server server({.address = "::1", .port = 0, .handle = {}}, metrics, log);
  EXPECT_TRUE(server.url().starts_with("http://[::1]:")) << server.url();
}

int option_of(int fd, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  ::getsockopt(fd, level, name, &value, &size);
  return value;
}

// It has lost its network: nothing says so but the system, which asks after the idle time.
TEST(Clients, ThatVanishAreNoticed) {
  Served server(three_parts, {.idle_time = milliseconds(6500)});
  Client client(server);
  client.ask();
  client.read_to("\r\n0\r\n\r\n");
  const int fd = client.other_end();
  ASSERT_GE(fd, 0);
  EXPECT_EQ(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 7);
}

// Tokens of a stream are small, and would wait for the client's word that it has the one before.
TEST(Clients, GetSmallPartsAtOnce) {
  Served server(three_parts);
  Client client(server);
  client.ask();
  client.read_to("\r\n0\r\n\r\n");
  const int fd = client.other_end();
  ASSERT_GE(fd, 0);
  EXPECT_EQ(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
}

TEST(Clients, ThatSendNothingMoreGetTheirWholeAnswer) {
  const std::string body(std::size_t{8} << 20, 'x');  // more than the system's buffers hold
  Served server(
      [&](const Request&, const std::shared_ptr<Answer>& answer) { answer->send({.body = body}); });
  Client client(server);
  client.ask();
  wait_until([&] { return client.has_news(); });
  client.end_sending();
  EXPECT_EQ(body_of(client.read_all()).size(), body.size());
}

// The server ends its side, but takes what comes for a while: else the system would tell a client
// that sends that its connection was reset, and it might not read why.
TEST(Clients, ThatAreRefusedMayGoOnSending) {
  Served server(three_parts);
  Client client(server);
  client.ask("POST / HTTP/1.1\r\nHost: 1\r\nContent-Length: 1000000000000\r\n\r\n");
  EXPECT_TRUE(client.read_all().starts_with("HTTP/1.1 413 "));
  constexpr std::size_t kMore = std::size_t{1} << 19;
  EXPECT_EQ(client.push(kMore), kMore);
  // But not for ever.
  constexpr std::size_t kMost = std::size_t{64} << 20;
  EXPECT_LT(client.push(kMost), kMost);
}

// A producer on a thread of its own that never stops by itself.
struct Producer {
  explicit Producer(bool endless, std::size_t size = 100, milliseconds pause = milliseconds(1))
      : handle([=, this](const Request& request, std::shared_ptr<Answer> answer) {
          ticket = request.ticket;
          thread = std::thread([=, this, to = std::move(answer)] {
            to->begin({.content_type = "text/plain", .endless = endless});
            while (to->part(std::string(size, 'x'))) {
              ++parts;
              std::this_thread::sleep_for(pause);
            }
            stopped = true;
          });
        }) {}
  ~Producer() {
    if (thread.joinable()) thread.join();
  }

  Served::Handle handle;
  std::shared_ptr<Ticket> ticket;
  std::atomic<std::size_t> parts{0};
  std::atomic<bool> stopped{false};
  std::thread thread;
};

// Well, if it is endless.
TEST(Stream, StopsWhenItsClientLeaves) {
  for (const bool endless : {false, true}) {
    Producer producer(endless);
    Served server(producer.handle);
    Client client(server);
    client.ask();
    client.read_to("xxx");
    client.leave();
    wait_until([&] { return producer.stopped.load(); });
    EXPECT_TRUE(producer.ticket->given_up());
    wait_until([&] { return server.counted(endless ? 200 : 499); });
  }
}

TEST(Stream, OfAClientThatReadsNothingIsCutOff) {
  Producer producer(false, 65536, milliseconds(0));
  Limits limits;
  limits.stream = 100'000;
  Served server(producer.handle, limits);
  Client client(server);
  client.ask();
  wait_until([&] { return producer.stopped.load(); });
  // The system's buffers hold some megabytes besides the limit.
  EXPECT_LT(producer.parts.load() * 65536, std::size_t{64} << 20);
  EXPECT_FALSE(client.read_all().ends_with("0\r\n\r\n"));
}

// The parts of one step are handed over at its end: until then no client can read them.
TEST(Stream, ALargeStepIsNotWhatAClientDoesNotRead) {
  Limits limits;
  limits.stream = 2000;
  std::thread thread;
  Served server(
      [&](const Request&, std::shared_ptr<Answer> answer) {
        thread = std::thread([&, to = std::move(answer)] {
          for (int step = 0; step < 2; ++step) {
            const DeferredPosts deferred;
            if (step == 0) to->begin({.content_type = "text/plain"});
            for (int part = 0; part < 5; ++part)
              EXPECT_TRUE(to->part(std::string(limits.stream / 2, 'x'))) << step << part;
          }
          to->end({});
        });
      },
      limits);
  Client client(server);
  client.ask();
  EXPECT_TRUE(client.read_to("\r\n0\r\n\r\n").ends_with("\r\n0\r\n\r\n"));
  thread.join();
}

// What comes behind a request that takes long stays with the system, whose buffers hold some
// megabytes.
TEST(Stream, RequestsAheadOfAnAnswerTakeNoMemory) {
  std::promise<std::shared_ptr<Answer>> asked;
  Served server(
      [&](const Request&, std::shared_ptr<Answer> answer) { asked.set_value(std::move(answer)); });
  Client client(server);
  client.ask();
  std::shared_ptr<Answer> answer = asked.get_future().get();
  constexpr std::size_t kMost = std::size_t{64} << 20;
  EXPECT_LT(client.push(kMost), kMost);
  answer.reset();  // ends the connection
}

TEST(Stream, ThatStandsStillIsCutOffAfterTheSlack) {
  Producer producer(false, 65536, milliseconds(1));
  Limits limits;
  limits.stream = std::size_t{1} << 30;
  limits.slack = milliseconds(200);
  limits.rate = std::size_t{1} << 30;
  Served server(producer.handle, limits);
  Client client(server);
  client.ask();
  wait_until([&] { return producer.stopped.load(); });
  EXPECT_FALSE(client.read_all().ends_with("0\r\n\r\n"));
}

TEST(Stream, ThatIsSilentOutlivesEveryDeadline) {
  std::thread thread;
  Limits limits;
  limits.slack = limits.request_time = limits.idle_time = milliseconds(50);
  Served server(
      [&](const Request&, std::shared_ptr<Answer> answer) {
        thread = std::thread([to = std::move(answer)] {
          to->begin({.content_type = "text/plain"});
          std::this_thread::sleep_for(milliseconds(400));
          EXPECT_TRUE(to->part("late"));
          wait_until([&] { return to->unsent() == 0; });
          to->end({});
        });
      },
      limits);
  Client client(server);
  client.ask();
  EXPECT_TRUE(client.read_to("\r\n0\r\n\r\n").ends_with("4\r\nlate\r\n0\r\n\r\n"));
  thread.join();
}

TEST(Stream, ThatNobodyEndsIsNotTakenForWhole) {
  Served server([](const Request&, const std::shared_ptr<Answer>& answer) {
    answer->begin({.body = "half"});
    throw std::runtime_error("in the middle");
  });
  Client client(server);
  client.ask();
  EXPECT_FALSE(has(client.read_all(), "0\r\n\r\n"));
}

TEST(Stream, ThatIsEndlessEndsWhenTheServerDrains) {
  Producer producer(true);
  Served server(producer.handle);
  Client client(server);
  client.ask();
  client.read_to("xxx");
  server.drain();
  EXPECT_TRUE(client.read_all().ends_with("\r\n0\r\n\r\n"));
  client.leave();
  server.join();
}

TEST(Stream, ThatIsEndlessEndsWhereItBeginsWhileTheServerDrains) {
  std::promise<std::shared_ptr<Answer>> asked;
  Served server(
      [&](const Request&, std::shared_ptr<Answer> answer) { asked.set_value(std::move(answer)); });
  Client client(server);
  client.ask();
  const std::shared_ptr<Answer> answer = asked.get_future().get();
  server.drain();
  wait_until([&] { return server.draining(); });
  answer->begin({.body = "once", .endless = true});
  EXPECT_TRUE(client.read_all().ends_with("\r\n4\r\nonce\r\n0\r\n\r\n"));
  client.leave();
  server.join();
}

TEST(Stream, ThatEndsByItselfIsFinishedWhenTheServerDrains) {
  std::atomic<bool> go{false};
  std::thread thread;
  Served server([&](const Request&, std::shared_ptr<Answer> answer) {
    answer->begin({.body = "one"});
    thread = std::thread([&go, to = std::move(answer)] {
      wait_until([&] { return go.load(); });
      EXPECT_TRUE(to->part("two"));
      to->end({});
    });
  });
  Client client(server);
  client.ask();
  client.read_to("one\r\n");
  server.drain();
  go = true;
  EXPECT_EQ(client.read_all(), "3\r\ntwo\r\n0\r\n\r\n");
  client.leave();
  server.join();
  thread.join();
}

}  // namespace
}  // namespace limpid::serve
