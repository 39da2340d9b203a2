// Compositions on pictures and other grids x (N, C, ...): moving channels to positions, sampling at
// given positions, and norms across channels.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/function/value.h"

namespace limpid {

// x (..., C r^2, H, W) to (..., C, H r, W r): channel c r^2 + i r + j becomes the pixels (i, j) of
// each r x r square of channel c (PyTorch). Throws kShape unless r is positive and r^2 divides the
// channels.
Value pixel_shuffle(Value x, std::int64_t factor);
// Its inverse. Throws kShape unless the factor is positive and divides height and width.
Value pixel_unshuffle(Value x, std::int64_t factor);

// x / (k + alpha / size * the sum of squares over a window of `size` channels)^beta, x (N, C, ...)
// (Krizhevsky et al. 2012, section 3.3). size / 2 channels of the window are before the channel, as
// in PyTorch. Throws kShape, kDtype.
Value local_response_norm(Value x, std::int64_t size, double alpha = 1e-4, double beta = 0.75,
                          double k = 1);

// (x - mean) / sqrt(variance + eps) of each channel of each example, x (N, C, ...), times gamma (C)
// plus beta (C) if they are given (Ulyanov et al. 2016). Throws kShape, kDtype, and
// kInvalidArgument for one of gamma and beta alone.
Value instance_norm(Value x, Value gamma = {}, Value beta = {}, double eps = 1e-5);

// Which elements near a position count, and how.
enum class SampleMode : std::uint8_t { kNearest, kLinear, kCubic };

// What is outside of x: zeros, the nearest element at the border, or x mirrored there.
enum class SamplePadding : std::uint8_t { kZeros, kBorder, kReflection };

// How grid_sample() samples.
struct GridSampleOptions {
  SampleMode mode = SampleMode::kLinear;
  SamplePadding padding = SamplePadding::kZeros;
  // Whether -1 and 1 are the centres of the first and last element, or their outer borders.
  bool align_corners = false;
};

// x (N, C, n...) of 1 to 3 dimensions at the positions grid (N, p..., d): the last dimension has
// their d coordinates in [-1, 1], that of x's last dimension first. Gives (N, C, p...). Throws
// kShape, kDtype.
Value grid_sample(Value x, Value grid, const GridSampleOptions& options = {});

// The grid of an affine map theta (N, d, d + 1) for pictures of these sizes, 2 or 3: (N, sizes...,
// d). Throws kShape, kDtype.
Value affine_grid(Value theta, const std::vector<std::int64_t>& sizes, bool align_corners = false);

}  // namespace limpid
