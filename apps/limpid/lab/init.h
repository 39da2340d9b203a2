// What first weights do to the spread of values through many layers. Leans on nn/init.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "limpid/inspect/table.h"
#include "limpid/report/chart.h"

namespace limpid::lab {

struct SpreadOptions {
  std::int64_t layers = 50, width = 256;
  std::uint64_t seed = 0;
};

struct Spread {
  std::string layer;         // "ReLU"
  std::string scheme;        // "He normal"
  std::vector<double> stds;  // of all values behind each layer; infinity where f32 has overflowed
};

// 64 standard normal rows, from Key(seed), go through layers of `width` units without biases; the
// weight of layer l is drawn from Key(seed + 1).fold_in(l). A row for each scheme.
std::vector<Spread> spreads(const SpreadOptions& options = {});

// Behind layers 1, 2, 5, and each fifth of them all.
Table to_table(std::span<const Spread> spreads);
// One for each kind of layer.
std::vector<report::Chart> charts_of(std::span<const Spread> spreads);

}  // namespace limpid::lab
