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

// The array forms come through here, and the nothrow ones, but for the aligned one below, which the
// thread sanitizer replaces.
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
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
