// What the records of rules.cc are made of: an optimiser is a struct T of hyper-parameters, doubles
// and bools, a list of these, and two functions: the first state and the step.
#pragma once

#include <cstddef>

#include "limpid/optim/record.h"

namespace limpid::optim {

// A hyper-parameter of optimiser T.
template <class T>
struct HyperParameter {
  std::string_view name;
  std::string_view help;
  Range range;
  std::variant<double T::*, bool T::*> member;
  // The default of `limpid train`, if it differs from that of the struct.
  std::optional<double> in_training = {};
};

namespace detail {

template <class T>
constexpr double value_of(const T& rule, const HyperParameter<T>& number) {
  return std::visit([&](auto member) { return static_cast<double>(rule.*member); }, number.member);
}

template <class T, const auto& numbers>
inline constexpr auto kNumbersOf = [] {
  std::array<Number, std::size(numbers)> all{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const HyperParameter<T>& n = numbers[i];
    const double usual = value_of(T{}, n);
    all[i] = {n.name, n.help, n.range, usual, n.in_training.value_or(usual)};
  }
  return all;
}();

// The struct with these values.
template <class T, const auto& numbers>
T rule_of(std::span<const double> values) {
  T rule;
  for (std::size_t i = 0; i < values.size(); ++i)
    std::visit(
        [&](auto member) {
          auto& place = rule.*member;
          place = static_cast<std::remove_reference_t<decltype(place)>>(values[i]);
        },
        numbers[i].member);
  return rule;
}

template <class T, const auto& numbers>
std::vector<double> values_of(const void* rule) {
  std::vector<double> all;
  for (const HyperParameter<T>& n : numbers)
    all.push_back(value_of(*static_cast<const T*>(rule), n));
  return all;
}

}  // namespace detail

// The record of T. `scales_gradients` if the step multiplies by the scale itself.
template <class T, const auto& numbers, Params (*first_state)(const T&, const Params&),
          Update (*step_of)(const T&, const Operands&)>
consteval OptimizerRecord optimizer(std::string_view name, std::string_view type, double rate,
                                    std::string_view about, bool scales_gradients = false) {
  return {.name = name,
          .type = type,
          .about = about,
          .rate = rate,
          .numbers = detail::kNumbersOf<T, numbers>,
          .values = detail::values_of<T, numbers>,
          .init =
              [](std::span<const double> values, const Params& params) {
                return first_state(detail::rule_of<T, numbers>(values), params);
              },
          .step =
              [](std::span<const double> values, const Operands& operands) {
                return step_of(detail::rule_of<T, numbers>(values), operands);
              },
          .scales_gradients = scales_gradients};
}

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

// ---- steps

// Whether weight decay applies to this parameter. Without decay_vectors, parameters with fewer than
// two dimensions (biases, norm weights) do not decay, as is usual (Goodfellow, Bengio, Courville:
// Deep Learning, 2016, section 7.1).
template <class T>
bool decays(const T& rule, const Value& p) {
  return rule.weight_decay != 0 && (rule.decay_vectors || p.rank() >= 2);
}
// The gradient of the parameter, with the L2 penalty.
template <class T>
Value with_decay(const T& rule, const Value& p, Value gradient) {
  return decays(rule, p) ? gradient + p * rule.weight_decay : gradient;
}

// Adds "KIND.NAME", zeros, for every parameter.
inline void add_zeros(Params& state, std::string_view kind, const Params& params) {
  for (const auto& [name, p] : params) state.set(Params::join(kind, name), Tensor::zeros(p.type()));
}

}  // namespace limpid::optim
