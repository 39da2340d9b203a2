// Rosenblatt's perceptron: one neuron with a step activation, and its learning rule. The rule needs
// no gradient: the step function has none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/value.h"

namespace limpid::nn {

// One neuron whose output is 0 or 1.
struct Perceptron {
  std::int64_t inputs = 0;

  // "weight" (1, inputs) and "bias" (1), zeros.
  Params init() const;

  // step(weight x + bias): x (..., inputs) to (...).
  Value operator()(const Args& params, Value x) const;

  // The parameters after learning one example (x (inputs), target 0 or 1): weight + rate (target -
  // output) x and bias + rate (target - output) (Rosenblatt 1958).
  Args learn(const Args& params, Value x, Value target, double rate = 1) const;
};

// The history of train_perceptron().
struct PerceptronRun {
  std::vector<Params> params;  // after every epoch
  std::vector<std::int64_t>
      mistakes;  // wrong outputs in each epoch, counted before each correction
};

// Learns the examples x f32 (n, inputs) with targets f32 (n), 0 or 1, in order, until an epoch has
// no mistake, for at most `epochs` epochs. `between`, if any, is called between examples; what it
// throws ends the call. Throws kShape.
PerceptronRun train_perceptron(const Perceptron& perceptron, const Tensor& x, const Tensor& targets,
                               std::int64_t epochs, double rate = 1,
                               const std::function<void()>& between = {});

// The first epoch (from 0) with mistakes that ends with the same parameters as an earlier epoch:
// from there on the learning repeats itself for ever.
struct Return {
  std::size_t epoch, earlier;
};
std::optional<Return> first_return(const PerceptronRun& run);

}  // namespace limpid::nn
