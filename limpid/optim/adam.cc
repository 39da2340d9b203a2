#include "limpid/optim/adam.h"

#include "limpid/ops/arithmetic.h"

namespace limpid::optim {
namespace {

constexpr std::string_view kMean = "exp_avg";
constexpr std::string_view kSquare = "exp_avg_sq";
constexpr std::string_view kLargest = "max_exp_avg_sq";
constexpr const char* kPower1 = "beta1_power";
constexpr const char* kPower2 = "beta2_power";

// The numbers that both share.
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
  zeros(kMean);
  zeros(kSquare);
  if (s.amsgrad) zeros(kLargest);
  state.set(kPower1, Tensor::scalar(1.0));
  state.set(kPower2, Tensor::scalar(1.0));
  return state;
}

Update update_of(const Settings& s, const Args& params, const Args& gradients, const Args& state,
                 const Value& rate) {
  Update next{{}, state};  // for the order of its names
  const Value power1 = state.at(kPower1) * s.beta1;
  const Value power2 = state.at(kPower2) * s.beta2;
  next.state.set(kPower1, power1);
  next.state.set(kPower2, power2);
  const Value step_size = rate / cast(1.0 - power1, rate.dtype());
  const Value root = cast(sqrt(1.0 - power2), rate.dtype());
  for (const auto& [name, p] : params) {
    Value g = gradients.at(name);
    Value start = p;
    if (decays(s.weight_decay, s.decay_vectors, p)) {
      if (s.decoupled)
        start = p * (1.0 - rate * s.weight_decay);
      else
        g = g + p * s.weight_decay;
    }
    const std::string mean_name = Args::join(kMean, name);
    const std::string square_name = Args::join(kSquare, name);
    const Value average = state.at(mean_name) * s.beta1 + g * (1 - s.beta1);
    const Value square = state.at(square_name) * s.beta2 + g * g * (1 - s.beta2);
    next.state.set(mean_name, average);
    next.state.set(square_name, square);
    Value largest = square;
    if (s.amsgrad) {
      const std::string largest_name = Args::join(kLargest, name);
      largest = maximum(state.at(largest_name), square);
      next.state.set(largest_name, largest);
    }
    next.params.set(name, start - step_size * (average / (sqrt(largest) / root + s.eps)));
  }
  return next;
}

Settings settings(const Adam& a) {
  return {a.beta1, a.beta2, a.eps, a.weight_decay, a.amsgrad, false, a.decay_vectors};
}
Settings settings(const AdamW& a) {
  return {a.beta1, a.beta2, a.eps, a.weight_decay, a.amsgrad, true, a.decay_vectors};
}

}  // namespace

Params Adam::init(const Params& params) const { return init_of(settings(*this), params); }
Update Adam::operator()(const Args& params, const Args& gradients, const Args& state,
                        Value rate) const {
  return update_of(settings(*this), params, gradients, state, rate);
}

Params AdamW::init(const Params& params) const { return init_of(settings(*this), params); }
Update AdamW::operator()(const Args& params, const Args& gradients, const Args& state,
                         Value rate) const {
  return update_of(settings(*this), params, gradients, state, rate);
}

}  // namespace limpid::optim
