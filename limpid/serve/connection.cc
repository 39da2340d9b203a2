// A connection: reads requests, passes them on, writes responses. Declared in detail/connection.h.
#include "limpid/serve/detail/connection.h"

#include <fmt/format.h>
#include <netinet/tcp.h>

#include <array>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <ctime>
#include <initializer_list>
#include <utility>

#include "limpid/serve/deferred_posts.h"

namespace limpid::serve {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Larger bodies, and pictures, are parsed on a thread of their own, as they would delay all
// connections.
constexpr std::size_t kLargeBody = 65'536;
// Most bytes of further requests that are read while one is being answered.
constexpr std::size_t kAhead = 65'536;
// After a refusal, input is discarded up to this size and for this time: closing at once would
// reset the connection, and the client might not read the response.
constexpr std::size_t kMostLingering = std::size_t{1} << 20;
constexpr std::chrono::milliseconds kLingering{2000};

// Passes a response to its connection, on the thread of all connections, if it still exists. Calls
// arrive in order.
class SocketAnswer final : public Answer {
 public:
  SocketAnswer(Shared& shared, std::weak_ptr<Connection> connection, std::uint64_t exchange,
               std::shared_ptr<Ticket> ticket)
      : loop_(shared.loop),
        connection_(std::move(connection)),
        exchange_(exchange),
        ticket_(std::move(ticket)),
        most_unsent_(shared.options.limits.stream) {
    cut_off_.push_back(task([](Connection& to, std::uint64_t e) { to.cut_off(e); }));
  }
  ~SocketAnswer() override {
    if (!ended_) cut_off();
  }

  void send(Response response) override {
    if (unsent_ || ended_) return;
    if (loop_->is_this_thread()) {
      if (const auto connection = connection_.lock())
        connection->answer(exchange_, std::move(response));
    } else {
      post([r = std::move(response)](Connection& to, std::uint64_t exchange) mutable {
        to.answer(exchange, std::move(r));
      });
    }
    ended_ = true;
  }

  void begin(Response response) override {
    if (unsent_ || ended_) return;
    auto unsent = std::make_shared<std::atomic<std::size_t>>(response.body.size());
    post([unsent, r = std::move(response)](Connection& to, std::uint64_t exchange) mutable {
      to.begin(exchange, std::move(r), std::move(unsent));
    });
    unsent_ = std::move(unsent);
  }

  bool part(std::string bytes) override {
    if (!unsent_ || ended_ || ticket_->given_up()) return false;
    if (const std::uint64_t now = DeferredPosts::round(); now != round_) {
      most_of_a_round_ = std::max(most_of_a_round_, std::exchange(of_this_round_, 0));
      round_ = now;
    }
    if (unsent_->load() > most_unsent_ + most_of_a_round_ + of_this_round_) {
      ticket_->give_up();
      cut_off();
      return false;
    }
    unsent_->fetch_add(bytes.size());
    if (round_ != 0) of_this_round_ += bytes.size();
    post([part = std::move(bytes)](Connection& to, std::uint64_t exchange) {
      to.part(exchange, part);
    });
    return true;
  }

  std::size_t unsent() const override { return unsent_ ? unsent_->load() : 0; }

  void end(Facts facts) override {
    if (!unsent_ || ended_) return;
    post([f = std::move(facts)](Connection& to, std::uint64_t exchange) mutable {
      to.end(exchange, std::move(f));
    });
    ended_ = true;
  }

 private:
  template <typename Step>
  std::function<void()> task(Step step) const {
    return [weak = connection_, exchange = exchange_, s = std::move(step)]() mutable {
      if (const auto connection = weak.lock()) s(*connection, exchange);
    };
  }

  template <typename Step>
  void post(Step step) {
    DeferredPosts::post(loop_, task(std::move(step)));
  }

  void cut_off() { loop_->post(std::move(cut_off_)); }

