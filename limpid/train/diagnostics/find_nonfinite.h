// Finds the origin of a NaN or an infinity: replays a Function op by op, and reports the first op
// that computed one from finite numbers. Depends on function and core/statistics.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limpid/core/statistics.h"
#include "limpid/function/function.h"

namespace limpid::train {

struct NonFiniteOrigin {
  struct Operand {
    std::string value;  // "%x", "%3"
    Type type;
    Statistics statistics;
  };
  std::string value;                // "%x", "%12"
  std::string layer;                // the op's scope; may be empty
  std::vector<std::string> ops;     // the op, then for a composition the op inside it, and so on;
                                    // empty if an input of the Function was not finite
  Type type;                        // of the value
  std::vector<std::int64_t> index;  // index of the first non-finite element
  double number = 0;                // that element
  std::int64_t count = 0;           // number of non-finite elements
  std::vector<Operand> operands;    // the operands of the innermost op
};

// nullopt if all floating-point outputs are finite. Ignores infinities that do not reach an output,
// such as those of a mask. Throws what interpret throws.
std::optional<NonFiniteOrigin> find_nonfinite(const Function& function,
                                              std::span<const Tensor> inputs);

// "log in 'layers.1' gave -inf at [0, 3] (2 of 8 elements are not finite); its input %4 f32[2, 4]
// had min 0, mean 0.5, std 0.5, max 1": one line.
std::string to_text(const NonFiniteOrigin& origin);

}  // namespace limpid::train
