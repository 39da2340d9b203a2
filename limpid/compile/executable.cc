#include "limpid/compile/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "limpid/compile/plan.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/function/interpret.h"

namespace limpid {
namespace {

std::size_t round_up(std::size_t bytes) {
  return (bytes + Tensor::kAlignment - 1) / Tensor::kAlignment * Tensor::kAlignment;
}

// From these sizes on a plan's memory gets a huge page, and allocate_aligned() gives one. A page
// that is mostly empty still pays where it keeps the weights of a network in the second-level cache
// from driving each other out.
constexpr std::size_t kWorthAHugePage = std::size_t{512} << 10;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::shared_ptr<std::byte> allocate_pages(std::size_t bytes) {
  return allocate_aligned(bytes < kWorthAHugePage ? bytes : std::max(bytes, kHugePage));
}

// Puts the constants side by side, in the order in which the steps read them. Large ones have pages
// of their own.
void gather_constants(detail::Plan& plan) {
  const auto moves = [](const Tensor& t) { return t.bytes().size() < kHugePage; };
  std::size_t bytes = 0;
  for (const Tensor& t : plan.constants)
    if (moves(t)) bytes += round_up(t.bytes().size());
  if (bytes < kWorthAHugePage) return;
  const std::shared_ptr<std::byte> memory = allocate_pages(bytes);
  std::byte* to = memory.get();
  for (Tensor& t : plan.constants) {
    if (!moves(t)) continue;
    std::copy(t.bytes().begin(), t.bytes().end(), to);
    t = Tensor::borrow(t.type(), to, memory);
    to += round_up(t.bytes().size());
  }
}

}  // namespace

Executable compile(const Function& function, const CompileOptions& options) {
  const kernels::Isa isa = options.isa.value_or(kernels::default_isa());
  const auto available = kernels::available_isas();
  if (std::find(available.begin(), available.end(), isa) == available.end())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("compile of '{}': instruction set {} is not available here",
                            function.name(), name(isa)));
  auto plan = std::make_shared<detail::Plan>(detail::lower(function, isa));
  for (const CompileOptions::Donation& d : options.donations)
    detail::check_donation(*plan, d.input, d.output);
  gather_constants(*plan);
  plan->worth_sharing = options.nanoseconds_worth_sharing;
  return Executable(std::move(plan));
}

const std::vector<Input>& Executable::inputs() const { return plan_->function.inputs(); }

std::vector<Type> Executable::output_types() const {
  std::vector<Type> types;
  for (const Output& o : plan_->function.outputs()) types.push_back(plan_->function.type(o.value));
  return types;
}

std::string Executable::plan() const { return detail::plan_text(*plan_); }
std::size_t Executable::workspace_bytes() const {
  return plan_->workspace_bytes + plan_->band_bytes;
}

std::vector<Tensor> Executable::operator()(std::span<const Tensor> inputs, ThreadPool* pool) const {
  check_arguments(plan_->function, inputs);
  Workspace workspace(*this, pool);
  std::vector<const void*> in;
  for (const Tensor& t : inputs) in.push_back(t.bytes().data());
  return generate_together(output_types(),
                           [&](std::span<void* const> out) { workspace.run(in, out); });
}

Workspace::Workspace(const Executable& executable, ThreadPool* pool)
    : plan_(executable.plan_), pool_(pool), slots_(plan_->slots.size(), nullptr) {
  const std::size_t threads = pool ? static_cast<std::size_t>(pool->threads()) : 1;
  const std::size_t bytes = plan_->workspace_bytes + threads * plan_->scratch_bytes + 1;
  memory_ = allocate_pages(bytes);
  scratch_ = memory_.get() + plan_->workspace_bytes;
  whole_ = detail::runs_whole(*plan_, static_cast<int>(threads));
  input_slots_.resize(plan_->function.inputs().size());
  output_slots_.resize(plan_->function.outputs().size());
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const detail::Slot& slot = plan_->slots[s];
    switch (slot.place) {
      case detail::Place::kInput:
        input_slots_[slot.offset] = s;
        break;
      case detail::Place::kOutput:
        output_slots_[slot.offset] = s;
        break;
      case detail::Place::kConstant:
        // Slots that are written are never constants.
        slots_[s] = const_cast<std::byte*>(plan_->constants[slot.offset].bytes().data());
        break;
      case detail::Place::kWorkspace:
        slots_[s] = memory_.get() + slot.offset;
        break;
      case detail::Place::kBand:
        slots_[s] = scratch_ + slot.offset;
        break;
    }
  }
}

void Workspace::run(std::span<const void* const> inputs, std::span<void* const> outputs) noexcept {
  for (std::size_t i = 0; i < input_slots_.size(); ++i)
    slots_[input_slots_[i]] = const_cast<void*>(inputs[i]);
  for (std::size_t o = 0; o < output_slots_.size(); ++o) slots_[output_slots_[o]] = outputs[o];
  const DefaultFloatMode mode;
  if (whole_)
    detail::run_whole(*plan_, slots_.data(), scratch_);
  else
    detail::run(*plan_, slots_.data(), scratch_, pool_);
}

}  // namespace limpid
