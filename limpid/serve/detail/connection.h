// Connection: one client, its requests one after the other. Included by server.cc and connection.cc
// alone, since Asio's headers are what compiling costs.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <ctime>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "limpid/serve/cors.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/http_parser.h"
#include "limpid/serve/server.h"

namespace limpid::serve {

class Connection;

// What all connections share. All of it belongs to the one thread that runs the context, but for
// the atomics.
struct Shared {
  Shared(Server::Options given, Metrics& its_metrics, AccessLog& its_log)
      : options(std::move(given)),
        cors(options.origins),
        metrics(its_metrics),
        log(its_log),
        scratch(65536, '\0') {}

  Server::Options options;
  const Cors cors;
  Metrics& metrics;
  AccessLog& log;
  // Answers may come, to nobody, after the server has ended.
  std::shared_ptr<boost::asio::io_context> context =
      std::make_shared<boost::asio::io_context>(BOOST_ASIO_CONCURRENCY_HINT_SAFE);
  boost::asio::thread_pool readers{1};  // of large bodies
  std::set<std::shared_ptr<Connection>> connections;
  std::string scratch;        // what a read fills
  std::string spare;          // memory for the bytes of a request
  const std::string& date();  // for the header
  std::time_t date_time = 0;
  std::string date_text;
  std::function<void()> on_close;
  void tell_of_round();
  bool round_told = false;
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

  // Of request number `exchange`; without effect when that is over. As Answer has them.
  void answer(std::uint64_t exchange, Response response);
  void begin(std::uint64_t exchange, Response response,
             std::shared_ptr<std::atomic<std::size_t>> unsent);
  void part(std::uint64_t exchange, std::string_view bytes);
  void end(std::uint64_t exchange, Facts facts);
  void cut_off(std::uint64_t exchange);

 private:
  enum class Phase { kReading, kHandling, kWriting, kStreaming, kLingering, kClosed };
  using Clock = std::chrono::steady_clock;

  void watch();
  void on_readable();
  void on_end();
  void read();
  void read_requests();
  void on_head();
  void account_body();
  void handle();
  void refuse(const HttpError& error);
  void write(Response response);
  void written();
  void add_part(std::string_view bytes);
  void end_parts();
  void write_parts();
  void arm_for(std::size_t bytes);
  void finish(int status, const Facts& facts);
  void linger();
  void arm(Clock::time_point deadline);
  void set_timer();
  void on_deadline();
  void add_head(std::string& to, const Response& response, bool in_parts) const;

  boost::asio::ip::tcp::socket socket_;
  Shared& shared_;
  boost::asio::steady_timer timer_;
  Clock::time_point deadline_{};
  bool timing_ = false;  // the timer runs, to the deadline or a time before it
  RequestReader reader_;
  Phase phase_ = Phase::kReading;
  bool watching_ = false;     // a wait for bytes is under way
  bool half_closed_ = false;  // the client sends no more
  bool close_after_ = false;  // the answer is the last one
  bool in_header_ = false, in_body_ = false;
  bool reading_ = false;  // read() is under way
  std::string client_;

  // Of the request under way.
  std::uint64_t exchange_ = 0;
  Clock::time_point body_began_{}, asked_{};
  std::shared_ptr<Ticket> ticket_;
  std::size_t body_bytes_ = 0;  // that are accounted for
  LogEntry entry_;
  bool head_only_ = false;
  bool chunks_ = true;        // the client knows them: it speaks HTTP/1.1
  std::vector<Header> cors_;  // for the page that asks

  // Its answer; of one in parts, body_ is what is being written.
  std::string head_, body_;
  std::string parts_;  // that wait until body_ is written
  std::shared_ptr<std::atomic<std::size_t>>
      unsent_;               // bytes of parts that the client has not taken
  std::size_t waiting_ = 0;  // of them, those in parts_
  bool writing_ = false, ended_ = false, endless_ = false;
  std::size_t lingered_ = 0;  // bytes thrown away
};

}  // namespace limpid::serve
