#include "limpid/ops/sort.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/ops/along_axis.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

constexpr AttributeSpec kSortAttributes[] = {{"descending", AttributeKind::kBool}};

std::vector<Type> argsort_types(const Call& call) {
  require_numeric(call, 0);
  const Shape& x = call.inputs[0].shape;
  if (x.rank() == 0)
    throw Error(ErrorCode::kShape,
                fmt::format("{}: {} has no axis to sort", where(call), to_string(call.inputs[0])));
  require_i32_indices(call, x.back());
  return {{Dtype::kI32, x}};
}

// NaN is above every number and equal to NaN.
template <class T>
bool is_less(T a, T b) {
  return a < b || (a == a && b != b);
}

// Equal elements are ordered by index: no two compare equal, so an unstable sort gives the stable
// order.
void argsort_reference(const Call& call, std::span<const void* const> in,
                       std::span<void* const> out) {
  const bool descending = call.attributes.get<bool>("descending");
  const Shape& shape = call.inputs[0].shape;
  const std::int64_t n = shape.back();
  dispatch_numeric(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t begin = 0; begin < shape.elements(); begin += n) {
      const T* line = static_cast<const T*>(in[0]) + begin;
      auto* places = static_cast<std::int32_t*>(out[0]) + begin;
      std::iota(places, places + n, 0);
      std::sort(places, places + n, [&](std::int32_t i, std::int32_t j) {
        const T a = line[descending ? j : i], b = line[descending ? i : j];
        return is_less(a, b) || (!is_less(b, a) && i < j);
      });
    }
  });
}

std::vector<Value> argsort_batching(const BatchingCall& c) {
  return call(op::argsort, c.inputs, c.attributes);
}

// About n log2 n comparisons per line.
std::int64_t argsort_flops(const Call& call) {
  std::int64_t rounds = 1;
  for (std::int64_t n = call.inputs[0].shape.back(); n > 1; n /= 2) ++rounds;
  return product_or_most(call.inputs[0].shape.elements(), rounds);
}

CppCall argsort_cpp(const Call& call) {
  const Shape& x = call.inputs[0].shape;
  return {fmt::format("argsort<{}>", call.attributes.get<bool>("descending")),
          {x.erase(x.rank() - 1).elements(), x.back()}};
}

std::vector<Example> argsort_examples() {
  const Attributes up{{"descending", false}}, down{{"descending", true}};
  return {{{{Dtype::kF32, {37}}}, up},          {{{Dtype::kF32, {3, 19}}}, down},
          {{{Dtype::kF64, {2, 3, 5}}}, down},   {{{Dtype::kF64, {4, 1}}}, up},
          {{{Dtype::kI32, {40}}}, up, 0, 1, 9}, {{{Dtype::kI64, {2, 30}}}, down, 0, 1, 9}};
}

ExampleResults argsort_axis(const ExampleCall& c) {
  return in_leading(c, c.shape_of(0).rank() - 1);
}

}  // namespace

namespace op {

constinit const Op argsort = complete(
    {.name = "argsort",
     .formula = "the indices of the elements, smallest first; NaN above every number; equal "
                "elements in their order",
     .shapes = "[..., n] -> i32[..., n]",
     .min_inputs = 1,
     .max_inputs = 1,
     .attributes = kSortAttributes,
     .types = argsort_types,
     .reference = argsort_reference,
     .gradient = no_gradient("an index is an integer: its derivative is zero wherever it exists"),
     .smooth = false,
     .batching = batching(argsort_batching),
     .example_axis = argsort_axis,
     .flops = argsort_flops,
     .cpp = cpp_call(argsort_cpp),
     .onnx = {"TopK", 11},
     .accuracy = kExact,
     .examples = argsort_examples});

}  // namespace op

constexpr const Op* kSortOps[] = {&op::argsort};
constexpr OpList sort_ops = kSortOps;

Value argsort(Value x, std::int64_t axis, bool descending) {
  const std::size_t a = normalize_axis(axis, x.rank(), op::argsort.name);
  const auto sorted = [&](Value v) {
    return call1(op::argsort, {v}, {{"descending", descending}});
  };
  if (a + 1 == x.rank()) return sorted(x);
  const auto exchange = exchanged_with_last(x.rank(), a);
  return transpose(sorted(transpose(x, exchange)), exchange);
}

TopK top_k(Value x, std::int64_t k, std::int64_t axis, bool largest) {
  const std::size_t a = normalize_axis(axis, x.rank(), "top_k");
  if (k < 0 || k > x.shape()[a])
    throw Error(ErrorCode::kShape, fmt::format("top_k: {} elements along axis {} of {}", k, axis,
                                               to_string(x.type())));
  const Value indices = slice(argsort(x, axis, largest), axis, 0, k);
  return {take_along_axis(x, indices, axis), indices};
}

}  // namespace limpid
