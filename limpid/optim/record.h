// OptimizerRecord: describes an optimiser: its name, its hyper-parameters with their ranges and
// help, and the default learning rate. Each optimiser defines its record.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

namespace limpid::optim {

// The range of a hyper-parameter: [0, 1]; [0, 1); 0 or more; 0 or 1.
enum class Range : std::uint8_t { kShare, kBelowOne, kNotNegative, kSwitch };

// A hyper-parameter of optimiser T.
template <class T>
struct HyperParameter {
  std::string_view name;  // the key optimizer.NAME of `limpid train`, and the option --NAME
  std::string_view help;
  Range range;
  std::variant<double T::*, bool T::*> member;
  // The default of `limpid train`, if it differs from that of the struct.
  std::optional<double> in_training = {};
};

// The record of optimiser T.
template <class T>
struct OptimizerRecord {
  std::string_view name;
  double rate;  // default learning rate: PyTorch's, or 0.05 for SGD, for which PyTorch has none
  std::span<const HyperParameter<T>> numbers;
};

// ---- hyper-parameters of several optimisers

// T::momentum. `in_training` is the default of `limpid train`, if it differs.
template <class T>
constexpr HyperParameter<T> momentum_number(std::optional<double> in_training = {}) {
  return {"momentum", "Momentum coefficient", Range::kShare, &T::momentum, in_training};
}
// T::eps.
template <class T>
constexpr HyperParameter<T> eps_number() {
  return {"eps", "Epsilon added to the denominator for numerical stability", Range::kNotNegative,
          &T::eps};
}
// T::weight_decay.
template <class T>
constexpr HyperParameter<T> weight_decay_number() {
  return {"weight_decay", "Weight decay: L2 penalty added to the gradient; decoupled in adamw",
          Range::kNotNegative, &T::weight_decay};
}
// T::decay_vectors; off by default in `limpid train`.
template <class T>
constexpr HyperParameter<T> decay_vectors_number() {
  return {"decay_vectors", "Apply weight decay to biases and norm weights, too", Range::kSwitch,
          &T::decay_vectors, 0};
}

}  // namespace limpid::optim
