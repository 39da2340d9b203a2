// Calls of the global operator new since the program began. Linked into tests of code that must not
// allocate.
#pragma once

#include <cstddef>

std::size_t allocations();
// Those of them that are aligned: the memory of tensors and of workspaces.
std::size_t aligned_allocations();
