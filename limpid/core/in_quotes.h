// How a name that came from outside stands in a message. Leans on utf8.h.
#pragma once

#include <string>
#include <string_view>

namespace limpid {

// 'name' in single quotes, fit for a message of one line: the bytes of control characters (C0, DEL,
// C1), of the quote, of the backslash and of what is not UTF-8 become \xNN. What goes beyond 96
// bytes is cut, which an ellipsis shows.
std::string in_quotes(std::string_view name);

}  // namespace limpid
