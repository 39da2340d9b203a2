#include "limpid/ops/arithmetic.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "limpid/core/arithmetic.h"
#include "limpid/core/coefficients.h"
#include "limpid/core/half.h"
#include "limpid/kernels/kernels.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using kernels::Element;

// Integers wrap around; floating numbers follow IEEE 754.
template <class T, class F>
T wrapping(T a, T b, const F& f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Subtract {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Multiply {
  template <class T>
  T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
// Integer division truncates toward zero. Division by zero gives 0 with remainder a, so a = (a / b)
// b + r always holds. Division by -1 negates, which wraps around for the lowest number.
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Subtract{}(T{0}, a);
    }
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if (b == 0) return a;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
      return static_cast<T>(a % b);
    }
  }
};
struct Maximum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return a < b ? b : a;
    else
      return arithmetic::maximum(a, b);
  }
};
struct Minimum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return b < a ? b : a;
    else
      return arithmetic::minimum(a, b);
  }
};
struct Negate {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return Subtract{}(T{0}, x);
    else
      return -x;
  }
};
struct Abs {
  template <class T>
  T operator()(T x) const {
    if constexpr (std::is_integral_v<T>)
      return x < 0 ? Negate{}(x) : x;
    else
      return std::fabs(x);
  }
};
struct Exp {
  template <class T>
  T operator()(T x) const {
    return arithmetic::exp(x);
  }
};
struct Log {
  template <class T>
  T operator()(T x) const {
    return arithmetic::log(x);
  }
};
struct Tanh {
  template <class T>
  T operator()(T x) const {
    return arithmetic::tanh(x);
  }
};
struct Erf {
  template <class T>
  T operator()(T x) const {
    return arithmetic::erf(x);
  }
};
struct Sigmoid {
  template <class T>
  T operator()(T x) const {
    return arithmetic::sigmoid(x);
  }
};
struct Ndtr {
  template <class T>
  T operator()(T x) const {
    return arithmetic::ndtr(x);
  }
};
struct Sqrt {
  template <class T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct Equal {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};

using Values = std::vector<Value>;

Values add_gradient(const GradientCall& c) { return {g(c), g(c)}; }
Values subtract_gradient(const GradientCall& c) { return {g(c), -g(c)}; }
Values multiply_gradient(const GradientCall& c) { return {g(c) * in(c, 1), g(c) * in(c, 0)}; }
Values divide_gradient(const GradientCall& c) {
  const Value quotient = g(c) / in(c, 1);
  return {quotient, -(quotient * out(c))};
}
Values remainder_gradient(const GradientCall& c) {
  return {g(c), -(g(c) * truncate(in(c, 0) / in(c, 1)))};
}
// The operand that was chosen gets the cotangent; for equal operands each gets half.
Values extremum_gradient(const GradientCall& c, const Value& first_wins) {
  const Value zero = number_like(g(c), 0);
  const Value tie = in(c, 0) == in(c, 1);
  const Value half = g(c) * 0.5;
  const Value a = select(first_wins, g(c), zero);
  const Value b = select(first_wins, zero, g(c));
  return {select(tie, half, a), select(tie, half, b)};
}
Values maximum_gradient(const GradientCall& c) { return extremum_gradient(c, in(c, 0) > in(c, 1)); }
Values minimum_gradient(const GradientCall& c) { return extremum_gradient(c, in(c, 0) < in(c, 1)); }
Values negate_gradient(const GradientCall& c) { return {-g(c)}; }
Values abs_gradient(const GradientCall& c) {
  const Value zero = number_like(g(c), 0);
  const Value positive = in(c, 0) > number_like(in(c, 0), 0);
  const Value negative = in(c, 0) < number_like(in(c, 0), 0);
  return {select(positive, g(c), select(negative, -g(c), zero))};
}
Values exp_gradient(const GradientCall& c) { return {g(c) * out(c)}; }
Values log_gradient(const GradientCall& c) { return {g(c) / in(c, 0)}; }
Values tanh_gradient(const GradientCall& c) { return {g(c) * (1.0 - out(c) * out(c))}; }
Values erf_gradient(const GradientCall& c) {
  return {g(c) * (arithmetic::coefficients::kTwoOverRootPi * exp(-(in(c, 0) * in(c, 0))))};
}
Values sigmoid_gradient(const GradientCall& c) { return {g(c) * (out(c) * (1.0 - out(c)))}; }
Values ndtr_gradient(const GradientCall& c) {
  return {g(c) * (exp(in(c, 0) * in(c, 0) * -0.5) * arithmetic::coefficients::kOneOverRootTwoPi)};
}
Values sqrt_gradient(const GradientCall& c) { return {g(c) / (out(c) * 2.0)}; }
Values select_gradient(const GradientCall& c) {
  const Value zero = number_like(g(c), 0);
  return {Value(), select(in(c, 0), g(c), zero), select(in(c, 0), zero, g(c))};
}
Values cast_gradient(const GradientCall& c) {
  if (!is_floating(in(c, 0).dtype()) || !is_floating(out(c).dtype())) return {Value()};
  return {cast(g(c), in(c, 0).dtype())};
}

// ---- simplifications

// Operations with a number, on either side, that give x. x + 0 is not one: it turns -0 into +0.
Value beside(std::span<const Value> in_, double number) {
  if (every_element_is(in_[1], number)) return in_[0];
  return every_element_is(in_[0], number) ? in_[1] : Value();
}
Value simpler_add(std::span<const Value> in_, const Attributes&) { return beside(in_, -0.0); }
Value simpler_subtract(std::span<const Value> in_, const Attributes&) {
  return every_element_is(in_[1], 0.0) ? in_[0] : Value();
}
Value simpler_multiply(std::span<const Value> in_, const Attributes&) { return beside(in_, 1); }
Value simpler_divide(std::span<const Value> in_, const Attributes&) {
  return every_element_is(in_[1], 1) ? in_[0] : Value();
}
// max(x, x) is x; so it is for the other ops that choose one of two operands.
template <double (*number)()>
Value simpler_choice(std::span<const Value> in_, const Attributes&) {
  return in_[0].same_as(in_[1]) ? in_[0] : beside(in_, number());
}
double least() { return -std::numeric_limits<double>::infinity(); }
double most() { return std::numeric_limits<double>::infinity(); }
double no() { return 0; }
double yes() { return 1; }
Value simpler_select(std::span<const Value> in_, const Attributes&) {
  if (in_[1].same_as(in_[2]) || every_element_is(in_[0], 1)) return in_[1];
  return every_element_is(in_[0], 0) ? in_[2] : Value();
}
Value simpler_abs(std::span<const Value> in_, const Attributes&) {
  return made_by(in_[0], op::abs) ? in_[0] : Value();
}

// Whether every number of `narrow` is one of `wide`.
bool holds(Dtype wide, Dtype narrow) {
  if (wide == narrow || narrow == Dtype::kBool) return true;
  if (narrow == Dtype::kU8) return wide != Dtype::kBool && wide != Dtype::kI8;
  if (narrow == Dtype::kI8) return wide != Dtype::kBool && wide != Dtype::kU8;
  if (wide == Dtype::kF64) return narrow != Dtype::kI64;
  return wide == Dtype::kF32   ? narrow == Dtype::kBf16 || narrow == Dtype::kF16
         : wide == Dtype::kI64 ? narrow == Dtype::kI32
                               : false;
}

// A cast through a dtype that holds every number of the first is a direct cast from the first to
// the third.
Value simpler_cast(std::span<const Value> in_, const Attributes& attributes) {
  const Dtype to = attributes.get<Dtype>("dtype");
  const Dtype middle = in_[0].dtype();
  if (middle == to) return in_[0];
  const Node* inner = made_by(in_[0], op::cast);
  if (!inner) return {};
  const Value x(&in_[0].builder(), inner->inputs[0]);
  // From an integer dtype, a number that does not fit wraps; from a floating dtype it saturates.
  const bool wraps = is_integer(x.dtype()) && is_integer(to) && !holds(to, x.dtype());
  if (!holds(middle, x.dtype()) || (wraps && is_floating(middle))) return {};
  return cast(x, to);
}

constexpr std::string_view kStep =
    "a comparison is a step function: its derivative is zero wherever it exists";
constexpr std::string_view kLogic = "booleans have no derivative";

std::vector<Type> select_types(const Call& call) {
  require_dtype(call, 0, Dtype::kBool);
  require_same_types(call, 1);
  if (!(call.inputs[0].shape == call.inputs[1].shape))
    require_same_types(
        {call.op,
         std::vector<Type>{{call.inputs[1].dtype, call.inputs[0].shape}, call.inputs[1]},
         {},
         call.attributes,
         call.scope});
  return {call.inputs[1]};
}

void select_reference(const Call& call, std::span<const void* const> in_,
                      std::span<void* const> out_) {
  dispatch_size(call.inputs[1].dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto n = call.inputs[1].shape.elements();
    for (std::int64_t i = 0; i < n; ++i)
      static_cast<T*>(out_[0])[i] =
          static_cast<const T*>(in_[static_cast<const bool*>(in_[0])[i] ? 1 : 2])[i];
  });
}

