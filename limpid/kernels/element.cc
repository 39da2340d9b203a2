// Element-wise kernels: one loop for every arity, instantiated for each function.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "limpid/kernels/element.cc"
#include "limpid/kernels/families.h"
#include "limpid/kernels/targets.h"
//
#include "hwy/foreach_target.h"
//
#include "limpid/kernels/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace limpid::kernels::HWY_NAMESPACE {

HWY_INLINE VU mask_lanes(hn::Mask<F32> mask) {
  return hn::BitCast(U32(), hn::VecFromMask(F32(), mask));
}

// Shifts in zeros; a count beyond the lane's width gives 0.
HWY_INLINE VU shift_right(VU x, VU count) {
  const VU last = hn::Set(U32(), 31u);
  const VU beyond = hn::AndNot(last, count);
  return hn::IfThenElseZero(hn::Eq(beyond, hn::Zero(U32())), hn::Shr(x, hn::And(count, last)));
}

// Wraps around: the lowest number is its own negative.
HWY_INLINE VI negative(VI x) {
  return hn::BitCast(I32(), hn::Sub(hn::Zero(U32()), hn::BitCast(U32(), x)));
}

// The functions, as types. In and Out are the tags of the lanes that they read and write.
#define LIMPID_UNARY(Name, InTag, expression)                          \
  struct Name {                                                        \
    using In = InTag;                                                  \
    static constexpr int kArity = 1;                                   \
    static HWY_INLINE auto apply(hn::Vec<In> a) { return expression; } \
  }
// A function of `together` vectors at once.
#define LIMPID_FUNCTION(Name, function, together)                        \
  struct Name {                                                          \
    using In = F32;                                                      \
    static constexpr int kArity = 1;                                     \
    template <std::size_t kCount>                                        \
    static HWY_INLINE auto apply(Many<kCount> a) {                       \
      return function(a);                                                \
    }                                                                    \
    static HWY_INLINE V apply(V a) { return function(Many<1>(a)).v[0]; } \
    static constexpr std::size_t kTogether = together;                   \
  }
#define LIMPID_BINARY(Name, InTag, expression)                                        \
  struct Name {                                                                       \
    using In = InTag;                                                                 \
    static constexpr int kArity = 2;                                                  \
    static HWY_INLINE auto apply(hn::Vec<In> a, hn::Vec<In> b) { return expression; } \
  }

LIMPID_UNARY(Negate, F32, hn::Xor(a, hn::SignBit(F32())));
LIMPID_UNARY(Absolute, F32, hn::Abs(a));
LIMPID_FUNCTION(Exp, exp, 4);
LIMPID_FUNCTION(Log, log, 4);
LIMPID_FUNCTION(Tanh, tanh, 4);
LIMPID_FUNCTION(Erf, erf, 4);
LIMPID_UNARY(Sqrt, F32, hn::Sqrt(a));
LIMPID_UNARY(Relu, F32, relu(a));
LIMPID_FUNCTION(Sigmoid, sigmoid, 4);
LIMPID_FUNCTION(Ndtr, ndtr, 4);
LIMPID_FUNCTION(Gelu, gelu, 4);
LIMPID_FUNCTION(GeluTanh, gelu_tanh, 4);
LIMPID_FUNCTION(Silu, silu, 4);
// Computed in f64, which needs twice the registers; this count was the fastest on AVX2.
LIMPID_FUNCTION(Log1p, log1p, 4);
LIMPID_FUNCTION(Expm1, expm1, 4);
LIMPID_FUNCTION(Sin, sin, 2);
LIMPID_FUNCTION(Cos, cos, 2);
LIMPID_UNARY(Rsqrt, F32, hn::Div(set(1.0f), hn::Sqrt(a)));
LIMPID_UNARY(Floor, F32, floor(a));
LIMPID_UNARY(Ceil, F32, ceil(a));
LIMPID_UNARY(Round, F32, round(a));
LIMPID_UNARY(Truncate, F32, truncate(a));
LIMPID_UNARY(Sign, F32, sign(a));
LIMPID_BINARY(Add, F32, hn::Add(a, b));
LIMPID_BINARY(Subtract, F32, hn::Sub(a, b));
LIMPID_BINARY(Multiply, F32, hn::Mul(a, b));
LIMPID_BINARY(Divide, F32, hn::Div(a, b));
LIMPID_BINARY(Maximum, F32, maximum(a, b));
LIMPID_BINARY(Minimum, F32, minimum(a, b));
LIMPID_BINARY(Equal, F32, mask_lanes(hn::Eq(a, b)));
// Highway does not define hn::Ne for NaN.
LIMPID_BINARY(NotEqual, F32, hn::Not(mask_lanes(hn::Eq(a, b))));
LIMPID_BINARY(Less, F32, mask_lanes(hn::Lt(a, b)));
LIMPID_BINARY(LessEqual, F32, mask_lanes(hn::Le(a, b)));
LIMPID_BINARY(EqualI32, I32, hn::VecFromMask(I32(), hn::Eq(a, b)));
LIMPID_BINARY(NotEqualI32, I32, hn::Not(hn::VecFromMask(I32(), hn::Eq(a, b))));
LIMPID_BINARY(LessI32, I32, hn::VecFromMask(I32(), hn::Lt(a, b)));
LIMPID_BINARY(LessEqualI32, I32, hn::Not(hn::VecFromMask(I32(), hn::Lt(b, a))));
// As unsigned numbers, whose overflow is defined.
LIMPID_UNARY(NegateI32, U32, hn::Sub(hn::Zero(U32()), a));
LIMPID_UNARY(AbsI32, I32, hn::IfThenElse(hn::Lt(a, hn::Zero(I32())), negative(a), a));
LIMPID_BINARY(AddI32, U32, hn::Add(a, b));
LIMPID_BINARY(SubtractI32, U32, hn::Sub(a, b));
LIMPID_BINARY(MultiplyI32, U32, hn::Mul(a, b));
LIMPID_BINARY(MaximumI32, I32, hn::Max(a, b));
LIMPID_BINARY(MinimumI32, I32, hn::Min(a, b));
LIMPID_BINARY(ShiftRightI32, U32, shift_right(a, b));
LIMPID_UNARY(I32ToF32, I32, hn::ConvertTo(F32(), a));
LIMPID_UNARY(MaskToF32, U32, hn::And(a, hn::BitCast(U32(), set(1.0f))));

