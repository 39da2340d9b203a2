// How a name that came from outside stands in a message. Leans on nothing.
#pragma once

#include <string>
#include <string_view>

namespace limpid {

// 'name' in single quotes, fit for a message of one line: control characters, the quote, the
// backslash and every byte that is not ASCII become \xNN, and what goes beyond 96 bytes is cut,
// which an ellipsis shows.
std::string in_quotes(std::string_view name);

}  // namespace limpid
