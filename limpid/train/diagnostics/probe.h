// Statistics of one training step, for diagnosis: of parameters, gradients, updates and
// activations. Depends on transforms, compile and events.h.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/train/log/events.h"

namespace limpid::train {

// The statistics as a Function.
struct ProbeFunction {
  // Inputs: those of the loss, then "next.<parameter>" for each parameter, its value after the
  // step. Outputs: f64 scalars, in the order of `layers`.
  Function function;
  // One layer for each scope with parameters, matrix products, norms, activations, residual sums or
  // attention, in the order of the loss. The input of the first layer is observed as "input". The
  // numbers in it are not set.
  std::vector<LayerStatistics> layers;
};

// `loss` is the training loss of a problem: its first `parameters` inputs are the parameters, its
// first output is the scalar to differentiate. Throws what value_and_grad throws.
ProbeFunction probe_function(const Function& loss, std::size_t parameters);

// The compiled ProbeFunction with its workspace. It only reads the inputs and results of a step.
class Probe {
 public:
  Probe(const Function& loss, std::size_t parameters, ThreadPool* pool = nullptr);

  // `inputs`, row-major: those of the loss (the parameters before the step, then the batch and key
  // of the step), then the parameters after the step.
  std::vector<LayerStatistics> operator()(std::span<const void* const> inputs);

 private:
  Probe(ProbeFunction probe, ThreadPool* pool);

  std::vector<LayerStatistics> layers_;
  Workspace workspace_;
  std::vector<double> numbers_;
};

}  // namespace limpid::train