std::vector<Example> select_examples() {
  return {{{{Dtype::kBool, {6}}, {Dtype::kF32, {6}}, {Dtype::kF32, {6}}}, {}},
          {{{Dtype::kBool, {2, 3}}, {Dtype::kF64, {2, 3}}, {Dtype::kF64, {2, 3}}}, {}},
          {{{Dtype::kBool, {5}}, {Dtype::kI32, {5}}, {Dtype::kI32, {5}}}, {}, -2, 2, 9},
          {{{Dtype::kBool, {5}}, {Dtype::kU8, {5}}, {Dtype::kU8, {5}}}, {}, -2, 2, 9},
          {{{Dtype::kBool, {5}}, {Dtype::kBf16, {5}}, {Dtype::kBf16, {5}}}, {}}};
}

template <int inputs, class F>
void reference_logical(const Call& call, std::span<const void* const> in_,
                       std::span<void* const> out_) {
  const auto n = call.inputs[0].shape.elements();
  for (std::int64_t i = 0; i < n; ++i)
    static_cast<bool*>(out_[0])[i] =
        F{}(static_cast<const bool*>(in_[0])[i], static_cast<const bool*>(in_[inputs - 1])[i]);
}
struct And {
  bool operator()(bool a, bool b) const { return a && b; }
};
struct Or {
  bool operator()(bool a, bool b) const { return a || b; }
};
struct Not {
  bool operator()(bool a, bool) const { return !a; }
};

