#include "limpid/core/in_quotes.h"

#include <fmt/format.h>

namespace limpid {

std::string in_quotes(std::string_view name) {
  constexpr std::size_t kShown = 96;
  std::string text = "'";
  for (const char c : name.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '\'' || c == '\\')
      text += fmt::format("\\x{:02x}", byte);
    else
      text += c;
  }
  return text + (name.size() > kShown ? "...'" : "'");
}

}  // namespace limpid
