// HttpError: the reason for refusing a request, as a status and one line. Depends on http.h and
// core/error.h.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/serve/http.h"

namespace limpid::serve {

class HttpError : public std::runtime_error {
 public:
  HttpError(int status, const std::string& message, std::vector<Header> headers = {})
      : std::runtime_error(message), status_(status), headers_(std::move(headers)) {}
  int status() const { return status_; }
  const std::vector<Header>& headers() const { return headers_; }

 private:
  int status_;
  std::vector<Header> headers_;
};

// Converts an exception of a handler for the client: an HttpError as it is; a limpid::Error as 400
// with its first line; lack of memory as 503; errors that name files, and all others, as 500
// without a reason.
HttpError to_http_error(std::exception_ptr thrown);

// {"error": "..."}, as in the Open Inference Protocol.
Response error_response(const HttpError& error);

// "Not Found" for 404.
std::string_view reason(int status);

}  // namespace limpid::serve
