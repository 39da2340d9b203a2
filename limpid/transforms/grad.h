// Reverse mode: gradients as Functions, which can be differentiated again. For code on Values,
// of_code.h has the same names.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/transforms/wrt.h"

namespace limpid {

// The name of the segment that the ops of a scope (a layer) belong to, "" for none.
using Segments = std::function<std::string(std::string_view scope)>;

// A segment for each of the scopes: "layers.3" takes what is written in "layers.3" and inside of
// it.
Segments each_of(std::vector<std::string> scopes);

// What a gradient keeps on the way.
struct GradOptions {
  // Recompute instead of store: the results of a segment's ops are not kept for the sweep back.
  // They are computed again there, from the values that enter the segment. Bits are kept; a plan
  // needs less memory and up to one more run of the segments' ops. Segments of about the square
  // root of the number of layers each save most.
  Segments recompute;
};

// The vector-Jacobian product. Inputs: those of f, then one cotangent for every output, of its
// type, named "cotangent.0", ... (one "cotangent." more where that is taken). Outputs: those of f,
// then for every input in `wrt` the cotangent of its type, named "grad.<input>". An
// input that the outputs do not depend on has a gradient of zeros. Throws kNotFound
// for a name without an input; kNoGradient, naming op and layer, where they depend on it only
// through ops without a derivative; kDtype where it or an output is not f32 or f64.
Function vjp(const Function& f, const Wrt& wrt = {}, const GradOptions& options = {});

// f's first output must be a floating scalar, the loss; the others ride along. The inputs of f; f's
// outputs, then the gradients of the loss. Throws as vjp, and kShape where the loss is no scalar.
Function value_and_grad(const Function& f, const Wrt& wrt = {}, const GradOptions& options = {});

// The gradients alone.
Function grad(const Function& f, const Wrt& wrt = {}, const GradOptions& options = {});

}  // namespace limpid
