#include "limpid/ops/barrier.h"

#include <cstring>

#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

std::vector<Type> barrier_types(const Call& call) {
  return {call.inputs.begin(), call.inputs.end()};
}

void barrier_reference(const Call& call, std::span<const void* const> in,
                       std::span<void* const> out) {
  for (std::size_t i = 0; i < in.size(); ++i)
    if (const std::size_t bytes = call.inputs[i].bytes(); bytes > 0)
      std::memcpy(out[i], in[i], bytes);
}

Values barrier_gradient(const GradientCall& c) {
  return {c.cotangents.begin(), c.cotangents.end()};
}

std::vector<Example> barrier_examples() {
  return {{{{Dtype::kF32, {3, 5}}}, {}},
          {{{Dtype::kF64, {7}}, {Dtype::kF64, {}}}, {}},
          {{{Dtype::kF32, {4}}, {Dtype::kI32, {2}}, {Dtype::kBool, {}}}, {}, -2, 2, 9}};
}

std::vector<Type> unchanged_type(const Call& call) { return {call.inputs[0]}; }
Values stopped_gradient(const GradientCall&) { return {Value()}; }
std::vector<Example> stop_gradient_examples() {
  return {{{{Dtype::kF32, {3, 5}}}, {}}, {{{Dtype::kF64, {7}}}, {}}, {{{Dtype::kI32, {2}}}, {}}};
}

// Each result is its operand.
ExampleResults each_its_operand(const ExampleCall& c) { return c.inner; }

}  // namespace

namespace op {

constinit const Op barrier = complete({.name = "barrier",
                                       .formula = "each x unchanged, separated from the ops before",
                                       .shapes = "[...], ... -> [...], ...",
                                       .min_inputs = 1,
                                       .max_inputs = 1 << 16,
                                       .attributes = kNoAttributes,
                                       .types = barrier_types,
                                       .reference = barrier_reference,
                                       .opaque = true,
                                       .gradient = gradient(barrier_gradient),
                                       .batching = batching(batch_elementwise<barrier>),
                                       .example_axis = each_its_operand,
                                       .flops = no_flops,
                                       .cpp = cpp_by_emit(),
                                       .onnx = {},
                                       .accuracy = kExact,
                                       .examples = barrier_examples});

constinit const Op stop_gradient = complete({.name = "stop_gradient",
                                             .formula = "x unchanged, a constant for derivatives",
                                             .shapes = kElementwiseShapes,
                                             .elementwise = true,
                                             .role = Role::kRearrange,
                                             .min_inputs = 1,
                                             .max_inputs = 1,
                                             .attributes = kNoAttributes,
                                             .types = unchanged_type,
                                             .reference = barrier_reference,
                                             .gradient = gradient(stopped_gradient),
                                             .batching = batching(batch_elementwise<stop_gradient>),
                                             .flops = no_flops,
                                             .cpp = cpp_by_emit(),
                                             .onnx = {},
                                             .accuracy = kExact,
                                             .examples = stop_gradient_examples});

}  // namespace op

constexpr const Op* kBarrierOps[] = {&op::barrier, &op::stop_gradient};
constexpr OpList barrier_ops = kBarrierOps;

std::vector<Value> barrier(std::span<const Value> values) { return call(op::barrier, values); }
Value barrier(Value value) { return call1(op::barrier, {value}); }
Value stop_gradient(Value x) { return call1(op::stop_gradient, {x}); }

}  // namespace limpid