std::vector<Example> not_examples() { return {{{{Dtype::kBool, {9}}}, {}}}; }
std::vector<Example> logical_examples() {
  return {{{{Dtype::kBool, {9}}, {Dtype::kBool, {9}}}, {}}};
}

// ---- cast

template <class T>
T saturate(double x) {
  if (std::isnan(x)) return 0;
  // The limits of i64 are not doubles; 2^63 itself is, and saturates.
  if (x >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  if (x <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(x);
}

// Round to odd: x, or an adjacent double whose last bit is 1. Rounding that to a shorter format
// gives what rounding x would.
double to_odd(std::int64_t x) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (-kExact <= x && x <= kExact) return static_cast<double>(x);
  const std::int64_t dropped = x & 0x7ff;
  return static_cast<double>((x - dropped) | (dropped != 0 ? 0x800 : 0));
}

template <class To, class From>
To convert(From x) {
  constexpr bool kToHalf = std::is_same_v<To, Bf16> || std::is_same_v<To, F16>;
  if constexpr (std::is_same_v<From, Bf16> || std::is_same_v<From, F16>)
    return convert<To>(to_f32(x));
  else if constexpr (kToHalf && std::is_same_v<From, std::int64_t>)
    return convert<To>(to_odd(x));
  else if constexpr (kToHalf && std::is_integral_v<From>)
    return convert<To>(static_cast<double>(x));
  else if constexpr (std::is_same_v<To, Bf16>)
    return to_bf16(x);
  else if constexpr (std::is_same_v<To, F16>)
    return to_f16(x);
  else if constexpr (std::is_same_v<To, bool>)
    return x != 0;
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
    return saturate<To>(static_cast<double>(x));
  else
    return static_cast<To>(x);
}

template <class F>
void dispatch_any(Dtype dtype, const F& f) {
  if (dtype == Dtype::kBool)
    f(bool{});
  else if (dtype == Dtype::kBf16)
    f(Bf16{});
  else if (dtype == Dtype::kF16)
    f(F16{});
  else
    dispatch_arithmetic(dtype, f);
}

void cast_reference(const Call& call, std::span<const void* const> in_,
                    std::span<void* const> out_) {
  dispatch_any(call.inputs[0].dtype, [&](auto from) {
    dispatch_any(call.outputs[0].dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      const auto n = call.inputs[0].shape.elements();
      for (std::int64_t i = 0; i < n; ++i)
        static_cast<To*>(out_[0])[i] = convert<To>(static_cast<const From*>(in_[0])[i]);
    });
  });
}

