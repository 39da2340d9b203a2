// Cors: pages of which origins a browser lets read answers, and ask for more than they could
// without asking. Leans on http_error.h.
#pragma once

#include <string>
#include <vector>

#include "limpid/serve/http.h"

namespace limpid::serve {

class Cors {
 public:
  // Origins, as browsers send them: "https://example.org", "http://localhost:3000"; "*": every one.
  // Throws kInvalidArgument for what is none.
  explicit Cors(std::vector<std::string> origins);

  // Throws HttpError 403 for what a page of an origin that is neither named nor the server's own
  // asks beyond reading: a browser sends some of that without having asked.
  void check(const Request& head) const;
  // The headers with which the page that asks may read the answer; none without an origin, or for
  // one that is not named.
  std::vector<Header> headers(const Request& head) const;

 private:
  bool named(const std::string& origin) const;

  std::vector<std::string> origins_;
};

// Whether a browser asks what a page may ask, before it does. It sends no token with that.
bool is_preflight(const Request& head);

}  // namespace limpid::serve
