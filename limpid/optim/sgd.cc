#include "limpid/optim/sgd.h"

#include "limpid/ops/arithmetic.h"
#include "limpid/optim/detail/check_step.h"

namespace limpid::optim {
namespace {

std::string momentum_name(const std::string& parameter) { return "momentum." + parameter; }

constexpr HyperParameter<Sgd> kSgdNumbers[] = {
    momentum_number<Sgd>(0.9),
    {"nesterov", "Use Nesterov momentum", Range::kSwitch, &Sgd::nesterov},
    weight_decay_number<Sgd>(),
    decay_vectors_number<Sgd>()};

}  // namespace

constinit const OptimizerRecord<Sgd> Sgd::record{"sgd", 0.05, kSgdNumbers};

Params Sgd::init(const Params& params) const {
  Params state;
  if (momentum != 0)
    for (const auto& [name, p] : params) state.set(momentum_name(name), Tensor::zeros(p.type()));
  return state;
}

Update Sgd::operator()(const Args& params, const Args& gradients, const Args& state,
                       Value rate) const {
  detail::check_step(params, gradients, rate);
  Update next;
  for (const auto& [name, p] : params) {
    Value step = gradients.at(name);
    if (decays(weight_decay, decay_vectors, p)) step = step + p * weight_decay;
    if (momentum != 0) {
      const Value v = state.at(momentum_name(name)) * momentum + step;
      next.state.set(momentum_name(name), v);
      step = nesterov ? step + v * momentum : v;
    }
    next.params.set(name, p - rate * step);
  }
  return next;
}

}  // namespace limpid::optim
