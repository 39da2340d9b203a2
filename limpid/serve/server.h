// Server: connections, deadlines, and a way from every request to its handler and back. It knows
// HTTP and no protocol above it. Leans on http.h, limits.h, metrics.h and access_log.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/serve/access_log.h"
#include "limpid/serve/http.h"
#include "limpid/serve/http_error.h"
#include "limpid/serve/limits.h"
#include "limpid/serve/metrics.h"

namespace limpid::serve {

class Server {
 public:
  struct Options {
    std::string address = "127.0.0.1";  // to listen on, of version 4 or 6
    std::uint16_t port = 8000;          // 0: a free one
    Limits limits = {};
    std::vector<std::string> origins = {};  // whose pages may read answers, as Cors has them
    // Looks at a request as soon as its header has come. Throws HttpError to refuse it.
    std::function<void(const Request& head)> admit = [](const Request&) {};
    // An error as an answer, in the form of the protocol that the target belongs to.
    std::function<Response(const HttpError& error, std::string_view target)> say =
        [](const HttpError& error, std::string_view) { return error_response(error); };
    // Answers a request, at once or later, from any thread. What it throws is the answer. Requests
    // with small bodies come on the thread of all connections: no waiting there.
    std::function<void(Request request, std::shared_ptr<Answer> answer)> handle = {};
    // After handle() of all requests that came together; from any thread.
    std::function<void()> on_round = [] {};
  };

  // Listens from now on. Throws kInvalidArgument for what is no address or no origin, kIo where the
  // system refuses it.
  Server(Options options, Metrics& metrics, AccessLog& log);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // "http://127.0.0.1:8000".
  std::string url() const;

  // Answers until SIGTERM or SIGINT, then finishes what is under way; a second signal ends the
  // process at once.
  void run();

  // Safe to call from any thread.
  bool draining() const;
  std::size_t connections() const;
  std::size_t body_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace limpid::serve
