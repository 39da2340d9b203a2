// Programs with mistakes that the compiler explains: each call is refused with the sentence in the
// comment before it. tests/programs/refused.cmake compares them.
#include "limpid/compile/compiled.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"
#include "limpid/optim/step.h"
#include "limpid/transforms/of_code.h"
#include "limpid/transforms/with_gradient.h"

using namespace limpid;

void refused(const Params& params, const Tensor& x, double number) {
  // refused: the code cannot be called with such arguments
  compile([](const Params&, Value v) { return v; })(params, x);
  // refused: the code must return a Value, Args, or a std::tuple of these
  compile([](Value v) { return std::vector{v, v}; })(x);
  // refused: a compiled function takes tensors, numbers, Keys, Params and tuples of these
  compile([](Value v) { return v; })(true);
  // refused: on tensors write compile(grad(code))(x)
  grad([](Value v) { return sum(v); })(x);
  // refused: jvp: call it with the arguments of the code and then a tangent for each
  compile([](Value v) { return jvp([](Value w) { return w; })(v).tangent; })(x);
  // refused: an optimizer is called with (params, gradients, state, rate), returns an Update
  compile(optim::step([](const Args& p) { return sum(p.at("w")); }, 0.1))(params, params, 0.1);
  // refused: with_gradient: body and gradient must capture nothing
  with_gradient([number](Value v) { return v * number; }, [](Value, Value, Value c) { return c; });
  // refused: sequential: expected layers
  nn::sequential(relu, 5);
}
