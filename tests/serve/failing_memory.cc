// Replaces the global operator new. In a file of its own: inlined, it would look to the compiler
// like a mismatch of new and free.
#include "tests/serve/failing_memory.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> left{0};
std::atomic<bool> failed{false};
thread_local bool exempt = false;

void* checked(void* memory) {
  if (!exempt && left.load(std::memory_order_relaxed) > 0 && left.fetch_sub(1) == 1) {
    failed = true;
    std::free(memory);
    throw std::bad_alloc();
  }
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void fail_allocation(std::int64_t n) {
  if (n > 0) failed = false;
  left = n;
}
bool has_failed() { return failed.load(); }
void exempt_this_thread() { exempt = true; }

// All forms that are used: the address sanitizer has its own of those that are missing, and refuses
// their memory in a delete of this file.
void* operator new(std::size_t bytes) { return checked(std::malloc(bytes)); }
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes, const std::nothrow_t& nothrow) noexcept {
  return operator new(bytes, nothrow);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto multiple = static_cast<std::size_t>(alignment);
  return checked(std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
