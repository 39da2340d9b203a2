// What becomes of layers that are one layer in exact arithmetic. Leans on transforms/collapse.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "limpid/inspect/table.h"
#include "limpid/report/chart.h"

namespace limpid::lab {

struct CollapseOptions {
  std::int64_t in = 32, hidden = 128, out = 16;
  std::uint64_t seed = 0;
};

// Of what depends on the data, for all examples. What is made of constants alone is a parameter.
struct Work {
  std::int64_t ops = 0, parameters = 0, flops = 0;
};

struct Collapse {
  std::string network;
  Work before, after;
  std::vector<std::string> done;  // a line each, by collapse()
  std::vector<double> position;   // of the examples, position times one direction
  std::vector<double> y;          // the first output for each, before
  double largest = 0;             // size of any output
  double difference = 0;          // between an output at inference before, and after
};

// Small networks of two layers, on 101 examples along a line through 0. Weights, biases, direction
// and batch norm's statistics are drawn from Key(seed).
std::vector<Collapse> collapses(const CollapseOptions& options = {});

Table to_table(std::span<const Collapse> rows);
// The first output along the line: straight where nothing bends it.
std::vector<report::Chart> charts_of(std::span<const Collapse> rows);

}  // namespace limpid::lab
