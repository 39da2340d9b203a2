// Runs a command on the ranks of mpirun or srun.
#pragma once

#include <functional>

#include "limpid/distribute/launched_ranks.h"

namespace limpid::tool {

// Runs code(ranks), with nullptr if this process was started alone. An error of one rank ends all
// ranks with one line. An error that all ranks have, and the end by a signal, is reported only by
// the first rank. With a single rank, throws what code throws.
void as_rank(const std::function<void(distribute::LaunchedRanks* ranks)>& code);

// Restricts this rank to its share of the CPUs that the ranks of its host have in common, and
// returns their number; with nullptr, the number of allowed CPUs. Every rank must call it.
int share_of_cpus(distribute::LaunchedRanks* ranks);

}  // namespace limpid::tool
