#include "limpid/optim/adam.h"

#include "limpid/ops/arithmetic.h"
#include "limpid/ops/update.h"
#include "limpid/optim/detail/check_step.h"

namespace limpid::optim {
namespace {

constexpr std::string_view kAdamMean = "exp_avg";
constexpr std::string_view kAdamSquare = "exp_avg_sq";
constexpr std::string_view kLargest = "max_exp_avg_sq";
constexpr const char* kPower1 = "beta1_power";
constexpr const char* kPower2 = "beta2_power";

// The hyper-parameters that both share.
struct Settings {
  double beta1, beta2, eps, weight_decay;
  bool amsgrad, decoupled, decay_vectors;
};

Params init_of(const Settings& s, const Params& params) {
  Params state;
  const auto zeros = [&](std::string_view kind) {
    for (const auto& [name, p] : params)
      state.set(Params::join(kind, name), Tensor::zeros(p.type()));
  };
  zeros(kAdamMean);
  zeros(kAdamSquare);
  if (s.amsgrad) zeros(kLargest);
  state.set(kPower1, Tensor::scalar(1.0));
  state.set(kPower2, Tensor::scalar(1.0));
  return state;
}

// The part of an update that is the same for all parameters.
struct Common {
  Value step_size, root, gradient_scale;
};

Value one_like(const Value& scalar) { return number_like(scalar, 1); }

// The variant with the largest square so far (Reddi, Kale, Kumar 2018), which has no op of its own.
Value amsgrad_update(const Settings& s, const Value& start, const Value& g, const Common& c,
                     const std::string& name, Args& state) {
  const std::string mean_name = Args::join(kAdamMean, name);
  const std::string square_name = Args::join(kAdamSquare, name);
  const std::string largest_name = Args::join(kLargest, name);
  const Value mean = state.at(mean_name) * s.beta1 + g * (1 - s.beta1);
  const Value square = state.at(square_name) * s.beta2 + g * g * (1 - s.beta2);
  const Value largest = maximum(state.at(largest_name), square);
  state.set(mean_name, mean);
  state.set(square_name, square);
  state.set(largest_name, largest);
  return start - c.step_size * (mean / (sqrt(largest) / c.root + s.eps));
}

Update update_of(const Settings& s, const Args& params, const Args& gradients, const Args& state,
                 const Value& rate, const Value& gradient_scale) {
  detail::check_step(params, gradients, rate);
  if (gradient_scale) detail::check_scalar("scale of the gradients", gradient_scale);
  Update next{{}, state};  // for the order of its names
  const Value power1 = state.at(kPower1) * s.beta1;
  const Value power2 = state.at(kPower2) * s.beta2;
  next.state.set(kPower1, power1);
  next.state.set(kPower2, power2);
  const Common common{rate / cast(1.0 - power1, rate.dtype()),
                      cast(sqrt(1.0 - power2), rate.dtype()),
                      gradient_scale ? gradient_scale : one_like(rate)};
  for (const auto& [name, p] : params) {
    const bool decaying = decays(s.weight_decay, s.decay_vectors, p);
    Value g = gradients.at(name);
    Value scale = common.gradient_scale;
    if (gradient_scale && (s.amsgrad || (decaying && !s.decoupled))) {
      g = g * scale;
      scale = one_like(rate);
    }
    if (decaying && !s.decoupled) g = g + p * s.weight_decay;
    const Value kept = decaying && s.decoupled ? 1.0 - rate * s.weight_decay : one_like(rate);
    if (s.amsgrad) {
      next.params.set(name, amsgrad_update(s, p * kept, g, common, name, next.state));
      continue;
    }
    const std::string mean_name = Args::join(kAdamMean, name);
    const std::string square_name = Args::join(kAdamSquare, name);
    const AdamUpdated updated =
        adam_update(p, g, state.at(mean_name), state.at(square_name),
                    {scale, kept, common.step_size, common.root}, {s.beta1, s.beta2, s.eps});
    next.params.set(name, updated.parameter);
    next.state.set(mean_name, updated.mean);
    next.state.set(square_name, updated.square);
  }
  return next;
}

Settings settings(const Adam& a) {
  return {a.beta1, a.beta2, a.eps, a.weight_decay, a.amsgrad, false, a.decay_vectors};
}
Settings settings(const AdamW& a) {
  return {a.beta1, a.beta2, a.eps, a.weight_decay, a.amsgrad, true, a.decay_vectors};
}

template <class A>
constexpr HyperParameter<A> kAdamNumbers[] = {
    {"beta1", "Decay rate of the first moment, the running mean of gradients", Range::kBelowOne,
     &A::beta1},
    {"beta2", "Decay rate of the second moment, the running mean of squared gradients",
     Range::kBelowOne, &A::beta2},
    eps_number<A>(),
    weight_decay_number<A>(),
    {"amsgrad", "Use AMSGrad: normalise by the largest second moment so far", Range::kSwitch,
     &A::amsgrad},
    decay_vectors_number<A>()};

}  // namespace

constinit const OptimizerRecord<Adam> Adam::record{"adam", 0.001, kAdamNumbers<Adam>};
constinit const OptimizerRecord<AdamW> AdamW::record{"adamw", 0.001, kAdamNumbers<AdamW>};

Params Adam::init(const Params& params) const { return init_of(settings(*this), params); }
Update Adam::operator()(const Args& params, const Args& gradients, const Args& state, Value rate,
                        Value gradient_scale) const {
  return update_of(settings(*this), params, gradients, state, rate, gradient_scale);
}

Params AdamW::init(const Params& params) const { return init_of(settings(*this), params); }
Update AdamW::operator()(const Args& params, const Args& gradients, const Args& state, Value rate,
                         Value gradient_scale) const {
  return update_of(settings(*this), params, gradients, state, rate, gradient_scale);
}

}  // namespace limpid::optim
