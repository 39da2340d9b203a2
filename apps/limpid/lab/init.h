// Measures the standard deviation of activations through many layers, for each initialisation.
// Depends on nn/init.h.
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
  std::vector<double> stds;  // of all values after each layer; infinity if f32 has overflowed
};

// Passes 64 standard normal rows, from Key(seed), through layers of `width` units without biases.
// The weight of layer l is drawn from Key(seed + 1).fold_in(l). One result for each scheme.
std::vector<Spread> spreads(const SpreadOptions& options = {});

// After layers 1, 2, 5, and after each fifth of all layers.
Table to_table(std::span<const Spread> spreads);
// One chart for each kind of layer.
std::vector<report::Chart> charts_of(std::span<const Spread> spreads);

}  // namespace limpid::lab
