// How much memory this program has asked for and not given back: from the C library's allocator,
// which C++ goes through, and from mmap. For programs of one thread.
#pragma once

#include <cstddef>

// At present, and the most since reset_memory_peak().
std::size_t memory_now();
std::size_t memory_peak();
void reset_memory_peak();
