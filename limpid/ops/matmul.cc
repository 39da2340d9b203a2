#include "limpid/ops/matmul.h"

#include <fmt/format.h>

#include "limpid/core/arithmetic.h"
#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/fused.h"
#include "limpid/core/half.h"
#include "limpid/core/stop_check.h"
#include "limpid/core/sums.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

constexpr AttributeSpec kTransposeAttributes[] = {{"transpose_a", AttributeKind::kBool},
                                                  {"transpose_b", AttributeKind::kBool}};

// ---- matmul

struct Product {
  bool transpose_a, transpose_b;
  std::int64_t batch, m, n, k;
  Shape leading;
};

Product product_of(const Call& call) {
  const Shape& a = call.inputs[0].shape;
  const Shape& b = call.inputs[1].shape;
  const bool ta = call.attributes.get<bool>("transpose_a");
  const bool tb = call.attributes.get<bool>("transpose_b");
  const auto fail = [&](std::string_view what) {
    throw Error(ErrorCode::kShape, fmt::format("{}: {}, got {}{} by {}{}", where(call), what,
                                               to_string(call.inputs[0]), ta ? " transposed" : "",
                                               to_string(call.inputs[1]), tb ? " transposed" : ""));
  };
  if (a.rank() < 2 || b.rank() != a.rank()) fail("expected two operands of one rank, 2 or more");
  const std::size_t lead = a.rank() - 2;
  Product p{ta, tb, 1, a[lead + ta], b[lead + !tb], a[lead + !ta], {}};
  if (p.k != b[lead + tb]) fail("expected equal dimensions to sum over");
  for (std::size_t d = 0; d < lead; ++d) {
    if (a[d] != b[d]) fail("expected equal leading dimensions");
    p.batch *= a[d];
  }
  p.leading = Shape(a.dims().first(lead));
  return p;
}

// Input 1, the right operand, has the dtype of x (input 0) or a narrower one.
void require_weight(const Call& call) {
  const Dtype x = call.inputs[0].dtype, weight = call.inputs[1].dtype;
  if (x != Dtype::kF32 && weight != x)
    throw_dtype(call, 1, fmt::format("{}, the dtype of input 0", name(x)));
  if (x == Dtype::kF32 && weight != Dtype::kF32 && weight != Dtype::kBf16)
    throw_dtype(call, 1, "f32 or bf16");
}

std::vector<Type> matmul_types(const Call& call) {
  const bool bytes = call.inputs[0].dtype == Dtype::kI8;
  if (!bytes && !is_computed_with(call.inputs[0].dtype)) throw_dtype(call, 0, "f32, f64 or i8");
  require_weight(call);
  const Product p = product_of(call);
  const std::size_t lead = p.leading.rank();
  return {
      {bytes ? Dtype::kI32 : call.inputs[0].dtype, p.leading.insert(lead, p.n).insert(lead, p.m)}};
}

// Sum of products modulo 2^32, which does not depend on the order of the terms.
std::int32_t dot(const std::int8_t* x, std::size_t x_stride, const std::int8_t* w,
                 std::size_t w_stride, std::size_t k) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < k; ++i)
    sum += static_cast<std::uint32_t>(x[i * x_stride] * w[i * w_stride]);
  return static_cast<std::int32_t>(sum);
}
// The result is as if the weights were widened first.
float dot(const float* x, std::size_t x_stride, const Bf16* w, std::size_t w_stride,
          std::size_t k) {
  return arithmetic::in_blocks<float>(k, [&](float sum, std::size_t i) {
    return arithmetic::fused(x[i * x_stride], to_f32(w[i * w_stride]), sum);
  });
}
using arithmetic::dot;

void matmul_reference(const Call& call, std::span<const void* const> in,
                      std::span<void* const> out) {
  const Product p = product_of(call);
  const auto m = static_cast<std::size_t>(p.m);
  const auto n = static_cast<std::size_t>(p.n);
  const auto k = static_cast<std::size_t>(p.k);
  const auto batch = static_cast<std::size_t>(p.batch);
  const auto products = [&](auto* all_c, const auto* all_a, const auto* all_b) {
    for (std::size_t s = 0; s < batch; ++s) {
      const auto* a = all_a + s * m * k;
      const auto* b = all_b + s * k * n;
      auto* c = all_c + s * m * n;
      for (std::size_t i = 0; i < m; ++i) {
        throw_if_stopped();
        for (std::size_t j = 0; j < n; ++j)
          c[i * n + j] = dot(p.transpose_a ? a + i : a + i * k, p.transpose_a ? m : 1,
                             p.transpose_b ? b + j * k : b + j, p.transpose_b ? 1 : n, k);
      }
    }
  };
  if (call.inputs[0].dtype == Dtype::kI8)
    return products(static_cast<std::int32_t*>(out[0]), static_cast<const std::int8_t*>(in[0]),
                    static_cast<const std::int8_t*>(in[1]));
  if (call.inputs[1].dtype == Dtype::kBf16)
    return products(static_cast<float*>(out[0]), static_cast<const float*>(in[0]),
                    static_cast<const Bf16*>(in[1]));
  dispatch_floating(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    products(static_cast<T*>(out[0]), static_cast<const T*>(in[0]), static_cast<const T*>(in[1]));
  });
}

