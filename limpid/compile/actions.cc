// Actions: a plan prepared for one thread that runs all of it. Bands, blocks and pieces are decided
// beforehand, a row times packed weights calls its kernel directly, and intermediate results are
// computed in whole vectors: a partial store followed by a load costs more than a small layer.
#include <algorithm>

#include "limpid/compile/worker.h"

namespace limpid::detail {
namespace {

// Whether memory up to a multiple of Tensor::kAlignment belongs to the slot.
bool has_room(const Slot& slot) {
  return slot.place == Place::kWorkspace || slot.place == Place::kBand;
}
const Slot& slot_of(const Plan& plan, SlotId id) {
  return plan.slots[static_cast<std::size_t>(id)];
}

// The elements of a program, up to whole vectors where there is room for them.
std::size_t whole_vectors(const Plan& plan, const Program& program) {
  const bool room = std::all_of(program.places.begin(), program.places.end(), [&](std::int32_t p) {
    return p < 0 || has_room(slot_of(plan, p));
  });
  const std::size_t lanes = plan.kernels->lanes;
  return room ? (program.elements + lanes - 1) / lanes * lanes : program.elements;
}

// Whether the step is nothing but its program, each instruction over all elements.
bool is_plain(const Program& program) {
  return (program.is_one_call() || program.elements <= kChunk) && program.filled_once.empty() &&
         program.filled.empty() && program.stored.empty() &&
         std::all_of(program.instructions.begin(), program.instructions.end(),
                     [](const Instruction& in) { return in.function != nullptr; });
}

LanesAction lanes_action(const Program& program, std::size_t instruction, std::size_t elements) {
  const Instruction& in = program.instructions[instruction];
  const std::int32_t result = program.places[program.inputs.size() + instruction];
  // Operands beyond the kernel's arity may be anything.
  LanesAction action{in.function, elements, {result, result, result, result}};
  for (std::size_t o = 0; o < static_cast<std::size_t>(in.count); ++o)
    action.places[o + 1] = program.places[static_cast<std::size_t>(in.operands[o])];
  return action;
}

void add_program(Plan& plan, std::size_t step) {
  const Program& program = plan.steps[step].program;
  if (program.empty()) return;
  if (!is_plain(program)) return plan.actions.push_back(ProgramAction{step});
  const std::size_t elements = whole_vectors(plan, program);
  for (std::size_t i = 0; i < program.instructions.size(); ++i)
    plan.actions.push_back(lanes_action(program, i, elements));
}

void run_row(const RowAction& action, const Worker& worker) {
  const auto at = [&](SlotId id) {
    return static_cast<float*>(worker.slots[static_cast<std::size_t>(id)]);
  };
  worker.plan.kernels->matmul_row(action.row, at(action.a), at(action.b),
                                  action.bias >= 0 ? at(action.bias) : nullptr, at(action.c));
}

void run_lanes(const LanesAction& action, const Worker& worker) {
  const auto at = [&](std::int32_t place) -> void* {
    return place >= 0 ? worker.slots[static_cast<std::size_t>(place)] : worker.buffer(~place);
  };
  const auto& [out, a, b, c] = action.places;
  action.function(at(out), at(a), at(b), at(c), action.elements);
}

}  // namespace

void find_actions(Plan& plan) {
  for (const Band& band : plan.bands)
    if (band.rows > band.block) return;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (const auto& root = plan.steps[i].root) {
      std::optional<RowAction> row = root->row_action();
      if (!row) {
        plan.actions.push_back(StepAction{i});  // with its program
        continue;
      }
      row->row.padded = has_room(slot_of(plan, row->c));
      plan.actions.push_back(*row);
    }
    add_program(plan, i);
  }
}

void run_whole(const Plan& plan, void* const* slots, std::byte* scratch) noexcept {
  const Worker worker{plan, slots, scratch + plan.band_bytes};
  for (const Action& action : plan.actions) {
    if (const auto* row = std::get_if<RowAction>(&action)) {
      run_row(*row, worker);
    } else if (const auto* lanes = std::get_if<LanesAction>(&action)) {
      run_lanes(*lanes, worker);
    } else if (const auto* p = std::get_if<ProgramAction>(&action)) {
      const Program& program = plan.steps[p->step].program;
      run_program(program, worker, 0, program.elements);
    } else {
      run_piece(plan.steps[std::get_if<StepAction>(&action)->step], worker, {0, 1});
    }
  }
}

}  // namespace limpid::detail
