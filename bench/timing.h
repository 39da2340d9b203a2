// The time of one call.
#pragma once

#include <cstddef>
#include <functional>

namespace bench {

struct Timing {
  double nanoseconds;  // of the median sample
  std::size_t calls;
};

// Takes samples for this many milliseconds. Each is the mean of as many calls as take 100
// microseconds. The first sixth of the time is not counted.
Timing time_calls(const std::function<void()>& call, double milliseconds);

}  // namespace bench
