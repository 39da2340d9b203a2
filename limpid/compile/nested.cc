#include "limpid/compile/nested.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/compile/pages.h"
#include "limpid/compile/thread_pool.h"
#include "limpid/compile/worker.h"
#include "limpid/core/stop_check.h"

namespace limpid::detail {

NestedPlan::NestedPlan(const Function& function, kernels::Isa isa,
                       std::span<const CompileOptions::Donation> donations,
                       std::size_t first_invariant)
    : plan_(std::make_shared<Plan>(lower(function, isa, donations, first_invariant))),
      inputs_(plan_->inputs.size() + plan_->packed_inputs.size()),
      outputs_(plan_->outputs.size()) {
  for (std::size_t s = 0; s < plan_->slots.size(); ++s) {
    const Slot& slot = plan_->slots[s];
    if (slot.place == Place::kInput) inputs_[slot.offset] = s;
    if (slot.place == Place::kOutput) outputs_[slot.offset] = s;
  }
}

std::size_t NestedPlan::memory_bytes() const {
  return round_up(plan_->slots.size() * sizeof(void*)) + round_up(plan_->workspace_bytes);
}

NestedPlan::Ready::Ready(const NestedPlan& nested, std::byte* memory, std::byte* scratch,
                         ThreadPool* pool, StopCheck* check) noexcept
    : nested_(nested),
      slots_(reinterpret_cast<void**>(memory)),
      scratch_(scratch),
      pool_(pool),
      check_(check),
      whole_(!check && runs_whole(nested.plan(), pool ? pool->threads() : 1)) {
  const Plan& plan = nested.plan();
  std::byte* const workspace = memory + round_up(plan.slots.size() * sizeof(void*));
  for (std::size_t s = 0; s < plan.slots.size(); ++s) {
    const Slot& slot = plan.slots[s];
    switch (slot.place) {
      case Place::kConstant:
        // Slots that are written are never constants.
        slots_[s] = const_cast<std::byte*>(plan.constants[slot.offset].value.bytes().data());
        break;
      case Place::kWorkspace:
        slots_[s] = workspace + slot.offset;
        break;
      case Place::kBand:
        slots_[s] = scratch + slot.offset;
        break;
      case Place::kInput:
      case Place::kOutput:
        slots_[s] = nullptr;
        break;
    }
  }
}

void NestedPlan::Ready::set_input(std::size_t input, const void* address) noexcept {
  slots_[nested_.inputs_[input]] = const_cast<void*>(address);
}

void NestedPlan::Ready::set_output(std::size_t output, void* address) noexcept {
  slots_[nested_.outputs_[output]] = address;
}

void NestedPlan::Ready::run() noexcept {
  if (whole_)
    run_whole(nested_.plan(), slots_, scratch_);
  else
    detail::run(nested_.plan(), slots_, scratch_, pool_, check_);
}

void for_each_plan(Plan& plan, const std::function<void(Plan&)>& visit) {
  visit(plan);
  for (const Step& step : plan.steps)
    if (step.root)
      for (const NestedPlan* const nested : step.root->nested())
        for_each_plan(nested->plan(), visit);
}

std::size_t PlansRoot::scratch_bytes(const kernels::Kernels&) const {
  std::size_t most = 0;
  for (const NestedPlan* const plan : nested()) most = std::max(most, plan->plan().scratch_bytes);
  return most;
}

void PlansRoot::run(const Step&, const Worker& worker, Piece) const {
  run_plans(worker, worker.scratch, nullptr, nullptr);
}

std::string PlansRoot::text_of(std::string_view name, const NestedPlan& nested) {
  std::string text = fmt::format("\n  {}:", name);
  std::string line;
  for (const char c : plan_text(nested.plan())) {
    if (c != '\n') {
      line += c;
      continue;
    }
    text += "\n    " + line;
    line.clear();
  }
  return text;
}

}  // namespace limpid::detail
