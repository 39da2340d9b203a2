// cond and while_loop: a choice, and a loop of as many steps as it takes, each as one op that holds
// Functions (JAX: jax.lax.cond and jax.lax.while_loop).
//
//   const Value y = cond(is_large, [&] { return x * 2; }, [&] { return negate(x); });
//   const Value root = while_loop([&](Value r) { return tolerance < abs(r * r - x); },
//                                 [&](Value r) { return 0.5 * (r + x / r); }, x);
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "limpid/function/call.h"

namespace limpid {

namespace op {
// Inputs: a bool, then those of both Functions. Results: those of `yes` if it is true, of `no` if
// not.
extern const Op cond;
// Inputs: the carry, then what all steps share: those of `body` and of `condition`. Results: the
// carry, after steps of `body` while `condition` holds, at most `limit` steps.
extern const Op while_loop;
}  // namespace op

// Only one of the Functions runs. Both take the operands, and give the same types; throws kShape or
// kDtype if not, kDtype if `predicate` is no bool, kShape if it is no scalar. A batch of predicates
// computes both. The gradient computes the Function that was chosen once more.
std::vector<Value> cond(Value predicate, const Function& yes, const Function& no,
                        std::span<const Value> operands);

// Options of while_loop().
struct WhileOptions {
  // The most steps. The gradient takes as many, and memory for each: it needs a limit.
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
};

// Steps of `body`, from the carry to the next one, while `condition`, a bool of the carry, is true.
// Both also take `shared`. Throws kShape or kDtype if the carry has other types after a step than
// before, or if the condition is no scalar bool. In a batch, each example takes its own number of
// steps.
std::vector<Value> while_loop(const Function& condition, const Function& body,
                              std::span<const Value> carry, std::span<const Value> shared = {},
                              const WhileOptions& options = {});

namespace detail {

// The result of a choice between two Functions that take what they captured alone.
std::vector<Value> cond_of(Value predicate, const Function& yes, std::span<const Value> of_yes,
                           const Function& no, std::span<const Value> of_no);
// A loop whose condition and body captured what they share.
std::vector<Value> while_of(const Function& condition, std::span<const Value> of_condition,
                            const Function& body, std::span<const Value> of_body,
                            std::span<const Value> carry, const WhileOptions& options);

}  // namespace detail

// The same for code without arguments, which captures what it needs. Both branches return the same
// Values, Args or tuples of these.
template <class Yes, class No>
auto cond(Value predicate, const Yes& yes, const No& no) {
  const auto traced = [&](const auto& code) {
    Builder builder("code", predicate.builder());
    return detail::trace_code(builder, code, {});
  };
  const auto a = traced(yes);
  const auto b = traced(no);
  const std::vector<Value> results =
      detail::cond_of(predicate, a.function, a.captured, b.function, b.captured);
  std::size_t next = 0;
  return with_leaves(a.result, results, next);
}

// The same for code that takes and returns a carry, a Value, Args or std::tuple of these, and for a
// condition on it.
template <class Condition, class Body, ValueGroup Carry>
auto while_loop(const Condition& condition, const Body& body, const Carry& init,
                const WhileOptions& options = {}) {
  const std::vector<Value> carry = leaves_of(init);
  const std::vector<Type> types = detail::types_of(carry);
  const auto test = detail::trace_inside(condition, types, init);
  const auto step = detail::trace_inside(body, types, init);
  const std::vector<Value> results =
      detail::while_of(test.function, test.captured, step.function, step.captured, carry, options);
  std::size_t next = 0;
  return with_leaves(step.result, results, next);
}

}  // namespace limpid
