// Trains networks with one hidden layer on XOR, |x| and a sine. Depends on fit.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limpid/core/tensor.h"
#include "limpid/inspect/table.h"
#include "limpid/report/chart.h"

namespace limpid::lab {

struct ApproximationOptions {
  std::optional<std::int64_t> units;  // default: for each task too few, and enough
  std::uint64_t seed = 0;
};

struct Approximation {
  std::string task;
  std::int64_t units;
  std::string activation;
  std::int64_t steps;
  double loss;         // before the last step
  double error;        // the largest error over the points; for XOR, of the probabilities
  Tensor x, y;         // f32 (points, inputs) and (points, 1)
  Tensor predictions;  // as y; logits for XOR
};

// The largest |a - b| of numbers at the same place; NaN if one is.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

// Trains with Adam on full batches: XOR on its four corners with binary cross-entropy, the other
// functions on 101 points with squared error.
std::vector<Approximation> approximations(const ApproximationOptions& options = {});

Table to_table(std::span<const Approximation> rows);
// One chart for each function of one variable, with its fits.
std::vector<report::Chart> charts_of(std::span<const Approximation> rows);

}  // namespace limpid::lab
