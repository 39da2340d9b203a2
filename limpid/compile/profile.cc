#include "limpid/compile/profile.h"

#include <algorithm>
#include <chrono>

#include "limpid/compile/plan.h"
#include "limpid/core/float_mode.h"
#include "limpid/function/interpret.h"

namespace limpid {
namespace {

using Clock = std::chrono::steady_clock;

// The addresses of a plan's slots. A result has its own memory, or the memory of a donated input.
class Memory {
 public:
  Memory(const detail::Plan& plan, std::span<const Tensor> inputs, std::size_t threads,
         std::span<const CompileOptions::Donation> donations)
      : donations_(donations),
        workspace_(allocate_aligned(plan.workspace_bytes + threads * plan.scratch_bytes + 1)),
        scratch_(workspace_.get() + plan.workspace_bytes) {
    for (const detail::Slot& slot : plan.slots) slots_.push_back(address(plan, slot, inputs));
  }
  void* const* slots() const { return slots_.data(); }
  std::byte* scratch() const { return scratch_; }

 private:
  void* address(const detail::Plan& plan, const detail::Slot& slot,
                std::span<const Tensor> inputs) {
    const auto of = [](const Tensor& t) { return const_cast<std::byte*>(t.bytes().data()); };
    switch (slot.place) {
      case detail::Place::kInput:
        return of(inputs[slot.offset]);
      case detail::Place::kConstant:
        return of(plan.constants[slot.offset].value);
      case detail::Place::kOutput:
        for (const CompileOptions::Donation& d : donations_)
          if (d.output == slot.offset) return of(inputs[d.input]);
        results_.push_back(allocate_aligned(slot.type.bytes() + 1));
        return results_.back().get();
      case detail::Place::kWorkspace:
        return workspace_.get() + slot.offset;
      case detail::Place::kBand:
        return scratch_ + slot.offset;
    }
    return nullptr;
  }

  std::span<const CompileOptions::Donation> donations_;
  std::shared_ptr<std::byte> workspace_;
  std::byte* scratch_;
  std::vector<std::shared_ptr<std::byte>> results_;
  std::vector<void*> slots_;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<BandTime> profile(const Function& function, std::span<const Tensor> inputs, int rounds,
                              ThreadPool* pool, const CompileOptions& options) {
  check_arguments(function, inputs);
  detail::Plan plan = detail::make_plan(function, options);
  const std::vector<detail::Band> bands = std::move(plan.bands);
  const Memory memory(plan, inputs, pool ? static_cast<std::size_t>(pool->threads()) : 1,
                      options.donations);
  std::vector<BandTime> times;
  for (const detail::Band& band : bands) {
    plan.bands.assign(1, band);
    times.push_back({detail::plan_text(plan), 0});
  }
  std::vector<std::vector<double>> samples(bands.size());
  const DefaultFloatMode mode;
  for (int round = 0; round < std::max(rounds, 1); ++round)
    for (std::size_t b = 0; b < bands.size(); ++b) {
      plan.bands.assign(1, bands[b]);
      const auto begin = Clock::now();
      detail::run(plan, memory.slots(), memory.scratch(), pool);
      samples[b].push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
  for (std::size_t b = 0; b < bands.size(); ++b) times[b].microseconds = median(samples[b]);
  return times;
}

}  // namespace limpid
