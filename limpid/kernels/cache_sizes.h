// The sizes of this machine's caches, for kernels to choose what they fetch ahead of its use.
#pragma once

#include <cstddef>

namespace limpid::kernels {

// Of the second level, of one core; 512 KiB where the system does not say.
std::size_t second_level_cache_bytes();

}  // namespace limpid::kernels
