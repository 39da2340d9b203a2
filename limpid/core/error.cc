#include "limpid/core/error.h"

namespace limpid {

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kShape:
      return "shape";
    case ErrorCode::kDtype:
      return "dtype";
    case ErrorCode::kParse:
      return "parse";
    case ErrorCode::kFormat:
      return "format";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kNoGradient:
      return "no gradient";
    case ErrorCode::kNoMemory:
      return "no memory";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

}  // namespace limpid
