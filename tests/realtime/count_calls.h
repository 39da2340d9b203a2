// Counts calls of the C library that real-time code must not make, in the whole program since its
// start. Linked into a test, they replace the C library's own.
#pragma once

#include <cstddef>

// malloc and its kin, and free; operator new comes through here.
std::size_t allocator_calls();
// Locking mutexes and reader-writer locks of POSIX, and waiting for its conditions; those of the
// standard library come through here.
std::size_t lock_calls();
// sysconf may make a system call. A static variable that it sets makes other threads wait.
std::size_t sysconf_calls();
