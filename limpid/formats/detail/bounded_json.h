// JSON of strangers: whatever walks it recursively, or looks a key up, ends soon. Leans on
// nlohmann-json; included by sources alone.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "limpid/core/error.h"

namespace limpid::detail {

struct JsonLimits {
  // More than any text of ours has.
  std::size_t bytes = std::size_t{12} << 20;
  std::size_t depth = 16;
  std::size_t members = 1024;  // of one object
  std::size_t values = 500'000;
};

// Throws kFormat where the text is longer than the limits' bytes, objects and lists are nested
// deeper, there are more members or values, or a key comes twice in an object. Where the text is no
// JSON: throws nlohmann's exception, or gives a discarded value where `throwing` is false.
nlohmann::ordered_json parse_bounded_json(std::string_view text, bool throwing = true);

// The same with the members of objects in the order of their names: of thousands, each is found at
// once. Always throws.
nlohmann::json parse_sorted_json(std::string_view text, const JsonLimits& limits);

// An integer in [low, high]; the library itself would cut off whatever is more. Throws kFormat.
template <class Json>
std::int64_t bounded_integer(const Json& json, std::int64_t low, std::int64_t high) {
  if (json.is_number_integer() &&
      !(json.is_number_unsigned() && json.template get<std::uint64_t>() > INT64_MAX)) {
    const auto value = json.template get<std::int64_t>();
    if (value >= low && value <= high) return value;
  }
  throw Error(ErrorCode::kFormat,
              fmt::format("an integer from {} to {} is expected, came {}", low, high,
                          json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 40)));
}

}  // namespace limpid::detail
