// Finds consecutive equal blocks of layers, as in a transformer: "layers.0.mlp", "layers.1.mlp",
// ... Depends on summary.h.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "limpid/inspect/summary.h"

namespace limpid::detail {

// `times` consecutive blocks of `size` rows each, from row `first` on. The rows of block b belong
// to layers "stem.(number + b)" and below.
struct RepeatedBlock {
  std::size_t first = 0, size = 0, times = 0;
  std::string stem;
  std::int64_t number = 0;
};

// The repeated blocks of several ops. Blocks differ only in the number in the names of their
// layers.
std::vector<RepeatedBlock> repeated_blocks(std::span<const SummaryRow> rows);

// The name of a row's layer within its block: "mlp.up_proj" for "layers.3.mlp.up_proj".
std::string name_in_block(const SummaryRow& row);

}  // namespace limpid::detail
