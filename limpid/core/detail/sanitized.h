// LIMPID_SANITIZED: 1 if the address or thread sanitizer is on, else 0. GCC and clang signal this
// in different ways.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMPID_SANITIZED 1
#elif defined(__has_feature)
#define LIMPID_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define LIMPID_SANITIZED 0
#endif
