// A network solves a differential equation, -u'' = pi^2 sin(pi x) on (0, 1) with u(0) = u(1) = 0:
// its second derivative stands in the loss. The solution is sin(pi x).
#include <limpid/limpid.h>

#include <cmath>
#include <cstdio>

namespace lp = limpid;
using lp::Args, lp::Params, lp::Tensor, lp::Value;

int main() {
  const double pi = 3.14159265358979323846;
  const auto net = lp::nn::mlp({1, 32, 32, 1}, lp::tanh);
  auto u = [&](const Args& p, Value x) {  // 0 at both ends
    return x * (1.0 - x) * lp::reshape(net(p, lp::reshape(x, {1})), {});
  };
  auto loss = [&](const Args& p, Value xs) {
    auto curve = [&](Value x) { return u(p, x); };
    const Value residual = lp::vmap(lp::grad(lp::grad(curve)))(xs) + pi * pi * lp::sin(pi * xs);
    return lp::mean(residual * residual);
  };
  const lp::optim::Adam adam;
  auto step = lp::compile(lp::optim::step(loss, adam));  // the whole step is one plan
  auto solution = lp::compile(
      [&](const Args& p, Value xs) { return lp::vmap([&](Value x) { return u(p, x); })(xs); });

  const Tensor xs = Tensor::generate<float>({64}, [](auto out) {
    for (std::size_t i = 0; i < 64; ++i) out[i] = (static_cast<float>(i) + 0.5f) / 64;
  });
  Params params = net.init(lp::Key{0}), state = adam.init(params);
  Tensor value;
  for (int i = 0; i <= 3000; ++i)
    std::tie(params, state, value) = step(params, state, i < 2000 ? 0.003 : 0.0005, xs);

  const Tensor y = solution(params, xs);
  double off = 0;
  for (std::size_t i = 0; i < 64; ++i)
    off = std::fmax(off, std::fabs(y.values<float>()[i] - std::sin(pi * xs.values<float>()[i])));
  std::printf("loss %.1e, largest error %.1e\n", static_cast<double>(value.item<float>()), off);
}
