#include "limpid/ops/elementary.h"

#include <cmath>

#include "limpid/core/arithmetic.h"
#include "limpid/kernels/kernels.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using kernels::Element;
using Values = std::vector<Value>;

struct Log1p {
  template <class T>
  T operator()(T x) const {
    return arithmetic::log1p(x);
  }
};
struct Expm1 {
  template <class T>
  T operator()(T x) const {
    return arithmetic::expm1(x);
  }
};
struct Sin {
  template <class T>
  T operator()(T x) const {
    return arithmetic::sin(x);
  }
};
struct Cos {
  template <class T>
  T operator()(T x) const {
    return arithmetic::cos(x);
  }
};
struct Rsqrt {
  template <class T>
  T operator()(T x) const {
    return T{1} / std::sqrt(x);
  }
};
struct Power {
  template <class T>
  requires std::is_floating_point_v<T> T operator()(T x, T y) const {
    return arithmetic::power(x, y);
  }
};
struct Floor {
  template <class T>
  T operator()(T x) const {
    return std::floor(x);
  }
};
struct Ceil {
  template <class T>
  T operator()(T x) const {
    return std::ceil(x);
  }
};
struct Round {
  template <class T>
  T operator()(T x) const {
    return std::nearbyint(x);
  }
};
struct Truncate {
  template <class T>
  T operator()(T x) const {
    return std::trunc(x);
  }
};
struct Sign {
  template <class T>
  T operator()(T x) const {
    return x > 0 ? T{1} : x < 0 ? T{-1} : x;
  }
};

Values log1p_gradient(const GradientCall& c) { return {g(c) / (1.0 + x(c))}; }
Values expm1_gradient(const GradientCall& c) { return {g(c) * (out(c) + 1.0)}; }
Values sin_gradient(const GradientCall& c) { return {g(c) * cos(x(c))}; }
Values cos_gradient(const GradientCall& c) { return {-(g(c) * sin(x(c)))}; }
Values rsqrt_gradient(const GradientCall& c) { return {g(c) * (out(c) / (x(c) * -2.0))}; }
// 0 * x^-1 and 0^y * log(0) would be NaN; the derivatives there are 0.
Values power_gradient(const GradientCall& c) {
  const Value y = c.inputs[1];
  const Value zero = number_like(g(c), 0);
  const Value one = number_like(g(c), 1);
  const Value by_x = select(y == zero, zero, y * power(x(c), y - 1.0));
  const Value without_log = x(c) <= zero;
  const Value by_y = select(without_log, zero, out(c) * log(select(without_log, one, x(c))));
  return {g(c) * by_x, g(c) * by_y};
}

constexpr std::string_view kSteps = "a step function: its derivative is zero wherever it exists";

std::vector<Example> log1p_examples() {
  std::vector<Example> examples = unary_examples();
  for (Example& e : examples) e.low = -0.9;
  return examples;
}
// Arguments on both sides of many integers and of many multiples of pi / 2.
std::vector<Example> wide_examples() {
  std::vector<Example> examples = unary_examples();
  for (Example& e : examples) {
    e.low = -20;
    e.high = 20;
  }
  return examples;
}

template <const Op& op, class F>
consteval Op rounding(std::string_view name, std::string_view formula, Element element, Cpp cpp,
                      Onnx onnx) {
  return unary<op, F>(name, formula, kExact, no_gradient(kSteps), element, cpp, onnx,
                      wide_examples);
}

}  // namespace