// Casts a cotangent to the dtype of its operand.
Value as(const Value& cotangent, const Value& of) {
  return cotangent.dtype() == of.dtype() ? cotangent : cast(cotangent, of.dtype());
}

// With A' and B' the operands as they are multiplied: dA' = G B'^T, dB' = A'^T G.
Values matmul_gradient(const GradientCall& c) {
  const bool ta = c.attributes.get<bool>("transpose_a");
  const bool tb = c.attributes.get<bool>("transpose_b");
  const Value& a = c.inputs[0];
  const Value& b = c.inputs[1];
  const Value& g = c.cotangents[0];
  return {ta ? matmul(as(b, a), g, tb, true) : matmul(g, b, false, !tb),
          as(tb ? matmul(g, a, true, ta) : matmul(a, g, !ta, false), b)};
}

Values matmul_batching(const BatchingCall& c) {
  const bool ta = c.attributes.get<bool>("transpose_a");
  const bool tb = c.attributes.get<bool>("transpose_b");
  const Shape& a = c.inputs[0].shape();
  // If the batch shares the right operand, its rows are stacked to one taller matrix.
  if (!c.batched[1] && !ta && a.rank() == 3) {
    const Value rows = reshape(c.inputs[0], {a[0] * a[1], a[2]});
    const Value product = matmul(rows, c.inputs[1], false, tb);
    return {reshape(product, {a[0], a[1], product.shape()[1]})};
  }
  return {matmul(batched_input(c, 0), batched_input(c, 1), ta, tb)};
}

std::int64_t matmul_flops(const Call& call) {
  const Product p = product_of(call);
  return product_or_most(2 * p.batch * p.m * p.n, p.k);
}

std::vector<Example> matmul_examples() {
  std::vector<Example> examples;
  for (Dtype d : {Dtype::kF32, Dtype::kF64})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        const Attributes flags{{"transpose_a", ta}, {"transpose_b", tb}};
        examples.push_back(
            {{{d, ta ? Shape{7, 5} : Shape{5, 7}}, {d, tb ? Shape{19, 7} : Shape{7, 19}}}, flags});
        examples.push_back(
            {{{d, ta ? Shape{2, 4, 3} : Shape{2, 3, 4}}, {d, tb ? Shape{2, 5, 4} : Shape{2, 4, 5}}},
             flags});
      }
  const Attributes plain{{"transpose_a", false}, {"transpose_b", false}};
  examples.push_back({{{Dtype::kF32, {1, 513}}, {Dtype::kF32, {513, 1}}}, plain});
  examples.push_back({{{Dtype::kF32, {3, 0}}, {Dtype::kF32, {0, 4}}}, plain});
  for (bool flag : {false, true}) {
    const Attributes flags{{"transpose_a", flag}, {"transpose_b", !flag}};
    const Shape a = flag ? Shape{7, 5} : Shape{5, 7};
    const Shape b = flag ? Shape{7, 19} : Shape{19, 7};
    examples.push_back({{{Dtype::kF32, a}, {Dtype::kBf16, b}}, flags});
    examples.push_back({{{Dtype::kI8, a}, {Dtype::kI8, b}}, flags, -2, 2, 256});
  }
  examples.push_back({{{Dtype::kF32, {5, 7}}, {Dtype::kBf16, {7, 19}}}, plain});
  examples.push_back({{{Dtype::kF32, {2, 3, 4}}, {Dtype::kBf16, {2, 4, 5}}}, plain});
  return examples;
}

// ---- linear

std::vector<Type> linear_types(const Call& call) {
  require_floating(call, 0);
  require_weight(call);
  if (call.inputs.size() == 3) require_dtype(call, 2, call.inputs[0].dtype);
  const Shape& x = call.inputs[0].shape;
  const Shape& w = call.inputs[1].shape;
  if (w.rank() != 2)
    throw Error(ErrorCode::kShape, fmt::format("{}: weight is {}, expected (out, in)", where(call),
                                               to_string(call.inputs[1])));
  if (x.rank() == 0)
    throw Error(ErrorCode::kShape, fmt::format("{}: input is a scalar, weight expects {} features",
                                               where(call), w[1]));
  if (x.back() != w[1])
    throw Error(ErrorCode::kShape, fmt::format("{}: input has {} features, weight expects {}",
                                               where(call), x.back(), w[1]));
  if (call.inputs.size() == 3 && !(call.inputs[2].shape == Shape{w[0]}))
    throw Error(ErrorCode::kShape, fmt::format("{}: bias has shape {}, expected [{}]", where(call),
                                               to_string(call.inputs[2].shape), w[0]));
  return {{call.inputs[0].dtype, x.replace(x.rank() - 1, w[0])}};
}

