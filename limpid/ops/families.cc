// The shared rules, loops and examples of detail/families.h.
#include "limpid/ops/detail/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"

namespace limpid {

void throw_dtype(const Call& call, std::size_t input, std::string_view wanted) {
  throw Error(ErrorCode::kDtype, fmt::format("{}: input {} is {}, expected {}", where(call), input,
                                             to_string(call.inputs[input]), wanted));
}

bool is_integer(Dtype d) {
  return d == Dtype::kI8 || d == Dtype::kU8 || d == Dtype::kI32 || d == Dtype::kI64;
}
bool is_computed_with(Dtype dtype) { return dtype == Dtype::kF32 || dtype == Dtype::kF64; }

void require_floating(const Call& call, std::size_t input) {
  if (!is_computed_with(call.inputs[input].dtype)) throw_dtype(call, input, "f32 or f64");
}

namespace {

bool is_numeric(Dtype d) {
  return d == Dtype::kF32 || d == Dtype::kF64 || d == Dtype::kI32 || d == Dtype::kI64;
}

}  // namespace

void require_numeric(const Call& call, std::size_t input) {
  if (!is_numeric(call.inputs[input].dtype)) throw_dtype(call, input, "f32, f64, i32 or i64");
}

void require_dtype(const Call& call, std::size_t input, Dtype dtype) {
  if (call.inputs[input].dtype != dtype) throw_dtype(call, input, name(dtype));
}

void require_i32_indices(const Call& call, std::int64_t size) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (size > kMost)
    throw Error(ErrorCode::kShape,
                fmt::format("{}: an axis of {} has {} elements, at most {} have "
                            "an index of i32",
                            where(call), to_string(call.inputs[0]), size, kMost));
}

void require_same_types(const Call& call, std::size_t first) {
  for (std::size_t i = first + 1; i < call.inputs.size(); ++i)
    if (!(call.inputs[i] == call.inputs[first]))
      throw Error(
          call.inputs[i].dtype == call.inputs[first].dtype ? ErrorCode::kShape : ErrorCode::kDtype,
          fmt::format("{}: inputs must have one type, got {} and {}", where(call),
                      to_string(call.inputs[first]), to_string(call.inputs[i])));
}

std::vector<Type> floating_elementwise(const Call& call) {
  require_floating(call, 0);
  require_same_types(call);
  return {call.inputs[0]};
}

std::vector<Type> numeric_elementwise(const Call& call) {
  const Dtype d = call.inputs[0].dtype;
  if (d != Dtype::kI8 && d != Dtype::kU8 && !is_numeric(d))
    throw_dtype(call, 0, "f32, f64, i32, i64, i8 or u8");
  require_same_types(call);
  return {call.inputs[0]};
}

std::vector<Type> floating_comparison(const Call& call) {
  return {{Dtype::kBool, floating_elementwise(call)[0].shape}};
}

std::vector<Type> numeric_comparison(const Call& call) {
  return {{Dtype::kBool, numeric_elementwise(call)[0].shape}};
}

std::vector<Type> boolean_elementwise(const Call& call) {
  require_dtype(call, 0, Dtype::kBool);
  require_same_types(call);
  return {call.inputs[0]};
}

std::vector<Type> labelled_types(const Call& call) {
  require_floating(call, 0);
  require_dtype(call, 1, Dtype::kI32);
  const Shape& logits = call.inputs[0].shape;
  const Shape& labels = call.inputs[1].shape;
  if (logits.rank() == 0 || !(logits.erase(logits.rank() - 1) == labels))
    throw Error(ErrorCode::kShape,
                fmt::format("{}: logits are {}, labels {}; expected logits of the labels' shape "
                            "and one dimension of classes",
                            where(call), to_string(call.inputs[0]), to_string(call.inputs[1])));
  return {{call.inputs[0].dtype, labels}};
}

