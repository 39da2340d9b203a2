// TextSampler: what a model that goes on with a text writes, as training changes it. Leans on
// compile and nn/sampling.h.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid::train {

class TextSampler {
 public:
  // `inference` of one example: parameters and last tokens i32[context], to logits f32[vocabulary]
  // of the token behind them, or f32[context, vocabulary] of those behind each. Throws kShape for
  // another one. The pool must outlive the sampler.
  explicit TextSampler(const Function& inference, ThreadPool* pool = nullptr);

  // `count` tokens that follow `first`, drawn from the probabilities as they are: token i by
  // key.fold_in(i), from the last `context` tokens before it.
  std::vector<std::int32_t> operator()(const Params& params, std::int32_t first, std::int64_t count,
                                       Key key);

 private:
  std::int64_t context_ = 0;
  std::int64_t vocabulary_ = 0;
  bool every_token_ = false;
  std::vector<std::string> params_;
  Workspace workspace_;
};

}  // namespace limpid::train
