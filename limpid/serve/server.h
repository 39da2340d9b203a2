// Server: an HTTP server: connections, deadlines, and passing requests to a handler. It knows no
// protocol above HTTP. Depends on http.h, limits.h, metrics.h and access_log.h.
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
    std::string address = "127.0.0.1";  // IPv4 or IPv6 address to listen on
    std::uint16_t port = 8000;          // 0: a free one
    Limits limits = {};
    std::vector<std::string> origins = {};  // allowed CORS origins, see Cors
    // Called when the header of a request was read. Throws HttpError to refuse the request.
    std::function<void(const Request& head)> admit = [](const Request&) {};
    // Makes an error response in the form of the target's protocol.
    std::function<Response(const HttpError& error, std::string_view target)> say =
        [](const HttpError& error, std::string_view) { return error_response(error); };
    // Handles a request and responds, at once or later, from any thread. An exception becomes an
    // error response. Requests with small bodies are handled on the thread of all connections: do
    // not block there.
    std::function<void(Request request, std::shared_ptr<Answer> answer)> handle = {};
    // Called after handle() of all requests that arrived together; from any thread.
    std::function<void()> on_round = [] {};
  };

  // Starts to listen. Throws kInvalidArgument for an invalid address or origin, kIo if the system
  // refuses it.
  Server(Options options, Metrics& metrics, AccessLog& log);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // "http://127.0.0.1:8000".
  std::string url() const;

  // Serves until SIGTERM or SIGINT, then finishes active requests. A second signal ends the process
  // at once.
  void run();

  // Thread-safe.
  bool draining() const;
  std::size_t connections() const;
  std::size_t body_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace limpid::serve
