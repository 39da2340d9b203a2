// The gradient against differences: what grad gives beside (f(x + h) - f(x - h)) / 2h, in f64.
// Leans on transforms and compile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

struct GradcheckOptions {
  std::int64_t samples = 64;  // elements of a larger tensor, drawn by the key
  double tolerance = 1e-5;    // of the relative error
};

// Of one tensor; the errors are those of the element where the relative one is largest.
struct GradcheckRow {
  std::string name;
  Type type;
  std::int64_t checked = 0;         // elements
  std::vector<std::int64_t> index;  // of that element
  double gradient = 0, difference = 0;
  double absolute_error = 0;
  // |gradient - difference| over the larger of the two, or over a thousandth of the largest
  // gradient of the tensor where both are smaller than that.
  double relative_error = 0;
  bool agrees = true;  // the relative error is within the tolerance
};

// `f` in f64 on `inputs` (a tensor for each input by name, of f's types), its first output, which
// must be floating, summed with weights drawn by the key; a row for each f32 or f64 input. The step
// is 1e-6 of an element's size, at least 1e-6, and a tenth of it where that agrees better, as it
// does near a kink. Throws kDtype where an op takes no f64, kNoGradient, and kNotFound for an input
// without a tensor.
std::vector<GradcheckRow> gradcheck(const Function& f, const Params& inputs, Key key,
                                    const GradcheckOptions& options = {});

std::string to_text(const std::vector<GradcheckRow>& rows);

}  // namespace limpid
