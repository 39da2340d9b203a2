// The time of one call.
#pragma once

#include <cstddef>
#include <functional>

namespace bench {

struct Timing {
  double nanoseconds;  // of the median sample
  std::size_t calls;
};

// Samples for so long, each the mean of as many calls as take 100 microseconds; the first sixth of
// the time is not counted.
Timing time_calls(const std::function<void()>& call, double milliseconds);

}  // namespace bench
