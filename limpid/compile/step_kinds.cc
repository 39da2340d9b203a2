// The list of all kinds of steps, joined from the lists of the files.
#include <algorithm>

#include "limpid/compile/lowering.h"

namespace limpid::detail {

const StepKind* step_kind(const Op& op) {
  for (const StepKinds& list :
       {value_steps, matmul_steps, row_steps, window_steps, move_steps, numbered_row_steps,
        attention_steps, adam_steps, conv_steps, loop_steps})
    for (const StepKind& kind : list)
      if (std::find(kind.ops.begin(), kind.ops.end(), &op) != kind.ops.end()) return &kind;
  return nullptr;
}

}  // namespace limpid::detail
