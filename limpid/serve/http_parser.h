// RequestReader: parses the bytes of a connection into requests. It contains all HTTP parsing and
// uses no sockets. Depends on http_error.h and limits.h.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "limpid/serve/http.h"
#include "limpid/serve/limits.h"

namespace limpid::serve {

// Parses HTTP/1.0 and 1.1, more strictly than RFC 9112: no folded headers, no transfer coding but
// chunked, no compressed bodies. Bodies of methods other than POST are at most as large as a
// header. After an error it cannot be used again.
class RequestReader {
 public:
  enum class State {
    kIdle,    // no byte of a request yet
    kHeader,  // a part of the header
    kBody,    // the header, and possibly a part of the body
    kDone,    // the whole request
  };

  // `limits` must outlive the reader. Readers of one thread may share `spare`, to reuse its memory.
  explicit RequestReader(const Limits& limits, std::string* spare = nullptr);
  explicit RequestReader(Limits&&, std::string* = nullptr) = delete;
  ~RequestReader();

  // Adds bytes of the connection, which advance() will parse.
  void feed(std::string_view bytes) {
    if (buffer_.empty() && spare_) buffer_.swap(*spare_);
    buffer_.append(bytes);
  }
  // Parses up to the end of the header, or from there to the end of the request. Throws HttpError
  // for an invalid request, or beyond the limits.
  State advance();
  // Bytes that are not parsed yet, including those of further requests.
  std::size_t buffered() const { return buffer_.size(); }

  // The request without its body, once its header was parsed; before that it is empty.
  const Request& head() const { return request_; }
  // Whether the client waits for "100 Continue" before it sends the body.
  bool waits_for_continue() const;
  // Bytes of the body received so far.
  std::size_t body_bytes() const;

  // Returns the request, in state kDone; the next one can begin.
  Request take();

 private:
  struct Parser;

  bool read_header();
  void read_body();
  void check_chunk_header() const;
  void give_back_memory();

  const Limits& limits_;
  State state_ = State::kIdle;
  std::string buffer_;
  std::string* const spare_;
  std::size_t searched_ = 0;  // bytes of the buffer already searched for the end of the header
  std::size_t raw_body_ = 0;  // bytes of the body, including chunk headers
  std::unique_ptr<Parser> parser_;
  Request request_;
};

// The segments of "/a/b%20c?x": {"a", "b c"}. Throws HttpError for an invalid path.
std::vector<std::string> path_segments(std::string_view target);

}  // namespace limpid::serve
