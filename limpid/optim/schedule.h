// Learning rates over time. Made of exact arithmetic only (no cosine of a C library), so that a
// run's rates are the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace limpid::optim {

// A rate for every step of a run; a value.
struct Schedule {
  // The course of the rate behind the warm-up.
  enum class Kind : std::uint8_t {
    kConstant,
    kLinear,  // falls in a line to 0 at `steps`
    kStep,    // times `factor` behind every `every` steps, as PyTorch's StepLR
    kCosine,  // falls along half a cosine to 0 at `steps`, as CosineAnnealingLR (Loshchilov and
              // Hutter 2017)
  };
  Kind kind = Kind::kConstant;
  double rate = 0.1;
  std::int64_t steps = 0;   // of the whole run
  std::int64_t warmup = 0;  // steps over which the rate rises from rate / warmup
  std::int64_t every = 1;   // kStep
  double factor = 0.1;      // kStep

  // The rate of step 0, 1, ...: rising in a line while warming up, then as the kind says, counted
  // from the end of the warm-up.
  double at(std::int64_t step) const;
};

// "constant", "linear", "step", "cosine".
std::string_view name(Schedule::Kind kind);
std::vector<std::string> schedule_names();
// Throws kNotFound, naming the schedules there are.
Schedule::Kind schedule_from_name(std::string_view name);

}  // namespace limpid::optim
