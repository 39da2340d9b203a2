// docs/hashes.md, embedded at build time.
#pragma once

#include <string_view>

namespace limpid::tool {

extern const std::string_view kPublishedHashes;

}  // namespace limpid::tool
