// Quotes an untrusted name for a message. Depends on utf8.h.
#pragma once

#include <string>
#include <string_view>

namespace limpid {

// 'name' in single quotes, safe in a one-line message. Control characters (C0, DEL, C1), quotes,
// backslashes and bytes that are not UTF-8 become \xNN. After 96 bytes the name is cut and ends in
// an ellipsis.
std::string in_quotes(std::string_view name);

}  // namespace limpid