std::vector<Type> cast_types(const Call& call) {
  return {{call.attributes.get<Dtype>("dtype"), call.inputs[0].shape}};
}

std::vector<Example> cast_examples() {
  constexpr Dtype kAll[] = {Dtype::kF32, Dtype::kF64, Dtype::kBf16, Dtype::kF16, Dtype::kI32,
                            Dtype::kI64, Dtype::kI8,  Dtype::kU8,   Dtype::kBool};
  std::vector<Example> examples;
  for (Dtype from : kAll)
    for (Dtype to : kAll) examples.push_back({{{from, {11}}}, {{"dtype", to}}, -3, 3, 200});
  return examples;
}

std::string_view cpp_name(Dtype dtype) {
  constexpr std::string_view kNames[] = {"float",       "double",       "Bf16",
                                         "F16",         "std::int32_t", "std::int64_t",
                                         "std::int8_t", "std::uint8_t", "bool"};
  return kNames[static_cast<std::size_t>(dtype)];
}

std::string cast_expression(const Call& call) {
  const auto is_half = [](Dtype d) { return d == Dtype::kBf16 || d == Dtype::kF16; };
  const Dtype from = call.inputs[0].dtype;
  const Dtype to = call.attributes.get<Dtype>("dtype");
  const std::string value = is_half(from) ? std::string(cpp_name(from)) + "{{{0}}}" : "{0}";
  return fmt::format("convert<{}>({}){}", cpp_name(to), value, is_half(to) ? ".bits" : "");
}

constexpr AttributeSpec kCastAttributes[] = {{"dtype", AttributeKind::kDtype}};

// ---- the families

// Extends a record for floating dtypes to integers.
template <class F>
consteval Op for_integers(Op record, Element element_i32) {
  record.kernel.element_i32 = element_i32;
  record.types = numeric_elementwise;
  record.reference = reference_numeric_unary<F>;
  return record;
}

template <const Op& op, class F>
consteval Op binary(std::string_view name, std::string_view formula, std::string_view accuracy,
                    TypeRule types, GradientRule rule, Kernel kernel, Cpp cpp, Onnx onnx,
                    std::vector<Example> (*examples)() = numeric_examples, bool smooth = true) {
  return complete({.name = name,
                   .formula = formula,
                   .shapes = kElementwiseShapes,
                   .elementwise = true,
                   .min_inputs = 2,
                   .max_inputs = 2,
                   .attributes = kNoAttributes,
                   .types = types,
                   .reference = reference_binary<F>,
                   .gradient = rule,
                   .smooth = smooth,
                   .batching = batching(batch_elementwise<op>),
                   .flops = flops_one_an_element,
                   .kernel = kernel,
                   .cpp = cpp,
                   .onnx = onnx,
                   .accuracy = accuracy,
                   .examples = examples});
}

template <const Op& op, int inputs, class F>
consteval Op logical(std::string_view name, std::string_view formula, Cpp cpp, Onnx onnx) {
  return complete({.name = name,
                   .formula = formula,
                   .shapes = kElementwiseShapes,
                   .elementwise = true,
                   .min_inputs = inputs,
                   .max_inputs = inputs,
                   .attributes = kNoAttributes,
                   .types = boolean_elementwise,
                   .reference = reference_logical<inputs, F>,
                   .gradient = no_gradient(kLogic),
                   .batching = batching(batch_elementwise<op>),
                   .flops = flops_one_an_element,
                   .cpp = cpp,
                   .onnx = onnx,
                   .accuracy = kExact,
                   .examples = inputs == 1 ? not_examples : logical_examples});
}

