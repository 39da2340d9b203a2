// Shows collapse(): layers that are one layer in exact arithmetic. Depends on
// transforms/collapse.h.
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

// The work that depends on the data, for all examples. Values computed only from constants count as
// parameters.
struct Work {
  std::int64_t ops = 0, parameters = 0, flops = 0;
};

struct Collapse {
  std::string network;
  Work before, after;
  std::vector<std::string> done;  // one line each, from collapse()
  std::vector<double> position;   // example i is position[i] times a fixed direction
  std::vector<double> y;          // the first output for each example, before collapse()
  double largest = 0;             // largest magnitude of an output
  double difference = 0;          // largest difference of an output at inference before and after
};

// Small networks of two layers, on 101 examples along a line through 0. Weights, biases, direction
// and batch norm's statistics are drawn from Key(seed).
std::vector<Collapse> collapses(const CollapseOptions& options = {});

Table to_table(std::span<const Collapse> rows);
// The first output along the line: a straight line if the network is linear.
std::vector<report::Chart> charts_of(std::span<const Collapse> rows);

}  // namespace limpid::lab
