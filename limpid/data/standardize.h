// Standardisation: features of one size and middle, fitted to the training part, and carried inside
// of the model, so that whoever runs it gives raw numbers. Leans on dataset.h and on model.h.
#pragma once

#include <optional>
#include <string_view>

#include "limpid/core/tensor.h"
#include "limpid/data/dataset.h"
#include "limpid/formats/model.h"

namespace limpid {

// What standardisation makes of a column.
enum class Scaling : std::uint8_t {
  kNone,
  kZScore,  // the mean becomes 0, the standard deviation (over N, not N - 1) 1
  kMinMax,  // the least value becomes 0, the largest 1
};

// "none", "zscore", "minmax".
std::string_view name(Scaling scaling);

// Column by column: standardised = (raw - center) / scale, raw = standardised * scale + center.
struct Affine {
  Tensor center;  // f32 [columns]
  Tensor scale;   // f32 [columns], each a positive number; 1 for a column of one value
};

// What was fitted; nothing where there is nothing to be done.
struct Standardization {
  std::optional<Affine> inputs;   // of the features
  std::optional<Affine> targets;  // of a regression's targets
};

// Fits to a training part; targets are fitted where the task is regression. Sums are in f64, row
// after row, so that the bits are the same on every machine. Throws kInvalidArgument where the data
// has no rows, or a number that is not finite (named by row, counted from 0, and column), or a
// column whose spread f32 cannot hold.
Standardization fit_standardization(const Dataset& train, Scaling scaling);

// The parts in standardised numbers. Throws kShape where the columns are not those of the fit.
Split standardize(Split data, const Standardization& standardization);

// A model of raw numbers around one of standardised numbers. Its four (or two) new parameters,
// "standardize.input.center", "standardize.input.scale", "standardize.output.center" and
// "standardize.output.scale", are no part of what is trained. On raw inputs it computes, bit for
// bit, what `model` does on standardised ones. Throws kShape where the columns are not those of the
// model's input and output, kInvalidArgument where the model has such parameters already.
Model with_standardization(const Model& model, const Standardization& standardization);

// Whether a parameter is one of these.
bool is_standardization(std::string_view parameter);

}  // namespace limpid
