#include "limpid/ops/update.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/detail/families.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

constexpr AttributeSpec kAdamAttributes[] = {{"beta1", AttributeKind::kReal},
                                             {"beta2", AttributeKind::kReal},
                                             {"eps", AttributeKind::kReal}};

std::vector<Type> adam_types(const Call& call) {
  require_floating(call, 0);
  require_same_types({call.op, call.inputs.first(4), {}, call.attributes, call.scope});
  for (std::size_t i = 4; i < call.inputs.size(); ++i) {
    require_dtype(call, i, call.inputs[0].dtype);
    if (call.inputs[i].shape.rank() != 0)
      throw Error(ErrorCode::kShape, fmt::format("{}: input {} is {}, expected a scalar",
                                                 where(call), i, to_string(call.inputs[i])));
  }
  return {3, call.inputs[0]};
}

Values adam_body(std::span<const Value> in, const Attributes& attributes) {
  const double beta1 = attributes.get<double>("beta1");
  const double beta2 = attributes.get<double>("beta2");
  const Value &scale = in[4], &decay = in[5], &step_size = in[6], &root = in[7];
  const Value g = in[1] * scale;
  const Value mean = in[2] * beta1 + g * (1 - beta1);
  const Value square = in[3] * beta2 + g * g * (1 - beta2);
  const Value size = sqrt(square) / root + attributes.get<double>("eps");
  return {in[0] * decay - step_size * (mean / size), mean, square};
}

// Squares are positive, and so is the root.
std::vector<Example> adam_examples() {
  const Attributes numbers{{"beta1", 0.75}, {"beta2", 0.9}, {"eps", 1e-3}};
  std::vector<Example> examples;
  for (const Type& t : {Type{Dtype::kF32, {3, 37}}, Type{Dtype::kF64, {5}}, Type{Dtype::kF32, {}}})
    examples.push_back({{t, t, t, t, {t.dtype, {}}, {t.dtype, {}}, {t.dtype, {}}, {t.dtype, {}}},
                        numbers,
                        0.5,
                        2});
  return examples;
}

}  // namespace

namespace op {

constinit const Op adam_update = complete(
    {.name = "adam_update",
     .formula = "p decay - step_size m' / (sqrt(v') / root + eps), m' = beta1 m + (1 - beta1) g, "
                "v' = beta2 v + (1 - beta2) g^2, g = gradient scale",
     .shapes = "p, gradient, m, v[...] each, scale[], decay[], step_size[], root[] -> p', m', "
               "v'[...] each",
     .min_inputs = 8,
     .max_inputs = 8,
     .attributes = kAdamAttributes,
     .types = adam_types,
     .body = adam_body,
     .gradient = gradient_through_body(),
     .batching = batching_through_body(),
     .flops = flops_of_body,
     .onnx = {},
     .source = "Kingma and Ba, Adam (2015), algorithm 1; Loshchilov and Hutter, Decoupled Weight "
               "Decay Regularization (2019), algorithm 2",
     .examples = adam_examples});

}  // namespace op

constexpr const Op* kUpdateOps[] = {&op::adam_update};
constexpr OpList update_ops = kUpdateOps;

AdamUpdated adam_update(Value parameter, Value gradient, Value mean, Value square,
                        const AdamScalars& scalars, const AdamNumbers& numbers) {
  const Value in[] = {parameter,     gradient,          mean,        square, scalars.gradient_scale,
                      scalars.decay, scalars.step_size, scalars.root};
  const Values out =
      call(op::adam_update, in,
           {{"beta1", numbers.beta1}, {"beta2", numbers.beta2}, {"eps", numbers.eps}});
  return {out[0], out[1], out[2]};
}

}  // namespace limpid
