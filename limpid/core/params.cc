#include "limpid/core/params.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"

namespace limpid {

void throw_missing(std::string_view name, const std::vector<std::string>& present) {
  constexpr std::size_t kShown = 12;
  std::vector<std::string> shown(
      present.begin(),
      present.begin() + static_cast<std::ptrdiff_t>(std::min(present.size(), kShown)));
  if (present.size() > kShown) shown.emplace_back("...");
  throw Error(ErrorCode::kNotFound,
              fmt::format("no entry '{}'; there are: {}", name,
                          present.empty() ? "none" : fmt::format("{}", fmt::join(shown, ", "))));
}

}  // namespace limpid
