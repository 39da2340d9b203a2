#include "limpid/optim/adagrad.h"

#include "limpid/ops/arithmetic.h"
#include "limpid/optim/detail/check_step.h"

namespace limpid::optim {
namespace {

std::string sum_name(const std::string& parameter) { return "sum." + parameter; }

template <class T>
Tensor filled(const Shape& shape, double value) {
  return Tensor::generate<T>(shape, [&](std::span<T> out) {
    for (T& x : out) x = static_cast<T>(value);
  });
}

constexpr HyperParameter<Adagrad> kAdagradNumbers[] = {
    eps_number<Adagrad>(),
    {"initial_sum", "Initial value of the accumulated squared gradients", Range::kNotNegative,
     &Adagrad::initial_sum},
    weight_decay_number<Adagrad>(),
    decay_vectors_number<Adagrad>()};

}  // namespace

constinit const OptimizerRecord<Adagrad> Adagrad::record{"adagrad", 0.01, kAdagradNumbers};

Params Adagrad::init(const Params& params) const {
  Params state;
  for (const auto& [name, p] : params)
    state.set(sum_name(name), p.dtype() == Dtype::kF64 ? filled<double>(p.shape(), initial_sum)
                                                       : filled<float>(p.shape(), initial_sum));
  return state;
}

Update Adagrad::operator()(const Args& params, const Args& gradients, const Args& state,
                           Value rate) const {
  detail::check_step(params, gradients, rate);
  Update next;
  for (const auto& [name, p] : params) {
    Value g = gradients.at(name);
    if (decays(weight_decay, decay_vectors, p)) g = g + p * weight_decay;
    const Value sum = state.at(sum_name(name)) + g * g;
    next.state.set(sum_name(name), sum);
    next.params.set(name, p - rate * (g / (sqrt(sum) + eps)));
  }
  return next;
}

}  // namespace limpid::optim
