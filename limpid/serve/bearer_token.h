// BearerToken: a secret that every request must contain. Depends on http.h.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "limpid/serve/http.h"

namespace limpid::serve {

class BearerToken {
 public:
  // The secret is at least 8 characters of printable ASCII without spaces; else throws
  // kInvalidArgument.
  explicit BearerToken(std::string secret);
  // Reads the secret from the first line of a file. Throws kIo, and as the constructor.
  static BearerToken read(const std::filesystem::path& path);

  // Throws HttpError 401 for a request without "Authorization: Bearer SECRET", except for health
  // probes. The time depends only on the lengths.
  void check(const Request& head) const;

 private:
  std::string secret_;
};

}  // namespace limpid::serve
