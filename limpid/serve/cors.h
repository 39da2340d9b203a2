// Cors: cross-origin resource sharing: the origins whose pages may use the server from a browser.
// Depends on http_error.h.
#pragma once

#include <string>
#include <vector>

#include "limpid/serve/http.h"

namespace limpid::serve {

class Cors {
 public:
  // Allowed origins, as browsers send them: "https://example.org", "http://localhost:3000"; "*":
  // all. Throws kInvalidArgument for an invalid origin. `local`: the server listens for this
  // machine only.
  explicit Cors(std::vector<std::string> origins, bool local = false);

  // Throws HttpError 403 for a request that is not only reading, from an origin that is neither
  // allowed nor the server's own. A browser sends some of these without a preflight. Of a local
  // server, also for a Host that is a name other than localhost, unless an allowed origin has it:
  // a page's own domain may resolve to this machine (DNS rebinding).
  void check(const Request& head) const;
  // The headers that allow the requesting page to read the response; empty without an origin, or if
  // it is not allowed.
  std::vector<Header> headers(const Request& head) const;

 private:
  bool named(const std::string& origin) const;
  void check_host(const std::string& host) const;

  std::vector<std::string> origins_;
  bool local_;
};

// Whether this is a CORS preflight request of a browser, which has no token.
bool is_preflight(const Request& head);

}  // namespace limpid::serve
