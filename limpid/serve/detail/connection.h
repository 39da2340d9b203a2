// Connection: one client, its requests one after the other. Included by server.cc and connection.cc
// alone, since Asio's headers are what compiling costs.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "limpid/serve/http_error.h"
#include "limpid/serve/http_parser.h"
#include "limpid/serve/server.h"

namespace limpid::serve {

class Connection;

// What all connections share. All of it belongs to the one thread that runs the context, but for
// the atomics.
struct Shared {
  Shared(Server::Options given, Metrics& its_metrics, AccessLog& its_log)
      : options(std::move(given)), metrics(its_metrics), log(its_log), scratch(65536, '\0') {}

  Server::Options options;
  Metrics& metrics;
  AccessLog& log;
  // Answers may come, to nobody, after the server has ended.
  std::shared_ptr<boost::asio::io_context> context =
      std::make_shared<boost::asio::io_context>(BOOST_ASIO_CONCURRENCY_HINT_SAFE);
  boost::asio::thread_pool readers{1};  // of large bodies
  std::set<std::shared_ptr<Connection>> connections;
  std::string scratch;  // what a read fills
  std::function<void()> on_close;
  std::atomic<bool> draining{false};
  std::atomic<std::size_t> count{0};       // of connections
  std::atomic<std::size_t> body_bytes{0};  // of requests under way
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, Shared& shared);

  void start();
  // No further request: closes now, or behind the answer that is under way.
  void drain();
  void close();

  // Of request number `exchange`; without effect when that is over.
  void answer(std::uint64_t exchange, Response response);

 private:
  enum class Phase { kReading, kHandling, kWriting, kLingering, kClosed };
  using Clock = std::chrono::steady_clock;

  void watch();
  void on_readable();
  void on_end();
  void read();
  void on_head();
  void account_body();
  void handle();
  void refuse(const HttpError& error);
  void write(Response response);
  void written();
  void finish(int status, const Facts& facts);
  void linger();
  void arm(Clock::time_point deadline);
  void on_deadline();
  std::string head_of(const Response& response) const;

  boost::asio::ip::tcp::socket socket_;
  Shared& shared_;
  boost::asio::steady_timer timer_;
  RequestReader reader_;
  Phase phase_ = Phase::kReading;
  bool watching_ = false;     // a wait for bytes is under way
  bool half_closed_ = false;  // the client sends no more
  bool close_after_ = false;  // the answer is the last one
  bool in_header_ = false, in_body_ = false;
  std::string client_;

  // Of the request under way.
  std::uint64_t exchange_ = 0;
  Clock::time_point body_began_{}, asked_{};
  std::shared_ptr<Ticket> ticket_;
  std::size_t body_bytes_ = 0;  // that are accounted for
  LogEntry entry_;
  bool head_only_ = false;

  // Its answer.
  std::string head_, body_;
  std::size_t lingered_ = 0;  // bytes thrown away
};

}  // namespace limpid::serve
