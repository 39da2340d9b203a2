#include "apps/limpid/support/ranks.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/stop_signals.h"
#include "apps/limpid/support/threads.h"

namespace limpid::tool {
namespace {

// The other ranks wait this long for the first rank, which may report the same error, and for the
// launcher, which then ends them. On a busy machine that takes seconds.
[[noreturn]] void end_all(distribute::LaunchedRanks& ranks, int code, const std::string& message) {
  constexpr std::chrono::seconds kWait{4};
  if (ranks.rank() > 0) std::this_thread::sleep_for(kWait);
  print_error(ranks.rank() == 0 ? message
                                : fmt::format("{}: {}", ranks.name(ranks.rank()), message));
  ranks.abort(code);
}

}  // namespace

void as_rank(const std::function<void(distribute::LaunchedRanks*)>& code) {
  const std::unique_ptr<distribute::LaunchedRanks> ranks = distribute::LaunchedRanks::join();
  if (!ranks) return code(nullptr);
  try {
    code(ranks.get());
    ranks->end();
  } catch (const Interrupted& e) {
    // Printed first: after SIGTERM, Open MPI's mpirun answers no MPI_Finalize, and it kills the
    // ranks a second later.
    if (ranks->rank() == 0) print_error(e.what());
    std::fflush(nullptr);
    ranks->end(e.exit_code());
    std::_Exit(e.exit_code());
  } catch (const UsageError& e) {
    end_all(*ranks, 2, e.what());
  } catch (const std::bad_alloc&) {
    end_all(*ranks, 1, "out of memory");
  } catch (const std::exception& e) {
    end_all(*ranks, 1, e.what());
  }
}

int share_of_cpus(distribute::LaunchedRanks* ranks) {
  if (!ranks) return allowed_cpus();
  cpu_set_t mine;
  CPU_ZERO(&mine);
  const bool known = ::sched_getaffinity(0, sizeof mine, &mine) == 0;
  // Ranks share CPUs only if they may use the same ones: a launcher may have divided them already.
  std::string alike = ranks->name(ranks->rank());
  alike = alike.substr(alike.find(" on "));
  alike.append(reinterpret_cast<const char*>(&mine), sizeof mine);
  int sharing = 0, place = 0, rank = 0;
  for (const auto& theirs : distribute::all_gather(*ranks, std::as_bytes(std::span(alike)))) {
    const bool same = theirs.size() == alike.size() &&
                      std::memcmp(theirs.data(), alike.data(), alike.size()) == 0;
    sharing += same;
    place += same && rank < ranks->rank();
    ++rank;
  }
  const int cpus = allowed_cpus();
  if (!known || sharing <= 1) return cpus;
  // With more ranks than CPUs, each rank gets one CPU, which others share.
  cpu_set_t share;
  CPU_ZERO(&share);
  const int first = cpus * place / sharing;
  const int last = std::max(first + 1, cpus * (place + 1) / sharing);
  for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mine) && seen++ >= first && seen <= last) CPU_SET(cpu, &share);
  ::sched_setaffinity(0, sizeof share, &share);
  return last - first;
}

}  // namespace limpid::tool
