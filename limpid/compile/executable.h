// compile: a Function becomes an Executable for this machine, with the same bits as the
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

namespace detail {
struct Plan;
}

// How a Function is compiled; none of it changes a bit.
struct CompileOptions {
  // The instruction set; kernels::default_isa() where none is given.
  std::optional<kernels::Isa> isa = {};
  // A step is cut for the threads of a pool where each piece has this much to do; 0 cuts every step
  // that can be cut.
  double nanoseconds_worth_sharing = 3000;
  // Inputs whose memory the caller gives away for an output of the same type: a Workspace is then
  // run with one address for both, and what an update leaves as it was is not copied.
  struct Donation {
    std::size_t input = 0, output = 0;
  };
  std::vector<Donation> donations = {};
  // Where weights that are packed already are found, and those packed now by the next compile();
  // nullptr: none are shared.
  std::shared_ptr<Packings> packings = nullptr;
};

// Immutable, cheap to copy, and safe to run from many threads at once, each with a Workspace of its
// own.
class Executable {
 public:
  const std::vector<Input>& inputs() const;
  std::vector<Type> output_types() const;

  // Runs it on tensors and makes new ones. Throws kInvalidArgument, kShape or kDtype where they do
  // not fit. The pool, if one is given, shares the work; the bits do not depend on it.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs, ThreadPool* pool = nullptr) const;

  // The steps, as text; for people, and to compare plans.
  std::string plan() const;
  // Bytes of the results between the steps, which a Workspace holds.
  std::size_t workspace_bytes() const;

 private:
  friend class Workspace;
  friend Executable compile(const Function& function, const CompileOptions& options);
  explicit Executable(std::shared_ptr<const detail::Plan> plan) : plan_(std::move(plan)) {}

  std::shared_ptr<const detail::Plan> plan_;
};

// Memory for one run at a time. Everything is allocated here, once.
class Workspace {
 public:
  // For runs by the calling thread, or shared with `pool`, which must outlive the Workspace.
  explicit Workspace(const Executable& executable, ThreadPool* pool = nullptr);
  // A copy would run in the same memory.
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  Workspace(Workspace&&) = default;
  Workspace& operator=(Workspace&&) = default;

  // Reads inputs and writes outputs, row-major, of the Executable's types and in their order;
  // outputs must not overlap inputs. Allocates nothing, takes no lock, does not throw. Whatever
  // rounding direction the thread has set, and whether it keeps subnormals, does not show.
  void run(std::span<const void* const> inputs, std::span<void* const> outputs) noexcept;

  // That were allocated.
  std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<const detail::Plan> plan_;
  ThreadPool* pool_;
  std::vector<void*> slots_;
  std::vector<std::size_t> input_slots_;
  std::vector<std::size_t> output_slots_;
  std::size_t bytes_;
  std::shared_ptr<std::byte> memory_;
  std::byte* scratch_ = nullptr;
  bool whole_ = false;  // the calling thread does all of it
};

// Throws kInvalidArgument where the instruction set is not available here.
Executable compile(const Function& function, const CompileOptions& options = {});

}  // namespace limpid
