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
  // Of an answer in parts: it ends with its client or with the server, not by itself. A server that
  // drains ends it at once, and a client that leaves is no failure.
  bool endless = false;
};

// The way back to a client, from any thread, but from one at a time. What comes after the end of
// the answer, or after the client has left, is ignored. An answer in parts that is destroyed before
// its end() is cut off, so that no client takes it for whole.
class Answer {
 public:
  virtual ~Answer() = default;
  // A whole answer.
  virtual void send(Response response) = 0;

  // An answer in parts: its head, with the first part as its body. The request's deadline is for
  // this; its client must go on reading as Limits says.
  virtual void begin(Response response) = 0;
  // The next part. False once nobody reads any more: the client has left, or has more than
  // Limits::stream bytes to read and is cut off for it.
  virtual bool part(std::string bytes) = 0;
  // Bytes that the client has not taken yet. Who can do with fewer parts waits while they are many.
  virtual std::size_t unsent() const = 0;
  virtual void end(Facts facts) = 0;
};

}  // namespace limpid::serve
