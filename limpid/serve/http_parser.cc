#include "limpid/serve/http_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>
#include <utility>

#include "limpid/core/utf8.h"
#include "limpid/serve/http_error.h"

namespace limpid::serve {
namespace {

namespace http = boost::beast::http;

// A body that allocates memory for received bytes, not for those that the header announces.
struct GrowingBody {
  using value_type = std::string;
  class reader {
   public:
    template <bool isRequest, class Fields>
    reader(http::header<isRequest, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, boost::beast::error_code& error) {
      error = {};
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::beast::error_code& error) {
      error = {};
      std::size_t size = 0;
      for (const auto buffer : boost::beast::buffers_range(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
        size += buffer.size();
      }
      return size;
    }
    void finish(boost::beast::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

[[noreturn]] void refuse(int status, const std::string& message) {
  throw HttpError(status, message);
}

HttpError error_of(const boost::beast::error_code& error) {
  if (error == http::error::body_limit) return {413, "the body is too large"};
  if (error == http::error::header_limit) return {431, "the header is too large"};
  if (error == http::error::bad_version) return {505, "expected HTTP/1.0 or HTTP/1.1"};
  return {400, fmt::format("expected an HTTP request: {}", error.message())};
}

// Refuses what Beast's parser accepts but other servers read differently (request smuggling).
void check_lines(std::string_view header) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto c = static_cast<unsigned char>(header[i]);
    if (c == '\r') {
      // In bounds, as the header ends with CR LF.
      if (header[i + 1] != '\n') refuse(400, "header: expected LF after CR");
      ++i;
      if (i + 1 < header.size() && (header[i + 1] == ' ' || header[i + 1] == '\t'))
        refuse(400, "header: expected one line for each field");
      continue;
    }
    if (c == '\n') refuse(400, "header: expected lines that end with CR LF");
    if ((c < 0x20 && c != '\t') || c == 0x7f) refuse(400, "header: expected no control characters");
  }
}

// Boost's string_view, which is another type in later versions, as the standard's.
std::string_view standard(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void check_headers(const Request& request) {
  int hosts = 0, lengths = 0, codings = 0;
  for (const Header& h : request.headers) {
    hosts += h.name == "host";
    if (h.name == "content-length" && (++lengths > 1 || !is_digits(h.value)))
      refuse(400, "Content-Length: expected one number");
    if (h.name == "transfer-encoding" && (++codings > 1 || lower(h.value) != "chunked"))
      refuse(501, "Transfer-Encoding: expected chunked");
    if (h.name == "content-encoding" && lower(h.value) != "identity")
      refuse(415, "Content-Encoding: expected a body that is not compressed");
    if (h.name == "expect" && lower(h.value) != "100-continue")
      refuse(417, "Expect: expected 100-continue");
  }
  if (codings > 0 && request.minor_version == 0)
    refuse(400, "Transfer-Encoding: expected HTTP/1.1, got HTTP/1.0");
  if (hosts > 1 || (hosts == 0 && request.minor_version > 0))
    refuse(400, fmt::format("Host: expected one, got {}", hosts));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string without_percents(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) refuse(400, "URL: expected two hexadecimal digits after %");
    result += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (utf8_fault(result) != result.size()) refuse(400, "URL: expected UTF-8");
  if (result.find('\0') != std::string::npos) refuse(400, "URL: expected no zero byte");
  return result;
}

}  // namespace

struct RequestReader::Parser : http::request_parser<GrowingBody> {};

RequestReader::RequestReader(const Limits& limits, std::string* spare)
    : limits_(limits), spare_(spare) {}
RequestReader::~RequestReader() = default;

RequestReader::State RequestReader::advance() {
  if (state_ == State::kIdle && !buffer_.empty()) state_ = State::kHeader;
  if (state_ == State::kHeader) {
    // Returns first, so that the caller checks the header before the body is read.
    if (read_header()) state_ = State::kBody;
    return state_;
  }
  if (state_ == State::kBody) read_body();
  return state_;
}

bool RequestReader::read_header() {
  constexpr std::string_view kEnd = "\r\n\r\n";
  constexpr std::size_t kUsualHeaders = 8;
  const std::size_t end = buffer_.find(kEnd, searched_);
  const std::string_view line = std::string_view(buffer_).substr(0, buffer_.find('\n'));
  // 32: for the method, HTTP/1.1 and spaces around the target.
  if (line.size() > limits_.url + 32) refuse(414, "the URL is too long");
  if (std::min(end, buffer_.size()) > limits_.header) refuse(431, "the header is too large");
  if (end == std::string::npos) {
    searched_ = buffer_.size() < kEnd.size() ? 0 : buffer_.size() - (kEnd.size() - 1);
    return false;
  }
  searched_ = 0;
  const std::size_t size = end + kEnd.size();
  check_lines(std::string_view(buffer_).substr(0, size));

  parser_ = std::make_unique<Parser>();
  parser_->eager(true);
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header + kEnd.size()));
  // Other methods need no body, and some of their requests need no token.
  parser_->body_limit(line.starts_with("POST ") ? limits_.body
                                                : std::min(limits_.body, limits_.header));
  boost::beast::error_code error;
  const std::size_t read = parser_->put(boost::asio::buffer(buffer_.data(), size), error);
  if (error && error != http::error::need_more) throw error_of(error);
  // An empty line without a request line before it.
  if (!parser_->is_header_done()) refuse(400, "expected a request line");
  buffer_.erase(0, read);

