// step: a whole training step (forward, backward, update) as code, which compile() turns into one
// plan.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "limpid/optim/clip.h"
#include "limpid/optim/optimizer.h"
#include "limpid/transforms/of_code.h"

namespace limpid::optim {

// One optimiser step with clipped gradients. The optimizer is one of this folder, an Optimizer, or
// anything that can be called with (params, gradients, state, rate) and returns an Update.
template <class O>
Update clipped_update(const O& optimizer, const Clip& clip, const Args& params, Args gradients,
                      const Args& state, Value rate) {
  if (clip.value) gradients = clip_by_value(gradients, *clip.value);
  Value scale;
  if (clip.norm) scale = global_norm_scale(global_norm(gradients), *clip.norm);
  if constexpr (std::convertible_to<O, Optimizer>) {
    return update(optimizer, params, gradients, state, rate, scale);
  } else {
    static_assert(
        std::is_invocable_r_v<Update, const O&, Args, Args, Args, Value>,
        "an optimizer is called with (params, gradients, state, rate), returns an Update");
    return optimizer(params, scale ? scaled(gradients, scale) : gradients, state, rate);
  }
}

// The result of step().
template <class Loss, class O>
class Step {
 public:
  Step(Loss loss, O optimizer, const Clip& clip)
      : loss_(std::move(loss)), optimizer_(std::move(optimizer)), clip_(clip) {}

  // Returns the new parameters, the new state, and the loss before the step.
  template <ValueGroup... Batch>
  auto operator()(const Args& params, const Args& state, Value rate, const Batch&... batch) const {
    const auto differentiated = value_and_grad(loss_)(params, batch...);
    const Update next =
        clipped_update(optimizer_, clip_, params, std::get<1>(differentiated), state, rate);
    return std::tuple{next.params, next.state, std::get<0>(differentiated)};
  }

 private:
  Loss loss_;
  O optimizer_;
  Clip clip_;
};

// Code of (params, state, rate, batch...) that makes one training step. loss(params, batch...) is a
// floating-point scalar; the first state comes from the optimizer's init().
template <class Loss, class O>
Step<Loss, O> step(Loss loss, O optimizer, const Clip& clip = {}) {
  return {std::move(loss), std::move(optimizer), clip};
}

}  // namespace limpid::optim
