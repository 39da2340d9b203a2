// Rosenblatt's perceptron: one neuron with a step, and the rule by which it learns. Leans on no
// gradient; a step has none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/value.h"

namespace limpid::nn {

// One neuron that answers 0 or 1.
struct Perceptron {
  std::int64_t inputs = 0;

  // "weight" (1, inputs) and "bias" (1), zeros.
  Params init() const;

  // step(weight x + bias): x (..., inputs) to (...).
  Value operator()(const Args& params, Value x) const;

  // The parameters after one example (x (inputs), target 0 or 1): weight + rate (target - answer) x
  // and bias + rate (target - answer) (Rosenblatt 1958).
  Args learn(const Args& params, Value x, Value target, double rate = 1) const;
};

// How its learning went.
struct PerceptronRun {
  std::vector<Params> params;  // after every epoch
  std::vector<std::int64_t>
      mistakes;  // wrong answers of every epoch, each just before its correction
};

// Goes through the examples x (n, inputs), targets (n) of 0 and 1, in order, until an epoch passes
// without a mistake, but at most `epochs` times.
PerceptronRun train_perceptron(const Perceptron& perceptron, const Tensor& x, const Tensor& targets,
                               std::int64_t epochs, double rate = 1);

// The first epoch with a mistake behind which the parameters are those behind an earlier one,
// counted from 0: what lies between then goes on for ever.
struct Return {
  std::size_t epoch, earlier;
};
std::optional<Return> first_return(const PerceptronRun& run);

}  // namespace limpid::nn