constexpr GradientRule step_rule() { return no_gradient(kStep); }
constexpr Kernel element(Element e, Element of_i32 = kNoElement) { return {e, of_i32}; }

}  // namespace

namespace op {

constinit const Op add =
    simplified(binary<add, Add>("add", "a + b", kRounded, numeric_elementwise,
                                gradient(add_gradient), element(Element::kAdd, Element::kAddI32),
                                {"{0} + {1}", "Add{{}}({0}, {1})"}, onnx_node("Add", 14, 7)),
               simpler_add);
constinit const Op subtract =
    simplified(binary<subtract, Subtract>(
                   "subtract", "a - b", kRounded, numeric_elementwise, gradient(subtract_gradient),
                   element(Element::kSubtract, Element::kSubtractI32),
                   {"{0} - {1}", "Subtract{{}}({0}, {1})"}, onnx_node("Sub", 14, 7)),
               simpler_subtract);
constinit const Op multiply =
    simplified(binary<multiply, Multiply>(
                   "multiply", "a * b", kRounded, numeric_elementwise, gradient(multiply_gradient),
                   element(Element::kMultiply, Element::kMultiplyI32),
                   {"{0} * {1}", "Multiply{{}}({0}, {1})"}, onnx_node("Mul", 14, 7)),
               simpler_multiply);
constinit const Op divide =
    simplified(binary<divide, Divide>(
                   "divide", "a / b; integers: rounded toward zero; 0 if b is 0", kRounded,
                   numeric_elementwise, gradient(divide_gradient), element(Element::kDivide),
                   {"{0} / {1}", "Divide{{}}({0}, {1})"}, {"Div", 14}, numeric_divisor_examples),
               simpler_divide);
constinit const Op remainder = binary<remainder, Remainder>(
    "remainder", "a - b trunc(a / b); integers: a if b is 0", kExact, numeric_elementwise,
    gradient(remainder_gradient), {}, {"std::fmod({0}, {1})", "Remainder{{}}({0}, {1})"},
    {"Mod", 13}, numeric_divisor_examples, false);
constinit const Op maximum =
    simplified(binary<maximum, Maximum>("maximum", "the larger; NaN if either is NaN; +0 above -0",
                                        kExact, numeric_elementwise, gradient(maximum_gradient),
                                        element(Element::kMaximum, Element::kMaximumI32),
                                        {"maximum({0}, {1})", "Maximum{{}}({0}, {1})"},
                                        onnx_node("Max", 13, 8), numeric_examples, false),
               simpler_choice<least>);
constinit const Op minimum =
    simplified(binary<minimum, Minimum>("minimum", "the smaller; NaN if either is NaN; -0 below +0",
                                        kExact, numeric_elementwise, gradient(minimum_gradient),
                                        element(Element::kMinimum, Element::kMinimumI32),
                                        {"minimum({0}, {1})", "Minimum{{}}({0}, {1})"},
                                        onnx_node("Min", 13, 8), numeric_examples, false),
               simpler_choice<most>);

constinit const Op negate = simplified(
    for_integers<Negate>(unary<negate, Negate>("negate", "-x", kExact, gradient(negate_gradient),
                                               Element::kNegate, {"-{0}", "Negate{{}}({0})"},
                                               onnx_node("Neg", 13, 1), numeric_unary_examples),
                         Element::kNegateI32),
    undo_twice<negate>);
constinit const Op abs = simplified(
    for_integers<Abs>(unary<abs, Abs>("abs", "|x|", kExact, gradient(abs_gradient), Element::kAbs,
                                      {"std::fabs({0})", "Abs{{}}({0})"}, onnx_node("Abs", 13, 1),
                                      numeric_unary_examples, false),
                      Element::kAbsI32),
    simpler_abs);
constinit const Op exp = unary<exp, Exp>("exp", "e^x", "0.90 ulp", gradient(exp_gradient),
                                         Element::kExp, {"exp({0})"}, onnx_node("Exp", 13, 1));
constinit const Op log =
    unary<log, Log>("log", "natural logarithm of x", "0.95 ulp", gradient(log_gradient),
                    Element::kLog, {"log({0})"}, onnx_node("Log", 13, 1), positive_examples);
constinit const Op tanh =
    unary<tanh, Tanh>("tanh", "(e^x - e^-x) / (e^x + e^-x)", "0.98 ulp", gradient(tanh_gradient),
                      Element::kTanh, {"tanh({0})"}, onnx_node("Tanh", 13, 1));
constinit const Op erf =
    unary<erf, Erf>("erf", "2 / sqrt(pi) * integral of e^(-t^2) from 0 to x", "1.00 ulp",
                    gradient(erf_gradient), Element::kErf, {"erf({0})"}, onnx_node("Erf", 13, 9));
constinit const Op sigmoid =
    unary<sigmoid, Sigmoid>("sigmoid", "1 / (1 + e^-x)", "2.49 ulp", gradient(sigmoid_gradient),
                            Element::kSigmoid, {"sigmoid({0})"}, onnx_node("Sigmoid", 13, 1));
constinit const Op ndtr =
    unary<ndtr, Ndtr>("ndtr", "integral of the standard normal density up to x", "5.73 ulp",
                      gradient(ndtr_gradient), Element::kNdtr, {"ndtr({0})"}, {});
constinit const Op sqrt =
    unary<sqrt, Sqrt>("sqrt", "square root of x", kRounded, gradient(sqrt_gradient), Element::kSqrt,
                      {"std::sqrt({0})"}, onnx_node("Sqrt", 13, 1), positive_examples);

constinit const Op equal = binary<equal, Equal>(
    "equal", "a = b", kExact, numeric_comparison, step_rule(),
    element(Element::kEqual, Element::kEqualI32), {"{0} == {1}"}, onnx_node("Equal", 19, 7));
constinit const Op not_equal = binary<not_equal, NotEqual>(
    "not_equal", "a differs from b", kExact, numeric_comparison, step_rule(),
    element(Element::kNotEqual, Element::kNotEqualI32), {"{0} != {1}"}, {});
constinit const Op less = binary<less, Less>(
    "less", "a < b", kExact, numeric_comparison, step_rule(),
    element(Element::kLess, Element::kLessI32), {"{0} < {1}"}, onnx_node("Less", 13, 7));
constinit const Op less_equal =
    binary<less_equal, LessEqual>("less_equal", "a <= b", kExact, numeric_comparison, step_rule(),
                                  element(Element::kLessEqual, Element::kLessEqualI32),
                                  {"{0} <= {1}"}, onnx_node("LessOrEqual", 16, 12));

constinit const Op logical_and = simplified(
    logical<logical_and, 2, And>("logical_and", "a and b", {"{0} && {1}"}, onnx_node("And", 7)),
    simpler_choice<yes>);
constinit const Op logical_or = simplified(
    logical<logical_or, 2, Or>("logical_or", "a or b", {"{0} || {1}"}, onnx_node("Or", 7)),
    simpler_choice<no>);
constinit const Op logical_not =
    simplified(logical<logical_not, 1, Not>("logical_not", "not a", {"!{0}"}, onnx_node("Not", 1)),
               undo_twice<logical_not>);

constinit const Op select = complete({.name = "select",
                                      .formula = "a where the condition holds, else b",
                                      .shapes = kElementwiseShapes,
                                      .elementwise = true,
                                      .min_inputs = 3,
                                      .max_inputs = 3,
                                      .attributes = kNoAttributes,
                                      .types = select_types,
                                      .reference = select_reference,
                                      .simplification = simpler_select,
                                      .gradient = gradient(select_gradient),
                                      .batching = batching(batch_elementwise<select>),
                                      .flops = no_flops,
                                      .kernel = element_kernel(Element::kSelect),
                                      .cpp = {"{0} ? {1} : {2}"},
                                      .onnx = onnx_node("Where", 16, 9),
                                      .accuracy = kExact,
                                      .examples = select_examples});

constinit const Op cast = complete({.name = "cast",
                                    .formula = "x converted to another dtype",
                                    .shapes = kElementwiseShapes,
                                    .elementwise = true,
                                    .min_inputs = 1,
                                    .max_inputs = 1,
                                    .attributes = kCastAttributes,
                                    .types = cast_types,
                                    .reference = cast_reference,
                                    .simplification = simpler_cast,
                                    .gradient = gradient(cast_gradient),
                                    .smooth = false,
                                    .batching = batching(batch_elementwise<cast>),
                                    .flops = no_flops,
                                    .cpp = {.expression = cast_expression},
                                    .onnx = {"Cast", 19},
                                    .accuracy = kRounded,
                                    .examples = cast_examples});

}  // namespace op

