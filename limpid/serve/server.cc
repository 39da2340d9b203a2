#include "limpid/serve/server.h"

#include <fmt/format.h>

#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
#include <thread>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/serve/detail/connection.h"

namespace limpid::serve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Time to wait before trying again, after the system had no more sockets or memory.
constexpr std::chrono::milliseconds kPause{50};
// How long a server that ends lets in the clients that have connected already.
constexpr std::chrono::milliseconds kLetIn{1000};

}  // namespace

struct Server::State {
  State(Options given, Metrics& metrics, AccessLog& log)
      : shared(std::move(given), metrics, log),
        acceptor(shared.loop->context()),
        timer(shared.loop->context()),
        signals(shared.loop->context(), SIGTERM, SIGINT) {}

  void listen() {
    error_code error;
    const asio::ip::address address = asio::ip::make_address(shared.options.address, error);
    if (error)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("serve: expected an IPv4 or IPv6 address, got {}",
                              in_quotes(shared.options.address)));
    const tcp::endpoint endpoint(address, shared.options.port);
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      throw Error(ErrorCode::kIo,
                  fmt::format("serve: listening on {} port {}: {}", shared.options.address,
                              shared.options.port, error.message()));
  }

  void accept() {
    if (accepting || shared.draining.load()) return;
    acceptor.async_accept([this](const error_code& error, tcp::socket socket) {
      accepting = false;
      if (shared.draining.load()) return;
      if (error) {
        timer.expires_after(kPause);
        timer.async_wait([this](const error_code&) {
          accepting = false;
          accept();
        });
        accepting = true;
        return;
      }
      admit(std::move(socket));
      accept();
    });
    accepting = true;
  }

  void admit(tcp::socket socket) {
    if (shared.count.load() >= shared.options.limits.connections) {
      constexpr std::string_view kFull =
          "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
          "Retry-After: 1\r\nConnection: close\r\nContent-Length: 33\r\n\r\n"
          R"({"error":"too many connections"})"
          "\n";
      error_code ignored;
      socket.non_blocking(true, ignored);
      socket.write_some(asio::buffer(kFull.data(), kFull.size()), ignored);
      shared.metrics.request({}, 503, 0);
      return;
    }
    const auto connection = std::make_shared<Connection>(std::move(socket), shared);
    shared.connections.insert(connection);
    ++shared.count;
    connection->start();
  }

  void wait_for_signal() {
    if (waiting_for_signal) return;
    signals.async_wait([this](const error_code& error, int signal) {
      waiting_for_signal = false;
      if (error) return;
      if (shared.draining.exchange(true)) std::_Exit(128 + signal);
      drain();
      wait_for_signal();
    });
    waiting_for_signal = true;
  }

  // Clients that connected before the acceptor closes: what they have sent is answered. Those that
  // go on connecting may not keep the server from its end.
  void admit_backlog() {
    error_code error;
    acceptor.non_blocking(true, error);
    const auto end = std::chrono::steady_clock::now() + kLetIn;
    while (!error && std::chrono::steady_clock::now() < end) {
      tcp::socket socket(shared.loop->context());
      acceptor.accept(socket, error);
      if (!error) admit(std::move(socket));
    }
    for_each_connection([](Connection& connection) { connection.read_now(); });
  }

  void drain() {
    timer.expires_after(shared.options.limits.drain_time);
    timer.async_wait([this](const error_code& error) {
      if (!error) shared.loop->context().stop();
    });
    shared.log.event("drain", "no further requests are taken");
    if (acceptor.is_open()) admit_backlog();
    error_code ignored;
    acceptor.close(ignored);
    shared.on_close = [this] {
      if (shared.connections.empty()) shared.loop->context().stop();
    };
    for_each_connection([](Connection& connection) { connection.drain(); });
    shared.on_close();
  }

  // Runs the loop. After std::bad_alloc, starts again whatever had no memory to start.
  void run() {
    for (;;) try {
        wait_for_signal();
        accept();
        if (shared.draining.load()) drain();
        shared.loop->context().run();
        return;
      } catch (const std::bad_alloc&) {
        std::this_thread::sleep_for(kPause);
      }
  }

  void end() {
    shared.on_close = {};
    for_each_connection([](Connection& connection) { connection.close(); });
    shared.readers.join();
  }

  // `f` may close the connection, which removes it from the set.
  template <typename F>
  void for_each_connection(F f) {
    for (auto at = shared.connections.begin(); at != shared.connections.end();) {
      const std::shared_ptr<Connection> connection = *at++;
      f(*connection);
    }
  }

  Shared shared;
  bool accepting = false, waiting_for_signal = false;
  tcp::acceptor acceptor;
  asio::steady_timer timer;
  asio::signal_set signals;
};

Server::Server(Options options, Metrics& metrics, AccessLog& log)
    : state_(std::make_unique<State>(std::move(options), metrics, log)) {
  state_->listen();
}

Server::~Server() = default;

std::string Server::url() const {
  const tcp::endpoint endpoint = state_->acceptor.local_endpoint();
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("http://[{}]:{}", address, endpoint.port())
                                    : fmt::format("http://{}:{}", address, endpoint.port());
}

void Server::run() {
  state_->run();
  state_->end();
}

bool Server::draining() const { return state_->shared.draining.load(); }
std::size_t Server::connections() const { return state_->shared.count.load(); }
std::size_t Server::body_bytes() const { return state_->shared.body_bytes->load(); }

}  // namespace limpid::serve
