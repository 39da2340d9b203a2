// Connection: one client and its sequential requests. Included only by server.cc and connection.cc,
// as Asio's headers are slow to compile.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "limpid/serve/cors.h"
#include "limpid/serve/detail/event_loop.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/http_parser.h"
#include "limpid/serve/server.h"

namespace limpid::serve {

class Connection;

// The bytes of a request's body, counted from their arrival until nobody holds them.
class BodyBytes {
 public:
  using Total = std::atomic<std::size_t>;

  explicit BodyBytes(std::shared_ptr<Total> total) : total_(std::move(total)) {}
  ~BodyBytes() { total_->fetch_sub(amount_); }
  BodyBytes(const BodyBytes&) = delete;
  BodyBytes& operator=(const BodyBytes&) = delete;

  // On the thread of the loop.
  std::size_t amount() const { return amount_; }
  void add(std::size_t bytes) {
    total_->fetch_add(bytes);
    amount_ += bytes;
  }

 private:
  std::shared_ptr<Total> total_;
  std::size_t amount_ = 0;
};

// A request that waits for a thread that reads large bodies. If its client leaves before, its
// memory is given back at once.
class LargeRequest {
 public:
  LargeRequest(Request request, std::shared_ptr<BodyBytes> bytes)
      : request_(std::move(request)), bytes_(std::move(bytes)) {}

  // nullopt if it was dropped. The bytes count until this object is destroyed.
  std::optional<Request> take();
  void drop() noexcept;

 private:
  std::mutex mutex_;
  std::optional<Request> request_;
  std::shared_ptr<BodyBytes> bytes_;
};

// Shared by all connections. Only the thread of the loop may use it, except the atomics.
struct Shared {
  Shared(Server::Options given, Metrics& its_metrics, AccessLog& its_log)
      : options(std::move(given)),
        cors(options.origins, is_local(options.address)),
        metrics(its_metrics),
        log(its_log),
        scratch(65536, '\0') {}

  static bool is_local(const std::string& address) {
    boost::system::error_code none;
    return boost::asio::ip::make_address(address, none).is_loopback();
  }

  Server::Options options;
  const Cors cors;
  Metrics& metrics;
  AccessLog& log;
  // Shared ownership: responses may still arrive, and are ignored, after the server has stopped.
  std::shared_ptr<EventLoop> loop = std::make_shared<EventLoop>();
  boost::asio::thread_pool readers{2};  // for large bodies
  std::set<std::shared_ptr<Connection>> connections;
  std::string scratch;        // read buffer
  std::string spare;          // memory for the bytes of a request, to reuse
  const std::string& date();  // for the Date header
  std::time_t date_time = 0;
  std::string date_text;
  std::function<void()> on_close;
  void tell_of_round();
  bool round_told = false;
  std::atomic<bool> draining{false};
  std::atomic<std::size_t> count{0};  // number of connections
  // Of active requests.
  std::shared_ptr<BodyBytes::Total> body_bytes = std::make_shared<BodyBytes::Total>(0);
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, Shared& shared);

  void start();
  // Reads what has arrived already, before drain().
  void read_now();
  // Takes no further request: closes now, or after the current response.
  void drain();
  void close() noexcept;

  // The methods of Answer, for request number `exchange`; no effect if that request is over.
  void answer(std::uint64_t exchange, Response response) noexcept;
  void begin(std::uint64_t exchange, Response response,
             std::shared_ptr<std::atomic<std::size_t>> unsent) noexcept;
  void part(std::uint64_t exchange, std::string_view bytes) noexcept;
  void end(std::uint64_t exchange, Facts facts) noexcept;
  // Closes the connection unless the response is whole.
  void cut_off(std::uint64_t exchange) noexcept;

 private:
  enum class Phase { kReading, kHandling, kWriting, kStreaming, kLingering, kClosed };
  using Clock = std::chrono::steady_clock;

  template <typename Step>
  void guard(Step step) noexcept;
  void begin_reading();
  void watch();
  void on_readable();
  void on_end();
  void read();
  void read_requests();
  void on_head();
  std::size_t account_body();
  void handle();
  void refuse(const HttpError& error);
  void write(Response response);
  void written();
  template <typename Buffers, typename Done>
  void write_all(const Buffers& buffers, Done done);
  void begin_parts(Response& response, std::shared_ptr<std::atomic<std::size_t>> unsent);
  void add_part(std::string_view bytes);
  void end_parts();
  void write_parts();
  void finish(int status) noexcept;
  void linger();
  void arm(Clock::time_point deadline);
  void begin_transfer();
  void arm_after(std::size_t bytes);
  void set_timer();
  void on_deadline();
  void give_up() noexcept;
  void add_head(std::string& to, const Response& response, bool in_parts) const;

  boost::asio::ip::tcp::socket socket_;
  Shared& shared_;
  boost::asio::steady_timer timer_;
  Clock::time_point deadline_{};
  bool timing_ = false;  // the timer is set to the deadline or an earlier time
  RequestReader reader_;
  Phase phase_ = Phase::kReading;
  bool watching_ = false;     // waiting for bytes
  bool half_closed_ = false;  // the client has closed its sending side
  bool close_after_ = false;  // close after this response
  bool in_header_ = false, in_body_ = false;
  bool reading_ = false;  // read() is active
  std::string client_;

  // Of the current request.
  std::uint64_t exchange_ = 0;
  Clock::time_point asked_{};
  std::shared_ptr<Ticket> ticket_;
  std::shared_ptr<BodyBytes> body_bytes_;
  std::shared_ptr<LargeRequest> large_;  // if it waits to be read
  LogEntry entry_;
  bool head_only_ = false;
  bool chunks_ = true;        // the client supports chunked coding (HTTP/1.1)
  std::vector<Header> cors_;  // CORS headers of the response

  // The response. If it is streamed, body_ is the part being written.
  std::string head_, body_;
  std::string parts_;  // parts to write after body_
  std::shared_ptr<std::atomic<std::size_t>>
      unsent_;               // bytes of parts that the client has not received
  std::size_t waiting_ = 0;  // of these, the bytes in parts_
  bool writing_ = false, ended_ = false, endless_ = false;
  std::size_t written_ = 0;   // bytes of the current write
  std::size_t lingered_ = 0;  // bytes discarded
};

}  // namespace limpid::serve