#undef LIMPID_UNARY
#undef LIMPID_FUNCTION
#undef LIMPID_BINARY

struct Select {
  using In = U32;
  static constexpr int kArity = 3;
  static HWY_INLINE VU apply(VU mask, VU yes, VU no) {
    return hn::Or(hn::And(mask, yes), hn::AndNot(mask, no));
  }
};

struct Power {
  using In = F32;
  static constexpr int kArity = 2;
  static constexpr std::size_t kTogether = 2;
  template <std::size_t kCount>
  static HWY_INLINE auto apply(Many<kCount> a, Many<kCount> b) {
    return raise(a, b);
  }
  static HWY_INLINE V apply(V a, V b) { return raise(Many<1>(a), Many<1>(b)).v[0]; }
};

struct GeluGradient {
  using In = F32;
  static constexpr int kArity = 2;
  static constexpr std::size_t kTogether = 2;
  template <std::size_t kCount>
  static HWY_INLINE auto apply(Many<kCount> x, Many<kCount> g) {
    return gelu_gradient(x, g);
  }
  static HWY_INLINE V apply(V x, V g) { return gelu_gradient(Many<1>(x), Many<1>(g)).v[0]; }
};

template <class F, class Load>
HWY_INLINE auto apply_to(Load load_operand, const void* a, const void* b, const void* c) {
  if constexpr (F::kArity == 1) return F::apply(load_operand(a));
  if constexpr (F::kArity == 2) return F::apply(load_operand(a), load_operand(b));
  if constexpr (F::kArity == 3) return F::apply(load_operand(a), load_operand(b), load_operand(c));
}

template <class F>
void element(void* out, const void* a, const void* b, const void* c, std::size_t n) {
  const typename F::In d;
  char* const to = static_cast<char*>(out);
  const Results results(out, n);
  const auto part = [&](std::size_t first, std::size_t lanes) HWY_ATTR {
    const auto y = apply_to<F>(
        [&](const void* p)
            HWY_ATTR { return load_n(d, static_cast<const char*>(p) + 4 * first, lanes); },
        a, b, c);
    store_n(y, hn::DFromV<decltype(y)>(), to + 4 * first, lanes);
  };
  std::size_t i = results.lanes_before(out, n);
  if (i > 0) part(0, i);
  if constexpr (requires { F::kTogether; }) {
    constexpr std::size_t kStep = F::kTogether * kLanes;
    for (; i + kStep <= n; i += kStep) {
      const auto y = apply_to<F>(
          [&](const void* p) HWY_ATTR {
            Many<F::kTogether> x;
            LIMPID_UNROLL
            for (std::size_t v = 0; v < F::kTogether; ++v)
              x.v[v] = load(d, static_cast<const char*>(p) + 4 * (i + v * kLanes));
            return x;
          },
          a, b, c);
      LIMPID_UNROLL
      for (std::size_t v = 0; v < F::kTogether; ++v)
        results.put(y.v[v], d, to + 4 * (i + v * kLanes));
    }
  }
  for (; i + kLanes <= n; i += kLanes) {
    const auto y = apply_to<F>(
        [&](const void* p) HWY_ATTR { return load(d, static_cast<const char*>(p) + 4 * i); }, a, b,
        c);
    results.put(y, hn::DFromV<decltype(y)>(), to + 4 * i);
  }
  if (i < n) part(i, n - i);
}

