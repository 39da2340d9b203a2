#include "limpid/nn/pool.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/ops/pool.h"

namespace limpid::nn {
namespace {

// A number for each dimension; what is not given stays so.
Spatial for_each_dimension(const Spatial& given, int dims, const char* layer, const char* name) {
  const auto wanted = static_cast<std::size_t>(dims);
  if (given.empty() || given.size() == wanted) return given;
  if (given.size() == 1) return Spatial(wanted, given[0]);
  throw Error(ErrorCode::kShape, fmt::format("{}{}d: {} has {} numbers, expected 1 or {}", layer,
                                             dims, name, given.size(), dims));
}

void require_rank(const Value& x, int dims, const char* layer) {
  if (x.rank() != static_cast<std::size_t>(dims) + 2)
    throw Error(ErrorCode::kShape, fmt::format("{}{}d: input is {}, expected (N, C, {} more)",
                                               layer, dims, to_string(x.type()), dims));
}

// The windows of a layer without dilation.
template <class L>
PoolOptions windows_of_layer(const L& layer, int dims, const char* name) {
  const auto sizes = [&](const Spatial& given, const char* what) {
    return for_each_dimension(given, dims, name, what);
  };
  PoolOptions options{.kernel = sizes(layer.kernel_size, "kernel_size"),
                      .stride = sizes(layer.stride, "stride")};
  options.ceil_mode = layer.ceil_mode;
  if constexpr (requires { layer.padding; }) options.low = sizes(layer.padding, "padding");
  if constexpr (requires { layer.dilation; }) options.dilation = sizes(layer.dilation, "dilation");
  return options;
}

}  // namespace

template <int dims>
Value MaxPool<dims>::operator()(const Args&, Value x) const {
  require_rank(x, dims, "MaxPool");
  return max_pool(x, windows_of_layer(*this, dims, "MaxPool"));
}
template <int dims>
Value AvgPool<dims>::operator()(const Args&, Value x) const {
  require_rank(x, dims, "AvgPool");
  return avg_pool(x, windows_of_layer(*this, dims, "AvgPool"), count_include_pad);
}
template <int dims>
Value LpPool<dims>::operator()(const Args&, Value x) const {
  require_rank(x, dims, "LPPool");
  return lp_pool(x, norm_type, windows_of_layer(*this, dims, "LPPool"));
}
template <int dims>
Value AdaptiveAvgPool<dims>::operator()(const Args&, Value x) const {
  require_rank(x, dims, "AdaptiveAvgPool");
  return adaptive_avg_pool(x,
                           for_each_dimension(output_size, dims, "AdaptiveAvgPool", "output_size"));
}
template <int dims>
Value AdaptiveMaxPool<dims>::operator()(const Args&, Value x) const {
  require_rank(x, dims, "AdaptiveMaxPool");
  return adaptive_max_pool(x,
                           for_each_dimension(output_size, dims, "AdaptiveMaxPool", "output_size"));
}

template struct MaxPool<1>;
template struct MaxPool<2>;
template struct MaxPool<3>;
template struct AvgPool<1>;
template struct AvgPool<2>;
template struct AvgPool<3>;
template struct LpPool<1>;
template struct LpPool<2>;
template struct LpPool<3>;
template struct AdaptiveAvgPool<1>;
template struct AdaptiveAvgPool<2>;
template struct AdaptiveAvgPool<3>;
template struct AdaptiveMaxPool<1>;
template struct AdaptiveMaxPool<2>;
template struct AdaptiveMaxPool<3>;

}  // namespace limpid::nn