Values linear_body(std::span<const Value> in, const Attributes&) {
  const Shape& x = in[0].shape();
  const std::int64_t features = x.back();
  const Shape result = x.replace(x.rank() - 1, in[1].shape()[0]);
  const std::int64_t rows = x.erase(x.rank() - 1).elements();
  Value y = matmul(reshape(in[0], {rows, features}), in[1], false, true);
  if (in.size() == 3) y = y + in[2];
  return {reshape(y, result)};
}

// dx = g weight, dweight = g^T x, dbias = the sum of g over all leading dimensions.
Values linear_gradient(const GradientCall& c) {
  const Value& x = c.inputs[0];
  const Value& weight = c.inputs[1];
  const std::int64_t rows = x.shape().erase(x.rank() - 1).elements();
  const Value g = reshape(c.cotangents[0], {rows, weight.shape()[0]});
  const Value rows_of_x = reshape(x, {rows, weight.shape()[1]});
  Values result{reshape(matmul(g, weight), x.shape()),
                as(matmul(g, rows_of_x, true, false), weight)};
  if (c.inputs.size() == 3) result.push_back(sum(g, 0));
  return result;
}

Values linear_batching(const BatchingCall& c) {
  // If only x is batched, that is one more leading dimension, which linear accepts.
  if (!c.batched[1] && (c.inputs.size() < 3 || !c.batched[2])) return call(op::linear, c.inputs);
  std::vector<Value> in;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) in.push_back(batched_input(c, i));
  const Shape& x = in[0].shape();
  const std::int64_t rows = Shape(x.dims().subspan(1, x.rank() - 2)).elements();
  Value y = matmul(reshape(in[0], {c.size, rows, x.back()}), in[1], false, true);
  if (in.size() == 3) y = y + reshape(in[2], {c.size, 1, y.shape()[2]});
  return {reshape(y, x.replace(x.rank() - 1, y.shape()[2]))};
}

std::vector<Example> linear_examples() {
  std::vector<Example> examples;
  for (Dtype d : {Dtype::kF32, Dtype::kF64})
    for (const Shape& leading : {Shape{}, Shape{3}, Shape{2, 3}}) {
      const Shape x = leading.insert(leading.rank(), 6);
      examples.push_back({{{d, x}, {d, {17, 6}}, {d, {17}}}, {}});
      examples.push_back({{{d, x}, {d, {5, 6}}}, {}});
    }
  examples.push_back({{{Dtype::kF32, {3, 6}}, {Dtype::kBf16, {17, 6}}, {Dtype::kF32, {17}}}, {}});
  examples.push_back({{{Dtype::kF32, {300}}, {Dtype::kBf16, {5, 300}}}, {}});
  return examples;
}

// Examples as rows of a, or as columns of b, if the other operand is shared.
ExampleResults matmul_axis(const ExampleCall& c) {
  const std::size_t lead = c.call.outputs[0].shape.rank() - 2;
  if (ExampleResults r = in_leading(c, lead)) return r;
  const std::size_t operand = c.first();
  if (c.inner[1 - operand]) return {};
  const auto at = c.axis_of(operand);
  const bool transposed = c.call.attributes.get<bool>(operand == 0 ? "transpose_a" : "transpose_b");
  const std::size_t outer = lead + ((operand == 1) != transposed ? 1 : 0);
  if (!at || at->axis != outer) return {};
  return one_result(c, lead + operand, at->after);
}

}  // namespace

namespace op {

constinit const Op matmul = complete({.name = "matmul",
                                      .formula = "sum over k of a[m, k] b[k, n]",
                                      .shapes = "a[..., m, k], b[..., k, n] -> [..., m, n]",
                                      .role = Role::kProduct,
                                      .min_inputs = 2,
                                      .max_inputs = 2,
                                      .attributes = kTransposeAttributes,
                                      .types = matmul_types,
                                      .reference = matmul_reference,
                                      .gradient = gradient(matmul_gradient),
                                      .batching = batching(matmul_batching),
                                      .example_axis = matmul_axis,
                                      .flops = matmul_flops,
                                      .cpp = cpp_by_emit(),
                                      .onnx = {"MatMul", 13},
                                      .accuracy = kSummed,
                                      .examples = matmul_examples});

constinit const Op linear =
    complete({.name = "linear",
              .formula = "x weight^T + bias",
              .shapes = "x[..., in], weight[out, in], bias[out] -> [..., out]",
              .role = Role::kLinear,
              .min_inputs = 2,
              .max_inputs = 3,
              .attributes = kNoAttributes,
              .types = linear_types,
              .body = linear_body,
              .gradient = gradient(linear_gradient),
              .batching = batching(linear_batching),
              .flops = flops_of_body,
              .onnx = {"Gemm", 13},
              .examples = linear_examples});

}  // namespace op

constexpr const Op* kMatmulOps[] = {&op::matmul, &op::linear};
constexpr OpList matmul_ops = kMatmulOps;

Value matmul(Value a, Value b, bool transpose_a, bool transpose_b) {
  return call1(op::matmul, {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}

Value linear(Value x, Value weight, Value bias) {
  return bias ? call1(op::linear, {x, weight, bias}) : call1(op::linear, {x, weight});
}

}  // namespace limpid
