// Pooling layers on x (N, C, ...) with PyTorch's names, for 1 to 3 dimensions. They have no
// parameters. A list has a number for each dimension, or one for all. limpid/ops/pool.h gives the
// formulas.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/value.h"
#include "limpid/nn/spatial.h"

namespace limpid::nn {

// The largest element of each window. Throws kShape.
template <int dims>
struct MaxPool {
  Spatial kernel_size;
  Spatial stride = {};  // default: kernel_size
  Spatial padding = {0};
  Spatial dilation = {1};
  bool ceil_mode = false;

  // x (N, C, ...) to (N, C, ...).
  Value operator()(const Args& params, Value x) const;
};

// Of x with one, two or three dimensions after the channels.
using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;

// The mean of each window. Throws kShape.
template <int dims>
struct AvgPool {
  Spatial kernel_size;
  Spatial stride = {};  // default: kernel_size
  Spatial padding = {0};
  bool ceil_mode = false;
  bool count_include_pad = true;

  // x (N, C, ...) to (N, C, ...).
  Value operator()(const Args& params, Value x) const;
};

// Of x with one, two or three dimensions after the channels.
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;

// (sum of |x|^norm_type)^(1/norm_type) of each window. Throws kShape, kInvalidArgument.
template <int dims>
struct LpPool {
  double norm_type = 2;
  Spatial kernel_size;
  Spatial stride = {};  // default: kernel_size
  bool ceil_mode = false;

  // x (N, C, ...) to (N, C, ...).
  Value operator()(const Args& params, Value x) const;
};

// Of x with one, two or three dimensions after the channels.
using LPPool1d = LpPool<1>;
using LPPool2d = LpPool<2>;
using LPPool3d = LpPool<3>;

// The mean of each of the windows that give a result of this size. Throws kShape.
template <int dims>
struct AdaptiveAvgPool {
  Spatial output_size;

  // x (N, C, ...) to (N, C, ...).
  Value operator()(const Args& params, Value x) const;
};

// Of x with one, two or three dimensions after the channels.
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;

// The largest element of each of these windows. Throws kShape.
template <int dims>
struct AdaptiveMaxPool {
  Spatial output_size;

  // x (N, C, ...) to (N, C, ...).
  Value operator()(const Args& params, Value x) const;
};

// Of x with one, two or three dimensions after the channels.
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

}  // namespace limpid::nn
