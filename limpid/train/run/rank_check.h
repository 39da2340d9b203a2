// Checks that all ranks train the same thing. Depends on distribute.
#pragma once

#include <cstdint>
#include <string>

#include "limpid/distribute/communicator.h"

namespace limpid::train {

// What every rank must have in common.
struct RankFacts {
  std::string version;  // of the library
  std::string config;   // as text, a key a line
  std::uint64_t data_hash = 0;
  std::uint64_t bits = 0;  // hash of a short computation
};

// The facts of this process. Runs the short computation.
RankFacts rank_facts(std::string config, std::uint64_t data_hash);

// Every rank must call it. Throws kInvalidArgument on all ranks, naming a rank that differs from
// the first one, and the difference.
void require_alike(distribute::Communicator& ranks, const RankFacts& facts);

}  // namespace limpid::train
