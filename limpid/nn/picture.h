// Layers on pictures x (N, C, ...) without parameters, with PyTorch's names: reshaping, resizing,
// and local norms. limpid/ops/picture.h and resize.h give the formulas.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/value.h"

namespace limpid::nn {

// Dimensions from `start_dim` to `end_dim` as one; negative ones count from the end. Throws kShape.
struct Flatten {
  std::int64_t start_dim = 1;
  std::int64_t end_dim = -1;

  // The result; there are no parameters.
  Value operator()(const Args& params, Value x) const;
};

// All dimensions but the first two get this size, or grow by this factor, rounded down. The mode is
// nearest (the element before, as in PyTorch), nearest-exact, linear, bilinear, trilinear or
// bicubic. Throws kShape, kInvalidArgument.
struct Upsample {
  std::vector<std::int64_t> size = {};  // a number for each dimension, or one for all
  double scale_factor = 0;              // if there is no size
  std::string mode = "nearest";
  bool align_corners = false;

  // The result; there are no parameters.
  Value operator()(const Args& params, Value x) const;
};

// (N, C r^2, H, W) to (N, C, H r, W r). Throws kShape.
struct PixelShuffle {
  std::int64_t upscale_factor = 1;

  // The result; there are no parameters.
  Value operator()(const Args& params, Value x) const;
};

// (N, C, H r, W r) to (N, C r^2, H, W). Throws kShape.
struct PixelUnshuffle {
  std::int64_t downscale_factor = 1;

  // The result; there are no parameters.
  Value operator()(const Args& params, Value x) const;
};

// x / (k + alpha / size * the sum of squares of `size` channels)^beta (Krizhevsky et al. 2012).
// Throws kShape.
struct LocalResponseNorm {
  std::int64_t size = 5;
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;

  // The result; there are no parameters.
  Value operator()(const Args& params, Value x) const;
};

}  // namespace limpid::nn
