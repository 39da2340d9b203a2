// Steps of optimisers (ai.onnx.preview.training): the rate R, the number T of steps done, then all
// parameters X, all gradients G, and all of each state.
#include <fmt/format.h>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

constexpr std::string_view kTraining = "ai.onnx.preview.training";

// Calls update(x, g, states) for every parameter. It returns the new x and states, which are output
// grouped by kind, as the inputs are.
template <class Update>
Values for_each_parameter(const Node& node, std::size_t states, const Update& update) {
  const Values inputs = node.inputs(2);
  const std::size_t kinds = 2 + states, count = (inputs.size() - 2) / kinds;
  if ((inputs.size() - 2) % kinds != 0)
    node.fail(ErrorCode::kFormat, fmt::format("{} inputs after R and T, expected a multiple of {}",
                                              inputs.size() - 2, kinds));
  Values outputs((1 + states) * count);
  for (std::size_t i = 0; i < count; ++i) {
    Values of_parameter;
    for (std::size_t kind = 0; kind < kinds; ++kind)
      of_parameter.push_back(inputs[2 + kind * count + i]);
    const Values updated = update(of_parameter);
    for (std::size_t kind = 0; kind < updated.size(); ++kind)
      outputs[kind * count + i] = updated[kind];
  }
  return outputs;
}

// The number of steps and the rate as scalars of a parameter's dtype.
Value steps_as(const Node& node, const Value& x) {
  return cast(reshape(node.input(1), {}), x.dtype());
}
Value rate_as(const Node& node, const Value& x) {
  return cast(reshape(node.input(0), {}), x.dtype());
}

// The gradient plus that of the squared norm of the parameters.
Value regularized(const Node& node, const Value& x, const Value& g) {
  return x * node.real("norm_coefficient", 0) + g;
}

Values import_adagrad(Node& node) {
  const double decay = node.real("decay_factor", 0), epsilon = node.real("epsilon", 1e-6);
  return for_each_parameter(node, 1, [&](const Values& v) {
    const Value& x = v[0];
    const Value rate = rate_as(node, x) / (1.0 + steps_as(node, x) * decay);
    const Value g = regularized(node, x, v[1]);
    const Value squares = v[2] + g * g;
    return Values{x - rate * g / (sqrt(squares) + epsilon), squares};
  });
}

// Bias correction, except in the first step, number 0.
Values import_adam(Node& node) {
  const double alpha = node.real("alpha", 0.9), beta = node.real("beta", 0.999);
  const double epsilon = node.real("epsilon", 1e-6), post = node.real("norm_coefficient_post", 0);
  return for_each_parameter(node, 2, [&](const Values& v) {
    const Value& x = v[0];
    const Value g = regularized(node, x, v[1]);
    const Value mean = v[2] * alpha + g * (1 - alpha);
    const Value squares = v[3] * beta + g * g * (1 - beta);
    const Value rate = rate_as(node, x), steps = steps_as(node, x);
    const auto one_less_power = [&](double base) {
      return 1.0 - power(number_like(steps, base), steps);
    };
    const Value corrected = rate * sqrt(one_less_power(beta)) / one_less_power(alpha);
    const Value step = select(steps > number_like(steps, 0), corrected, rate);
    return Values{(x - step * mean / (sqrt(squares) + epsilon)) * (1 - post), mean, squares};
  });
}

// The first step, number 0, takes the whole gradient.
Values import_momentum(Node& node) {
  const double alpha = node.real("alpha"), beta = node.real("beta");
  const std::string mode = node.text("mode", "");
  if (mode != "standard" && mode != "nesterov")
    node.fail(ErrorCode::kFormat,
              fmt::format("expected the mode standard or nesterov, got '{}'", mode));
  return for_each_parameter(node, 1, [&](const Values& v) {
    const Value& x = v[0];
    const Value g = regularized(node, x, v[1]);
    const Value steps = steps_as(node, x);
    const Value share =
        select(steps > number_like(steps, 0), number_like(steps, beta), number_like(steps, 1));
    const Value velocity = v[2] * alpha + share * g;
    const Value direction = mode == "nesterov" ? g + velocity * alpha : velocity;
    return Values{x - rate_as(node, x) * direction, velocity};
  });
}

constexpr NodeOp kOptimizersOperators[] = {
    {.name = "Adagrad",
     .domain = kTraining,
     .meaning = "x - rate g / (sqrt(sum of g^2) + epsilon)",
     .import = import_adagrad},
    {.name = "Adam",
     .domain = kTraining,
     .meaning = "x - rate mean(g) / (sqrt(mean(g^2)) + epsilon)",
     .import = import_adam},
    {.name = "Momentum",
     .domain = kTraining,
     .meaning = "x - rate velocity, or Nesterov's",
     .import = import_momentum},
};

}  // namespace

constexpr std::span<const NodeOp> optimizer_operators = kOptimizersOperators;

}  // namespace limpid::onnx::detail
