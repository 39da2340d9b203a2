#include "limpid/ops/trigonometric.h"

#include "limpid/core/arithmetic.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/elementary.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

struct Tan {
  template <class T>
  T operator()(T x) const {
    return arithmetic::tan(x);
  }
};
struct Asin {
  template <class T>
  T operator()(T x) const {
    return arithmetic::asin(x);
  }
};
struct Acos {
  template <class T>
  T operator()(T x) const {
    return arithmetic::acos(x);
  }
};
struct Atan {
  template <class T>
  T operator()(T x) const {
    return arithmetic::atan(x);
  }
};
struct Sinh {
  template <class T>
  T operator()(T x) const {
    return arithmetic::sinh(x);
  }
};
struct Cosh {
  template <class T>
  T operator()(T x) const {
    return arithmetic::cosh(x);
  }
};
struct Asinh {
  template <class T>
  T operator()(T x) const {
    return arithmetic::asinh(x);
  }
};
struct Acosh {
  template <class T>
  T operator()(T x) const {
    return arithmetic::acosh(x);
  }
};
struct Atanh {
  template <class T>
  T operator()(T x) const {
    return arithmetic::atanh(x);
  }
};

// 1 - x^2 without the cancellation near |x| = 1.
Value one_minus_square(Value x) { return (1.0 - x) * (1.0 + x); }

Values tan_gradient(const GradientCall& c) { return {g(c) * (1.0 + out(c) * out(c))}; }
Values asin_gradient(const GradientCall& c) { return {g(c) * rsqrt(one_minus_square(x(c)))}; }
Values acos_gradient(const GradientCall& c) { return {-(g(c) * rsqrt(one_minus_square(x(c))))}; }
Values atan_gradient(const GradientCall& c) { return {g(c) / (1.0 + x(c) * x(c))}; }
Values sinh_gradient(const GradientCall& c) { return {g(c) * cosh(x(c))}; }
Values cosh_gradient(const GradientCall& c) { return {g(c) * sinh(x(c))}; }
Values asinh_gradient(const GradientCall& c) { return {g(c) * rsqrt(1.0 + x(c) * x(c))}; }
Values acosh_gradient(const GradientCall& c) { return {g(c) * rsqrt((x(c) - 1.0) * (x(c) + 1.0))}; }
Values atanh_gradient(const GradientCall& c) { return {g(c) / one_minus_square(x(c))}; }

std::vector<Example> between(double low, double high) {
  std::vector<Example> examples = unary_examples();
  for (Example& e : examples) {
    e.low = low;
    e.high = high;
  }
  return examples;
}
// Away from the ends of the domain, where the derivative is infinite, and from the poles of tan.
std::vector<Example> tan_examples() { return between(-1.4, 1.4); }
std::vector<Example> inner_examples() { return between(-0.9, 0.9); }
std::vector<Example> above_one_examples() { return between(1.1, 4); }
std::vector<Example> large_examples() { return between(-20, 20); }

// Computed in f64 and rounded once: docs/decisions/0014-ops-for-exchange.md.
template <const Op& op, class F>
consteval Op rounded_once(std::string_view name, std::string_view formula, Gradient rule, Cpp cpp,
                          Onnx onnx, std::vector<Example> (*examples)()) {
  return unary<op, F>(name, formula, "0.51 ulp", gradient(rule), kNoElement, cpp, onnx, examples);
}

}  // namespace

namespace op {

constinit const Op tan = rounded_once<tan, Tan>("tan", "tangent of x radians", tan_gradient,
                                                {"tan({0})"}, onnx_node("Tan", 7), tan_examples);
constinit const Op asin =
    rounded_once<asin, Asin>("asin", "the angle in [-pi/2, pi/2] whose sine is x", asin_gradient,
                             {"asin({0})"}, onnx_node("Asin", 7), inner_examples);
constinit const Op acos =
    rounded_once<acos, Acos>("acos", "the angle in [0, pi] whose cosine is x", acos_gradient,
                             {"acos({0})"}, onnx_node("Acos", 7), inner_examples);
constinit const Op atan =
    rounded_once<atan, Atan>("atan", "the angle in [-pi/2, pi/2] whose tangent is x", atan_gradient,
                             {"atan({0})"}, onnx_node("Atan", 7), large_examples);
constinit const Op sinh = rounded_once<sinh, Sinh>(
    "sinh", "(e^x - e^-x) / 2", sinh_gradient, {"sinh({0})"}, onnx_node("Sinh", 9), unary_examples);
constinit const Op cosh = rounded_once<cosh, Cosh>(
    "cosh", "(e^x + e^-x) / 2", cosh_gradient, {"cosh({0})"}, onnx_node("Cosh", 9), unary_examples);
constinit const Op asinh =
    rounded_once<asinh, Asinh>("asinh", "log(x + sqrt(x^2 + 1))", asinh_gradient, {"asinh({0})"},
                               onnx_node("Asinh", 9), large_examples);
constinit const Op acosh =
    rounded_once<acosh, Acosh>("acosh", "log(x + sqrt(x^2 - 1))", acosh_gradient, {"acosh({0})"},
                               onnx_node("Acosh", 9), above_one_examples);
constinit const Op atanh =
    rounded_once<atanh, Atanh>("atanh", "log((1 + x) / (1 - x)) / 2", atanh_gradient,
                               {"atanh({0})"}, onnx_node("Atanh", 9), inner_examples);

}  // namespace op

constexpr const Op* kTrigonometricOps[] = {&op::tan,  &op::asin,  &op::acos,  &op::atan, &op::sinh,
                                           &op::cosh, &op::asinh, &op::acosh, &op::atanh};
constexpr OpList trigonometric_ops = kTrigonometricOps;

Value tan(Value x) { return call1(op::tan, {x}); }
Value asin(Value x) { return call1(op::asin, {x}); }
Value acos(Value x) { return call1(op::acos, {x}); }
Value atan(Value x) { return call1(op::atan, {x}); }
Value sinh(Value x) { return call1(op::sinh, {x}); }
Value cosh(Value x) { return call1(op::cosh, {x}); }
Value asinh(Value x) { return call1(op::asinh, {x}); }
Value acosh(Value x) { return call1(op::acosh, {x}); }
Value atanh(Value x) { return call1(op::atanh, {x}); }

}  // namespace limpid
