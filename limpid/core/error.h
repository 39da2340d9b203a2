// The one exception type of the library, and the codes that tell its causes apart.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace limpid {

// What kind of thing went wrong.
enum class ErrorCode {
  kInvalidArgument,  // a value outside what a function accepts
  kShape,            // shapes that do not fit together
  kDtype,            // an element type that an operation does not take
  kParse,            // text that is not a Function, a number, a configuration
  kFormat,           // a file whose bytes break its format
  kIo,               // the operating system refused to read or write
  kNotFound,         // a name that does not exist
  kUnsupported,      // well-formed, but beyond what this library does
  kNoGradient,       // a derivative was asked of an op that has none
  kInternal,         // a broken promise of our own
};

// "shape", "format", ...: stable names for logs and for tests.
std::string_view name(ErrorCode code);

// what() is one line: what was expected, what came, and where.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace limpid
