// JSON of strangers: whatever walks it recursively, or looks a key up, ends soon. Leans on
// nlohmann-json; included by sources alone.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace limpid::detail {

// More than any text of ours has.
inline constexpr std::size_t kMaxJsonBytes = std::size_t{12} << 20;
inline constexpr std::size_t kMaxJsonDepth = 16;
inline constexpr std::size_t kMaxJsonMembers = 1024;  // of one object
inline constexpr std::size_t kMaxJsonValues = 500'000;

// Throws kFormat where the text is longer than kMaxJsonBytes, objects and lists are nested deeper
// than kMaxJsonDepth, there are more members or values than the limits say, or a key comes twice in
// an object. Where the text is no JSON: throws nlohmann's exception, or gives a discarded value
// where `throwing` is false.
nlohmann::ordered_json parse_bounded_json(std::string_view text, bool throwing = true);

}  // namespace limpid::detail
