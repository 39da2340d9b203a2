// The optimisers: of each its hyper-parameters, first state, step and record. The list at the end
// is that of all: being in it is all that an optimiser needs to be had by name, in C++, in Python
// and as an option of `limpid train`. A struct in a header is for programs that name the optimiser.
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/update.h"
#include "limpid/optim/adagrad.h"
#include "limpid/optim/adam.h"
#include "limpid/optim/detail/rule.h"
#include "limpid/optim/optimizer.h"
#include "limpid/optim/rmsprop.h"
#include "limpid/optim/sgd.h"

namespace limpid::optim {
namespace {

// ---- Sgd

constexpr std::string_view kMomentum = "momentum";

Params first_state(const Sgd& o, const Params& params) {
  Params state;
  if (o.momentum != 0) add_zeros(state, kMomentum, params);
  return state;
}

Update step_of(const Sgd& o, const Operands& in) {
  Update next;
  for (const auto& [name, p] : in.params) {
    Value step = with_decay(o, p, in.gradients.at(name));
    if (o.momentum != 0) {
      const std::string momentum_name = Args::join(kMomentum, name);
      const Value v = in.state.at(momentum_name) * o.momentum + step;
      next.state.set(momentum_name, v);
      step = o.nesterov ? step + v * o.momentum : v;
    }
    next.params.set(name, p - in.rate * step);
  }
  return next;
}

constexpr HyperParameter<Sgd> kSgdNumbers[] = {
    momentum_number<Sgd>(0.9),
    {"nesterov", "Use Nesterov momentum", Range::kSwitch, &Sgd::nesterov},
    weight_decay_number<Sgd>(),
    decay_vectors_number<Sgd>()};

// ---- RmsProp

constexpr std::string_view kRmsPropSquare = "square_avg";
constexpr std::string_view kRmsPropMean = "grad_avg";

Params first_state(const RmsProp& o, const Params& params) {
  Params state;
  add_zeros(state, kRmsPropSquare, params);
  if (o.centered) add_zeros(state, kRmsPropMean, params);
  if (o.momentum != 0) add_zeros(state, kMomentum, params);
  return state;
}

Update step_of(const RmsProp& o, const Operands& in) {
  Update next{{}, in.state};  // for the order of its names
  for (const auto& [name, p] : in.params) {
    const std::string square_name = Args::join(kRmsPropSquare, name);
    const Value g = with_decay(o, p, in.gradients.at(name));
    const Value square = in.state.at(square_name) * o.alpha + g * g * (1 - o.alpha);
    next.state.set(square_name, square);
    Value variance = square;
    if (o.centered) {
      const std::string mean_name = Args::join(kRmsPropMean, name);
      const Value average = in.state.at(mean_name) * o.alpha + g * (1 - o.alpha);
      next.state.set(mean_name, average);
      variance = maximum(square - average * average, number_like(square, 0));
    }
    Value step = g / (sqrt(variance) + o.eps);
    if (o.momentum != 0) {
      const std::string momentum_name = Args::join(kMomentum, name);
      step = in.state.at(momentum_name) * o.momentum + step;
      next.state.set(momentum_name, step);
    }
    next.params.set(name, p - in.rate * step);
  }
  return next;
}

constexpr HyperParameter<RmsProp> kRmsPropNumbers[] = {
    {"alpha", "Decay rate of the running mean of squared gradients", Range::kShare,
     &RmsProp::alpha},
    eps_number<RmsProp>(),
    momentum_number<RmsProp>(),
    {"centered", "Normalise by the variance of the gradient instead of its mean square",
     Range::kSwitch, &RmsProp::centered},
    weight_decay_number<RmsProp>(),
    decay_vectors_number<RmsProp>()};

// ---- Adam and AdamW

constexpr std::string_view kAdamMean = "exp_avg";
constexpr std::string_view kAdamSquare = "exp_avg_sq";
constexpr std::string_view kLargest = "max_exp_avg_sq";
constexpr const char* kPower1 = "beta1_power";
constexpr const char* kPower2 = "beta2_power";

template <class A>
Params adam_state(const A& o, const Params& params) {
  Params state;
  add_zeros(state, kAdamMean, params);
  add_zeros(state, kAdamSquare, params);
  if (o.amsgrad) add_zeros(state, kLargest, params);
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
template <class A>
Value amsgrad_update(const A& o, const Value& start, const Value& g, const Common& c,
                     const std::string& name, Args& state) {
  const std::string mean_name = Args::join(kAdamMean, name);
  const std::string square_name = Args::join(kAdamSquare, name);
  const std::string largest_name = Args::join(kLargest, name);
  const Value mean = state.at(mean_name) * o.beta1 + g * (1 - o.beta1);
  const Value square = state.at(square_name) * o.beta2 + g * g * (1 - o.beta2);
  const Value largest = maximum(state.at(largest_name), square);
  state.set(mean_name, mean);
  state.set(square_name, square);
  state.set(largest_name, largest);
  return start - c.step_size * (mean / (sqrt(largest) / c.root + o.eps));
}

// `decoupled`: AdamW.
template <bool decoupled, class A>
Update adam_step(const A& o, const Operands& in) {
  Update next{{}, in.state};  // for the order of its names
  const Value& rate = in.rate;
  const Value power1 = in.state.at(kPower1) * o.beta1;
  const Value power2 = in.state.at(kPower2) * o.beta2;
  next.state.set(kPower1, power1);
  next.state.set(kPower2, power2);
  const Common common{rate / cast(1.0 - power1, rate.dtype()),
                      cast(sqrt(1.0 - power2), rate.dtype()),
                      in.gradient_scale ? in.gradient_scale : one_like(rate)};
  for (const auto& [name, p] : in.params) {
    const bool decaying = decays(o, p);
    Value g = in.gradients.at(name);
    Value scale = common.gradient_scale;
    if (in.gradient_scale && (o.amsgrad || (decaying && !decoupled))) {
      g = g * scale;
      scale = one_like(rate);
    }
    if (decaying && !decoupled) g = g + p * o.weight_decay;
    const Value kept = decaying && decoupled ? 1.0 - rate * o.weight_decay : one_like(rate);
    if (o.amsgrad) {
      next.params.set(name, amsgrad_update(o, p * kept, g, common, name, next.state));
      continue;
    }
    const std::string mean_name = Args::join(kAdamMean, name);
    const std::string square_name = Args::join(kAdamSquare, name);
    const AdamUpdated updated =
        adam_update(p, g, in.state.at(mean_name), in.state.at(square_name),
                    {scale, kept, common.step_size, common.root}, {o.beta1, o.beta2, o.eps});
    next.params.set(name, updated.parameter);
    next.state.set(mean_name, updated.mean);
    next.state.set(square_name, updated.square);
  }
  return next;
}

Params first_state(const Adam& o, const Params& params) { return adam_state(o, params); }
Update step_of(const Adam& o, const Operands& in) { return adam_step<false>(o, in); }
Params first_state(const AdamW& o, const Params& params) { return adam_state(o, params); }
Update step_of(const AdamW& o, const Operands& in) { return adam_step<true>(o, in); }

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

// ---- Adagrad

constexpr std::string_view kSum = "sum";

template <class T>
Tensor filled(const Shape& shape, double value) {
  return Tensor::generate<T>(shape, [&](std::span<T> out) {
    for (T& x : out) x = static_cast<T>(value);
  });
}

Params first_state(const Adagrad& o, const Params& params) {
  Params state;
  for (const auto& [name, p] : params)
    state.set(Params::join(kSum, name), p.dtype() == Dtype::kF64
                                            ? filled<double>(p.shape(), o.initial_sum)
                                            : filled<float>(p.shape(), o.initial_sum));
  return state;
}

Update step_of(const Adagrad& o, const Operands& in) {
  Update next;
  for (const auto& [name, p] : in.params) {
    const std::string sum_name = Args::join(kSum, name);
    const Value g = with_decay(o, p, in.gradients.at(name));
    const Value sum = in.state.at(sum_name) + g * g;
    next.state.set(sum_name, sum);
    next.params.set(name, p - in.rate * (g / (sqrt(sum) + o.eps)));
  }
  return next;
}

constexpr HyperParameter<Adagrad> kAdagradNumbers[] = {
    eps_number<Adagrad>(),
    {"initial_sum", "Initial value of the accumulated squared gradients", Range::kNotNegative,
     &Adagrad::initial_sum},
    weight_decay_number<Adagrad>(),
    decay_vectors_number<Adagrad>()};

}  // namespace

// ---- those with a header

constinit const OptimizerRecord Sgd::record = optimizer<Sgd, kSgdNumbers, first_state, step_of>(
    "sgd", "Sgd", 0.05, "Stochastic gradient descent with momentum, as PyTorch's SGD.");
constinit const OptimizerRecord RmsProp::record =
    optimizer<RmsProp, kRmsPropNumbers, first_state, step_of>("rmsprop", "RmsProp", 0.01,
                                                              "RMSprop, as PyTorch's.");
constinit const OptimizerRecord Adam::record =
    optimizer<Adam, kAdamNumbers<Adam>, first_state, step_of>(
        "adam", "Adam", 0.001, "Adam (Kingma and Ba 2015), as PyTorch's.", true);
constinit const OptimizerRecord AdamW::record =
    optimizer<AdamW, kAdamNumbers<AdamW>, first_state, step_of>(
        "adamw", "AdamW", 0.001,
        "Adam with decoupled weight decay (Loshchilov and Hutter 2019), as PyTorch's.", true);
constinit const OptimizerRecord Adagrad::record =
    optimizer<Adagrad, kAdagradNumbers, first_state, step_of>(
        "adagrad", "Adagrad", 0.01, "Adagrad (Duchi et al. 2011), as PyTorch's.");

// Through Optimizer, which checks the operands.
#define LIMPID_RULE(T)                                                                           \
  Params T::init(const Params& params) const { return optim::init(*this, params); }              \
  Update T::operator()(const Args& params, const Args& gradients, const Args& state, Value rate, \
                       Value gradient_scale) const {                                             \
    return update(*this, params, gradients, state, rate, gradient_scale);                        \
  }
LIMPID_RULE(Sgd)
LIMPID_RULE(RmsProp)
LIMPID_RULE(Adam)
LIMPID_RULE(AdamW)
LIMPID_RULE(Adagrad)
#undef LIMPID_RULE

// ---- all

constexpr const OptimizerRecord* kOptimizers[] = {&Sgd::record, &RmsProp::record, &Adam::record,
                                                  &AdamW::record, &Adagrad::record};

std::span<const OptimizerRecord* const> all_optimizers() { return kOptimizers; }

}  // namespace limpid::optim
