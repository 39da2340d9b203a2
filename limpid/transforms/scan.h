// scan: a loop over time as one op whose body is a Function (JAX: jax.lax.scan).
//
//   const auto [last, all] = scan([&](Value h, Value x) {
//     const Value next = tanh(linear(x, p["weight"]) + linear(h, p["hidden"]));
//     return std::tuple{next, next};
//   }, h0, xs);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "limpid/function/call.h"

namespace limpid {

namespace op {
// Inputs: the carry, then what each step takes a part of, then what all steps share: those of
// `body`, in this order. Results: the carry after the last step, then the other results of all
// steps.
extern const Op scan;
}  // namespace op

// Options of scan().
struct ScanOptions {
  // The number of steps; needed only if there is nothing to take parts of.
  std::optional<std::int64_t> length = {};
  // From the last step to the first. The results of step t are at t all the same.
  bool reverse = false;
  // The gradient computes each step again, from its carry, instead of keeping what it reads of the
  // step (gradient checkpointing). The bits stay the same. In a loop of loops of sqrt(T) steps
  // each, the outer one with this, the gradient of T steps keeps of the order of sqrt(T) values.
  bool recompute = false;
};

// The results of scan() on Functions: the carry after the last step, and for each other output of
// the body the results of all steps, [length, ...].
struct Scanned {
  std::vector<Value> carry;
  std::vector<Value> stacked;
};

// Runs the body for t = 0, 1, ..., length - 1. Its inputs are the carry, element t of each of `xs`
// along the first dimension, and `shared`; its outputs the next carry, then what step t gives. The
// order of the steps defines the bits. Throws kShape or kDtype, naming the types, if the carry has
// other types after a step than at its start, or if xs differ in their first dimension;
// kInvalidArgument if there is no length, or no Value at all.
//
// The gradient is a scan in the reverse order: the cotangent of what all steps share is added up in
// the carry, from +0, one summand a step. It needs what the body's gradient reads of each step,
// which the forward scan then keeps, stacked.
Scanned scan(const Function& body, std::span<const Value> carry, std::span<const Value> xs,
             std::span<const Value> shared = {}, const ScanOptions& options = {});

namespace detail {

// The number of steps: the first dimension of all xs, or the option.
std::int64_t steps_of(std::span<const Value> xs, const ScanOptions& options);
// The types of the arguments of a step: the carry, and an element of each of xs.
std::vector<Type> step_types(std::span<const Value> carry, std::span<const Value> xs);

}  // namespace detail

// The same for code that takes a carry and a part of xs, each a Value, Args or std::tuple of these,
// and returns std::tuple{next carry, y}. Returns std::tuple{last carry, ys}. An empty std::tuple
// stands for nothing. Values that the code captures are shared by all steps.
template <class Code, ValueGroup Carry, ValueGroup Xs>
auto scan(const Code& code, const Carry& init, const Xs& xs, const ScanOptions& options = {}) {
  const std::vector<Value> carry = leaves_of(init), scanned = leaves_of(xs);
  const std::int64_t length = detail::steps_of(scanned, options);
  const auto traced = detail::trace_inside(code, detail::step_types(carry, scanned), init, xs);
  const Scanned all = scan(traced.function, carry, scanned, traced.captured,
                           {length, options.reverse, options.recompute});
  std::size_t next_carry = 0, next_y = 0;
  auto last = with_leaves(std::get<0>(traced.result), all.carry, next_carry);
  auto ys = with_leaves(std::get<1>(traced.result), all.stacked, next_y);
  return std::tuple{std::move(last), std::move(ys)};
}

}  // namespace limpid
