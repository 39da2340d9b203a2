#include "bench/timing.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

double nanoseconds(Clock::duration d) {
  return std::chrono::duration<double, std::nano>(d).count();
}

}  // namespace

Timing time_calls(const std::function<void()>& call, double milliseconds) {
  const double budget = milliseconds * 1e6;
  const auto start = Clock::now();
  int warm = 0;
  do {
    call();
    ++warm;
  } while (nanoseconds(Clock::now() - start) < 0.15 * budget || warm < 2);
  const double one = nanoseconds(Clock::now() - start) / warm;
  const int inner = std::max(1, static_cast<int>(1e5 / one));
  std::vector<double> samples;
  while (samples.size() < 5 || nanoseconds(Clock::now() - start) < budget) {
    const auto begin = Clock::now();
    for (int i = 0; i < inner; ++i) call();
    samples.push_back(nanoseconds(Clock::now() - begin) / inner);
  }
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return {*middle, samples.size() * static_cast<std::size_t>(inner)};
}

}  // namespace bench
