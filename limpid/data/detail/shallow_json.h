// JSON of strangers, nested no deeper than ours is: what walks it recursively is safe. Leans on
// nlohmann-json; included by sources alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "limpid/core/error.h"

namespace limpid::detail {

// Throws kFormat where it is nested deeper than 16 levels. Where the text is no JSON: throws
// nlohmann's exception, or gives a discarded value where `throwing` is false.
inline nlohmann::ordered_json parse_shallow_json(std::string_view text, bool throwing = true) {
  constexpr int kDeepest = 16;
  const auto check = [](int depth, auto, auto&) {
    if (depth > kDeepest) throw Error(ErrorCode::kFormat, "JSON is nested too deeply");
    return true;
  };
  return nlohmann::ordered_json::parse(text, check, throwing);
}

}  // namespace limpid::detail
