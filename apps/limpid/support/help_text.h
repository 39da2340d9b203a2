// The text of --help. Depends on cli.h.
#pragma once

#include <string>

#include "apps/limpid/support/cli.h"

namespace limpid::tool {

// The help of a command, which the user calls as `called`: "limpid lab init". Lines fit the
// terminal; elsewhere, and on a wide one, they have at most 100 columns.
std::string help_text(const CommandFacts& command, const std::string& called);

// What an option or argument is for, its choices, and what it needs or excludes.
std::string text_of(const OptionFacts& option);

}  // namespace limpid::tool
