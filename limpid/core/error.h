// The library's only exception type, and its error codes.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace limpid {

// The kind of an error.
enum class ErrorCode {
  kInvalidArgument,  // a value that a function does not accept
  kShape,            // shapes that do not match, or an axis out of range
  kDtype,            // an element type that an operation does not support
  kParse,            // text that is not a valid Function, number or configuration
  kFormat,           // a file that violates its format
  kIo,               // the operating system failed to read or write
  kNotFound,         // a name that does not exist
  kUnsupported,      // valid input that this library does not support
  kNoGradient,       // a derivative of an op that has none
  kNoMemory,         // memory that the system does not give; a later call may find enough
  kInternal,         // a bug in this library
};

// "shape", "format", ...: stable names for logs and for tests.
std::string_view name(ErrorCode code);

// what() is one line that names what was expected, what was given, and where.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace limpid
