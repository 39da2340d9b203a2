#include "tests/realtime/count_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> locks{0};
std::atomic<std::size_t> questions{0};

void count(std::atomic<std::size_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

// The C library's function that one of these replaces.
template <class F>
F* behind(F*, const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

std::size_t allocator_calls() { return allocations.load(); }
std::size_t lock_calls() { return locks.load(); }
std::size_t sysconf_calls() { return questions.load(); }

extern "C" {

// glibc's own names of its allocator: dlsym, which would find the others, allocates.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

void* malloc(std::size_t bytes) {
  count(allocations);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) {
  count(allocations);
  return __libc_calloc(n, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  count(allocations);
  return __libc_realloc(memory, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  count(allocations);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory != nullptr ? 0 : ENOMEM;
}
void free(void* memory) {
  count(allocations);
  __libc_free(memory);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static auto* const real = behind(&pthread_mutex_lock, "pthread_mutex_lock");
  count(locks);
  return real(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  static auto* const real = behind(&pthread_mutex_trylock, "pthread_mutex_trylock");
  count(locks);
  return real(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* rwlock) noexcept {
  static auto* const real = behind(&pthread_rwlock_rdlock, "pthread_rwlock_rdlock");
  count(locks);
  return real(rwlock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* rwlock) noexcept {
  static auto* const real = behind(&pthread_rwlock_wrlock, "pthread_rwlock_wrlock");
  count(locks);
  return real(rwlock);
}
int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static auto* const real = behind(&pthread_cond_wait, "pthread_cond_wait");
  count(locks);
  return real(condition, mutex);
}
long sysconf(int name) noexcept {
  static auto* const real = behind(&sysconf, "sysconf");
  count(questions);
  return real(name);
}
}
