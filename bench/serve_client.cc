// Clients of a server, all on one thread. Closed loop: each connection sends its next request after
// an answer. Open loop: requests are due at fixed times whether or not earlier ones were answered,
// and latencies count from the due time. Or streams of completions. Prints one line of JSON.
// Depends only on the operating system.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/arguments.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int port = 8000;
  std::string path = "/v2/models/net/infer";
  std::string body;                  // a file
  std::vector<std::string> headers;  // "Name: value"
  int connections = 1;
  double seconds = 5, warm_up = 0.5;
  double rate = 0;      // requests per second, open loop; 0: closed loop
  double patience = 0;  // seconds that a request may wait for a connection; 0: no limit
  double within = 1e9;  // seconds: slower answers are late
  int tokens = 0;       // of each answer, which is a stream; 0: no streams
  int idle = 0;         // further connections, without requests
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "serve_client: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

double seconds_of(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

int connected(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    fail("connect");
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return fd;
}

struct Connection {
  int fd = -1;
  bool busy = false;
  Clock::time_point due{}, sent{}, first{}, last{};
  std::string in;
  std::size_t searched = 0;
};

// Outcomes of the requests that were due in the measured time, and their latencies in seconds. For
// refused requests the latency counts from the time of sending.
struct Tally {
  std::vector<double> answered, refused, first_token, per_token;
  std::uint64_t others = 0;
  std::uint64_t unsent = 0;   // no connection was free in time
  std::uint64_t in_time = 0;  // of those answered
  double lag = 0;             // the longest that a request waited for a free connection
};

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

class Clients {
 public:
  explicit Clients(const Options& options) : options_(options), epoll_(::epoll_create1(0)) {
    std::ostringstream body;
    std::ifstream file(options.body, std::ios::binary);
    if (!file) throw std::runtime_error("--body: expected a file, got \"" + options.body + "\"");
    body << file.rdbuf();
    request_ = "POST " + options.path +
               " HTTP/1.1\r\nHost: bench\r\nContent-Length: " + std::to_string(body.str().size()) +
               "\r\n";
    for (const std::string& header : options.headers) request_ += header + "\r\n";
    request_ += "\r\n" + body.str();
    for (int i = 0; i < options.connections; ++i) {
      connections_.push_back(std::make_unique<Connection>());
      Connection& c = *connections_.back();
      c.fd = connected(options.port);
      epoll_event event{.events = EPOLLIN, .data = {.ptr = &c}};
      if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, c.fd, &event) != 0) fail("epoll");
      free_.push_back(&c);
    }
    for (int i = 0; i < options.idle; ++i) idle_.push_back(connected(options.port));
    // Reserved now, so that no vector grows (and copies) while requests are due.
    const auto most = static_cast<std::size_t>(options.rate * options.seconds) + 1;
    tally_.answered.reserve(most);
    tally_.refused.reserve(most);
  }

  Tally run() {
    begin_ = Clock::now();
    measured_ = begin_ + span(options_.warm_up);
    end_ = measured_ + span(options_.seconds);
    std::uint64_t sent = 0;
    while (Clock::now() < end_) {
      if (options_.rate > 0) {
        for (;; ++sent) {
          const auto due = begin_ + span(static_cast<double>(sent) / options_.rate);
          if (due > Clock::now()) break;
          waiting_.push_back(due);
        }
        drop_late();
        while (!waiting_.empty() && !free_.empty()) {
          send(take_free(), waiting_.front());
          waiting_.pop_front();
        }
      } else {
        while (!free_.empty()) send(take_free(), Clock::now());
      }
      // Without a free connection, due requests wait for an answer, and are counted when sent.
      const auto next = begin_ + span(static_cast<double>(sent) / std::max(options_.rate, 1e-9));
      const bool may_send = options_.rate > 0 && !free_.empty();
      poll(may_send ? next - Clock::now() : std::chrono::milliseconds(100));
    }
    // Requests in flight still get time for their answers.
    const auto last = Clock::now() + std::chrono::seconds(options_.tokens > 0 ? 60 : 5);
    while (free_.size() < connections_.size() && Clock::now() < last)
      poll(std::chrono::milliseconds(100));
    tally_.others += connections_.size() - free_.size();
    return std::move(tally_);
  }

 private:
  static Clock::duration span(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  bool measured(Clock::time_point due) const { return due >= measured_ && due < end_; }

  void drop_late() {
    if (options_.patience <= 0) return;
    const auto oldest = Clock::now() - span(options_.patience);
    for (; !waiting_.empty() && waiting_.front() < oldest; waiting_.pop_front())
      tally_.unsent += measured(waiting_.front());
  }

  Connection& take_free() {
    Connection& c = *free_.front();
    free_.pop_front();
    return c;
  }

  void send(Connection& c, Clock::time_point due) {
    c.due = due;
    c.busy = true;
    c.first = {};
    c.sent = Clock::now();
    tally_.lag = std::max(tally_.lag, seconds_of(c.sent - due));
    // Small enough for the socket's buffer.
    if (::send(c.fd, request_.data(), request_.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request_.size()))
      fail("send");
  }

  void poll(Clock::duration longest) {
    const std::int64_t nanoseconds =
        std::max<std::int64_t>(0, std::chrono::nanoseconds(longest).count());
    const timespec wait{.tv_sec = nanoseconds / 1'000'000'000,
                        .tv_nsec = nanoseconds % 1'000'000'000};
    epoll_event events[256];
    const int count = ::epoll_pwait2(epoll_, events, 256, &wait, nullptr);
    for (int i = 0; i < count; ++i) read(*static_cast<Connection*>(events[i].data.ptr));
  }

  void read(Connection& c) {
    char bytes[65536];
    const ssize_t size = ::recv(c.fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size <= 0) {
      if (size < 0 && errno == EAGAIN) return;
      std::fprintf(stderr, "serve_client: the server closed a connection\n");
      std::exit(1);
    }
    c.in.append(bytes, static_cast<std::size_t>(size));
    if (options_.tokens > 0) note_events(c);
    const std::size_t head = c.in.find("\r\n\r\n");
    if (head == std::string::npos) return;
    const std::string_view header = std::string_view(c.in).substr(0, head);
    const std::size_t length = header.find("Content-Length: ");
    if (length == std::string_view::npos) {
      if (!c.in.ends_with("\r\n0\r\n\r\n")) return;
    } else if (c.in.size() < head + 4 + std::strtoull(c.in.c_str() + length + 16, nullptr, 10)) {
      return;
    }
    done(c, std::atoi(c.in.c_str() + 9));
  }

  // A token that does not complete a character has no event.
  void note_events(Connection& c) {
    constexpr std::string_view kMark = "data: {";
    for (std::size_t at; (at = c.in.find(kMark, c.searched)) != std::string::npos;
         c.searched = at + kMark.size()) {
      c.last = Clock::now();
      if (c.first == Clock::time_point()) c.first = c.last;
    }
  }

  void done(Connection& c, int status) {
    const auto now = Clock::now();
    if (measured(c.due)) {
      if (status == 200) {
        tally_.answered.push_back(seconds_of(now - c.due));
        tally_.in_time += tally_.answered.back() <= options_.within;
      } else if (status == 503) {
        tally_.refused.push_back(seconds_of(now - c.sent));
      } else {
        ++tally_.others;
      }
      if (options_.tokens > 1 && c.first != Clock::time_point()) {
        tally_.first_token.push_back(seconds_of(c.first - c.due));
        tally_.per_token.push_back(seconds_of(c.last - c.first) / (options_.tokens - 1));
      }
    }
    c.in.clear();
    c.searched = 0;
    c.busy = false;
    free_.push_back(&c);
  }

  const Options& options_;
  int epoll_;
  std::string request_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<int> idle_;
  std::deque<Connection*> free_;
  std::deque<Clock::time_point> waiting_;
  Clock::time_point begin_{}, measured_{}, end_{};
  Tally tally_;
};

void print_times(const char* name, std::vector<double>& seconds) {
  double sum = 0;
  for (const double s : seconds) sum += s;
  const double mean = seconds.empty() ? 0 : sum / static_cast<double>(seconds.size());
  std::printf(
      ", \"%s\": {\"count\": %zu, \"mean\": %.9f, \"median\": %.9f, \"p99\": %.9f, \"most\": %.9f}",
      name, seconds.size(), mean, quantile(seconds, 0.5), quantile(seconds, 0.99),
      quantile(seconds, 1));
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments("Send requests to a server on this machine and time the answers.");
  Options options;
  arguments.option("port", options.port, 1, 65535);
  arguments.option("path", options.path);
  arguments.option("body", options.body, "file with the body");
  arguments.option("header", options.headers, "Name: value");
  arguments.option("connections", options.connections, 1, 20000);
  arguments.option("idle", options.idle, 0, 20000, "further connections, without requests");
  arguments.option("seconds", options.seconds, 0.001, 1e6);
  arguments.option("warm-up", options.warm_up, 0, 1e6, "seconds before");
  arguments.option("rate", options.rate, 0, 1e9,
                   "requests a second, due at fixed times; 0: as fast as they are answered");
  arguments.option("patience", options.patience, 0, 1e9,
                   "seconds that a due request may wait for a connection; 0: no limit");
  arguments.option("within", options.within, 0, 1e9, "seconds within which an answer is in time");
  arguments.option("tokens", options.tokens, 0, 1000000,
                   "each answer is a stream of this many tokens");
  return arguments.run(argc, argv, [&] {
    Clients clients(options);
    Tally tally = clients.run();
    std::printf(
        "{\"per_second\": %.1f, \"in_time\": %llu, \"unsent\": %llu, \"others\": %llu, \"lag\": "
        "%.6f",
        static_cast<double>(tally.answered.size()) / options.seconds,
        static_cast<unsigned long long>(tally.in_time),
        static_cast<unsigned long long>(tally.unsent),
        static_cast<unsigned long long>(tally.others), tally.lag);
    print_times("answered", tally.answered);
    print_times("refused", tally.refused);
    print_times("first_token", tally.first_token);
    print_times("per_token", tally.per_token);
    std::printf("}\n");
  });
}
