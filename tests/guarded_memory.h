// Memory between two protected pages: an access beyond its edge ends the program at once, in every
// build.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace limpid {

// The end of the memory that adjoins a protected page.
enum class Edge { kBegin, kEnd };

namespace detail {

inline std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
inline std::size_t whole_pages(std::size_t bytes) {
  const std::size_t page = page_bytes();
  return bytes == 0 ? page : (bytes + page - 1) / page * page;
}

}  // namespace detail

// `bytes` of zeros; no bytes are none that may be touched. Throws std::bad_alloc.
inline std::byte* map_guarded(std::size_t bytes, Edge edge) {
  const std::size_t page = detail::page_bytes(), inner = detail::whole_pages(bytes);
  void* const map =
      ::mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  std::byte* const begin = static_cast<std::byte*>(map) + page;
  if (::mprotect(begin, inner, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(map, inner + 2 * page);
    throw std::bad_alloc();
  }
  return edge == Edge::kBegin && bytes != 0 ? begin : begin + (inner - bytes);
}

// What map_guarded() gave for as many bytes, with either edge.
inline void unmap_guarded(void* memory, std::size_t bytes) noexcept {
  const std::size_t page = detail::page_bytes();
  const std::size_t inner = detail::whole_pages(bytes);
  auto* const begin = static_cast<std::byte*>(memory) -
                      (bytes == 0 ? inner : reinterpret_cast<std::uintptr_t>(memory) % page);
  ::munmap(begin - page, inner + 2 * page);
}

// An allocator of memory that ends at a protected page.
template <class T>
struct AtGuardPage {
  using value_type = T;
  AtGuardPage() = default;
  template <class U>
  explicit AtGuardPage(const AtGuardPage<U>&) {}
  T* allocate(std::size_t n) {
    return reinterpret_cast<T*>(map_guarded(n * sizeof(T), Edge::kEnd));
  }
  void deallocate(T* memory, std::size_t n) noexcept { unmap_guarded(memory, n * sizeof(T)); }
  bool operator==(const AtGuardPage&) const = default;
};

template <class T>
using GuardedVector = std::vector<T, AtGuardPage<T>>;

}  // namespace limpid
