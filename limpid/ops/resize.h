// Resizing pictures and other grids of numbers: nearest, linear and cubic interpolation with ONNX's
// coordinates, with or without a filter against aliasing.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/function/value.h"

namespace limpid {

// The interpolation: of the nearest element, of two in a line, of four by a cubic.
enum class ResizeMode : std::uint8_t { kNearest, kLinear, kCubic };

// Where result i of n, made of m elements at 0 ... m - 1, is among these elements. s is n / m, or
// the scale that is given.
enum class ResizeCoordinates : std::uint8_t {
  kHalfPixel,           // (i + 0.5) / s - 0.5: pixels are squares of one size
  kHalfPixelSymmetric,  // the same, moved so that a scale that is not n / m cuts both ends
  kPytorchHalfPixel,    // as kHalfPixel; 0 if n is 1
  kAlignCorners,        // i (m - 1) / (n - 1): the first and the last stay
  kAsymmetric,          // i / s
  kTfHalfPixelForNn,    // (i + 0.5) / s: TensorFlow's for the nearest element
  kCrop                 // from `begin` to `end`, parts of m - 1; TensorFlow's crop_and_resize
};

// Which element is the nearest one: of two equally near, or that before or after.
enum class NearestMode : std::uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };

// How resize() interpolates.
struct ResizeOptions {
  ResizeMode mode = ResizeMode::kLinear;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  // Widens the filter of kLinear and kCubic where the result is smaller, as PIL does.
  bool antialias = false;
  double cubic = -0.75;  // Keys' a: PyTorch's; with antialias PyTorch and PIL have -0.5
  // Elements outside of x have no weight, and the others are scaled up to a sum of 1. Otherwise
  // they are the nearest ones inside.
  bool exclude_outside = false;
  double outside = 0;               // of kCrop, the result where it is outside of x
  std::vector<double> scales = {};  // default: n / m
  std::vector<double> begin = {};   // of kCrop; default: 0
  std::vector<double> end = {};     // of kCrop; default: 1
};

// The last dimensions of x (f32 or f64; with kNearest any dtype), as many as there are sizes, get
// these sizes: one dimension after the other, the last one first. The weights are computed in f64
// and rounded to the dtype of x once; each product of an element and its weight is rounded; these
// are added in the order of the elements. Elements of weight 0 take no part. Throws kShape, kDtype,
// and kInvalidArgument for scales that are not positive and finite.
Value resize(Value x, const std::vector<std::int64_t>& sizes, const ResizeOptions& options = {});

}  // namespace limpid
