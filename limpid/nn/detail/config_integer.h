// Integers of a model's configuration, which anybody may have written.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "limpid/core/error.h"

namespace limpid::nn::detail {

// The library itself would cut off a fraction, and what it makes of a number that is too large is
// undefined. Throws kParse. Hidden: a shared library shows no types of others.
[[gnu::visibility("hidden")]] inline std::int64_t config_integer(const nlohmann::json& json,
                                                                 std::string_view what) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (json.is_number_integer() && !(json.is_number_unsigned() && json.get<std::uint64_t>() > kMost))
    return json.get<std::int64_t>();
  throw Error(ErrorCode::kParse, fmt::format("{}: an integer is expected, came {}", what,
                                             json.is_number() ? json.dump() : json.type_name()));
}

}  // namespace limpid::nn::detail
