// TextSampler: generates text samples of a language model during training. Depends on problem.h and
// nn/generation.h.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/compile/thread_pool.h"
#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/train/loop/problem.h"

namespace limpid::train {

class TextSampler {
 public:
  // Throws kInvalidArgument unless the problem is a language model. The pool must outlive the
  // sampler.
  explicit TextSampler(const Problem& problem, ThreadPool* pool = nullptr);

  // `count` tokens after `first`, as nn::Generation draws them with this key and default Sampling.
  std::vector<std::int32_t> operator()(const Params& params, std::int32_t first, std::int64_t count,
                                       Key key) const;

 private:
  decltype(Problem::language_model) model_of_;
  ThreadPool* pool_;
};

}  // namespace limpid::train
