// Layers that normalise, with PyTorch's names and first values: "weight" ones, "bias" zeros. The
// formulas stand in limpid/ops/norm.h.
#pragma once

#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/value.h"

namespace limpid::nn {

// Over the last dimension (Ba et al. 2016).
struct LayerNorm {
  std::int64_t features = 0;
  double eps = 1e-5;
  bool bias = true;

  // The parameters of the norm; the key is not used.
  Params init(Key key) const;
  // x (..., features) to the same shape. Throws kShape.
  Value operator()(const Args& params, Value x) const;
};

// Over the last dimension, without taking the mean away (Zhang and Sennrich 2019).
struct RmsNorm {
  std::int64_t features = 0;
  double eps = 1e-5;

  // The parameters of the norm; the key is not used.
  Params init(Key key) const;
  // x (..., features) to the same shape. Throws kShape.
  Value operator()(const Args& params, Value x) const;
};

// x (N, channels, ...), over groups of channels (Wu and He 2018).
struct GroupNorm {
  std::int64_t groups = 1;
  std::int64_t channels = 0;
  double eps = 1e-5;

  // The parameters of the norm; the key is not used.
  Params init(Key key) const;
  // x (N, channels, ...) to the same shape. Throws kShape.
  Value operator()(const Args& params, Value x) const;
};

// x (N, features, ...), over everything but the features (Ioffe and Szegedy 2015). The running
// statistics are state, "running_mean" and "running_var", which goes in and comes out.
struct BatchNorm {
  std::int64_t features = 0;
  double momentum = 0.1;
  double eps = 1e-5;

  // The parameters of the norm; the key is not used.
  Params init(Key key) const;
  Params init_state() const;  // means of 0, variances of 1

  // The result, of x's shape, and the next state.
  struct Result {
    Value y;
    Args state;
  };
  // In training: by the statistics of the batch.
  Result operator()(const Args& params, const Args& state, Value x) const;
  // At inference: by the running statistics.
  Value inference(const Args& params, const Args& state, Value x) const;
};

}  // namespace limpid::nn