void bool_to_mask(const std::uint8_t* in, std::size_t n, std::uint32_t* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = 0u - static_cast<std::uint32_t>(in[i] != 0);
}
void mask_to_bool(const std::uint32_t* in, std::size_t n, std::uint8_t* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(in[i] & 1u);
}

void fill_element(Kernels& table) {
  const auto set_element = [&](Element e, ElementFn f) {
    table.element[static_cast<std::size_t>(e)] = f;
  };
  set_element(Element::kNegate, element<Negate>);
  set_element(Element::kAbs, element<Absolute>);
  set_element(Element::kExp, element<Exp>);
  set_element(Element::kLog, element<Log>);
  set_element(Element::kTanh, element<Tanh>);
  set_element(Element::kErf, element<Erf>);
  set_element(Element::kSqrt, element<Sqrt>);
  set_element(Element::kRelu, element<Relu>);
  set_element(Element::kSigmoid, element<Sigmoid>);
  set_element(Element::kNdtr, element<Ndtr>);
  set_element(Element::kGelu, element<Gelu>);
  set_element(Element::kGeluTanh, element<GeluTanh>);
  set_element(Element::kSilu, element<Silu>);
  set_element(Element::kLog1p, element<Log1p>);
  set_element(Element::kExpm1, element<Expm1>);
  set_element(Element::kSin, element<Sin>);
  set_element(Element::kCos, element<Cos>);
  set_element(Element::kRsqrt, element<Rsqrt>);
  set_element(Element::kFloor, element<Floor>);
  set_element(Element::kCeil, element<Ceil>);
  set_element(Element::kRound, element<Round>);
  set_element(Element::kTruncate, element<Truncate>);
  set_element(Element::kSign, element<Sign>);
  set_element(Element::kAdd, element<Add>);
  set_element(Element::kSubtract, element<Subtract>);
  set_element(Element::kMultiply, element<Multiply>);
  set_element(Element::kDivide, element<Divide>);
  set_element(Element::kMaximum, element<Maximum>);
  set_element(Element::kMinimum, element<Minimum>);
  set_element(Element::kPower, element<Power>);
  set_element(Element::kGeluGradient, element<GeluGradient>);
  set_element(Element::kEqual, element<Equal>);
  set_element(Element::kNotEqual, element<NotEqual>);
  set_element(Element::kLess, element<Less>);
  set_element(Element::kLessEqual, element<LessEqual>);
  set_element(Element::kEqualI32, element<EqualI32>);
  set_element(Element::kNotEqualI32, element<NotEqualI32>);
  set_element(Element::kLessI32, element<LessI32>);
  set_element(Element::kLessEqualI32, element<LessEqualI32>);
  set_element(Element::kNegateI32, element<NegateI32>);
  set_element(Element::kAbsI32, element<AbsI32>);
  set_element(Element::kAddI32, element<AddI32>);
  set_element(Element::kSubtractI32, element<SubtractI32>);
  set_element(Element::kMultiplyI32, element<MultiplyI32>);
  set_element(Element::kMaximumI32, element<MaximumI32>);
  set_element(Element::kMinimumI32, element<MinimumI32>);
  set_element(Element::kShiftRightI32, element<ShiftRightI32>);
  set_element(Element::kI32ToF32, element<I32ToF32>);
  set_element(Element::kMaskToF32, element<MaskToF32>);
  set_element(Element::kSelect, element<Select>);
  table.bool_to_mask = bool_to_mask;
  table.mask_to_bool = mask_to_bool;
}

}  // namespace limpid::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limpid::kernels {

void fill_element(Kernels& table) { LIMPID_RETURN_FOR_ISA(table.isa, fill_element(table)) }

}  // namespace limpid::kernels
#endif
