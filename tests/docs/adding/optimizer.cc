// An optimiser that is in limpid/optim/rules.cc alone: its numbers, a step, and a gradient refused.
#include <cstdio>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/optim/optimizer.h"

using namespace limpid;

int main() {
  const optim::Optimizer lion = optim::optimizer_from_name("lion");
  for (const auto& [name, value] : optim::numbers(lion))
    std::printf("%s %g\n", name.c_str(), value);
  const Function f = optim::update_function(lion, {{"w", {Dtype::kF32, {2}}}});
  const Tensor w = Tensor::from<float>({2}, {1, 1}),
               gradient = Tensor::from<float>({2}, {0.3f, -4});
  const Tensor state = Tensor::zeros({Dtype::kF32, {2}});
  const auto next = compile(f)(std::vector{w, gradient, state, Tensor::scalar(0.25f)});
  std::printf("%g %g\n", next[0].values<float>()[0], next[0].values<float>()[1]);
  try {
    trace("wrong", {{"w", {Dtype::kF32, {2}}}, {"rate", {Dtype::kF32, {}}}},
          [&](std::span<const Value> in) {
            return optim::update(lion, {{"w", in[0]}}, {{"w", in[1]}}, {}, in[1]).params.values();
          });
  } catch (const Error& e) {
    std::printf("%s\n", e.what());
  }
}