const Node* made_by(const Value& v, const Op& op) {
  const Node* node = v.builder().maker(v.id());
  return node && node->op == &op ? node : nullptr;
}

namespace {

template <class T>
bool all_are(const Tensor& tensor, T number) {
  const auto values = tensor.values<T>();
  return std::all_of(values.begin(), values.end(),
                     [&](T v) { return std::memcmp(&v, &number, sizeof v) == 0; });
}

// Converted to the dtype; an infinity cannot become an integer.
bool all_are(const Tensor& tensor, double number) {
  switch (tensor.dtype()) {
    case Dtype::kF32:
      return all_are<float>(tensor, static_cast<float>(number));
    case Dtype::kF64:
      return all_are<double>(tensor, number);
    case Dtype::kI32:
      return std::isfinite(number) && all_are(tensor, static_cast<std::int32_t>(number));
    case Dtype::kI64:
      return std::isfinite(number) && all_are(tensor, static_cast<std::int64_t>(number));
    case Dtype::kBool:
      return all_are<bool>(tensor, number != 0);
    default:
      return false;
  }
}

bool moves_elements(const Op& op) {
  return op.role == Role::kRepeat || op.role == Role::kRearrange;
}

}  // namespace

bool every_element_is(const Value& v, double number) {
  const Node* node = v.builder().maker(v.id());
  // At most a few steps, so that a long chain is not walked again for every use.
  for (int steps = 0; steps < 8 && node && moves_elements(*node->op); ++steps)
    node = v.builder().maker(node->inputs[0]);
  return node && node->op == &op::constant &&
         all_are(node->attributes.get<Tensor>("value"), number);
}

Value batched_input(const BatchingCall& call, std::size_t input) {
  const Value& v = call.inputs[input];
  if (call.batched[input]) return v;
  return broadcast(v, v.shape().insert(0, call.size));
}

std::vector<Value> batch_elementwise(const Op& op, const BatchingCall& call) {
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) inputs.push_back(batched_input(call, i));
  return limpid::call(op, inputs, call.attributes);
}

std::int64_t flops_one_an_element(const Call& call) { return call.outputs[0].shape.elements(); }
std::int64_t no_flops(const Call&) { return 0; }

std::int64_t flops_of_body(const Call& call) {
  const Function body = body_of(call);
  std::int64_t total = 0;
  for (const Node& node : body.nodes()) {
    const Function::CallTypes types = body.call_types(node);
    total = sum_or_most(total, node.op->flops({*node.op, types.inputs, types.outputs,
                                               node.attributes, node.scope}));
  }
  return total;
}

namespace {

std::vector<Example> floating_examples(std::size_t inputs, double low, double high) {
  std::vector<Example> examples;
  for (Dtype d : {Dtype::kF32, Dtype::kF64})
    for (const Shape& s : {Shape{}, Shape{7}, Shape{3, 5}})
      examples.push_back({std::vector<Type>(inputs, Type{d, s}), {}, low, high});
  return examples;
}

std::vector<Example> with_integers(std::vector<Example> examples) {
  const std::size_t inputs = examples[0].inputs.size();
  for (Dtype d : {Dtype::kI32, Dtype::kI64, Dtype::kI8, Dtype::kU8})
    examples.push_back({std::vector<Type>(inputs, Type{d, {2, 7}}), {}, -2, 2, 200});
  return examples;
}

}  // namespace

std::vector<Example> unary_examples() { return floating_examples(1, -2, 2); }
std::vector<Example> positive_examples() { return floating_examples(1, 0.1, 4); }
std::vector<Example> binary_examples() { return floating_examples(2, -2, 2); }
std::vector<Example> divisor_examples() { return floating_examples(2, 0.5, 2); }

std::vector<Example> numeric_unary_examples() { return with_integers(unary_examples()); }
std::vector<Example> numeric_examples() { return with_integers(binary_examples()); }
std::vector<Example> numeric_divisor_examples() { return with_integers(divisor_examples()); }

}  // namespace limpid
