#include "limpid/serve/members.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "limpid/core/in_quotes.h"
#include "limpid/serve/http_error.h"

namespace limpid::serve {

std::optional<JsonView> member(const Json& body, std::string_view key) {
  const Json* const found = body.find(key);
  if (!found || found->is_null()) return std::nullopt;
  return JsonView(*found, std::string(key));
}

void refuse_other_members(const Json& body, std::span<const std::string_view> known) {
  for (const auto& [key, value] : body.members())
    if (!value.is_null() && std::find(known.begin(), known.end(), key) == known.end())
      throw HttpError(400, fmt::format("there is no parameter {}", in_quotes(key)));
}

}  // namespace limpid::serve
