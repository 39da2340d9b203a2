#include "limpid/core/enum_names.h"

#include <fmt/format.h>

#include "limpid/core/in_quotes.h"

namespace limpid {

std::string one_of(const std::vector<std::string>& names) {
  return fmt::format("one of {}", fmt::join(names, ", "));
}

void refuse_name(std::string_view what, const std::vector<std::string>& names, std::string_view got,
                 ErrorCode code) {
  throw Error(code, fmt::format("{}: expected {}, got {}", what, one_of(names), in_quotes(got)));
}

}  // namespace limpid
