// Reverse-mode differentiation of Functions. The results are Functions, which can be differentiated
// again. For code on Values, see the same names in of_code.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/transforms/wrt.h"

namespace limpid {

// Maps the scope (layer) of an op to the name of its segment; "" for none.
using Segments = std::function<std::string(std::string_view scope)>;

// One segment for each of the scopes: "layers.3" contains the ops of "layers.3" and of the scopes
// below it.
Segments each_of(std::vector<std::string> scopes);
// Segments of this many consecutive layers of a list, by the first number in their scopes: with 2
// layers "h.0" and "h.1" are a segment, and "h.2" and "h.3" are. Requires layers >= 1.
Segments every(std::int64_t layers);

// Options of vjp(), value_and_grad() and grad().
struct GradOptions {
  // Activation recomputation (gradient checkpointing): the results of a segment's ops are not kept
  // for the backward pass, but computed again from the inputs of the segment. The bits stay the
  // same. A plan needs less memory, and runs the segments' ops up to once more. The memory is
  // smallest with segments of about sqrt(number of layers) layers each (Chen et al. 2016).
  Segments recompute;
};

// The vector-Jacobian product. Inputs: those of f, then a cotangent of each output, with its type,
// named "cotangent.0", ... ("cotangent." is repeated if the name is taken). Outputs: those of f,
// then the cotangent of each input in `wrt`, with its type, named "grad.<input>". It is zero if the
// outputs do not depend on the input, or only by values that are constant to gradients
// (stop_gradient). The cotangent of an output that is no floating-point number is not read. Throws
// kNotFound for an unknown input; kNoGradient, naming op and layer, if the outputs depend on an
// input only through ops without a derivative, of which one is a cast to integers or booleans;
// kDtype if an input in `wrt` is not f32 or f64.
Function vjp(const Function& f, const Wrt& wrt = {}, const GradOptions& options = {});

// The value and the gradient of f's first output, the loss, which must be an f32 or f64 scalar.
// Inputs: those of f. Outputs: those of f, then the gradient of the loss for each input in `wrt`.
// Throws as vjp, and kShape if the loss is not a scalar.
Function value_and_grad(const Function& f, const Wrt& wrt = {}, const GradOptions& options = {});

// Only the gradients.
Function grad(const Function& f, const Wrt& wrt = {}, const GradOptions& options = {});

}  // namespace limpid
