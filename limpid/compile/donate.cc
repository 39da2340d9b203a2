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

// Whether the step writes each element of `out` only after it has read that element of `in`.
bool writes_in_place(const Step& step, SlotId in, SlotId out) {
  if (step.root) {
    const Root::Slots slots = step.root->slots();
    const auto has = [](const std::vector<SlotId>& all, SlotId slot) {
      return std::find(all.begin(), all.end(), slot) != all.end();
    };
    if (has(slots.read, in) || has(slots.written, out)) return step.root->writes_in_place(in, out);
  }
  // place_registers() sees to the order of its instructions.
  return !reads_beyond_rows(step, in, step.program.elements);
}

bool can_share(const Plan& plan, SlotId in, SlotId out) {
  bool written = false;
  for (const Band& band : plan.bands)
    for (std::size_t i = band.first; i < band.first + band.count; ++i) {
      const Step& step = plan.steps[i];
      bool reads = false;
      for_each_slot(step, [&](SlotId s, bool writing) { reads = reads || (s == in && !writing); });
      const bool writes_here = writes(step, out);
      written = written || (writes_here && !writes_in_place(step, in, out));
      // The steps of a band alternate, a few rows each: a later one writes some rows before this
      // one reads for the next rows.
      if (band.rows > 0 && reads_beyond_rows(step, in, band.rows))
        for (std::size_t j = i + 1; j < band.first + band.count; ++j)
          written = written || writes(plan.steps[j], out);
      if (reads && written) return false;
      written = written || writes_here;
    }
  return true;
}

}  // namespace

void check_donation(const Function& function, const CompileOptions::Donation& donation) {
  const std::size_t input = donation.input, output = donation.output;
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("compile of '{}': input {} cannot be donated to output {}: {}",
                            function.name(), input, output, why));
  };
  if (input >= function.inputs().size() || output >= function.outputs().size())
    refuse(fmt::format("there are {} inputs and {} outputs", function.inputs().size(),
                       function.outputs().size()));
  const Type& from = function.inputs()[input].type;
  const Type& to = function.type(function.outputs()[output].value);
  if (!(from == to))
    refuse(fmt::format("their types differ, {} and {}", to_string(from), to_string(to)));
}

void settle_donations(Plan& plan, std::span<const CompileOptions::Donation> donations) {
  for (const CompileOptions::Donation& d : donations) {
    const SlotId in = slot_of(plan, Place::kInput, d.input);
    const SlotId out = slot_of(plan, Place::kOutput, d.output);
    if (can_share(plan, in, out)) {
      plan.donated.emplace_back(in, out);
      continue;
    }
    Slot& made = plan.slots[static_cast<std::size_t>(out)];
    const Slot last = made;
    made.place = Place::kWorkspace;
    made.offset = 0;
    plan.slots.push_back(last);
    add_copy(plan, out, static_cast<SlotId>(plan.slots.size()) - 1);
    plan.bands.push_back({.first = plan.steps.size() - 1, .count = 1});
  }
}

}  // namespace limpid::detail
