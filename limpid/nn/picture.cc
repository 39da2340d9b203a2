#include "limpid/nn/picture.h"

#include <fmt/format.h>

#include <cmath>

#include "limpid/core/error.h"
#include "limpid/ops/picture.h"
#include "limpid/ops/resize.h"
#include "limpid/ops/shape.h"

namespace limpid::nn {
namespace {

// PyTorch's mode, for pictures of this many dimensions.
ResizeOptions resize_options(const Upsample& layer, std::size_t dims) {
  ResizeOptions o;
  const std::string& mode = layer.mode;
  if (mode == "nearest" || mode == "nearest-exact") {
    if (layer.align_corners)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("Upsample: align_corners has no meaning for the mode {}", mode));
    o.mode = ResizeMode::kNearest;
    // The nearest by PyTorch's rule is the element before; by its exact one the middle counts.
    o.coordinates =
        mode == "nearest" ? ResizeCoordinates::kAsymmetric : ResizeCoordinates::kHalfPixel;
    o.nearest = mode == "nearest" ? NearestMode::kFloor : NearestMode::kRoundPreferCeil;
    return o;
  }
  const char* const linear[] = {"linear", "bilinear", "trilinear"};
  if (mode == "bicubic" && dims == 2)
    o.mode = ResizeMode::kCubic;
  else if (dims < 1 || dims > 3 || mode != linear[dims - 1])
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("Upsample: the mode is '{}' for {} dimensions after the channels; "
                            "expected nearest, nearest-exact, linear of 1, bilinear or bicubic of "
                            "2, trilinear of 3",
                            mode, dims));
  o.coordinates =
      layer.align_corners ? ResizeCoordinates::kAlignCorners : ResizeCoordinates::kHalfPixel;
  return o;
}

}  // namespace

Value Flatten::operator()(const Args&, Value x) const {
  const std::size_t first = normalize_axis(start_dim, x.rank(), "Flatten");
  const std::size_t last = normalize_axis(end_dim, x.rank(), "Flatten");
  if (first > last)
    throw Error(ErrorCode::kShape, fmt::format("Flatten: dimension {} of {} is after dimension {}",
                                               start_dim, to_string(x.type()), end_dim));
  const Shape shape = x.shape();
  Shape flat(shape.dims().first(first));
  flat = flat.insert(first, Shape(shape.dims().subspan(first, last - first + 1)).elements());
  for (std::size_t d = last + 1; d < shape.rank(); ++d) flat = flat.insert(flat.rank(), shape[d]);
  return reshape(x, flat);
}

Value Upsample::operator()(const Args&, Value x) const {
  const std::size_t dims = x.rank() < 2 ? 0 : x.rank() - 2;
  ResizeOptions options = resize_options(*this, dims);
  std::vector<std::int64_t> sizes = size;
  if (size.empty() != (scale_factor != 0))
    throw Error(ErrorCode::kInvalidArgument, "Upsample: expected size or scale_factor");
  if (size.size() == 1) sizes.assign(dims, size[0]);
  if (size.empty()) {
    for (std::size_t d = 0; d < dims; ++d) {
      const double wanted = std::floor(static_cast<double>(x.shape()[2 + d]) * scale_factor);
      if (!(wanted >= 1 && wanted < 0x1p40))
        throw Error(ErrorCode::kShape, fmt::format("Upsample: {} by the factor {}",
                                                   to_string(x.type()), scale_factor));
      sizes.push_back(static_cast<std::int64_t>(wanted));
    }
    options.scales.assign(dims, scale_factor);
  }
  if (sizes.size() != dims)
    throw Error(ErrorCode::kShape,
                fmt::format("Upsample: size has {} numbers for {}, expected 1 or {}", sizes.size(),
                            to_string(x.type()), dims));
  return resize(x, sizes, options);
}

Value PixelShuffle::operator()(const Args&, Value x) const {
  return pixel_shuffle(x, upscale_factor);
}
Value PixelUnshuffle::operator()(const Args&, Value x) const {
  return pixel_unshuffle(x, downscale_factor);
}
Value LocalResponseNorm::operator()(const Args&, Value x) const {
  return local_response_norm(x, size, alpha, beta, k);
}

}  // namespace limpid::nn
