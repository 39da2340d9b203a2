// Lets one allocation of the server's threads fail. Linked into a test of the server's reaction.
#pragma once

#include <cstdint>

// The n-th allocation from now on fails, counting only threads that are not exempt; 0: none fails.
void fail_allocation(std::int64_t n);
// Whether the last one that was to fail has.
bool has_failed();
// The calling thread's allocations neither count nor fail.
void exempt_this_thread();
