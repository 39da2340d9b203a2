// Statistics of one training step, for diagnosis: of parameters, gradients, updates and of what
// goes through the layers. Leans on transforms, compile and events.h.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "limpid/compile/executable.h"
#include "limpid/train/events.h"

namespace limpid::train {

// What to observe, as a Function.
struct ProbeFunction {
  // Inputs: those of the loss, then "next.<parameter>" for each parameter, what the step made of
  // it. Outputs: f64 scalars, in the order in which `layers` names them.
  Function function;
  // A layer for each scope that has parameters, products, norms, activations, sums of a residual
  // stream or attention, in the order of the loss; what the first of them is given is observed as
  // "input". The numbers are yet to come.
  std::vector<LayerStatistics> layers;
};

// `loss` is a problem's training loss, whose first `parameters` inputs are its parameters and whose
// first output is the scalar to differentiate. Throws what value_and_grad throws.
ProbeFunction probe_function(const Function& loss, std::size_t parameters);

// The same, compiled, with its memory. It reads what a step has read and written and changes
// nothing of it.
class Probe {
 public:
  Probe(const Function& loss, std::size_t parameters, ThreadPool* pool = nullptr);

  // `inputs`, row-major: the loss's (parameters as they were before the step, then batch and key as
  // the step saw them), then the parameters after the step.
  std::vector<LayerStatistics> operator()(std::span<const void* const> inputs);

 private:
  Probe(ProbeFunction probe, ThreadPool* pool);

  std::vector<LayerStatistics> layers_;
  Workspace workspace_;
  std::vector<double> numbers_;
};

}  // namespace limpid::train
