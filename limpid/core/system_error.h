// SystemError: an Error that keeps the number of the operating system's reason. Depends on error.h.
#pragma once

#include <string>

#include "limpid/core/error.h"

namespace limpid {

// Callers may tell a missing file (ENOENT) from one that they may not read (EACCES). Its code is
// kIo.
class SystemError : public Error {
 public:
  SystemError(int reason, const std::string& message)
      : Error(ErrorCode::kIo, message), reason_(reason) {}
  // A value of errno.
  int reason() const { return reason_; }

 private:
  int reason_;
};

}  // namespace limpid
