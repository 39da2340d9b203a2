// OptimizerRecord: describes an optimiser completely: its name, its hyper-parameters with their
// ranges and help, the default learning rate, its state and its step. The records, and the list of
// them, are in rules.cc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/optim/update.h"

namespace limpid::optim {

// The range of a hyper-parameter: [0, 1]; [0, 1); 0 or more; 0 or 1.
enum class Range : std::uint8_t { kShare, kBelowOne, kNotNegative, kSwitch };

// A hyper-parameter.
struct Number {
  std::string_view name;  // the key optimizer.NAME of `limpid train`, and the option --NAME
  std::string_view help;
  Range range;
  double usual;        // the default of the struct
  double in_training;  // the default of `limpid train`
};

// The operands of a step. The gradients have the names and shapes of the parameters; the rate, and
// gradient_scale if given, are scalars of their dtype.
struct Operands {
  const Args& params;
  const Args& gradients;
  const Args& state;
  Value rate;
  Value gradient_scale = {};
};

struct OptimizerRecord {
  std::string_view name;   // "rmsprop"
  std::string_view type;   // "RmsProp", the struct and the class in Python
  std::string_view about;  // one line
  double rate;  // default learning rate: PyTorch's, or 0.05 for SGD, for which PyTorch has none
  std::span<const Number> numbers;
  // The values of the hyper-parameters in a struct, in the order of `numbers`.
  std::vector<double> (*values)(const void* rule);
  Params (*init)(std::span<const double> values, const Params& params);
  Update (*step)(std::span<const double> values, const Operands& operands);
  bool scales_gradients;  // `step` multiplies by gradient_scale itself
};

// All optimisers.
std::span<const OptimizerRecord* const> all_optimizers();

}  // namespace limpid::optim
