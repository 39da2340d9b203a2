// docs/hashes.md, as it was when the tool was built.
#pragma once

#include <string_view>

namespace limpid::tool {

extern const std::string_view kPublishedHashes;

}  // namespace limpid::tool
