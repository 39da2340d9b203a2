// The members of a request's body. Depends on core/json.h and http_error.h.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "limpid/core/json.h"

namespace limpid::serve {

// A member; nullopt if it is missing or null.
std::optional<JsonView> member(const Json& body, std::string_view key);

// Throws HttpError 400 for a member that is none of these, unless it is null.
void refuse_other_members(const Json& body, std::span<const std::string_view> known);

}  // namespace limpid::serve
