// Checks that all ranks train the same thing. Depends on distribute.
#pragma once

#include <cstdint>
#include <string>

#include "limpid/distribute/communicator.h"

namespace limpid::train {

// Compares the library version, the configuration, the hash of the data and the hash of a short
// computation. Every rank must call it. Throws kInvalidArgument on all ranks, naming a rank that
// differs from the first one, and the difference.
void require_alike(distribute::Communicator& ranks, const std::string& config,
                   std::uint64_t data_hash);

}  // namespace limpid::train
