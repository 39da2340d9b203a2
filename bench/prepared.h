// A compiled limpid::Function with all that a run needs, made ahead.
#pragma once

#include <memory>
#include <vector>

#include "limpid/limpid.h"

namespace bench {

// Small numbers, positive and negative; zeros where the type is not f32.
limpid::Tensor some_numbers(const limpid::Type& type);
// Of an Mlp, without the time that random numbers take.
limpid::Params some_params(const limpid::nn::Mlp& net);

class Prepared {
 public:
  // The calling thread is kept on the first CPU, the others on CPUs of their own.
  Prepared(const limpid::Function& function, int threads);
  // On inputs of the caller's, instead of some numbers.
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
