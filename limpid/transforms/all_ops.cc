// The list of all ops, joined from the lists of the files. Being in a list is all that an op needs
// to be printed, parsed, verified, interpreted, differentiated, batched, compiled, emitted,
// documented and tested by the laws.
#include <algorithm>
#include <vector>

#include "limpid/ops/detail/families.h"

namespace limpid {

std::span<const Op* const> all_ops() {
  static const std::vector<const Op*> ops = [] {
    std::vector<const Op*> all;
    for (const OpList& list :
         {constant_ops,  arithmetic_ops, elementary_ops, trigonometric_ops, comparison_ops,
          shape_ops,     indexing_ops,   scatter_ops,    barrier_ops,       reduce_ops,
          sort_ops,      cumulative_ops, pool_ops,       matmul_ops,        conv_ops,
          quantized_ops, random_ops,     activation_ops, norm_ops,          softmax_ops,
          attention_ops, rotary_ops,     cache_ops,      loss_ops,          update_ops,
          loop_ops,      linalg_ops})
      all.insert(all.end(), list.begin(), list.end());
    return all;
  }();
  return ops;
}

const Op* find_op(std::string_view name) {
  const std::span<const Op* const> ops = all_ops();
  const auto found =
      std::find_if(ops.begin(), ops.end(), [&](const Op* op) { return op->name == name; });
  return found == ops.end() ? nullptr : *found;
}

}  // namespace limpid