  std::shared_ptr<EventLoop> loop_;
  std::weak_ptr<Connection> connection_;
  std::uint64_t exchange_;
  std::shared_ptr<Ticket> ticket_;
  std::size_t most_unsent_;
  std::shared_ptr<std::atomic<std::size_t>> unsent_;  // of a streamed response
  // A step may make more than most_unsent_, such as the log probabilities of an echo. Its parts
  // wait for the end of the step: no client can have read them yet, and then they may take as long
  // as others of most_unsent_.
  std::uint64_t round_ = 0;
  std::size_t of_this_round_ = 0, most_of_a_round_ = 0;
  bool ended_ = false;
  Receiver::Tasks cut_off_;  // made in advance: later there may be no memory for it
};

void handle_or_refuse(const Server::Options& options, Request request,
                      const std::shared_ptr<Answer>& answer, std::string_view target) noexcept {
  try {
    try {
      options.handle(std::move(request), answer);
    } catch (...) {
      answer->send(options.say(to_http_error(std::current_exception()), target));
    }
  } catch (...) {
    // No memory for the error, either: destroying the answer closes the connection.
  }
}

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string date_at(std::time_t now) {
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                     kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// Idle seconds until the system probes whether the peer is still there.
using KeepIdle = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;

// The deadline of a request: the client's, at most the server's.
std::chrono::milliseconds time_of(const Request& request, std::chrono::milliseconds most) {
  const std::string* const text = request.header("limpid-deadline-ms");
  if (!text) return most;
  std::int64_t millis = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), millis);
  if (error != std::errc{} || end != text->data() + text->size() || millis < 1)
    throw HttpError(400, "Limpid-Deadline-Ms: expected a number of milliseconds, 1 or more");
  return std::min(most, std::chrono::milliseconds(millis));
}

}  // namespace

std::optional<Request> LargeRequest::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(request_, std::nullopt);
}

void LargeRequest::drop() noexcept {
  const std::lock_guard lock(mutex_);
  if (!request_) return;
  request_.reset();
  bytes_.reset();
}

Connection::Connection(asio::ip::tcp::socket socket, Shared& shared)
    : socket_(std::move(socket)),
      shared_(shared),
      timer_(shared.loop->context()),
      reader_(shared.options.limits, &shared.spare) {
  error_code error;
  const auto peer = socket_.remote_endpoint(error);
  if (!error) client_ = peer.address().to_string();
}

// An exception closes this connection only: there may be no memory for a response.
template <typename Step>
void Connection::guard(Step step) noexcept {
  try {
    step();
  } catch (...) {
    close();
  }
}

void Connection::start() {
  guard([&] { begin_reading(); });
}

void Connection::begin_reading() {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  // Detects clients that vanished without closing, even if nothing is sent to them.
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  socket_.set_option(
      KeepIdle(static_cast<int>(
          std::chrono::ceil<std::chrono::seconds>(shared_.options.limits.idle_time).count())),
      ignored);
  read();
}

void Connection::read_now() {
  guard([&] { on_readable(); });
}

void Connection::drain() {
  close_after_ = true;
  guard([&] {
    if (phase_ != Phase::kStreaming || !endless_) return;
    end_parts();
    write_parts();
  });
  if (phase_ == Phase::kReading && reader_.buffered() == 0 && !in_header_ && !in_body_) close();
}

// Nobody waits for the answer any more.
void Connection::give_up() noexcept {
  if (ticket_) ticket_->give_up();
  if (large_) large_->drop();
}

void Connection::close() noexcept {
  if (phase_ == Phase::kClosed) return;
  const bool streaming = phase_ == Phase::kStreaming;
  const bool waiting = streaming || phase_ == Phase::kHandling || phase_ == Phase::kWriting;
  phase_ = Phase::kClosed;
  give_up();
  body_bytes_.reset();
  if (waiting) finish(streaming && endless_ ? entry_.status : 499);
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
  --shared_.count;
  const auto self = shared_from_this();
  shared_.connections.erase(self);
  if (shared_.on_close) shared_.on_close();
}

// ---- reading

void Connection::watch() {
  if (watching_ || half_closed_ || phase_ == Phase::kClosed) return;
  watching_ = true;
  socket_.async_wait(asio::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const error_code& error) {
                       self->watching_ = false;
                       if (self->phase_ == Phase::kClosed) return;
                       self->guard([&] {
                         if (error)
                           self->on_end();
                         else
                           self->on_readable();
                       });
                     });
}

void Connection::on_readable() {
  error_code error;
  const std::size_t size = socket_.read_some(asio::buffer(shared_.scratch), error);
  if (error == asio::error::would_block || error == asio::error::interrupted) return watch();
  if (error) return on_end();
  if (phase_ == Phase::kLingering) {
    lingered_ += size;
    return lingered_ > kMostLingering ? close() : watch();
  }
  reader_.feed(std::string_view(shared_.scratch).substr(0, size));
  if (phase_ == Phase::kReading) return read();
  if (reader_.buffered() < kAhead) watch();
}

