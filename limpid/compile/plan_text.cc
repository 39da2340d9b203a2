// Prints a plan: one line per step, followed by its program. Slots are named in (input), out,
// const, s (workspace) and b (in a band's memory). & marks a step that runs at the same time as
// the one above.
#include <fmt/format.h>

#include "limpid/compile/plan.h"

namespace limpid::detail {
namespace {

std::string slot_text(const Plan& plan, SlotId id) {
  const Slot& slot = plan.slots[static_cast<std::size_t>(id)];
  switch (slot.place) {
    case Place::kInput:
      return fmt::format("in{}", slot.offset);
    case Place::kOutput:
      return fmt::format("out{}", slot.offset);
    case Place::kConstant:
      return fmt::format("const{}", slot.offset);
    case Place::kWorkspace:
      return fmt::format("s{}", id);
    case Place::kBand:
      return fmt::format("b{}", id);
  }
  return {};
}

std::string root_text(const Plan& plan, const Step& step) {
  if (!step.root) return "lanes";
  return step.root->text([&](SlotId id) { return slot_text(plan, id); });
}

std::string program_text(const Plan& plan, const Program& p) {
  std::string text;
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    const LaneInput& in = p.inputs[i];
    text += fmt::format("\n    r{} = {}", i, slot_text(plan, in.slot));
    if (!in.is_full(p.elements)) text += fmt::format("[i / {} mod {}]", in.inner, in.period);
  }
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    const Instruction& in = p.instructions[i];
    text += fmt::format("\n    r{} = {}", p.inputs.size() + i, in.name);
    if (!in.function) text += " " + slot_text(plan, in.key);
    for (std::int32_t o = 0; o < in.count; ++o)
      text += fmt::format(" r{}", in.operands[static_cast<std::size_t>(o)]);
  }
  for (const LaneOutput& o : p.outputs)
    text += fmt::format("\n    {} = r{}", slot_text(plan, o.slot), o.reg);
  return text;
}

}  // namespace

std::string plan_text(const Plan& plan) {
  std::string text;
  for (const Band& band : plan.bands) {
    if (band.count > 1)
      text +=
          fmt::format("{} steps for {} rows, {} at a time:\n", band.count, band.rows, band.block);
    for (std::size_t i = band.first; i < band.first + band.count; ++i)
      text += (plan.steps[i].beside ? "& " : "") + root_text(plan, plan.steps[i]) +
              program_text(plan, plan.steps[i].program) + "\n";
  }
  return text;
}

}  // namespace limpid::detail
