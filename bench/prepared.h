// A compiled limpid::Function with memory and inputs, ready to run.
#pragma once

#include <memory>
#include <vector>

#include "limpid/limpid.h"

namespace bench {

// Small numbers, positive and negative; zeros for types other than f32.
limpid::Tensor some_numbers(const limpid::Type& type);
// Parameters of an Mlp, without the time of drawing random numbers.
limpid::Params some_params(const limpid::nn::Mlp& net);

class Prepared {
 public:
  // Pins the calling thread to the first CPU, each other thread to its own CPU.
  Prepared(const limpid::Function& function, int threads);
  // With inputs given by the caller instead of small numbers.
  Prepared(const limpid::Function& function, int threads, std::vector<limpid::Tensor> inputs);

  void run() { workspace_->run(inputs_, outputs_); }
  const limpid::Executable& executable() const { return executable_; }

 private:
  limpid::ThreadPool pool_;
  limpid::Executable executable_;
  std::unique_ptr<limpid::Workspace> workspace_;
  std::vector<limpid::Tensor> tensors_;
  std::vector<std::vector<std::byte>> results_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

}  // namespace bench
