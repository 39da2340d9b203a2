// Quotes the words of the commands that the page shows. Depends on nothing.
#pragma once

#include <string>
#include <string_view>

namespace limpid::view {

// Quotes a text for a shell.
inline std::string shell_quote(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return result + "'";
}

// The same, if the text has characters with a meaning for a shell.
inline std::string shell_quote_if_needed(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,@%";
  return text.find_first_not_of(kPlain) == std::string_view::npos ? std::string(text)
                                                                  : shell_quote(text);
}

}  // namespace limpid::view
