// Donations: which inputs may share memory with an output.
#include <fmt/format.h>

#include <algorithm>

#include "limpid/compile/plan.h"
#include "limpid/core/error.h"

namespace limpid::detail {
namespace {

SlotId slot_of(const Plan& plan, Place place, std::size_t number) {
  const auto found = std::find_if(plan.slots.begin(), plan.slots.end(), [&](const Slot& slot) {
    return slot.place == place && slot.offset == number;
  });
  return static_cast<SlotId>(found - plan.slots.begin());
}

}  // namespace

void check_donation(const Plan& plan, std::size_t input, std::size_t output) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("compile of '{}': input {} cannot be donated to output {}: {}",
                            plan.name, input, output, why));
  };
  if (input >= plan.inputs.size() || output >= plan.outputs.size())
    refuse(
        fmt::format("there are {} inputs and {} outputs", plan.inputs.size(), plan.outputs.size()));
  const Type& from = plan.inputs[input].type;
  const Type& to = plan.outputs[output];
  if (!(from == to))
    refuse(fmt::format("their types differ, {} and {}", to_string(from), to_string(to)));

  const SlotId in = slot_of(plan, Place::kInput, input);
  const SlotId out = slot_of(plan, Place::kOutput, output);
  bool written = false;
  for (const Band& band : plan.bands)
    for (std::size_t i = band.first; i < band.first + band.count; ++i) {
      const Step& step = plan.steps[i];
      bool reads = false, writes = false;
      for_each_slot(step, [&](SlotId s, bool writing) {
        reads = reads || (s == in && !writing);
        writes = writes || (s == out && writing);
      });
      // The steps of a band alternate, a few rows each.
      written = written || (writes && !(step.root && step.root->writes_in_place(in, out)));
      for (std::size_t j = band.first; j < i; ++j)
        for_each_slot(plan.steps[j],
                      [&](SlotId s, bool writing) { written = written || (s == out && writing); });
      if (reads && written)
        refuse(fmt::format("'{}' is read after the output may have been written",
                           plan.inputs[input].name));
      written = written || writes;
    }
}

}  // namespace limpid::detail
