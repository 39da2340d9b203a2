#include "tests/fuzz/count_memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace {

std::size_t now = 0;
std::size_t peak = 0;

void took(std::size_t bytes) {
  now += bytes;
  peak = std::max(peak, now);
}
void gave(std::size_t bytes) { now -= std::min(now, bytes); }

void* took(void* memory) {
  if (memory != nullptr) took(malloc_usable_size(memory));
  return memory;
}

}  // namespace

std::size_t memory_now() { return now; }
std::size_t memory_peak() { return peak; }
void reset_memory_peak() { peak = now; }

extern "C" {

// glibc's own names of its allocator.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);

void* malloc(std::size_t bytes) { return took(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) { return took(__libc_calloc(count, bytes)); }
void* realloc(void* memory, std::size_t bytes) {
  const std::size_t before = memory == nullptr ? 0 : malloc_usable_size(memory);
  void* const moved = __libc_realloc(memory, bytes);
  if (moved == nullptr && bytes != 0) return nullptr;
  // While it moves, both are there.
  took(moved);
  gave(before);
  return moved;
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return took(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory != nullptr ? 0 : ENOMEM;
}
void free(void* memory) {
  if (memory != nullptr) gave(malloc_usable_size(memory));
  __libc_free(memory);
}

// The allocator's own mappings do not come through here.
void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
  const long result = syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
  if (result == -1) return MAP_FAILED;
  took(bytes);
  return reinterpret_cast<void*>(result);
}
int munmap(void* address, std::size_t bytes) noexcept {
  const long result = syscall(SYS_munmap, address, bytes);
  if (result == 0) gave(bytes);
  return static_cast<int>(result);
}
}
