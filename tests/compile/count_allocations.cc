// Replaces the global operator new. In a file of its own: inlined, it would look to the compiler
// like a mismatch of new and free.
#include "tests/compile/count_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> count{0}, aligned{0};
}  // namespace

std::size_t allocations() { return count.load(); }
std::size_t aligned_allocations() { return aligned.load(); }

// The array and nothrow forms come through here.
void* operator new(std::size_t bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count.fetch_add(1, std::memory_order_relaxed);
  aligned.fetch_add(1, std::memory_order_relaxed);
  const auto multiple = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