// The client has closed its side: it has left, unless its response is being written.
void Connection::on_end() {
  half_closed_ = true;
  if (phase_ == Phase::kWriting)
    close_after_ = true;
  else
    close();
}

// Requests that are answered at once end after this call returns, so that pipelined requests do not
// recurse.
void Connection::read() {
  reading_ = true;
  read_requests();
  reading_ = false;
}

void Connection::read_requests() {
  using State = RequestReader::State;
  const Limits& limits = shared_.options.limits;
  try {
    for (;;) {
      const State state = reader_.advance();
      if (state == State::kDone) return handle();
      if (state == State::kBody && !in_body_) {
        on_head();
        continue;
      }
      if (state == State::kIdle) {
        arm(Clock::now() + limits.idle_time);
      } else if (state == State::kHeader) {
        if (!in_header_) arm(Clock::now() + limits.header_time);
        in_header_ = true;
      } else {
        arm_after(account_body());
      }
      return watch();
    }
  } catch (const HttpError& error) {
    refuse(error);
  }
}

void Connection::on_head() {
  in_body_ = true;
  begin_transfer();
  shared_.cors.check(reader_.head());
  if (!is_preflight(reader_.head())) shared_.options.admit(reader_.head());
  if (reader_.waits_for_continue()) {
    // The socket has room for these few bytes, as nothing else is being written.
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    error_code ignored;
    socket_.write_some(asio::buffer(kContinue.data(), kContinue.size()), ignored);
  }
}

// Returns the number of bytes since the last call.
std::size_t Connection::account_body() {
  if (!body_bytes_) body_bytes_ = std::make_shared<BodyBytes>(shared_.body_bytes);
  const std::size_t more = reader_.body_bytes() - body_bytes_->amount();
  if (shared_.body_bytes->load() + more > shared_.options.limits.bodies)
    throw HttpError(503, "the server holds too many bytes of request bodies",
                    {{"Retry-After", "1"}});
  body_bytes_->add(more);
  return more;
}

// ---- handling

void Connection::handle() {
  account_body();
  Request request = reader_.take();
  in_header_ = in_body_ = false;
  ++exchange_;
  asked_ = Clock::now();
  entry_ = {.client = client_,
            .method = request.method,
            .target = request.target,
            .request_bytes = request.body.size()};
  ticket_ = request.ticket;
  head_only_ = request.method == "HEAD";
  chunks_ = request.minor_version > 0;
  cors_ = shared_.cors.headers(request);
  close_after_ = close_after_ || !request.keep_alive || shared_.draining.load();
  phase_ = Phase::kHandling;
  const auto answer =
      std::make_shared<SocketAnswer>(shared_, weak_from_this(), exchange_, request.ticket);
  try {
    arm(asked_ + time_of(request, shared_.options.limits.request_time));
    if (is_preflight(request)) {
      answer->send({.status = 204});
    } else if (request.body.size() < kLargeBody && !has_picture(request)) {
      shared_.tell_of_round();
      shared_.options.handle(std::move(request), answer);
    } else {
      large_ = std::make_shared<LargeRequest>(std::move(request), body_bytes_);
      asio::post(shared_.readers,
                 [&options = shared_.options, target = entry_.target, answer, large = large_] {
                   std::optional<Request> taken = large->take();
                   if (!taken) return;
                   handle_or_refuse(options, std::move(*taken), answer, target);
                   options.on_round();
                 });
    }
  } catch (...) {
    answer->send(shared_.options.say(to_http_error(std::current_exception()), entry_.target));
  }
  if (phase_ != Phase::kClosed && reader_.buffered() < kAhead) watch();
}

// For an invalid or refused request: closes afterwards, as the start of the next one is unknown.
void Connection::refuse(const HttpError& error) {
  ++exchange_;
  asked_ = Clock::now();
  const Request& head = reader_.head();
  entry_ = {.client = client_, .method = head.method, .target = head.target};
  head_only_ = head.method == "HEAD";
  cors_ = shared_.cors.headers(head);
  close_after_ = true;
  phase_ = Phase::kHandling;
  write(shared_.options.say(error, entry_.target));
}

// If the timer is set to an earlier deadline, leaves it: it is set again when it expires. Most
// deadlines are over by then, and setting a timer costs a system call.
void Connection::arm(Clock::time_point deadline) {
  deadline_ = deadline;
  if (!timing_ || deadline < timer_.expiry()) set_timer();
}

