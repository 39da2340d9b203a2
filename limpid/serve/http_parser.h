// RequestReader: from the bytes of a connection to requests. All parsing of HTTP is here; it knows
// no socket. Leans on http_error.h and limits.h.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "limpid/serve/http.h"
#include "limpid/serve/limits.h"

namespace limpid::serve {

// Takes HTTP/1.0 and 1.1, more strictly than RFC 9112 asks: no folded headers, no other transfer
// coding than chunked, no compressed bodies. After an error nothing more can be read.
class RequestReader {
 public:
  enum class State {
    kIdle,    // no byte of a request has come
    kHeader,  // some of its header
    kBody,    // the header, and perhaps some of its body
    kDone,    // all of it
  };

  // `limits` must outlive the reader. Readers of one thread may share a string: the memory that one
  // needs no longer is the next one's.
  explicit RequestReader(const Limits& limits, std::string* spare = nullptr);
  explicit RequestReader(Limits&&, std::string* = nullptr) = delete;
  ~RequestReader();

  // More bytes of the connection. They are kept; advance() reads them.
  void feed(std::string_view bytes) {
    if (buffer_.empty() && spare_) buffer_.swap(*spare_);
    buffer_.append(bytes);
  }
  // Reads up to the end of the header, or from there to the end of the request. Throws HttpError
  // for what is no request, or is beyond the limits.
  State advance();
  // Bytes that came and are not read, those of further requests among them.
  std::size_t buffered() const { return buffer_.size(); }

  // Of a request whose header was read: all but the body.
  const Request& head() const { return request_; }
  // Whether the client waits for "100 Continue" before it sends the body.
  bool waits_for_continue() const;
  // Bytes of the body so far.
  std::size_t body_bytes() const;

  // The request, once it is done; then the next one begins.
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
  std::size_t searched_ = 0;  // of the buffer, for the end of the header
  std::size_t raw_body_ = 0;  // bytes, the marks of chunks included
  std::unique_ptr<Parser> parser_;
  Request request_;
};

// The segments of "/a/b%20c?x": {"a", "b c"}. Throws HttpError for what is no path.
std::vector<std::string> path_segments(std::string_view target);

}  // namespace limpid::serve
