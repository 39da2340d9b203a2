#include "limpid/optim/rmsprop.h"

#include "limpid/ops/arithmetic.h"
#include "limpid/optim/detail/check_step.h"

namespace limpid::optim {
namespace {

constexpr std::string_view kRmsPropSquare = "square_avg";
constexpr std::string_view kRmsPropMean = "grad_avg";
constexpr std::string_view kMomentum = "momentum";

constexpr HyperParameter<RmsProp> kRmsPropNumbers[] = {
    {"alpha", "Decay rate of the running mean of squared gradients", Range::kShare,
     &RmsProp::alpha},
    eps_number<RmsProp>(),
    momentum_number<RmsProp>(),
    {"centered", "Normalise by the variance of the gradient instead of its mean square",
     Range::kSwitch, &RmsProp::centered},
    weight_decay_number<RmsProp>(),
    decay_vectors_number<RmsProp>()};

}  // namespace

constinit const OptimizerRecord<RmsProp> RmsProp::record{"rmsprop", 0.01, kRmsPropNumbers};

Params RmsProp::init(const Params& params) const {
  Params state;
  const auto zeros = [&](std::string_view kind) {
    for (const auto& [name, p] : params)
      state.set(Params::join(kind, name), Tensor::zeros(p.type()));
  };
  zeros(kRmsPropSquare);
  if (centered) zeros(kRmsPropMean);
  if (momentum != 0) zeros(kMomentum);
  return state;
}

Update RmsProp::operator()(const Args& params, const Args& gradients, const Args& state,
                           Value rate) const {
  detail::check_step(params, gradients, rate);
  Update next{{}, state};  // for the order of its names
  for (const auto& [name, p] : params) {
    const std::string square_name = Args::join(kRmsPropSquare, name);
    Value g = gradients.at(name);
    if (decays(weight_decay, decay_vectors, p)) g = g + p * weight_decay;
    const Value square = state.at(square_name) * alpha + g * g * (1 - alpha);
    next.state.set(square_name, square);
    Value variance = square;
    if (centered) {
      const std::string mean_name = Args::join(kRmsPropMean, name);
      const Value average = state.at(mean_name) * alpha + g * (1 - alpha);
      next.state.set(mean_name, average);
      variance = maximum(square - average * average, number_like(square, 0));
    }
    Value step = g / (sqrt(variance) + eps);
    if (momentum != 0) {
      const std::string momentum_name = Args::join(kMomentum, name);
      step = state.at(momentum_name) * momentum + step;
      next.state.set(momentum_name, step);
    }
    next.params.set(name, p - rate * step);
  }
  return next;
}

}  // namespace limpid::optim
