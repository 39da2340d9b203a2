// BearerToken: a secret that every request must bring. Leans on http.h.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "limpid/serve/http.h"

namespace limpid::serve {

class BearerToken {
 public:
  // Of printable ASCII without spaces. Throws kInvalidArgument for less than 8 characters, or
  // others.
  explicit BearerToken(std::string secret);
  // The first line of a file. Throws kIo, and as above.
  static BearerToken read(const std::filesystem::path& path);

  // Throws HttpError 401 for a request without "Authorization: Bearer SECRET", but for the probes
  // of health. Takes a time that depends on the lengths alone.
  void check(const Request& head) const;

 private:
  std::string secret_;
};

}  // namespace limpid::serve
