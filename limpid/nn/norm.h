// Normalisation layers, with PyTorch's names and initial values: "weight" is ones, "bias" zeros.
// limpid/ops/norm.h gives the formulas.
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

// Over the last dimension, without subtracting the mean (Zhang and Sennrich 2019).
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

// x (N, features, ...), over each channel of each example (Ulyanov et al. 2016). Without `affine`
// there are no parameters.
struct InstanceNorm {
  std::int64_t features = 0;
  double eps = 1e-5;
  bool affine = false;

  // The parameters of the norm; the key is not used.
  Params init(Key key) const;
  // x (N, features, ...) to the same shape. Throws kShape.
  Value operator()(const Args& params, Value x) const;
};

// x (N, features, ...), over all dimensions but the features (Ioffe and Szegedy 2015). The running
// statistics, "running_mean" and "running_var", are explicit state: an input and a result of each
// call in training.
struct BatchNorm {
  std::int64_t features = 0;
  double momentum = 0.1;
  double eps = 1e-5;

  // The parameters of the norm; the key is not used.
  Params init(Key key) const;
  Params init_state() const;  // means 0, variances 1

  // The output, in x's shape, and the new running statistics.
  struct Result {
    Value y;
    Args state;
  };
  // In training: uses the statistics of the batch.
  Result operator()(const Args& params, const Args& state, Value x) const;
  // At inference: uses the running statistics.
  Value inference(const Args& params, const Args& state, Value x) const;
};

}  // namespace limpid::nn