  const auto& message = parser_->get();
  request_.method = standard(message.method_string());
  request_.target = standard(message.target());
  request_.minor_version = message.version() == 10 ? 0 : 1;
  request_.keep_alive = parser_->keep_alive();
  request_.headers.reserve(kUsualHeaders);
  for (const auto& field : message)
    request_.headers.push_back(
        {lower(standard(field.name_string())), std::string(standard(field.value()))});
  check_headers(request_);
  request_.segments = path_segments(request_.target);
  raw_body_ = 0;
  return true;
}

void RequestReader::read_body() {
  while (!parser_->is_done() && !buffer_.empty()) {
    boost::beast::error_code error;
    const std::size_t read = parser_->put(boost::asio::buffer(buffer_), error);
    if (error && error != http::error::need_more) throw error_of(error);
    buffer_.erase(0, read);
    raw_body_ += read;
    // Refuses chunks of single bytes, and long chunk extensions.
    if (raw_body_ > 65536 + 16 * body_bytes()) refuse(400, "the chunks are larger than the body");
    if (read == 0 || error == http::error::need_more) break;
  }
  if (parser_->is_done())
    state_ = State::kDone;
  else
    check_chunk_header();
}

// The buffer holds an incomplete line that the parser left, after or between chunks.
void RequestReader::check_chunk_header() const {
  if (buffer_.size() > limits_.header) refuse(400, "chunk: the header is too large");
  for (std::size_t i = 0; i < buffer_.size(); ++i)
    if (buffer_[i] == '\n' && (i == 0 || buffer_[i - 1] != '\r'))
      refuse(400, "chunk: expected lines that end with CR LF");
}

bool RequestReader::waits_for_continue() const {
  return state_ == State::kBody && !parser_->is_done() && request_.minor_version > 0 &&
         request_.header("expect") != nullptr;
}

std::size_t RequestReader::body_bytes() const { return parser_ ? parser_->get().body().size() : 0; }

Request RequestReader::take() {
  request_.body = std::move(parser_->get().body());
  parser_.reset();
  state_ = State::kIdle;
  if (buffer_.empty()) give_back_memory();
  return std::exchange(request_, {});
}

// Frees the buffer, as there may be many idle connections.
void RequestReader::give_back_memory() {
  constexpr std::size_t kMostSpare = std::size_t{1} << 18;
  if (spare_ && buffer_.capacity() <= kMostSpare && buffer_.capacity() > spare_->capacity())
    buffer_.swap(*spare_);
  std::string().swap(buffer_);
}

std::vector<std::string> path_segments(std::string_view target) {
  // Absolute form, as proxies send it.
  for (const std::string_view scheme : {"http://", "https://"})
    if (lower(target.substr(0, scheme.size())) == scheme) {
      target.remove_prefix(scheme.size());
      const std::size_t path = target.find('/');
      target = path == std::string_view::npos ? "/" : target.substr(path);
    }
  target = target.substr(0, target.find('?'));
  if (!target.starts_with('/')) refuse(400, "URL: expected a path");
  if (target.find('#') != std::string_view::npos) refuse(400, "URL: expected no fragment");
  std::vector<std::string> segments;
  if (target == "/") return segments;
  segments.reserve(static_cast<std::size_t>(std::count(target.begin(), target.end(), '/')));
  while (!target.empty()) {
    target.remove_prefix(1);
    const std::size_t end = std::min(target.find('/'), target.size());
    segments.push_back(without_percents(target.substr(0, end)));
    target.remove_prefix(end);
  }
  return segments;
}

}  // namespace limpid::serve
