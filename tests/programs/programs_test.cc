// Programs against the library as people write them: training by hand, second derivatives,
// per-example gradients, ensembles, fine-tuning, custom layers. Each is tested as a whole, by its
// result.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "limpid/limpid.h"

namespace {

namespace lp = limpid;
using lp::Value, lp::Args, lp::Tensor, lp::Params, lp::Key;

TEST(Programs, TrainingByHand) {
  const auto inputs = Tensor::from<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const auto targets = Tensor::from<float>({4, 1}, {0, 1, 1, 0});
  const auto net = lp::nn::mlp({2, 8, 1}, lp::tanh);
  const lp::optim::Adam adam;
  auto loss = [&](const Args& p, Value x, Value y) { return lp::mse_loss(net(p, x), y); };
  auto step = lp::compile([&](const Args& p, const Args& s, Value rate, Value x, Value y) {
    const auto [value, gradients] = lp::value_and_grad(loss)(p, x, y);
    const auto [next, state] = adam(p, gradients, s, rate);
    return std::tuple{next, state, value};
  });
  Params params = net.init(Key{0}), state = adam.init(params);
  std::ostringstream log;
  for (int i = 0; i <= 200; ++i) {
    Tensor value;
    std::tie(params, state, value) = step(params, state, 0.05, inputs, targets);
    if (i % 50 == 0) log << "step " << i << "  loss " << value.item<float>() << '\n';
  }
  // Those of the sixth page of the tour.
  EXPECT_EQ(log.str(),
            "step 0  loss 0.40717\nstep 50  loss 0.000945361\nstep 100  loss 5.14277e-06\n"
            "step 150  loss 1.68775e-08\nstep 200  loss 1.47532e-10\n");
}

TEST(Programs, MiniBatchesScheduleAndClipping) {
  const lp::Split data = lp::digits_split(0, 6000, 1000);
  const auto net = lp::nn::mlp({784, 128, 10}, lp::relu, /*dropout=*/0.1);
  const lp::optim::AdamW adamw{.weight_decay = 0.01};
  const lp::optim::Schedule rate{
      .kind = lp::optim::Schedule::Kind::kCosine, .rate = 0.002, .steps = 376, .warmup = 40};
  auto loss = [&](const Args& p, Value x, Value y, Value key) {
    return lp::cross_entropy(net(p, x, key), y);
  };
  auto step = lp::compile(lp::optim::step(loss, adamw, {.norm = 1.0}));
  auto logits = lp::compile(net);
  Params params = net.init(Key{0}), state = adamw.init(params);
  double accuracy = 0;
  for (int epoch = 0, i = 0; epoch < 4; ++epoch) {
    Tensor value;
    for (const auto& [x, y] : lp::batches(data.train, {.size = 64}, Key{1}, epoch)) {
      std::tie(params, state, value) =
          step(params, state, rate.at(i), x, y, Key{2}.fold_in(static_cast<std::uint64_t>(i)));
      ++i;
    }
    const auto test =
        lp::train::classification_metrics(logits(params, data.test.inputs), data.test.targets);
    accuracy = test.metrics.at("accuracy");
  }
  EXPECT_GT(accuracy, 0.9);
}

TEST(Programs, SecondDerivativeInsideOfTheLoss) {
  const auto net = lp::nn::mlp({1, 32, 32, 1}, lp::tanh);
  auto u = [&](const Args& p, Value x) {
    return x * (1.0 - x) * lp::reshape(net(p, lp::reshape(x, {1})), {});
  };
  auto loss = [&](const Args& p, Value xs) {
    auto curve = [&](Value x) { return u(p, x); };  // p is captured
    const Value residual =
        lp::vmap(lp::grad(lp::grad(curve)))(xs) + M_PI * M_PI * lp::sin(M_PI * xs);
    return lp::mean(residual * residual);
  };
  auto step = lp::compile(lp::optim::step(loss, lp::optim::Adam{}));
  auto solution = lp::compile(
      [&](const Args& p, Value xs) { return lp::vmap([&](Value x) { return u(p, x); })(xs); });
  const Tensor xs = Tensor::generate<float>({64}, [](auto out) {
    for (std::size_t i = 0; i < 64; ++i) out[i] = (static_cast<float>(i) + 0.5f) / 64;
  });
  Params params = net.init(Key{0}), state = lp::optim::Adam{}.init(params);
  Tensor value;
  for (int i = 0; i <= 3000; ++i)
    std::tie(params, state, value) = step(params, state, i < 2000 ? 0.003 : 0.0005, xs);
  float worst = 0;
  for (std::size_t i = 0; i < 64; ++i)
    worst = std::max(worst, std::abs(solution(params, xs).values<float>()[i] -
                                     std::sin(float(M_PI) * xs.values<float>()[i])));
  std::ostringstream log;
  log.precision(2);
  log << "loss " << value.item<float>() << ", largest error " << worst;
  EXPECT_EQ(log.str(), "loss 5.5e-05, largest error 2.9e-05");
}

TEST(Programs, AGradientForEachExample) {
  const auto data = lp::digits(Key{1}, 512);
  const auto net = lp::nn::mlp({784, 32, 10}, lp::relu);
  auto loss = [&](const Args& p, Value x, Value y) {
    return lp::mean(lp::softmax_cross_entropy(net(p, x), y));
  };
  auto noise = lp::compile([&](const Args& p, Value xs, Value ys) {
    const Args each = lp::vmap([&](Value x, Value y) { return lp::grad(loss)(p, x, y); })(xs, ys);
    const Args mean = lp::map([](Value g) { return lp::mean(g, 0); }, each);
    const Args off = each - mean;
    return std::tuple{each, lp::dot(off, off) / 511.0 / lp::dot(mean, mean)};
  });
  const Params params = net.init(Key{0});
  const auto [each, scale] = noise(params, data.inputs, data.targets);
  EXPECT_EQ(lp::to_string(each.at("layers.0.weight").type()), "f32[512, 32, 784]");
  EXPECT_GT(scale.item<float>(), 0.1f);

  // The gradient of example 3, bit for bit.
  const auto alone = lp::compile(lp::grad(loss))(params, data.inputs.rows(3, 1).reshape({784}),
                                                 data.targets.rows(3, 1).reshape({}));
  EXPECT_TRUE(
      each.at("layers.1.bias").rows(3, 1).reshape({10}).same_bits(alone.at("layers.1.bias")));
}

TEST(Programs, NewtonByConjugateGradients) {
  const auto data = lp::synthetic("moons", Key{1});
  const auto net = lp::nn::mlp({2, 16, 2}, lp::tanh);
  auto newton = lp::compile([&](const Args& p, Value x, Value y) {
    auto loss = [&](const Args& q) { return lp::cross_entropy(net(q, x), y); };
    auto hessian_times = [&](const Args& v) {
      return lp::jvp(lp::grad(loss))(p, v).tangent + 0.1 * v;
    };
    const auto both = lp::value_and_grad(loss)(p);
    const Args g = std::get<1>(both);
    Args solved = 0.0 * g, r = g, d = g;
    Value rr = lp::dot(r, r);
    for (int i = 0; i < 10; ++i) {
      const Args h = hessian_times(d);
      const Value alpha = rr / lp::dot(d, h);
      solved = solved + alpha * d;
      r = r - alpha * h;
      const Value before = std::exchange(rr, lp::dot(r, r));
      d = r + (rr / before) * d;
    }
    return std::tuple{p - solved, std::get<0>(both)};
  });
  Params params = net.init(Key{0});
  Tensor value;
  float first = 0;
  for (int i = 0; i < 20; ++i) {
    std::tie(params, value) = newton(params, data.inputs, data.targets);
    if (i == 0) first = value.item<float>();
  }
  EXPECT_LT(value.item<float>(), 0.2f * first);
}

TEST(Programs, EightNetworksAtOnce) {
  const auto data = lp::synthetic("moons", Key{1});
  const auto net = lp::nn::mlp({2, 32, 2}, lp::relu);
  const lp::optim::Adam adam;
  auto one = lp::optim::step(
      [&](const Args& p, Value x, Value y) { return lp::cross_entropy(net(p, x), y); }, adam);
  auto step = lp::compile([&](const Args& ps, const Args& ss, Value rate, Value x, Value y) {
    return lp::vmap([&](const Args& p, const Args& s) { return one(p, s, rate, x, y); })(ps, ss);
  });
  auto answer = lp::compile([&](const Args& ps, Value x) {
    return lp::mean(lp::vmap([&](const Args& p) { return lp::softmax(net(p, x)); })(ps), 0);
  });
  std::vector<Params> members, states;
  for (std::uint64_t i = 0; i < 8; ++i) {
    members.push_back(net.init(Key{0}.fold_in(i)));
    states.push_back(adam.init(members[i]));
  }
  Params params = lp::stack(members), state = lp::stack(states);
  Tensor values;
  for (int i = 0; i < 200; ++i)
    std::tie(params, state, values) = step(params, state, 0.01, data.inputs, data.targets);
  EXPECT_EQ(lp::to_string(answer(params, data.inputs).type()), "f32[1000, 2]");
  for (const float loss : values.values<float>()) EXPECT_LT(loss, 0.1f);

  // Member 5 as if it were alone, bit for bit.
  auto alone = lp::compile(one);
  Params p = members[5], s = states[5];
  Tensor value;
  for (int i = 0; i < 200; ++i)
    std::tie(p, s, value) = alone(p, s, 0.01, data.inputs, data.targets);
  EXPECT_TRUE(values.rows(5, 1).reshape({}).same_bits(value));
}

TEST(Programs, FineTuningOfAPart) {
  const auto data = lp::digits(Key{1}, 512);
  const auto net = lp::nn::mlp({784, 64, 64, 10}, lp::relu);
  const lp::optim::Adam adam;
  auto loss = [&](const Args& p, Value x, Value y) { return lp::cross_entropy(net(p, x), y); };
  auto step = lp::compile([&](const Args& p, const Args& s, Value rate, Value x, Value y) {
    const auto [value, gradients] = lp::value_and_grad(loss, {"layers.2"})(p, x, y);
    const auto [next, state] = adam(p.only({"layers.2"}), gradients, s, rate);
    return std::tuple{next, state, value};
  });
  const Params start = net.init(Key{0});
  Params params = start, state = adam.init(params.only({"layers.2"}));
  float first = 0, last = 0;
  for (int i = 0; i <= 100; ++i) {
    const auto [next, next_state, value] = step(params, state, 0.01, data.inputs, data.targets);
    params = params.with(next), state = next_state;
    (i == 0 ? first : last) = value.item<float>();
  }
  EXPECT_LT(last, 0.6f * first);
  EXPECT_EQ(params.names(), start.names());
  EXPECT_TRUE(params.at("layers.1.weight").same_bits(start.at("layers.1.weight")));
  EXPECT_FALSE(params.at("layers.2.weight").same_bits(start.at("layers.2.weight")));
}

TEST(Programs, AGradientThroughAnUpdate) {
  const auto net = lp::nn::mlp({1, 32, 32, 1}, lp::tanh);
  auto loss = [&](const Args& p, Value x, Value y) { return lp::mse_loss(net(p, x), y); };
  auto adapted = [&](const Args& p, Value x, Value y) { return p - 0.1 * lp::grad(loss)(p, x, y); };
  auto meta = [&](const Args& p, Value key) {
    const Value amplitudes = 0.5 + 2.0 * lp::uniform(lp::fold_in(key, 0), {16});
    const Value points = 6.28 * lp::uniform(lp::fold_in(key, 1), {16, 20, 1}) - 3.14;
    return lp::mean(lp::vmap([&](Value a, Value x) {
      const std::vector<Value> half = lp::split(x, 2, 0);
      return loss(adapted(p, half[0], a * lp::sin(half[0])), half[1], a * lp::sin(half[1]));
    })(amplitudes, points));
  };
  auto step = lp::compile(lp::optim::step(meta, lp::optim::Adam{}));
  Params params = net.init(Key{0}), state = lp::optim::Adam{}.init(params);
  float first = 0;
  Tensor value;
  for (int i = 0; i <= 1000; ++i) {
    std::tie(params, state, value) =
        step(params, state, 0.002, Key{1}.fold_in(static_cast<std::uint64_t>(i)));
    if (i == 0) first = value.item<float>();
  }
  EXPECT_LT(value.item<float>(), 0.5f * first);
}

// Hyper-parameters, init, a call.
struct Block {
  std::int64_t width;
  lp::nn::NamedLayer<lp::nn::LayerNorm> norm{"norm", {width}};
  lp::nn::NamedLayer<lp::nn::Linear> up{"up", {width, 4 * width}}, down{"down", {4 * width, width}};
  Params init(Key key) const { return lp::nn::init_all(key, norm, up, down); }
  Value operator()(const Args& p, Value x) const {
    return x + down(p, lp::relu(up(p, norm(p, x))));
  }
};

TEST(Programs, ALayerAndAnOpOfOnesOwn) {
  const auto rounded = lp::with_gradient([](Value x) { return lp::round(x); },  // straight through
                                         [](Value, Value, Value cotangent) { return cotangent; });
  const auto net = lp::nn::sequential(lp::nn::Linear{4, 16}, Block{16}, Block{16},
                                      lp::nn::named("head", lp::nn::Linear{16, 1}));
  const Params params = net.init(Key{0});
  auto loss = [&](const Args& p, Value x) { return lp::mean(rounded(net(p, x))); };
  const auto inputs = Tensor::from<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto [value, gradients] = lp::compile(lp::value_and_grad(loss))(params, inputs);
  EXPECT_EQ(value.item<float>() * 2, std::round(value.item<float>() * 2));
  EXPECT_EQ(lp::to_text(gradients.at("head.bias")), "f32[1] (1.0)");
  EXPECT_EQ(gradients.names()[2], "1.norm.weight");
}

struct Recurrent {  // Elman 1990: (length, 1) to (1)
  lp::nn::NamedLayer<lp::nn::Linear> in{"in", {1, 24}}, back{"back", {24, 24}}, out{"out", {24, 1}};
  Params init(Key key) const {
    return lp::nn::init_all(key, in, back, out).with({{"start", Tensor::zeros(lp::f32({24}))}});
  }
  Value operator()(const Args& p, Value x) const {
    Value h = p.at("start");
    for (Value now : lp::unstack(x, -2)) h = lp::tanh(in(p, now) + back(p, h));
    return out(p, h);
  }
};

TEST(Programs, ARecurrentNetworkUnrolled) {
  const Recurrent net;
  auto loss = [&](const Args& p, Value key) {  // the parity of 8 bits
    const Value bits = lp::cast(lp::less(lp::uniform(key, {64, 8, 1}), 0.5), lp::Dtype::kF32);
    return lp::binary_cross_entropy_with_logits(net(p, bits), lp::remainder(lp::sum(bits, 1), 2.0));
  };
  auto step = lp::compile(lp::optim::step(loss, lp::optim::Adam{}, {.norm = 1.0}));
  Params params = net.init(Key{0}), state = lp::optim::Adam{}.init(params);
  Tensor value;
  for (int i = 0; i <= 3000; ++i)
    std::tie(params, state, value) =
        step(params, state, 0.003, Key{1}.fold_in(static_cast<std::uint64_t>(i)));
  EXPECT_LT(value.item<float>(), 0.05f);
}

}  // namespace
