#include "limpid/kernels/cache_sizes.h"

#include <unistd.h>

namespace limpid::kernels {
namespace {

std::size_t asked() {
#ifdef _SC_LEVEL2_CACHE_SIZE
  const long bytes = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0) return static_cast<std::size_t>(bytes);
#endif
  return std::size_t{512} << 10;
}

}  // namespace

std::size_t second_level_cache_bytes() {
  static const std::size_t bytes = asked();
  return bytes;
}

}  // namespace limpid::kernels
