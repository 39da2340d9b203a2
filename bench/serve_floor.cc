// The least server for serve_client: one thread that reads a request, computes nothing for a given
// time, and sends bytes that are ready. It keeps to no limit and refuses nobody. What it cannot
// reach on a machine, no server that computes as long can. Depends only on the operating system.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "bench/arguments.h"

namespace {

using Clock = std::chrono::steady_clock;

// As long as the answer of `limpid serve` for ten classes.
constexpr std::string_view kHead = "HTTP/1.1 200 OK\r\nContent-Length: 440\r\n\r\n";

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "serve_floor: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

struct Connection {
  int fd = -1;
  std::string in;
};

// The bytes of the request that `in` begins with, or 0 if it is not all there.
std::size_t length_of(const std::string& in) {
  constexpr std::string_view kLength = "\r\nContent-Length: ";
  const std::size_t head = in.find("\r\n\r\n");
  const std::size_t at = in.find(kLength);
  if (head == std::string::npos || at >= head) return 0;
  const std::size_t all = head + 4 + std::strtoull(in.c_str() + at + kLength.size(), nullptr, 10);
  return in.size() < all ? 0 : all;
}

void watch(int epoll, int fd, Connection* connection) {
  epoll_event event{.events = EPOLLIN, .data = {.ptr = connection}};
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll");
}

void accept_one(int epoll, int listener) {
  const int fd = ::accept(listener, nullptr, nullptr);
  if (fd < 0) return;
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  watch(epoll, fd, new Connection{fd, {}});
}

// Returns false if the client has left.
bool answer(Connection& c, Clock::duration time, std::string_view ready) {
  static std::array<char, 65536> bytes;
  const ssize_t size = ::recv(c.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (size < 0 && errno == EAGAIN) return true;
  if (size <= 0) return false;
  c.in.append(bytes.data(), static_cast<std::size_t>(size));
  while (const std::size_t length = length_of(c.in)) {
    c.in.erase(0, length);
    for (const auto end = Clock::now() + time; Clock::now() < end;) {
    }
    if (::send(c.fd, ready.data(), ready.size(), MSG_NOSIGNAL) < 0) return false;
  }
  return true;
}

// Does not return.
void serve(double microseconds) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (listener < 0 || ::bind(listener, reinterpret_cast<const sockaddr*>(&at), size) != 0 ||
      ::listen(listener, SOMAXCONN) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    fail("listen");
  std::printf("listening on http://127.0.0.1:%d\n", ntohs(at.sin_port));
  std::fflush(stdout);

  const auto time = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::micro>(microseconds));
  const std::string ready = std::string(kHead) + std::string(440, 'x');
  const int epoll = ::epoll_create1(0);
  watch(epoll, listener, nullptr);
  for (std::array<epoll_event, 128> events;;) {
    const int count = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      auto* const c = static_cast<Connection*>(events[i].data.ptr);
      if (!c) {
        accept_one(epoll, listener);
      } else if (!answer(*c, time, ready)) {
        ::close(c->fd);
        delete c;
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments("Answer every request with the same bytes.");
  double microseconds = 0;
  arguments.option("microseconds", microseconds, 0, 1e9, "time that each request computes nothing");
  return arguments.run(argc, argv, [&] { serve(microseconds); });
}
