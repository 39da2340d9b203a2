// The ranks of mpirun or srun, as a command of the tool joins them.
#pragma once

#include <functional>

#include "limpid/distribute/launched_ranks.h"

namespace limpid::tool {

// Runs code(ranks), nullptr where this process was started alone. An error of one rank ends those
// of all with one line; one that all ranks have alike is told by the first alone, as is that a
// signal ended them. Throws what code throws where there is one rank.
void as_rank(const std::function<void(distribute::LaunchedRanks* ranks)>& code);

// Gives this rank its share of the CPUs that it and other ranks of its host may use alike, and
// returns how many those are; with nullptr, all that may be used. Every rank calls it.
int share_of_cpus(distribute::LaunchedRanks* ranks);

}  // namespace limpid::tool
