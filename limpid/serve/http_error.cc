#include "limpid/serve/http_error.h"

#include <new>

#include "limpid/core/error.h"
#include "limpid/core/json.h"

namespace limpid::serve {
namespace {

HttpError no_memory() { return {503, "out of memory", {{"Retry-After", "1"}}}; }

HttpError of_library(const Error& error) {
  const std::string message = error.what();
  switch (error.code()) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kShape:
    case ErrorCode::kDtype:
    case ErrorCode::kParse:
    case ErrorCode::kFormat:
    case ErrorCode::kNotFound:
      return {400, message.substr(0, message.find('\n'))};
    case ErrorCode::kUnsupported:
      return {501, message.substr(0, message.find('\n'))};
    case ErrorCode::kNoMemory:
      return no_memory();
    case ErrorCode::kIo:
    case ErrorCode::kNoGradient:
    case ErrorCode::kInternal:
      break;
  }
  return {500, "internal error"};
}

}  // namespace

HttpError to_http_error(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const HttpError& error) {
    return error;
  } catch (const Error& error) {
    return of_library(error);
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (...) {
    return {500, "internal error"};
  }
}

Response error_response(const HttpError& error) {
  return {.status = error.status(),
          .body = Json{{"error", error.what()}}.dump({.replace_invalid = true}),
          .headers = error.headers()};
}

std::string_view reason(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

}  // namespace limpid::serve
