// When a figure counts.
#include "bench/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <stdexcept>

#include "bench/report.h"

namespace bench {

std::optional<std::size_t> best_peer(const Turns& turns) {
  std::optional<std::size_t> best;
  for (std::size_t i = 1; i < turns.size(); ++i)
    if (!turns[i].empty() && (!best || median(turns[i]) < median(turns[*best]))) best = i;
  return best;
}

bool needs_turn(int done, int requested, const Turns& turns) {
  if (done < requested) return true;
  if (done >= kLonger * requested) return false;
  const std::optional<std::size_t> best = best_peer(turns);
  return best && !ratio_of(turns[*best], turns[0]).is_certain();
}

void check_quiet(double preemptions_a_second) {
  if (preemptions_a_second <= kQuiet) return;
  throw std::runtime_error(fmt::format(
      "other programs ran: the system took the CPU away {:.0f} times a second, expected at most {} "
      "(a quiet machine); measure again",
      preemptions_a_second, kQuiet));
}

void check_losses(std::span<const float> ours, std::span<const float> theirs) {
  bool agree = ours.size() == theirs.size();
  const float change = std::fabs(ours.front() - ours.back());
  for (std::size_t i = 0; agree && i < ours.size(); ++i)
    agree = std::fabs(ours[i] - theirs[i]) < 1e-3f * change;
  if (!agree)
    throw std::logic_error(
        fmt::format("expected the losses of the first steps to agree, got {} from limpid and {} "
                    "from the peer",
                    fmt::join(ours, ", "), fmt::join(theirs, ", ")));
}

}  // namespace bench
