// Learning rates over time. Made of exact arithmetic only, so that a run's rates are the same on
// every machine.
#pragma once

#include <cstdint>

namespace limpid::optim {

struct Schedule {
  enum class Kind : std::uint8_t { kConstant, kLinear };
  Kind kind = Kind::kConstant;
  double rate = 0.1;
  std::int64_t steps = 0;   // of the whole run
  std::int64_t warmup = 0;  // steps over which the rate rises from rate / warmup

  // The rate of step 0, 1, ...: rising while warming up; then constant, or falling in a line to 0
  // at `steps`.
  double at(std::int64_t step) const {
    if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
    if (kind == Kind::kConstant || steps <= warmup) return rate;
    const std::int64_t left = steps - step > 0 ? steps - step : 0;
    return rate * static_cast<double>(left) / static_cast<double>(steps - warmup);
  }
};

}  // namespace limpid::optim
