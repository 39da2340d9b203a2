#include "limpid/nn/conv.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/ops/conv.h"

namespace limpid::nn {
namespace {

// One number for each dimension.
Spatial each(const Spatial& given, std::size_t rank, std::string_view layer,
             std::string_view name) {
  if (given.size() == 1) return Spatial(rank, given[0]);
  if (given.size() != rank)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}{}d: {} has {} numbers, expected {}", layer, rank, name,
                            given.size(), rank == 1 ? "1" : fmt::format("1 or {}", rank)));
  return given;
}

// Channels of each group, as a dimension of the weight before those of the kernel.
Shape weight_shape(std::string_view layer, std::int64_t rows, std::int64_t channels,
                   std::int64_t groups, std::size_t rank, const Spatial& kernel) {
  if (groups < 1 || channels % groups != 0)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}{}d: groups {} does not divide {} channels", layer, rank, groups, channels));
  Spatial dims{rows, channels / groups};
  for (const std::int64_t k : each(kernel, rank, layer, "kernel")) dims.push_back(k);
  return Shape(dims);
}

Params weights(const Init& weight_init, Key key, const Shape& shape, bool bias, std::int64_t out) {
  Params params{{"weight", weight_init(key, shape)}};
  if (bias) params.set("bias", zeros()(key, {out}));
  return params;
}

}  // namespace

template <std::size_t rank>
Params Conv<rank>::init(Key key) const {
  return weights(weight_init, key, weight_shape("Conv", out, in, groups, rank, kernel), bias, out);
}

template <std::size_t rank>
Value Conv<rank>::operator()(const Args& params, Value x) const {
  Convolution how{.stride = each(stride, rank, "Conv", "stride"),
                  .low = each(padding.zeros, rank, "Conv", "padding"),
                  .dilation = each(dilation, rank, "Conv", "dilation"),
                  .groups = groups};
  how.high = how.low;
  const Spatial sizes = each(kernel, rank, "Conv", "kernel");
  for (std::size_t d = 0; padding.kind != Padding::Kind::kZeros && d < rank; ++d) {
    const bool same = padding.kind == Padding::Kind::kSame;
    if (same && how.stride[d] != 1)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("Conv{}d: padding to the same size needs a stride of 1, got {}", rank,
                              how.stride[d]));
    std::int64_t total = 0;
    if (__builtin_mul_overflow(sizes[d] - 1, how.dilation[d], &total))
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("Conv{}d: a kernel of {} with dilation {} is beyond 2^63", rank,
                              sizes[d], how.dilation[d]));
    how.low[d] = same ? total / 2 : total;
    how.high[d] = total - how.low[d];
  }
  return conv(x, params.at("weight"), bias ? params.at("bias") : Value(), how);
}

template <std::size_t rank>
Params ConvTranspose<rank>::init(Key key) const {
  return weights(weight_init, key, weight_shape("ConvTranspose", in, out, groups, rank, kernel),
                 bias, out);
}

template <std::size_t rank>
Value ConvTranspose<rank>::operator()(const Args& params, Value x) const {
  Convolution how{.stride = each(stride, rank, "ConvTranspose", "stride"),
                  .low = each(padding, rank, "ConvTranspose", "padding"),
                  .dilation = each(dilation, rank, "ConvTranspose", "dilation"),
                  .groups = groups};
  how.high = how.low;
  const Spatial added = each(output_padding, rank, "ConvTranspose", "output_padding");
  for (std::size_t d = 0; d < rank; ++d)
    if (__builtin_sub_overflow(how.high[d], added[d], &how.high[d]))
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("ConvTranspose{}d: output_padding is {}, padding {}", rank, added[d],
                              how.low[d]));
  return conv_transpose(x, params.at("weight"), bias ? params.at("bias") : Value(), how);
}

template struct Conv<1>;
template struct Conv<2>;
template struct Conv<3>;
template struct ConvTranspose<1>;
template struct ConvTranspose<2>;
template struct ConvTranspose<3>;

}  // namespace limpid::nn
