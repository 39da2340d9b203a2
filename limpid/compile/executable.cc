#include "limpid/compile/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "limpid/compile/packings.h"
#include "limpid/compile/pages.h"
#include "limpid/compile/plan.h"
#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/stop_check.h"
#include "limpid/function/arguments.h"

namespace limpid {
namespace detail {

Plan make_plan(const Function& function, const CompileOptions& options) {
  const kernels::Isa isa = options.isa.value_or(kernels::default_isa());
  const auto available = kernels::available_isas();
  if (std::find(available.begin(), available.end(), isa) == available.end())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("compile of '{}': instruction set {} is not available on this machine",
                            function.name(), name(isa)));
  std::set<std::size_t> inputs, outputs;
  for (const CompileOptions::Donation& d : options.donations) {
    check_donation(function, d);
    if (!inputs.insert(d.input).second || !outputs.insert(d.output).second)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("compile of '{}': input {} to output {}: each may be in one donation",
                              function.name(), d.input, d.output));
  }
  Plan plan = lower(function, isa, options.donations);
  Packings own;
  Packings& packings = options.packings ? *options.packings : own;
  for_each_plan(plan, [&](Plan& p) {
    packings.place(p.constants);
    p.worth_sharing = options.nanoseconds_worth_sharing;
  });
  return plan;
}

}  // namespace detail

Executable compile(const Function& function, const CompileOptions& options) {
  const DefaultFloatMode mode;
  return Executable(std::make_shared<const detail::Plan>(detail::make_plan(function, options)));
}

const std::vector<Input>& Executable::inputs() const { return plan_->inputs; }

std::vector<Type> Executable::output_types() const { return plan_->outputs; }

std::string Executable::plan() const { return detail::plan_text(*plan_); }
std::size_t Executable::workspace_bytes() const {
  return plan_->workspace_bytes + plan_->band_bytes;
}

std::vector<Tensor> Executable::operator()(std::span<const Tensor> inputs, ThreadPool* pool) const {
  std::optional<std::vector<Tensor>> results = run(inputs, pool, StopScope::check());
  if (!results) throw Stopped();
  return *std::move(results);
}
std::optional<std::vector<Tensor>> Executable::operator()(std::span<const Tensor> inputs,
                                                          StopCheck& check,
                                                          ThreadPool* pool) const {
  return run(inputs, pool, &check);
}

std::optional<std::vector<Tensor>> Executable::run(std::span<const Tensor> inputs, ThreadPool* pool,
                                                   StopCheck* check) const {
  check_arguments(plan_->name, plan_->inputs, inputs);
  Workspace workspace(*this, pool);
  std::vector<const void*> in;
  for (const Tensor& t : inputs) in.push_back(t.bytes().data());
  bool whole = true;
  std::vector<Tensor> results = generate_together(output_types(), [&](std::span<void* const> out) {
    if (check)
      whole = workspace.run(in, out, *check);
    else
      workspace.run(in, out);
  });
  if (!whole) return std::nullopt;
  return results;
}

Workspace::Workspace(const Executable& executable, ThreadPool* pool,
                     std::shared_ptr<SharedMemory> shared)
    : plan_(executable.plan_),
      pool_(pool),
      slots_(plan_->slots.size(), nullptr),
      shared_(shared ? std::move(shared) : std::make_shared<SharedMemory>()) {
  const std::size_t threads = pool ? static_cast<std::size_t>(pool->threads()) : 1;
  bytes_ = sum_or_most<std::size_t>(plan_->workspace_bytes + 1,
                                    product_or_most<std::size_t>(threads, plan_->scratch_bytes));
  if (shared_->bytes_ < bytes_) {
    shared_->memory_ = nullptr;  // before there are both
    shared_->memory_ = detail::allocate_pages(bytes_);
    shared_->bytes_ = bytes_;
  }
  whole_ = detail::runs_whole(*plan_, static_cast<int>(threads));
  constexpr double kLong = 2e7;
  long_ = detail::nanoseconds_of(*plan_) >= kLong;
  input_slots_.resize(plan_->inputs.size());
  output_slots_.resize(plan_->outputs.size());
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
        slots_[s] = const_cast<std::byte*>(plan_->constants[slot.offset].value.bytes().data());
        break;
      case detail::Place::kWorkspace:
      case detail::Place::kBand:
        break;
    }
  }
  use(shared_->memory_.get());
}

void Workspace::use(std::byte* memory) noexcept {
  memory_ = memory;
  scratch_ = memory + plan_->workspace_bytes;
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const detail::Slot& slot = plan_->slots[s];
    if (slot.place == detail::Place::kWorkspace) slots_[s] = memory_ + slot.offset;
    if (slot.place == detail::Place::kBand) slots_[s] = scratch_ + slot.offset;
  }
}

void Workspace::place(std::span<const void* const> inputs,
                      std::span<void* const> outputs) noexcept {
  // There is no other way out: run() does not throw, and would read beyond the pointers.
  if (inputs.size() != input_slots_.size() || outputs.size() != output_slots_.size()) {
    std::fprintf(stderr,
                 "limpid: Workspace::run: expected %zu inputs and %zu outputs, got %zu and %zu\n",
                 input_slots_.size(), output_slots_.size(), inputs.size(), outputs.size());
    std::abort();
  }
  if (shared_->memory_.get() != memory_) use(shared_->memory_.get());
  for (std::size_t i = 0; i < input_slots_.size(); ++i)
    slots_[input_slots_[i]] = const_cast<void*>(inputs[i]);
  for (std::size_t o = 0; o < output_slots_.size(); ++o) slots_[output_slots_[o]] = outputs[o];
}

void Workspace::run(std::span<const void* const> inputs, std::span<void* const> outputs) noexcept {
  place(inputs, outputs);
  const StopScope none(nullptr);
  const DefaultFloatMode mode;
  if (whole_)
    detail::run_whole(*plan_, slots_.data(), scratch_);
  else
    detail::run(*plan_, slots_.data(), scratch_, pool_);
}

bool Workspace::run(std::span<const void* const> inputs, std::span<void* const> outputs,
                    StopCheck& check) noexcept {
  if (!long_) {
    run(inputs, outputs);
    return true;
  }
  place(inputs, outputs);
  const StopScope none(nullptr);
  const DefaultFloatMode mode;
  detail::run(*plan_, slots_.data(), scratch_, pool_, &check);
  return !check.stopped();
}

}  // namespace limpid
