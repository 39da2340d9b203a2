// Embedding: maps every id to a row of a table.
#pragma once

#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/value.h"
#include "limpid/nn/init.h"

namespace limpid::nn {

struct Embedding {
  std::int64_t count = 0;  // ids are 0, 1, ..., count - 1
  std::int64_t features = 0;
  Init weight_init = normal(1);  // as PyTorch's

  // "weight" (count, features).
  Params init(Key key) const;
  // ids i32 or i64 (...) to (..., features). Negative ids count from the end; one outside of
  // [-count, count) gives NaN.
  Value operator()(const Args& params, Value ids) const;
};

}  // namespace limpid::nn
