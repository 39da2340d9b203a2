// Standardisation (feature scaling): fitted to the training set and stored inside the model, so
// that the model takes raw inputs. Depends on dataset.h and formats/model.h.
#pragma once

#include <optional>
#include <string_view>

#include "limpid/core/enum_names.h"
#include "limpid/core/tensor.h"
#include "limpid/data/dataset.h"
#include "limpid/formats/model.h"

namespace limpid {

// How to scale a column.
enum class Scaling : std::uint8_t {
  kNone,
  kZScore,  // to mean 0 and population standard deviation 1
  kMinMax,  // to the range [0, 1]
};

// Its names (core/enum_names.h).
constexpr EnumNames<3> enum_names(Scaling) { return {"standardize", {"none", "zscore", "minmax"}}; }

// For each column: standardised = (raw - center) / scale, raw = standardised * scale + center.
struct Affine {
  Tensor center;  // f32 [columns]
  Tensor scale;   // f32 [columns], positive; 1 for a column with a single value
};

// A fitted standardisation; nullopt: not standardised.
struct Standardization {
  std::optional<Affine> inputs;   // the features
  std::optional<Affine> targets;  // the targets of a regression
};

// Fits to a training set; targets are fitted, too, if the task is regression. Sums are in f64, in
// the order of the rows, so that the bits are the same on every machine. Throws kInvalidArgument if
// the data has no rows or is a text, has a number that is not finite (the message names row, from
// 0, and column), or has a column whose range overflows f32.
Standardization fit_standardization(const Dataset& train, Scaling scaling);

// Fits to pictures by channel: all pixels of a channel get its mean and population standard
// deviation, over at most 16,384 pictures spread evenly over the set. Targets as above. Throws as
// fit_standardization, and kInvalidArgument unless the data has pictures.
Standardization fit_channels(const Dataset& train);

// Fits to sequences by feature: a feature has the same centre and scale at all steps, fitted to all
// of them in at most 16,384 examples spread evenly over the set. Targets as above. Throws as
// fit_standardization, and kInvalidArgument unless the data has sequences.
Standardization fit_features(const Dataset& train, Scaling scaling);

// Standardises the data. Throws kShape if the number of columns is not that of the fit.
Split standardize(Split data, const Standardization& standardization);

// Wraps a model of standardised data into one that takes raw inputs and gives raw outputs. Its new
// parameters, "standardize.input.center", "standardize.input.scale" and for a regression
// "standardize.output.center" and "standardize.output.scale", are not trained. On raw inputs it
// computes the same bits as `model` on standardised ones. Throws kShape if the columns are not
// those of the model's input and output, kInvalidArgument if the model already has such parameters.
Model with_standardization(const Model& model, const Standardization& standardization);

// Whether this is the name of such a parameter.
bool is_standardization(std::string_view parameter);

}  // namespace limpid
