// with_gradient: a user-defined composition with a custom gradient (JAX: custom_vjp). Its body
// defines its bits, as for any composition; grad, vmap and compile handle it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "limpid/function/builder.h"
#include "limpid/function/groups.h"

namespace limpid {

// A lambda that captures nothing, or a struct without members.
template <class T>
concept Stateless = std::is_empty_v<T> && std::default_initializable<T>;

namespace detail {

using CodeOnValues = std::function<std::vector<Value>(std::span<const Value>)>;

// The rules of the record, for any body and gradient. The attribute "vmaps" lists the vmaps around
// the call, from the outermost on: for each its size, the number of batched inputs, and their
// positions. The gradient takes the inputs, the outputs and the cotangents of all outputs.
inline constexpr AttributeSpec kVmapsAttribute[] = {{"vmaps", AttributeKind::kIntegers}};
std::vector<Type> composed_types(const Call& call);
std::vector<Value> composed_body(const CodeOnValues& body, std::span<const Value> inputs,
                                 const Attributes& attributes);
std::vector<Value> composed_gradient(const CodeOnValues& gradient, const GradientCall& call);
std::vector<Value> composed_batching(const Op& op, const BatchingCall& call);
std::int64_t composed_flops(const Call& call);
std::vector<Example> no_examples();

// Calls code with `count` Values.
template <class Code, std::size_t count>
std::vector<Value> call_on(std::span<const Value> values) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return leaves_of(Code{}(values[i]...));
  }
  (std::make_index_sequence<count>());
}

// The rules for one body and gradient, and the record with them.
template <class Body, class Gradient, std::size_t inputs>
struct Composed {
  static std::vector<Value> body(std::span<const Value> in, const Attributes& attributes) {
    return composed_body(call_on<Body, inputs>, in, attributes);
  }
  static std::vector<Value> gradient(const GradientCall& call) {
    return composed_gradient(call_on<Gradient, inputs + 2>, call);
  }
  static std::vector<Value> batching(const BatchingCall& call) {
    return composed_batching(op, call);
  }

  static constexpr Op op{.name = "with_gradient",
                         .formula = "defined by a program",
                         .shapes = "defined by a program",
                         .min_inputs = static_cast<int>(inputs),
                         .max_inputs = static_cast<int>(inputs),
                         .attributes = kVmapsAttribute,
                         .types = composed_types,
                         .body = body,
                         .gradient = limpid::gradient(gradient),
                         .batching = limpid::batching(batching),
                         .flops = composed_flops,
                         .onnx = {},
                         .examples = no_examples};
};

template <class Body, class Gradient>
struct WithGradient {
  template <std::convertible_to<Value>... Inputs>
  requires(sizeof...(Inputs) > 0) Value operator()(const Inputs&... inputs) const {
    static_assert(std::convertible_to<decltype(Body{}(Value(inputs)...)), Value>,
                  "the body gives one Value");
    constexpr const Op& op = Composed<Body, Gradient, sizeof...(Inputs)>::op;
    static_assert(is_complete(op));
    return call1(op, {inputs...}, {{"vmaps", std::vector<std::int64_t>{}}});
  }
};

}  // namespace detail

// body(x...) gives a Value, y; gradient(x..., y, cotangent of y) gives the cotangent of each x, a
// Value or a std::tuple of such; Value() is zero. Both must be stateless: pass what they need as
// arguments. A Function with such a call has no text form that can be read back, so it cannot be
// saved or exported; expand() replaces the call by its body first, and its gradient by the body's.
template <class Body, class Gradient>
auto with_gradient(Body, Gradient) {
  static_assert(Stateless<Body> && Stateless<Gradient>,
                "with_gradient: body and gradient must capture nothing; pass what they need as "
                "arguments");
  return detail::WithGradient<Body, Gradient>();
}

}  // namespace limpid
