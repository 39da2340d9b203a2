// Blocks of layers that follow each other and are alike, as a transformer's: "layers.0.mlp",
// "layers.1.mlp", ... Leans on summary.h.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "limpid/inspect/summary.h"

namespace limpid::detail {

// `times` blocks of `size` rows each, one after the other from row `first`. Those of block b belong
// to layers "stem.(number + b)" and below.
struct RepeatedBlock {
  std::size_t first = 0, size = 0, times = 0;
  std::string stem;
  std::int64_t number = 0;
};

// Those of several ops whose layers are below numbers of one name: they differ in nothing but the
// number.
std::vector<RepeatedBlock> repeated_blocks(std::span<const SummaryRow> rows);

// What the layer of a block's row is called inside of it: "mlp.up_proj" of "layers.3.mlp.up_proj".
std::string name_in_block(const SummaryRow& row);

}  // namespace limpid::detail