// Begins a body or a response; arm_after() sets the timer.
void Connection::begin_transfer() { deadline_ = Clock::now() + shared_.options.limits.slack; }

// Extends the deadline after `bytes` more bytes by their time at the minimum rate. The deadline is
// never later than the slack from now: a fast client may not pause for longer, either.
void Connection::arm_after(std::size_t bytes) {
  const Limits& limits = shared_.options.limits;
  const std::chrono::duration<double> time(static_cast<double>(bytes) /
                                           static_cast<double>(limits.rate));
  const auto latest = Clock::now() + limits.slack;
  if (time >= limits.slack) return arm(latest);
  arm(std::min(latest, deadline_ + std::chrono::duration_cast<Clock::duration>(time)));
}

void Connection::set_timer() {
  timing_ = true;
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || self->phase_ == Phase::kClosed) return;
    self->timing_ = false;
    self->guard([&] {
      if (Clock::now() < self->deadline_) return self->set_timer();
      self->on_deadline();
    });
  });
}

void Connection::on_deadline() {
  switch (phase_) {
    case Phase::kReading:
      if (!in_header_ && !in_body_) return close();
      return refuse(
          {408, in_body_ ? "the body arrives too slowly" : "the header arrives too slowly"});
    case Phase::kHandling: {
      const std::uint64_t exchange = exchange_;
      give_up();
      return answer(exchange,
                    shared_.options.say({504, "the answer was not ready in time"}, entry_.target));
    }
    case Phase::kWriting:
    case Phase::kStreaming:
    case Phase::kLingering:
      return close();
    case Phase::kClosed:
      return;
  }
}

// ---- responses

// Formatted once a second.
const std::string& Shared::date() {
  const std::time_t now = std::time(nullptr);
  if (std::exchange(date_time, now) != now) date_text = date_at(now);
  return date_text;
}

void Connection::add_head(std::string& to, const Response& response, bool in_parts) const {
  const auto add = [&](std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) to += text;
  };
  const fmt::format_int status(response.status), size(response.body.size());
  add({"HTTP/1.1 ", status.c_str(), " ", reason(response.status),
       "\r\nServer: limpid\r\nDate: ", shared_.date(), "\r\n"});
  if (response.status != 204) {
    add({"Content-Type: ", response.content_type, "\r\n"});
    if (!in_parts)
      add({"Content-Length: ", size.c_str(), "\r\n"});
    else if (chunks_)
      add({"Transfer-Encoding: chunked\r\n"});
  }
  add({close_after_ ? "Connection: close\r\n" : "Connection: keep-alive\r\n"});
  for (const auto* const headers : {&response.headers, &cors_})
    for (const Header& h : *headers) add({h.name, ": ", h.value, "\r\n"});
  add({"\r\n"});
}

// Calls on_round() once, after all requests that arrived together.
void Shared::tell_of_round() {
  if (round_told) return;
  asio::post(loop->context(), [this] {
    round_told = false;
    options.on_round();
  });
  round_told = true;
}

void Connection::answer(std::uint64_t exchange, Response response) noexcept {
  if (exchange != exchange_ || phase_ != Phase::kHandling) return;
  guard([&] { write(std::move(response)); });
}

void Connection::write(Response response) {
  phase_ = Phase::kWriting;
  head_.clear();
  add_head(head_, response, false);
  body_ = head_only_ ? std::string() : std::move(response.body);
  entry_.status = response.status;
  entry_.facts = std::move(response.facts);
  entry_.answer_bytes = body_.size();
  // The socket takes most responses at once.
  const std::array<asio::const_buffer, 2> buffers{asio::buffer(head_), asio::buffer(body_)};
  error_code ignored;
  const std::size_t taken = socket_.write_some(buffers, ignored);
  if (taken == head_.size() + body_.size() && !reading_) return written();
  const std::size_t of_head = std::min(taken, head_.size());
  write_all(std::array<asio::const_buffer, 2>{asio::buffer(head_) + of_head,
                                              asio::buffer(body_) + (taken - of_head)},
            [](Connection& self) { self.written(); });
}

