// Learning-rate schedules. They use exact arithmetic only (no cosine of the C library), so that the
// rates are the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/enum_names.h"

namespace limpid::optim {

// A learning rate for every step of a run.
struct Schedule {
  // The schedule after the warm-up.
  enum class Kind : std::uint8_t {
    kConstant,
    kLinear,  // decays linearly to 0 at `steps`
    kStep,    // multiplied by `factor` after every `every` steps, as PyTorch's StepLR
    kCosine,  // decays as half a cosine to 0 at `steps`, as PyTorch's CosineAnnealingLR (Loshchilov
              // and Hutter 2017)
    kOneCycle,  // rises as half a cosine from rate / 25 over the first 30 % of the steps, then
                // decays as another to rate / 250,000, as PyTorch's OneCycleLR (Smith and Topin
                // 2017)
  };
  Kind kind = Kind::kConstant;
  double rate = 0.1;
  std::int64_t steps = 0;   // of the whole run
  std::int64_t warmup = 0;  // steps in which the rate rises linearly from rate / warmup
  std::int64_t every = 1;   // kStep
  double factor = 0.1;      // kStep

  // The learning rate of step 0, 1, ...: linear warm-up, then the schedule, counted from the end of
  // the warm-up. Throws kInvalidArgument for a step below 0, and if `every` is below 1.
  double at(std::int64_t step) const;
};

// Its names (core/enum_names.h).
constexpr EnumNames<5> enum_names(Schedule::Kind) {
  return {"schedule", {"constant", "linear", "step", "cosine", "onecycle"}};
}
using limpid::name;

}  // namespace limpid::optim
