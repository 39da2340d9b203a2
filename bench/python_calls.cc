// Times of calls of compiled networks from C++, for comparison by python_calls.py. Prints one line
// per network: its name and microseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "limpid/limpid.h"

namespace lp = limpid;

namespace {

// The smallest mean over several rounds of calls.
template <class F>
double microseconds(const F& call, int calls) {
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / calls);
  }
  return best;
}

void measure(const char* name, const lp::nn::Mlp& net, int calls) {
  const lp::Params params = net.init(lp::Key(0));
  const lp::Tensor x = lp::Tensor::zeros(lp::f32({net.sizes.front()}));
  auto compiled = lp::compile(net);
  std::printf("%s compiled %.3f\n", name, microseconds([&] { compiled(params, x); }, calls));
  const lp::Function f = lp::bind(net.function(), params);
  std::printf("%s Function %.3f\n", name, microseconds([&] { f(x); }, calls));
}

}  // namespace

int main() {
  measure("3-4-2", lp::nn::mlp({3, 4, 2}, lp::relu), 10'000);
  measure("784-256-128-10", lp::nn::mlp({784, 256, 128, 10}, lp::relu), 1'000);
}
