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
  // all. Throws kInvalidArgument for an invalid origin.
  explicit Cors(std::vector<std::string> origins);

  // Throws HttpError 403 for a request that is not only reading, from an origin that is neither
  // allowed nor the server's own. A browser sends some of these without a preflight.
  void check(const Request& head) const;
  // The headers that allow the requesting page to read the response; empty without an origin, or if
  // it is not allowed.
  std::vector<Header> headers(const Request& head) const;

 private:
  bool named(const std::string& origin) const;

  std::vector<std::string> origins_;
};

// Whether this is a CORS preflight request of a browser, which has no token.
bool is_preflight(const Request& head);

}  // namespace limpid::serve
