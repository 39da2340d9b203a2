// Gradient check: compares grad with central differences, (f(x + h) - f(x - h)) / 2h, in f64.
// Depends on transforms and compile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

struct GradcheckOptions {
  std::int64_t samples = 64;  // the most elements to check of a tensor, sampled by the key
  double tolerance = 1e-5;    // of the relative error
  // Called before each evaluation of f; may throw to end the check.
  std::function<void()> between = {};
};

// The result for one tensor. The errors are those of the element with the largest relative error.
struct GradcheckRow {
  std::string name;
  Type type;
  std::int64_t checked = 0;         // number of elements checked
  std::vector<std::int64_t> index;  // of that element
  double gradient = 0, difference = 0;
  double absolute_error = 0;
  // |gradient - difference|, less what rounding may make of the difference (64 epsilon times the
  // sum of the magnitudes that are added, divided by 2h), divided by the larger of the two, but at
  // least by a thousandth of the tensor's largest gradient.
  double relative_error = 0;
  bool agrees = true;  // the relative error is within the tolerance
};

// Checks the gradient of f, widened to f64, on `inputs` (a tensor for each input by name, of f's
// types). The scalar is the sum of f's first output, which must be f32 or f64, with random weights
// from the key. Returns a row for each f32 or f64 input. The step h is 1e-6 times the element's
// magnitude, at least 1e-6; a tenth of it is used if that agrees better, as near a kink. Throws
// kDtype if an op does not support f64, kNoGradient, and kNotFound for an input without a tensor.
std::vector<GradcheckRow> gradcheck(const Function& f, const Params& inputs, Key key,
                                    const GradcheckOptions& options = {});

std::string to_text(const std::vector<GradcheckRow>& rows);

}  // namespace limpid
