// Whether all ranks are about to train the same thing. Leans on distribute.
#pragma once

#include <cstdint>
#include <string>

#include "limpid/distribute/communicator.h"

namespace limpid::train {

// Compares the library's version, the configuration, the hash of the data and that of a short
// computation. Every rank calls it. Throws kInvalidArgument on all ranks, naming one that differs
// from the first and what differs.
void require_alike(distribute::Communicator& ranks, const std::string& config,
                   std::uint64_t data_hash);

}  // namespace limpid::train
