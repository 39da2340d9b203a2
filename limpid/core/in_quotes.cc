#include "limpid/core/in_quotes.h"

#include <fmt/format.h>

#include <optional>

#include "limpid/core/utf8.h"

namespace limpid {

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kShown = 96;
  std::string text = "'";
  for (std::size_t place = 0; place < name.size();) {
    const std::optional<CodePoint> point = first_code_point(name.substr(place));
    const std::string_view bytes = name.substr(place, point ? point->bytes : 1);
    place += bytes.size();
    if (place > kShown) return text + "...'";
    const bool plain = point && point->value >= 0x20 && point->value != '\'' &&
                       point->value != '\\' && (point->value < 0x7f || point->value > 0x9f);
    if (plain)
      text += bytes;
    else
      for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text + "'";
}

}  // namespace limpid