namespace op {

// ONNX needs several operators for the first two and for rsqrt.
constinit const Op log1p =
    unary<log1p, Log1p>("log1p", "log(1 + x)", "0.51 ulp", gradient(log1p_gradient),
                        Element::kLog1p, {"log1p({0})"}, {}, log1p_examples);
constinit const Op expm1 =
    unary<expm1, Expm1>("expm1", "e^x - 1", "0.51 ulp", gradient(expm1_gradient), Element::kExpm1,
                        {"expm1({0})"}, {}, unary_examples);
constinit const Op sin =
    unary<sin, Sin>("sin", "sine of x radians", "0.51 ulp", gradient(sin_gradient), Element::kSin,
                    {"sin({0})"}, onnx_node("Sin", 7), wide_examples);
constinit const Op cos =
    unary<cos, Cos>("cos", "cosine of x radians", "0.51 ulp", gradient(cos_gradient), Element::kCos,
                    {"cos({0})"}, onnx_node("Cos", 7), wide_examples);
constinit const Op rsqrt =
    unary<rsqrt, Rsqrt>("rsqrt", "1 / sqrt(x), two roundings", "1.50 ulp", gradient(rsqrt_gradient),
                        Element::kRsqrt, {"Rsqrt{{}}({0})"}, {}, positive_examples);
constinit const Op power = complete({.name = "power",
                                     .formula = "x^y; special values as in C's pow",
                                     .shapes = kElementwiseShapes,
                                     .elementwise = true,
                                     .min_inputs = 2,
                                     .max_inputs = 2,
                                     .attributes = kNoAttributes,
                                     .types = floating_elementwise,
                                     .reference = reference_binary<Power>,
                                     .gradient = gradient(power_gradient),
                                     .batching = batching(batch_elementwise<power>),
                                     .flops = flops_one_an_element,
                                     .kernel = element_kernel(Element::kPower),
                                     .cpp = {"power({0}, {1})"},
                                     .onnx = onnx_node("Pow", 13, 7),
                                     .accuracy = "0.51 ulp",
                                     .examples = divisor_examples});

constinit const Op floor =
    rounding<floor, Floor>("floor", "the largest integer not above x", Element::kFloor,
                           {"std::floor({0})"}, onnx_node("Floor", 13, 1));
constinit const Op ceil =
    rounding<ceil, Ceil>("ceil", "the smallest integer not below x", Element::kCeil,
                         {"std::ceil({0})"}, onnx_node("Ceil", 13, 1));
constinit const Op round =
    rounding<round, Round>("round", "the nearest integer, ties to even", Element::kRound,
                           {"std::nearbyint({0})"}, onnx_node("Round", 11));
constinit const Op truncate = rounding<truncate, Truncate>(
    "truncate", "the nearest integer toward zero", Element::kTruncate, {"std::trunc({0})"}, {});
constinit const Op sign =
    rounding<sign, Sign>("sign", "-1 or 1; x if x is zero or NaN", Element::kSign,
                         {"Sign{{}}({0})"}, onnx_node("Sign", 13, 9));

}  // namespace op

constexpr const Op* kElementaryOps[] = {&op::log1p, &op::expm1,    &op::sin,   &op::cos,
                                        &op::rsqrt, &op::power,    &op::floor, &op::ceil,
                                        &op::round, &op::truncate, &op::sign};
constexpr OpList elementary_ops = kElementaryOps;

Value log1p(Value x) { return call1(op::log1p, {x}); }
Value expm1(Value x) { return call1(op::expm1, {x}); }
Value sin(Value x) { return call1(op::sin, {x}); }
Value cos(Value x) { return call1(op::cos, {x}); }
Value rsqrt(Value x) { return call1(op::rsqrt, {x}); }

Value power(Value x, Value y) {
  const Shape shape = common_shape(x.shape(), y.shape(), op::power.name);
  return call1(op::power, {broadcast(x, shape), broadcast(y, shape)});
}
Value power(Value x, double y) { return power(x, number_like(x, y)); }

Value floor(Value x) { return call1(op::floor, {x}); }
Value ceil(Value x) { return call1(op::ceil, {x}); }
Value round(Value x) { return call1(op::round, {x}); }
Value truncate(Value x) { return call1(op::truncate, {x}); }
Value sign(Value x) { return call1(op::sign, {x}); }

}  // namespace limpid
