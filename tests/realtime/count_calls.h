// Counts calls of the C library that real-time code must not make, in the whole program since its
// start. Linked into a test, they replace the C library's own.
#pragma once

#include <cstddef>

// malloc and its kin, and free; operator new comes through here.
std::size_t allocator_calls();
// Locking mutexes and reader-writer locks of POSIX, and waiting for its conditions; those of the
// standard library come through here.
std::size_t lock_calls();
// Some of its answers take a system call on some machines; and what asks once, for a static
// variable, lets other threads wait for the first.
std::size_t sysconf_calls();
