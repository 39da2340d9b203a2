// Plan: a Function that is compiled for calls from Python: from any number of threads, without the
// interpreter's lock where there is something to compute. Depends on limpid/compile.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "array.h"
#include "limpid/compile/executable.h"
#include "limpid/compile/packings.h"
#include "limpid/function/function.h"

namespace limpid::python {

// The shared pool of this many threads; nullptr for 1. Its threads are started by the first call,
// and again in a forked process. Throws ValueError below 1 or above ThreadPool::kMaxThreads.
ThreadPool* pool_of(int threads);

class Plan {
 public:
  Plan(Function function, int threads, std::shared_ptr<Packings> packings = nullptr);

  const Function& function() const { return function_; }
  const Executable& executable() const { return executable_; }

  // Checks the types of the leaves, and runs. Throws kInvalidArgument, kShape or kDtype, naming the
  // input. Holds the interpreter's lock when it is called and when it returns.
  std::vector<Tensor> operator()(std::span<const Leaf> inputs);
  // As above, for inputs of the right types.
  std::vector<Tensor> run(std::span<const void* const> inputs);

 private:
  // Memory for one run, in the process that made it.
  struct Place {
    std::uint64_t process = 0;
    std::unique_ptr<Workspace> workspace;
  };

  Function function_;
  Executable executable_;
  std::vector<Type> types_;
  int threads_;
  bool short_;               // a run takes less time than releasing the GIL
  std::vector<Place> idle_;  // guarded by the interpreter's lock
};

// The plan of a Function that is called without compile(). The most recently used plans are kept
// for Functions that are equal.
std::shared_ptr<Plan> kept_plan(const Function& function);

// Multiply-adds and elements that a run computes, roughly.
double work_of(const Function& function);

}  // namespace limpid::python
