// Lets one allocation of the server's threads fail. Linked into a test of what the server does
// then.
#pragma once

#include <cstdint>

// The n-th allocation from now on fails, of threads but those that are exempt; 0: none does.
void fail_allocation(std::int64_t n);
// Whether the last one that was to fail has.
bool has_failed();
// The calling thread's allocations neither count nor fail.
void exempt_this_thread();
