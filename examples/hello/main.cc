// A network in ten lines: defined, initialised, run, differentiated.
#include <limpid/limpid.h>

#include <cstdio>

namespace lp = limpid;

int main() {
  const auto data = lp::digits(lp::Key{1}, 512);                // f32 [512, 784], i32 [512]
  const auto net = lp::nn::mlp({784, 256, 128, 10}, lp::relu);  // a value: hyper-parameters only
  lp::Params params = net.init(lp::Key{0});                     // named tensors

  const lp::Tensor logits = lp::compile(net)(params, data.inputs);  // (512, 784) -> (512, 10)

  auto loss = [&](const lp::Args& p, lp::Value x, lp::Value y) {
    return lp::mean(lp::softmax_cross_entropy(net(p, x), y));
  };
  auto step = lp::compile(lp::value_and_grad(loss));  // a function like any other
  const auto [value, gradients] = step(params, data.inputs, data.targets);

  std::printf("logits %s\n", lp::to_string(logits.type()).c_str());
  std::printf("loss %.4f\n", static_cast<double>(value.item<float>()));
  std::printf("gradient of layers.0.weight %s\n",
              lp::to_string(gradients.at("layers.0.weight").type()).c_str());
}
