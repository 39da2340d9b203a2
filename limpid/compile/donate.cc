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

bool writes(const Step& step, SlotId slot) {
  bool found = false;
  for_each_slot(step, [&](SlotId s, bool writing) { found = found || (s == slot && writing); });
  return found;
}

// Whether the step reads more of the slot for some of its rows than these rows of it.
bool reads_beyond_rows(const Step& step, SlotId slot, std::size_t rows) {
  const Program& program = step.program;
  const std::vector<SlotId> whole = step.root ? step.root->whole_slots() : std::vector<SlotId>();
  return std::find(whole.begin(), whole.end(), slot) != whole.end() ||
         std::any_of(program.inputs.begin(), program.inputs.end(),
                     [&](const LaneInput& input) {
                       return input.slot == slot && !input.is_by_rows(program.elements, rows);
                     }) ||
         std::any_of(program.instructions.begin(), program.instructions.end(),
                     [&](const Instruction& i) { return !i.function && i.key == slot; });
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
      bool reads = false;
      for_each_slot(step, [&](SlotId s, bool writing) { reads = reads || (s == in && !writing); });
      const bool writes_here = writes(step, out);
      written = written || (writes_here && !(step.root && step.root->writes_in_place(in, out)));
      // The steps of a band alternate, a few rows each: a later one writes some rows before this
      // one reads for the next rows.
      if (band.rows > 0 && reads_beyond_rows(step, in, band.rows))
        for (std::size_t j = i + 1; j < band.first + band.count; ++j)
          written = written || writes(plan.steps[j], out);
      if (reads && written)
        refuse(fmt::format("'{}' is read after the output may have been written",
                           plan.inputs[input].name));
      written = written || writes_here;
    }
}

}  // namespace limpid::detail
