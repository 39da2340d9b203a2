// Shared by the ops of a family: type rules, reference loops, batching and examples. A record then
// states only what is specific to its op.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "limpid/function/builder.h"
#include "limpid/function/op.h"
#include "limpid/ops/arithmetic.h"

namespace limpid {

// Short names for the members of GradientCall that gradient rules read.
inline Value g(const GradientCall& c) { return c.cotangents[0]; }
inline Value x(const GradientCall& c) { return c.inputs[0]; }
inline Value in(const GradientCall& c, std::size_t i) { return c.inputs[i]; }
inline Value out(const GradientCall& c) { return c.outputs[0]; }

// Op::shapes of an op with Op::elementwise.
inline constexpr std::string_view kElementwiseShapes = "[...] each -> [...]";

// An incomplete record does not compile. Records are constinit, not constexpr: GCC 13 and 14 do not
// instantiate a template that is named only in the initialiser of a constexpr variable and has that
// variable as its argument, such as batch_elementwise<op>.
consteval Op complete(Op op) {
  if (!is_complete(op)) throw "an op record is incomplete";
  if (op.elementwise != (op.shapes == kElementwiseShapes))
    throw "Op::elementwise and its shapes differ";
  return op;
}

// The records of each file, in the order of all_ops().
using OpList = std::span<const Op* const>;
extern const OpList constant_ops, arithmetic_ops, elementary_ops, trigonometric_ops, comparison_ops,
    shape_ops, indexing_ops, scatter_ops, barrier_ops, reduce_ops, sort_ops, cumulative_ops,
    pool_ops, matmul_ops, conv_ops, quantized_ops, random_ops, activation_ops, norm_ops,
    softmax_ops, attention_ops, rotary_ops, cache_ops, loss_ops, update_ops, loop_ops, linalg_ops;

// Attributes used in several files.
inline constexpr std::span<const AttributeSpec> kNoAttributes{};
inline constexpr AttributeSpec kAxisAttribute[] = {{"axis", AttributeKind::kInteger}};
inline constexpr AttributeSpec kBatchAttribute[] = {{"batch", AttributeKind::kInteger}};
inline constexpr AttributeSpec kBetaAttribute[] = {{"beta", AttributeKind::kReal}};
inline constexpr AttributeSpec kShapeAttribute[] = {{"shape", AttributeKind::kIntegers}};

// Op::smooth: whether the derivative is continuous.
inline constexpr bool kSmooth = true;
inline constexpr bool kKinked = false;

inline constexpr std::string_view kExact = "exact";
inline constexpr std::string_view kRounded = "correctly rounded";
// The error depends on the order of summation.
inline constexpr std::string_view kSummed = "as summed: docs/arithmetic.md";

// Whether the dtype is f32 or f64: the 16-bit formats are for storage only.
bool is_computed_with(Dtype dtype);
bool is_integer(Dtype dtype);
// f of a value that it adds up: of bf16 and f16 in f32, then rounded once.
template <class F>
Value added_up(const Value& x, const F& f) {
  const Dtype dtype = x.dtype();
  if (dtype != Dtype::kBf16 && dtype != Dtype::kF16) return f(x);
  return cast(f(cast(x, Dtype::kF32)), dtype);
}
// Calls f with a value of the C++ type of a floating dtype (f32, f64); throws kDtype for others.
[[noreturn]] void throw_dtype(const Call& call, std::size_t input, std::string_view wanted);
template <class F>
void dispatch_floating(Dtype dtype, const F& f) {
  if (dtype == Dtype::kF32)
    f(float{});
  else
    f(double{});
}
// For f32, f64, i32, i64.
template <class F>
void dispatch_numeric(Dtype dtype, const F& f) {
  if (dtype == Dtype::kI32)
    f(std::int32_t{});
  else if (dtype == Dtype::kI64)
    f(std::int64_t{});
  else
    dispatch_floating(dtype, f);
}
// For f32, f64, i32, i64, i8 and u8.
template <class F>
void dispatch_arithmetic(Dtype dtype, const F& f) {
  if (dtype == Dtype::kI8)
    f(std::int8_t{});
  else if (dtype == Dtype::kU8)
    f(std::uint8_t{});
  else
    dispatch_numeric(dtype, f);
}
// For any dtype: f takes an unsigned integer of the element's size, for copying.
template <class F>
void dispatch_size(Dtype dtype, const F& f) {
  switch (size_of(dtype)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

// ---- type rules

void require_floating(const Call& call, std::size_t input);
void require_numeric(const Call& call, std::size_t input);
void require_dtype(const Call& call, std::size_t input, Dtype dtype);
// Indices along an axis are i32.
void require_i32_indices(const Call& call, std::int64_t size);
// All inputs from `first` on must have the same type.
void require_same_types(const Call& call, std::size_t first = 0);

std::vector<Type> floating_elementwise(const Call& call);  // all f32 or all f64 -> the same type
std::vector<Type> numeric_elementwise(const Call& call);   // i32, i64, i8 and u8 too
std::vector<Type> floating_comparison(const Call& call);   // f32 or f64 -> bool
std::vector<Type> numeric_comparison(const Call& call);    // i32, i64, i8 and u8 too
std::vector<Type> boolean_elementwise(const Call& call);   // bool -> bool
// f32 or f64 (..., classes) and i32 labels (...) -> f32 or f64 (...).
std::vector<Type> labelled_types(const Call& call);

// ---- reference loops: F is a struct with a templated operator() on elements

template <class F, class T>
void apply_to_all(const Call& call, const void* in, void* out) {
  const auto n = call.inputs[0].shape.elements();
  for (std::int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = F{}(static_cast<const T*>(in)[i]);
}
template <class F>
void reference_unary(const Call& call, std::span<const void* const> in,
                     std::span<void* const> out) {
  dispatch_floating(call.inputs[0].dtype,
                    [&](auto zero) { apply_to_all<F, decltype(zero)>(call, in[0], out[0]); });
}
template <class F>
void reference_numeric_unary(const Call& call, std::span<const void* const> in,
                             std::span<void* const> out) {
  dispatch_arithmetic(call.inputs[0].dtype,
                      [&](auto zero) { apply_to_all<F, decltype(zero)>(call, in[0], out[0]); });
}

// F returns the element type (arithmetic) or bool (comparison).
template <class F>
void reference_binary(const Call& call, std::span<const void* const> in,
                      std::span<void* const> out) {
  dispatch_arithmetic(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_invocable_v<F, T, T>) {
      using R = std::invoke_result_t<F, T, T>;
      const auto n = call.inputs[0].shape.elements();
      for (std::int64_t i = 0; i < n; ++i)
        static_cast<R*>(out[0])[i] =
            F{}(static_cast<const T*>(in[0])[i], static_cast<const T*>(in[1])[i]);
    }
  });
}

// ---- simplification

// Adds a simplification rule to a record.
consteval Op simplified(Op op, Simplification rule) {
  op.simplification = rule;
  return op;
}
// The node that computed the value if it is a call of `op`; else nullptr.
const Node* made_by(const Value& v, const Op& op);
// Whether all elements are known to have the bits of `number` in the value's dtype.
bool every_element_is(const Value& v, double number);
// Simplifies f(f(x)) to x.
template <const Op& op>
Value undo_twice(std::span<const Value> in, const Attributes&) {
  const Node* inner = made_by(in[0], op);
  return inner ? Value(&in[0].builder(), inner->inputs[0]) : Value();
}

// Simplifies a call to x if the shape does not change, for ops that only remove or add elements.
template <const Op& op>
Value unless_reshaped(std::span<const Value> in, const Attributes& attributes) {
  const Type type = in[0].type();
  return op.types({op, {&type, 1}, {}, attributes, {}})[0] == type ? in[0] : Value();
}

// ---- batching, gradients, FLOPs, examples

// Gives every input the batch dimension and calls the same op.
std::vector<Value> batch_elementwise(const Op& op, const BatchingCall& call);
// The same as a rule: `op` is a template argument, since rules cannot capture.
template <const Op& op>
std::vector<Value> batch_elementwise(const BatchingCall& call) {
  return batch_elementwise(op, call);
}
// The input with a leading batch dimension, which is added if missing.
Value batched_input(const BatchingCall& call, std::size_t input);

std::int64_t flops_one_an_element(const Call& call);
std::int64_t no_flops(const Call& call);
// The sum of the FLOPs of the body's ops.
std::int64_t flops_of_body(const Call& call);

std::vector<Example> unary_examples();     // [-2, 2]
std::vector<Example> positive_examples();  // [0.1, 4]
std::vector<Example> numeric_unary_examples();
std::vector<Example> binary_examples();   // [-2, 2], two inputs
std::vector<Example> numeric_examples();  // and integers
std::vector<Example> divisor_examples();  // [0.5, 2], two inputs
std::vector<Example> numeric_divisor_examples();

// ---- records

// The record of an element-wise function of one f32 or f64 tensor. F is the reference arithmetic.
template <const Op& op, class F>
consteval Op unary(std::string_view name, std::string_view formula, std::string_view accuracy,
                   GradientRule rule, kernels::Element element, Cpp cpp, Onnx onnx,
                   std::vector<Example> (*examples)() = unary_examples, bool smooth = true) {
  return complete({.name = name,
                   .formula = formula,
                   .shapes = kElementwiseShapes,
                   .elementwise = true,
                   .min_inputs = 1,
                   .max_inputs = 1,
                   .attributes = kNoAttributes,
                   .types = floating_elementwise,
                   .reference = reference_unary<F>,
                   .gradient = rule,
                   .smooth = smooth,
                   .batching = batching(batch_elementwise<op>),
                   .flops = flops_one_an_element,
                   .kernel = element_kernel(element),
                   .cpp = cpp,
                   .onnx = onnx,
                   .accuracy = accuracy,
                   .examples = examples});
}

}  // namespace limpid
