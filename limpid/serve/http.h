// HTTP requests and responses as values, so that protocols are functions from requests to
// responses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/serve/ticket.h"

namespace limpid::serve {

struct Header {
  std::string name;  // lower case in a request
  std::string value;

  bool operator==(const Header&) const = default;
};

struct Request {
  std::string method;
  std::string target;                 // unparsed, for the log
  std::vector<std::string> segments;  // of the path, percent-decoded UTF-8
  int minor_version = 1;              // of HTTP/1
  bool keep_alive = true;
  std::vector<Header> headers;
  std::string body;
  std::shared_ptr<Ticket> ticket = std::make_shared<Ticket>();

  // The value of the first header with this name (in lower case); nullptr if there is none.
  const std::string* header(std::string_view name) const {
    for (const Header& h : headers)
      if (h.name == name) return &h.value;
    return nullptr;
  }
};

// Whether the body is a PNG or JPEG picture, by the request's Content-Type.
inline bool has_picture(const Request& request) {
  const std::string* const type = request.header("content-type");
  return type && (type->starts_with("image/png") || type->starts_with("image/jpeg"));
}

// Data for the log beyond HTTP.
struct Facts {
  std::string model = {};  // name of a served model; a response has that of its request's ticket
  double queue_seconds = 0;
  double compute_seconds = 0;
  std::int64_t rows = 0;
};

struct Response {
  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  std::vector<Header> headers = {};
  Facts facts = {};
  // For a streamed response: it has no end of its own. A draining server ends it at once, and a
  // client that disconnects is not an error.
  bool endless = false;
};

// Sends the response to a client. Any thread may use it, one at a time. Calls after the end of the
// response, or after the client has disconnected, are ignored. If it is destroyed before send() or
// end(), the connection is aborted, so that no client waits, or takes a part as complete. A call
// that throws std::bad_alloc sent nothing.
class Answer {
 public:
  virtual ~Answer() = default;
  // Sends a whole response.
  virtual void send(Response response) = 0;

  // Begins a streamed response: its header, with the first part as its body. The request's deadline
  // is for this call; then the client must keep reading within Limits.
  virtual void begin(Response response) = 0;
  // Sends the next part. Returns false if the client has disconnected, or was disconnected because
  // more than Limits::stream bytes are unsent.
  virtual bool part(std::string bytes) = 0;
  // Bytes that the client has not received yet. If this is large, a sender that can skip parts
  // should wait.
  virtual std::size_t unsent() const = 0;
  virtual void end(Facts facts) = 0;
};

}  // namespace limpid::serve