constexpr const Op* kArithmeticOps[] = {&op::add,       &op::subtract, &op::multiply, &op::divide,
                                        &op::remainder, &op::maximum,  &op::minimum,  &op::negate,
                                        &op::abs,       &op::exp,      &op::log,      &op::tanh,
                                        &op::erf,       &op::sigmoid,  &op::ndtr,     &op::sqrt};
constexpr const Op* kComparisonOps[] = {&op::equal,       &op::not_equal,   &op::less,
                                        &op::less_equal,  &op::logical_and, &op::logical_or,
                                        &op::logical_not, &op::select,      &op::cast};
constexpr OpList arithmetic_ops = kArithmeticOps;
constexpr OpList comparison_ops = kComparisonOps;

namespace {

Value binary_call(const Op& op, const Value& a, const Value& b) {
  const Shape shape = common_shape(a.shape(), b.shape(), op.name);
  return call1(op, {broadcast(a, shape), broadcast(b, shape)});
}

// Booleans, and integers of two dtypes, are compared as integers of one that holds them all.
Value comparison(const Op& op, const Value& a, const Value& b) {
  const Dtype x = a.dtype(), y = b.dtype();
  if (x == Dtype::kBool && y == Dtype::kBool)
    return binary_call(op, cast(a, Dtype::kI32), cast(b, Dtype::kI32));
  if (x != y && is_integer(x) && is_integer(y))
    return binary_call(op, cast(a, Dtype::kI64), cast(b, Dtype::kI64));
  return binary_call(op, a, b);
}

}  // namespace