// Writes the buffers while the client keeps reading, then calls `done`.
template <typename Buffers, typename Done>
void Connection::write_all(const Buffers& buffers, Done done) {
  begin_transfer();
  written_ = 0;
  const auto go_on = [self = shared_from_this()](const error_code& error, std::size_t written) {
    constexpr std::size_t kAtOnce = 65'536;
    if (error || self->phase_ == Phase::kClosed) return std::size_t{0};
    self->guard([&] { self->arm_after(written - std::exchange(self->written_, written)); });
    return kAtOnce;
  };
  asio::async_write(socket_, buffers, go_on,
                    [self = shared_from_this(), done](const error_code& error, std::size_t) {
                      if (self->phase_ == Phase::kClosed) return;
                      if (error) return self->close();
                      self->guard([&] { done(*self); });
                    });
}

void Connection::written() {
  finish(entry_.status);
  body_bytes_.reset();
  large_.reset();
  ticket_.reset();
  ++exchange_;
  if (close_after_) return half_closed_ ? close() : linger();
  std::string().swap(body_);
  std::string().swap(parts_);
  phase_ = Phase::kReading;
  read();
}

// ---- streamed responses

void Connection::begin(std::uint64_t exchange, Response response,
                       std::shared_ptr<std::atomic<std::size_t>> unsent) noexcept {
  if (exchange != exchange_ || phase_ != Phase::kHandling) return;
  guard([&] { begin_parts(response, std::move(unsent)); });
}

void Connection::begin_parts(Response& response, std::shared_ptr<std::atomic<std::size_t>> unsent) {
  phase_ = Phase::kStreaming;
  // Without chunked coding, closing the connection ends the body.
  close_after_ = close_after_ || !chunks_;
  unsent_ = std::move(unsent);
  waiting_ = 0;
  writing_ = ended_ = false;
  endless_ = response.endless;
  entry_.status = response.status;
  entry_.facts = std::move(response.facts);
  parts_.clear();
  add_head(parts_, response, true);
  add_part(response.body);
  if (head_only_ || (endless_ && shared_.draining.load())) end_parts();
  write_parts();
}

void Connection::part(std::uint64_t exchange, std::string_view bytes) noexcept {
  if (exchange != exchange_ || phase_ != Phase::kStreaming) return;
  guard([&] {
    add_part(bytes);
    write_parts();
  });
}

void Connection::end(std::uint64_t exchange, Facts facts) noexcept {
  if (exchange != exchange_ || phase_ != Phase::kStreaming) return;
  guard([&] {
    entry_.facts = std::move(facts);
    end_parts();
    write_parts();
  });
}

void Connection::cut_off(std::uint64_t exchange) noexcept {
  if (exchange != exchange_) return;
  if (phase_ == Phase::kHandling || (phase_ == Phase::kStreaming && !ended_)) close();
}

void Connection::add_part(std::string_view bytes) {
  waiting_ += bytes.size();
  // An empty chunk would end the body.
  if (bytes.empty() || head_only_ || ended_) return;
  entry_.answer_bytes += bytes.size();
  if (chunks_) parts_ += fmt::format("{:x}\r\n", bytes.size());
  parts_ += bytes;
  if (chunks_) parts_ += "\r\n";
}

void Connection::end_parts() {
  if (std::exchange(ended_, true)) return;
  ticket_->give_up();
  if (chunks_ && !head_only_) parts_ += "0\r\n\r\n";
}

// Writes all waiting parts, one write at a time.
void Connection::write_parts() {
  if (writing_) return;
  if (parts_.empty()) {
    if (ended_) return written();
    deadline_ = Clock::time_point::max();
    return;
  }
  writing_ = true;
  body_.swap(parts_);
  parts_.clear();
  write_all(asio::buffer(body_), [taken = std::exchange(waiting_, 0)](Connection& self) {
    self.unsent_->fetch_sub(taken);
    self.writing_ = false;
    self.write_parts();
  });
}

void Connection::finish(int status) noexcept {
  entry_.status = status;
  entry_.seconds = std::chrono::duration<double>(Clock::now() - asked_).count();
  try {
    if (const auto model = ticket_ ? ticket_->model() : nullptr) entry_.facts.model = *model;
    shared_.metrics.request(entry_.facts, status, entry_.seconds);
  } catch (...) {
    // No memory for a new counter: the request is not counted.
  }
  shared_.log.write(entry_);
}

void Connection::linger() {
  phase_ = Phase::kLingering;
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  arm(Clock::now() + kLingering);
  watch();
}

}  // namespace limpid::serve
