// Requests and answers of HTTP as values, so that protocols are functions from one to the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/serve/ticket.h"

namespace limpid::serve {

struct Header {
  std::string name;  // of a request in lower case
  std::string value;

  bool operator==(const Header&) const = default;
};

struct Request {
  std::string method;
  std::string target;                 // as it came, for the log
  std::vector<std::string> segments;  // of the path, without percent signs: UTF-8
  int minor_version = 1;              // of HTTP/1
  bool keep_alive = true;
  std::vector<Header> headers;
  std::string body;
  std::shared_ptr<Ticket> ticket = std::make_shared<Ticket>();

  // The value of the first header of that name, in lower case; nullptr without one.
  const std::string* header(std::string_view name) const {
    for (const Header& h : headers)
      if (h.name == name) return &h.value;
    return nullptr;
  }
};

// What the log says of a request beyond what HTTP shows.
struct Facts {
  std::string model = {};  // one that is served
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
};

// The way back to a client, to be used from any thread. What comes after the first response, or
// after the client has left, is ignored.
class Answer {
 public:
  virtual ~Answer() = default;
  virtual void send(Response response) = 0;
};

}  // namespace limpid::serve
