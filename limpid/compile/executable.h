// compile: turns a Function into an Executable for this machine, with the same bits as the
// interpreter.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limpid/compile/thread_pool.h"
#include "limpid/function/function.h"
#include "limpid/kernels/isa.h"

namespace limpid {

class Packings;
class StopCheck;

namespace detail {
struct Plan;
}

// Options of compile(). None of them changes the bits of the results.
struct CompileOptions {
  // The instruction set; default: kernels::default_isa().
  std::optional<kernels::Isa> isa = {};
  // A step is split among the threads of a pool if each piece takes at least this many nanoseconds
  // (estimated); 0 splits every step that can be split.
  double nanoseconds_worth_sharing = 3000;
  // Buffer donation: inputs whose memory the caller gives up for an output of the same type. Run
  // the Workspace with one address for both. An update is then made in place: by rows of a cache,
  // element by element, by Adam. Where the input is still read after that, the output is made
  // elsewhere and copied at the end.
  struct Donation {
    std::size_t input = 0, output = 0;
  };
  std::vector<Donation> donations = {};
  // Shares packed weights among the Executables that are compiled with the same Packings; nullptr:
  // shares none.
  std::shared_ptr<Packings> packings = nullptr;
};

// A compiled Function. Immutable and cheap to copy. Many threads may run it at once, each with its
// own Workspace.
class Executable {
 public:
  const std::vector<Input>& inputs() const;
  std::vector<Type> output_types() const;

  // Runs on tensors and returns new ones. The work is split among the threads of the pool, if
  // given; the bits do not depend on it. Throws kInvalidArgument, kShape or kDtype if the tensors
  // do not match the inputs.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs, ThreadPool* pool = nullptr) const;
  // As above, but `check` may end the run early; then there is no result.
  std::optional<std::vector<Tensor>> operator()(std::span<const Tensor> inputs, StopCheck& check,
                                                ThreadPool* pool = nullptr) const;

  // The steps of the plan as text, for reading and for comparing plans.
  std::string plan() const;
  // Bytes of the intermediate results in a Workspace.
  std::size_t workspace_bytes() const;

 private:
  friend class Workspace;
  friend Executable compile(const Function& function, const CompileOptions& options);
  explicit Executable(std::shared_ptr<const detail::Plan> plan) : plan_(std::move(plan)) {}
  std::optional<std::vector<Tensor>> run(std::span<const Tensor> inputs, ThreadPool* pool,
                                         StopCheck* check) const;

  std::shared_ptr<const detail::Plan> plan_;
};

// Memory that Workspaces use in turn: as much as the largest of them needs.
class SharedMemory {
 private:
  friend class Workspace;
  std::shared_ptr<std::byte> memory_;
  std::size_t bytes_ = 0;
};

// The memory for running an Executable, one run at a time. The constructor makes all allocations.
class Workspace {
 public:
  // Runs use the calling thread, or also the threads of `pool`, which must outlive the Workspace.
  // Workspaces with the same `shared` memory run one at a time, and are made between runs.
  explicit Workspace(const Executable& executable, ThreadPool* pool = nullptr,
                     std::shared_ptr<SharedMemory> shared = nullptr);
  // Not copyable: a copy would use the same memory.
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  Workspace(Workspace&&) = default;
  Workspace& operator=(Workspace&&) = default;

  // Reads inputs and writes outputs, row-major, with the types and in the order of the Executable.
  // Outputs must not overlap inputs, except donated ones. Real-time safe: allocates nothing, takes
  // no lock, does not throw. The result does not depend on the thread's floating-point mode.
  void run(std::span<const void* const> inputs, std::span<void* const> outputs) noexcept;
  // As above, but `check` may end the run early; then the result is false and the outputs hold no
  // values. A run that takes less than 20 milliseconds by the plan's estimate does not ask.
  bool run(std::span<const void* const> inputs, std::span<void* const> outputs,
           StopCheck& check) noexcept;

  // Bytes allocated.
  std::size_t bytes() const { return bytes_; }

 private:
  void place(std::span<const void* const> inputs, std::span<void* const> outputs) noexcept;
  void use(std::byte* memory) noexcept;

  std::shared_ptr<const detail::Plan> plan_;
  ThreadPool* pool_;
  std::vector<void*> slots_;
  std::vector<std::size_t> input_slots_;
  std::vector<std::size_t> output_slots_;
  std::size_t bytes_;
  std::shared_ptr<SharedMemory> shared_;
  std::byte* memory_ = nullptr;
  std::byte* scratch_ = nullptr;
  bool whole_ = false;  // the calling thread runs the whole plan
  bool long_ = false;   // a run is worth a StopCheck
};

// Compiles a Function. Throws kInvalidArgument if the instruction set is not available on this
// machine, or for a donation between different types.
Executable compile(const Function& function, const CompileOptions& options = {});

}  // namespace limpid
