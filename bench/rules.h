// When a figure counts: the answers agree, enough turns say who is ahead, and nothing else ran.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace bench {

// The turns of every library in one case, [library][turn], in nanoseconds a call. limpid is the
// first; a library that cannot do the case has no turns.
using Turns = std::vector<std::vector<double>>;

// The fastest peer, by its median; none if no peer has turns.
std::optional<std::size_t> best_peer(const Turns& turns);

// At most this many times the requested turns are taken.
inline constexpr int kLonger = 3;
// Whether one more turn is taken after `done`: until there are as many as requested, and then until
// they say which library is ahead.
bool needs_turn(int done, int requested, const Turns& turns);

// On a quiet machine the system takes the CPU away from programs at most this often per second. One
// busy program beside them causes a hundred times and more.
inline constexpr double kQuiet = 30;
// Throws std::runtime_error if it was more often.
void check_quiet(double preemptions_a_second);

// The losses of the first training steps of limpid and of a peer that began with the same
// parameters may differ by a thousandth of what the steps change: rounding is less. Throws
// std::logic_error if they differ more.
void check_losses(std::span<const float> ours, std::span<const float> theirs);

}  // namespace bench
