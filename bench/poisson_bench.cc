// One training step of examples/poisson: a loss with a second derivative, its gradient and Adam as
// one plan, called as a program calls it. peer_poisson.py is the same step in PyTorch.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "limpid/limpid.h"

int main() {
  namespace lp = limpid;
  using lp::Args, lp::Value;
  constexpr double kPi = 3.14159265358979323846;
  const auto net = lp::nn::mlp({1, 32, 32, 1}, lp::tanh);
  auto loss = [&](const Args& p, Value xs) {
    auto u = [&](Value x) { return x * (1.0 - x) * lp::reshape(net(p, lp::reshape(x, {1})), {}); };
    const Value residual = lp::vmap(lp::grad(lp::grad(u)))(xs) + kPi * kPi * lp::sin(kPi * xs);
    return lp::mean(residual * residual);
  };
  const lp::optim::Adam adam;
  auto step = lp::compile(lp::optim::step(loss, adam));
  const lp::Tensor xs = lp::Tensor::generate<float>({64}, [](auto out) {
    for (std::size_t i = 0; i < 64; ++i) out[i] = (static_cast<float>(i) + 0.5f) / 64;
  });
  lp::Params params = net.init(lp::Key{0}), state = adam.init(params);
  lp::Tensor value;
  std::vector<double> microseconds;
  for (int i = 0; i < 20'000; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    std::tie(params, state, value) = step(params, state, 0.001, xs);
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    microseconds.push_back(time.count());
  }
  std::sort(microseconds.begin(), microseconds.end());
  fmt::print("a step of examples/poisson: median {:.1f} us, fastest {:.1f} us, loss {:.2g}\n",
             microseconds[microseconds.size() / 2], microseconds.front(), value.item<float>());
}
