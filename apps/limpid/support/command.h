// Shared by the commands of the tool. A command is a file with a function add_NAME, which main.cc
// lists. Depends on cli.h.
#pragma once

#include "apps/limpid/support/cli.h"

namespace limpid::tool {}  // namespace limpid::tool
