// Where a NaN or an infinity came from: a Function is replayed op by op, and the first op that made
// one of finite numbers is named. Leans on function and core/statistics.h.
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
  std::vector<std::string> ops;     // the op, and of a composition the op inside of it, and so on;
                                    // empty where an input of the Function was not finite already
  Type type;                        // of the value
  std::vector<std::int64_t> index;  // of its first element that is not finite
  double number = 0;                // that element
  std::int64_t count = 0;           // of elements that are not finite
  std::vector<Operand> operands;    // what the innermost op was given
};

// nullopt where all floating outputs are finite. Infinities that no output has to do with are no
// matter, such as those of a mask. Throws what interpret throws.
std::optional<NonFiniteOrigin> find_nonfinite(const Function& function,
                                              std::span<const Tensor> inputs);

// "log in 'layers.1' gave -inf at [0, 3] (2 of 8 elements are not finite); its input %4 f32[2, 4]
// had min 0, mean 0.5, std 0.5, max 1": one line.
std::string to_text(const NonFiniteOrigin& origin);

}  // namespace limpid::train
