// What a network with one hidden layer can be taught: XOR, |x|, a sine. Leans on fit.h.
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
  std::optional<std::int64_t> units;  // otherwise too few for each task, and enough
  std::uint64_t seed = 0;
};

struct Approximation {
  std::string task;
  std::int64_t units;
  std::string activation;
  std::int64_t steps;
  double loss;         // before the last step
  double error;        // the largest over the points; of probabilities for XOR
  Tensor x, y;         // f32 (points, inputs) and (points, 1)
  Tensor predictions;  // as y; logits for XOR
};

// Adam, all points in every step: the corners with binary cross-entropy, 101 points of each
// function with squared error.
std::vector<Approximation> approximations(const ApproximationOptions& options = {});

Table to_table(std::span<const Approximation> rows);
// Of the functions of one number, each with its fits.
std::vector<report::Chart> charts_of(std::span<const Approximation> rows);

}  // namespace limpid::lab
