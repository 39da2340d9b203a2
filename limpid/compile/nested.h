// Nested plans: a Function that a step runs, such as the body of a loop, compiled by itself. It has
// its memory in a slot of the plan around it, so that nothing is allocated while it runs.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "limpid/compile/plan.h"

namespace limpid {
class StopCheck;
class ThreadPool;
}  // namespace limpid

namespace limpid::detail {

class NestedPlan {
 public:
  // Compiles the Function. The surrounding plan places its constants. The inputs from
  // `first_invariant` on are equal in all runs of a step.
  NestedPlan(const Function& function, kernels::Isa isa,
             std::span<const CompileOptions::Donation> donations = {},
             std::size_t first_invariant = std::numeric_limits<std::size_t>::max());

  Plan& plan() const { return *plan_; }
  // Of the addresses of all slots, then of the workspace.
  std::size_t memory_bytes() const;

  // A plan that is ready to run, any number of times. Inputs, then packed inputs, and outputs have
  // no addresses yet.
  class Ready {
   public:
    Ready(const NestedPlan& nested, std::byte* memory, std::byte* scratch, ThreadPool* pool,
          StopCheck* check) noexcept;

    void set_input(std::size_t input, const void* address) noexcept;
    void set_output(std::size_t output, void* address) noexcept;
    void run() noexcept;

   private:
    const NestedPlan& nested_;
    void** slots_;
    std::byte* scratch_;
    ThreadPool* pool_;
    StopCheck* check_;
    bool whole_;
  };

 private:
  std::shared_ptr<Plan> plan_;
  std::vector<std::size_t> inputs_, outputs_;  // their slots
};

// A step that runs plans. One thread begins it, and they use the pool.
class PlansRoot : public Root {
 public:
  bool is_shared() const override { return false; }
  bool runs_plans() const override { return true; }
  std::size_t scratch_bytes(const kernels::Kernels& kernels) const override;
  void run(const Step& step, const Worker& worker, Piece piece) const override;

 protected:
  // The lines of a nested plan, after a line that names it.
  static std::string text_of(std::string_view name, const NestedPlan& nested);
};

}  // namespace limpid::detail