Value number_like(Value like, double number) {
  const bool stored = is_floating(like.dtype()) && !is_computed_with(like.dtype());
  const Value one = constant(like.builder(), number, stored ? Dtype::kF32 : like.dtype());
  return broadcast(stored ? cast(one, like.dtype()) : one, like.shape());
}

Value add(Value a, Value b) { return binary_call(op::add, a, b); }
Value subtract(Value a, Value b) { return binary_call(op::subtract, a, b); }
Value multiply(Value a, Value b) { return binary_call(op::multiply, a, b); }
Value fmod(Value a, Value b) { return binary_call(op::remainder, a, b); }
Value divide(Value a, Value b) { return binary_call(op::divide, a, b); }
Value maximum(Value a, Value b) { return binary_call(op::maximum, a, b); }
Value minimum(Value a, Value b) { return binary_call(op::minimum, a, b); }
Value equal(Value a, Value b) { return comparison(op::equal, a, b); }
Value not_equal(Value a, Value b) { return comparison(op::not_equal, a, b); }
Value less(Value a, Value b) { return comparison(op::less, a, b); }
Value less_equal(Value a, Value b) { return comparison(op::less_equal, a, b); }
Value logical_and(Value a, Value b) { return binary_call(op::logical_and, a, b); }
Value logical_or(Value a, Value b) { return binary_call(op::logical_or, a, b); }

Value negate(Value x) { return call1(op::negate, {x}); }
Value abs(Value x) { return call1(op::abs, {x}); }
Value exp(Value x) { return call1(op::exp, {x}); }
Value log(Value x) { return call1(op::log, {x}); }
Value tanh(Value x) { return call1(op::tanh, {x}); }
Value erf(Value x) { return call1(op::erf, {x}); }
Value sigmoid(Value x) { return call1(op::sigmoid, {x}); }
Value ndtr(Value x) { return call1(op::ndtr, {x}); }
Value sqrt(Value x) { return call1(op::sqrt, {x}); }
Value logical_not(Value x) { return call1(op::logical_not, {x}); }

Value select(Value condition, Value a, Value b) {
  const Shape shape =
      common_shape(condition.shape(), common_shape(a.shape(), b.shape(), "select"), "select");
  return call1(op::select, {broadcast(condition, shape), broadcast(a, shape), broadcast(b, shape)});
}

Value cast(Value x, Dtype dtype) {
  return x.dtype() == dtype ? x : call1(op::cast, {x}, {{"dtype", dtype}});
}

}  // namespace limpid
