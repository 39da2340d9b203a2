// page_files.h for a tool without the page.
#include "apps/limpid/support/page_files.h"

namespace limpid::tool {

std::span<const PageFile> page_files() { return {}; }

}  // namespace limpid::tool
