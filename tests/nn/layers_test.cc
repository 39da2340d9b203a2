// Layers: names, first values, and what composition does. PyTorch's numbers are compared with in
// tests/golden.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "limpid/compile/executable.h"
#include "limpid/compile/thread_pool.h"
#include "limpid/core/error.h"
#include "limpid/function/interpret.h"
#include "limpid/nn/attention.h"
#include "limpid/nn/char_lm.h"
#include "limpid/nn/dropout.h"
#include "limpid/nn/embedding.h"
#include "limpid/nn/feed_forward.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/init.h"
#include "limpid/nn/language_model.h"
#include "limpid/nn/mlp.h"
#include "limpid/nn/norm.h"
#include "limpid/nn/perceptron.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/of_code.h"
#include "limpid/transforms/simplify.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

using Names = std::vector<std::string>;

std::int64_t parameters(const Params& params) {
  std::int64_t count = 0;
  for (const auto& [name, value] : params) count += value.elements();
  return count;
}

// A layer's result for x with its parameters from Key(0); with a key, in training mode.
template <Layer L>
Tensor run(const L& layer, const Tensor& x, std::optional<Key> key = {}) {
  const Params params = init_layer(layer, Key(0));
  std::vector<Input> inputs = inputs_of(params);
  inputs.push_back({"x", x.type()});
  inputs.push_back({"key", {Dtype::kI64, {}}});
  const Function f = trace("layer", inputs, [&](std::span<const Value> in) {
    const std::size_t n = params.size();
    return std::vector<Value>{apply_layer(layer, args_of(params, in), in[n],
                                          key ? std::optional(in[n + 1]) : std::nullopt)};
  });
  std::vector<Tensor> values = params.values();
  values.push_back(x);
  values.push_back(key_tensor(key.value_or(Key(0))));
  return interpret(f, values)[0];
}

Tensor ones(const Shape& shape) { return constant(1)(Key(0), shape); }

TEST(Sequential, NamesAreThoseOfPyTorch) {
  const auto net = sequential(Linear{3, 8}, relu, Linear{8, 2, false});
  EXPECT_EQ(net.init(Key(0)).names(), (Names{"0.weight", "0.bias", "2.weight"}));
  const auto by_name = sequential(named("fc", Linear{3, 8}), relu, named("head", net));
  EXPECT_EQ(by_name.init(Key(0)).names(),
            (Names{"fc.weight", "fc.bias", "head.0.weight", "head.0.bias", "head.2.weight"}));
}

// One of the layers would have the parameters of the other.
TEST(Sequential, NoNameComesTwice) {
  const auto net = sequential(named("1", Linear{3, 8}), Linear{8, 2});
  expect_refused(ErrorCode::kInvalidArgument, [&] { net.init(Key(0)); });
  EXPECT_EQ(sequential(named("1", relu), Linear{8, 2}).init(Key(0)).names(),
            (Names{"1.weight", "1.bias"}));
}

TEST(Sequential, IsItsPartsOneAfterTheOther) {
  const Linear first{3, 8};
  const Linear second{8, 2};
  const Tensor x = normal(1)(Key(5), {4, 3});
  const auto by_hand = [&](const Args& p, Value v) {
    return second(p.within("2"), tanh(first(p.within("0"), v)));
  };
  const auto net = sequential(first, limpid::tanh, second);
  const Function f = function_of(net, x.type());
  const Function g = trace("by_hand", f.inputs(), [&](std::span<const Value> in) {
    Args args;
    for (std::size_t i = 0; i + 1 < in.size(); ++i) args.set(f.inputs()[i].name, in[i]);
    return std::vector<Value>{by_hand(args, in.back())};
  });
  std::vector<Tensor> inputs = net.init(Key(0)).values();
  inputs.push_back(x);
  EXPECT_TRUE(interpret(f, inputs)[0].same_bits(interpret(g, inputs)[0]));
}

// Messages name the part.
TEST(Sequential, SaysWhereShapesDoNotFit) {
  const auto net = sequential(named("body", sequential(Linear{3, 8}, relu, Linear{7, 2})));
  expect_refused(ErrorCode::kShape, [&] { function_of(net, {Dtype::kF32, {3}}); });
}

TEST(Sequential, EveryDropoutHasAKeyOfItsOwn) {
  const auto twice = sequential(Dropout{0.5}, Dropout{0.5});
  const Tensor x = ones({1000});
  EXPECT_TRUE(run(twice, x).same_bits(x));  // at inference
  const Tensor dropped = run(twice, x, Key(1));
  std::int64_t zeros = 0;
  for (float v : dropped.values<float>()) {
    EXPECT_TRUE(v == 0 || v == 4);
    zeros += v == 0;
  }
  EXPECT_NEAR(static_cast<double>(zeros), 750, 60);  // the same mask twice would give 500
  EXPECT_TRUE(run(twice, x, Key(1)).same_bits(dropped));
}

// The key reaches a layer through whatever stands around it.
TEST(Dropout, DropsInsideOfOtherLayers) {
  const Tensor x = normal(1)(Key(5), {4, 6});
  const auto expect_drops = [&](const auto& layer, const char* what) {
    const Tensor dropped = run(layer, x, Key(1));
    EXPECT_FALSE(dropped.same_bits(run(layer, x))) << what;
    EXPECT_FALSE(dropped.same_bits(run(layer, x, Key(2)))) << what;
  };
  expect_drops(Residual{Dropout{0.5}}, "Residual");
  expect_drops(PreNorm{LayerNorm{6}, Dropout{0.5}}, "PreNorm");
  expect_drops(PostNorm{LayerNorm{6}, Dropout{0.5}}, "PostNorm");
  expect_drops(named("part", Dropout{0.5}), "named");
  expect_drops(sequential(relu, sequential(Dropout{0.5})), "sequential");
}

// Tensors drawn by one key are the same numbers, or multiples of them, and so are their gradients.
TEST(Init, NoTwoTensorsOfANetworkBeginAlike) {
  const auto alike = [](const Tensor& a, const Tensor& b) {
    const auto x = a.values<float>(), y = b.values<float>();
    for (std::size_t i = 1; i < 6; ++i)
      if (std::fabs(x[i] * y[0] - y[i] * x[0]) > 1e-4f * std::fabs(x[i] * y[0])) return false;
    return true;
  };
  Gpt gpt = llama_shaped();
  gpt.vocabulary = 11;
  gpt.layers = 2;
  gpt.width = 24;
  Gpt learned = gpt2_shaped();
  learned.vocabulary = 11;
  learned.layers = 2;
  learned.width = 24;
  for (const Params& params :
       {gpt.init(Key(1)), learned.init(Key(1)), mlp({6, 6, 6, 6}, relu).init(Key(1)),
        CharLm{5, 3, 2, Mlp{{6, 8, 5}}}.init(Key(1)), FeedForward{6, 12}.init(Key(1)),
        GatedFeedForward{6, 12}.init(Key(1)),
        MultiHeadAttention{.features = 6, .heads = 2}.init(Key(1)),
        PreNorm{Linear{6, 6}, Linear{6, 6}}.init(Key(1)),
        sequential(Linear{6, 6}, relu, Linear{6, 6}).init(Key(1))}) {
    std::vector<std::string> drawn;  // the others are constants
    for (const auto& [name, value] : params)
      if (value.values<float>()[0] != value.values<float>()[1]) drawn.push_back(name);
    EXPECT_GT(drawn.size(), 1u);
    for (std::size_t i = 0; i < drawn.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_FALSE(alike(params.at(drawn[i]), params.at(drawn[j])))
            << drawn[i] << ", " << drawn[j];
  }
}

// A key gives the same parameters in every release.
TEST(Init, OfALayerKeepsItsBits) {
  Gpt llama = llama_shaped(), gpt2 = gpt2_shaped();
  for (Gpt* net : {&llama, &gpt2}) {
    net->vocabulary = 11;
    net->layers = 2;
    net->width = 24;
  }
  const std::pair<std::uint64_t, Params> kept[] = {
      {0x0f6d259c2566e6fa, llama.init(Key(1))},
      {0x8577f4dfdb6113b7, gpt2.init(Key(1))},
      {0xda24761dabb8cf08, mlp({6, 6, 6, 6}, relu).init(Key(1))},
      {0xcdbf188c293f4c37, CharLm{5, 3, 2, Mlp{{6, 8, 5}}}.init(Key(1))},
      {0x7a00ef0589124b56, FeedForward{6, 12}.init(Key(1))},
      {0x2f7f73a4b6ff1a88, GatedFeedForward{6, 12}.init(Key(1))},
      {0x1884e32c8b957110, MultiHeadAttention{.features = 6, .heads = 2}.init(Key(1))},
      {0x2cebcb9253cab5f6, PreNorm{Linear{6, 6}, Linear{6, 6}}.init(Key(1))},
      {0xccfa7aaa42dc838e, sequential(Linear{6, 6}, relu, Linear{6, 6}).init(Key(1))}};
  for (const auto& [expected, params] : kept) {
    const std::vector<std::uint64_t> each = hashes(params.values());
    EXPECT_EQ(hash(std::as_bytes(std::span(each))), expected) << params.begin()->first;
  }
}

// The gradient of x + f(x) is 1 + df/dx.
TEST(Residual, GradientIsOneMore) {
  const auto branch = sequential(Linear{3, 3}, limpid::tanh);
  const Tensor x = normal(1)(Key(5), {3});
  const auto gradient = [&](const auto& layer) {
    const Params params = init_layer(layer, Key(0));
    const Function f = function_of(layer, x.type());
    const Function scalar = trace("sum", f.inputs(), [&](std::span<const Value> in) {
      return std::vector<Value>{sum(in[0].builder().inline_function(f, in).front())};
    });
    std::vector<Tensor> inputs = params.values();
    inputs.push_back(x);
    return interpret(grad(scalar, {params.size()}), inputs)[0];
  };
  const Tensor plain = gradient(branch);
  const Tensor residual = gradient(Residual{branch});
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_FLOAT_EQ(residual.values<float>()[i], 1 + plain.values<float>()[i]);
  EXPECT_EQ(Residual{branch}.init(Key(0)).names(), branch.init(Key(0)).names());
}

TEST(Residual, BeforeAndBehindTheNorm) {
  const Names names{"norm.weight", "norm.bias", "layer.weight", "layer.bias"};
  EXPECT_EQ((PreNorm{LayerNorm{4}, Linear{4, 4}}.init(Key(0)).names()), names);
  EXPECT_EQ((PostNorm{LayerNorm{4}, Linear{4, 4}}.init(Key(0)).names()), names);
  // After the norm every row has mean 0.
  const Tensor x = normal(3)(Key(5), {2, 4});
  const Tensor post = run(PostNorm{LayerNorm{4}, Linear{4, 4}}, x);
  const Tensor pre = run(PreNorm{LayerNorm{4}, Linear{4, 4}}, x);
  for (std::int64_t r = 0; r < 2; ++r) {
    float total = 0;
    for (float v : post.rows(r, 1).values<float>()) total += v;
    EXPECT_NEAR(total, 0, 1e-5);
  }
  EXPECT_FALSE(pre.same_bits(post));
  // Before it, what is added to x is the layer's result for the normed x.
  const Tensor sum = run(PreNorm{LayerNorm{4}, limpid::tanh}, x);
  const Tensor added = run(sequential(LayerNorm{4}, limpid::tanh), x);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(sum.values<float>()[i], x.values<float>()[i] + added.values<float>()[i]) << i;
}

// As the paper of batch normalisation has it: the activation sees what was normed.
TEST(Mlp, NormsBeforeItsActivation) {
  const auto expect_as = [](MlpNorm norm, const auto& by_hand) {
    Mlp net = mlp({3, 8, 2}, relu);
    net.norm = norm;
    std::vector<Tensor> inputs = net.init(Key(2)).values();
    inputs.push_back(normal(1)(Key(5), {3}));
    EXPECT_TRUE(interpret(net.function(), inputs)[0].same_bits(
        interpret(function_of(by_hand, inputs.back().type()), inputs)[0]))
        << name(norm);
  };
  const auto first = named("layers.0", Linear{3, 8});
  const auto second = named("layers.1", Linear{8, 2});
  expect_as(MlpNorm::kLayer, sequential(first, named("norms.0", LayerNorm{8}), relu, second));
  expect_as(MlpNorm::kRms, sequential(first, named("norms.0", RmsNorm{8}), relu, second));
}

// The result of a row does not depend on the shape in which rows are given.
TEST(Mlp, BatchNormTakesRowsOfAnyShape) {
  Mlp net = mlp({3, 4, 2}, relu);
  net.norm = MlpNorm::kBatch;
  Params all = net.init(Key(2));
  all.merge("", net.init_state());
  all.set("norms.0.running_mean", normal(1)(Key(3), {4}));
  const auto logits = [&](const Tensor& x) {
    std::vector<Input> inputs = inputs_of(all);
    inputs.push_back({"x", x.type()});
    const Function f = trace("f", inputs, [&](std::span<const Value> in) {
      return std::vector<Value>{net(args_of(all, in), in.back())};
    });
    std::vector<Tensor> values = all.values();
    values.push_back(x);
    return interpret(f, values)[0];
  };
  const Tensor x = normal(1)(Key(5), {2, 5, 3});
  const Tensor together = logits(x).reshape({10, 2});
  for (std::int64_t i = 0; i < 10; ++i)
    EXPECT_TRUE(together.rows(i, 1).reshape({2}).same_bits(
        logits(x.reshape({10, 3}).rows(i, 1).reshape({3}))))
        << i;
}

TEST(Mlp, TrainingDropsOutWhateverTheNorm) {
  for (const MlpNorm norm : {MlpNorm::kNone, MlpNorm::kBatch}) {
    Mlp net = mlp({3, 16, 2}, relu, 0.5);
    net.norm = norm;
    Params all = net.init(Key(2));
    const std::size_t count = all.size();
    all.merge("", net.init_state());
    std::vector<Input> inputs = inputs_of(all);
    inputs.push_back({"x", {Dtype::kF32, {4, 3}}});
    inputs.push_back({"key", {Dtype::kI64, {}}});
    const Function f = trace("f", inputs, [&](std::span<const Value> in) {
      Args params, state;
      for (std::size_t i = 0; i < all.size(); ++i)
        (i < count ? params : state).set(all.names()[i], in[i]);
      return std::vector<Value>{net.training(params, state, in[in.size() - 2], in.back()).logits};
    });
    const auto logits = [&](std::uint64_t key) {
      std::vector<Tensor> values = all.values();
      values.push_back(normal(1)(Key(5), {4, 3}));
      values.push_back(key_tensor(Key(key)));
      return interpret(f, values)[0];
    };
    EXPECT_TRUE(logits(1).same_bits(logits(1))) << name(norm);
    EXPECT_FALSE(logits(1).same_bits(logits(2))) << name(norm);
  }
}

// A state that no norm of the net updates is given back unchanged, so that a loop can pass it on.
TEST(Mlp, TrainingGivesBackTheStateThatItDoesNotUse) {
  const Mlp net = mlp({3, 2}, relu);
  const Params params = net.init(Key(2));
  std::vector<Input> inputs = inputs_of(params);
  inputs.push_back({"x", {Dtype::kF32, {3}}});
  inputs.push_back({"key", {Dtype::kI64, {}}});
  trace("f", inputs, [&](std::span<const Value> in) {
    const Args state{{"epoch", in[0]}};
    const Mlp::Training t = net.training(args_of(params, in), state, in[in.size() - 2], in.back());
    EXPECT_EQ(t.state.names(), Names{"epoch"});
    EXPECT_TRUE(t.state.at("epoch").same_as(in[0]));
    return std::vector<Value>{t.logits};
  });
}

// With momentum 0.1, a tenth of the way from 0 to the mean of the batch.
TEST(Mlp, TrainingMovesTheRunningStatistics) {
  Mlp net = mlp({1, 2, 1}, relu);
  net.norm = MlpNorm::kBatch;
  Params params = net.init(Key(2));
  params.set("layers.0.weight", Tensor::from<float>({2, 1}, {1, -1}));
  const Params state = net.init_state();
  std::vector<Input> inputs = inputs_of(params);
  for (const Input& input : inputs_of(state)) inputs.push_back(input);
  inputs.push_back({"x", {Dtype::kF32, {2, 1}}});
  inputs.push_back({"key", {Dtype::kI64, {}}});
  const Function f = trace("f", inputs, [&](std::span<const Value> in) {
    const Mlp::Training t =
        net.training(args_of(params, in), args_of(state, in.subspan(params.size())),
                     in[in.size() - 2], in.back());
    EXPECT_EQ(t.state.names(), state.names());
    return t.state.values();
  });
  std::vector<Tensor> values = params.values();
  for (const Tensor& value : state.values()) values.push_back(value);
  values.push_back(Tensor::from<float>({2, 1}, {1, 3}));
  values.push_back(key_tensor(Key(0)));
  const std::vector<Tensor> next = interpret(f, values);
  const auto mean = next[0].values<float>(), variance = next[1].values<float>();
  EXPECT_FLOAT_EQ(mean[0], 0.2f);
  EXPECT_FLOAT_EQ(mean[1], -0.2f);
  EXPECT_FLOAT_EQ(variance[0], 0.9f + 0.1f * 2);  // of a sample
}

// Two with the same key would drop the same elements.
TEST(Mlp, EveryDropoutHasAKeyOfItsOwn) {
  const auto keys_of = [](const auto& net, const Type& x) {
    const Params params = net.init(Key(0));
    std::vector<Input> inputs = inputs_of(params);
    inputs.push_back({"x", x});
    inputs.push_back({"key", {Dtype::kI64, {}}});
    const Function f = simplify(trace("training", inputs, [&](std::span<const Value> in) {
      return std::vector<Value>{net(args_of(params, in), in[params.size()], in.back())};
    }));
    std::set<ValueId> keys;
    for (const Node& node : f.nodes())
      if (node.op == &op::dropout) keys.insert(node.inputs[1]);
    return keys.size();
  };
  const Mlp net = mlp({6, 5, 4, 3, 2}, relu, 0.5);
  EXPECT_EQ(keys_of(net, {Dtype::kF32, {6}}), 3u);
  EXPECT_EQ(keys_of(CharLm{2, 3, 2, net}, {Dtype::kI32, {3}}), 3u);
}

TEST(Norms, ParametersAndFirstValues) {
  EXPECT_EQ(LayerNorm{5}.init(Key(0)).names(), (Names{"weight", "bias"}));
  EXPECT_EQ((LayerNorm{5, 1e-5, false}.init(Key(0)).names()), Names{"weight"});
  EXPECT_EQ(RmsNorm{5}.init(Key(0)).names(), Names{"weight"});
  EXPECT_EQ((GroupNorm{2, 6}.init(Key(0)).names()), (Names{"weight", "bias"}));
  EXPECT_EQ(BatchNorm{5}.init(Key(0)).names(), (Names{"weight", "bias"}));
  EXPECT_EQ(BatchNorm{5}.init_state().names(), (Names{"running_mean", "running_var"}));
  EXPECT_TRUE(BatchNorm{5}.init(Key(0)).at("weight").same_bits(ones({5})));
  EXPECT_TRUE(BatchNorm{5}.init_state().at("running_var").same_bits(ones({5})));
  EXPECT_TRUE(BatchNorm{5}.init_state().at("running_mean").same_bits(zeros()(Key(0), {5})));
}

// Of a variance of 1 and an eps of 3: divided by 2.
TEST(Norms, DivideByTheRootOfTheVarianceAndEps) {
  const auto expect = [](const auto& layer, const Shape& shape, const std::vector<float>& x,
                         const std::vector<float>& y) {
    EXPECT_TRUE(run(layer, Tensor::from(shape, x)).same_bits(Tensor::from(shape, y)));
  };
  expect(LayerNorm{2, 3}, {2, 2}, {-1, 1, 6, 4}, {-0.5f, 0.5f, 0.5f, -0.5f});
  expect(LayerNorm{2, 3, false}, {2}, {-1, 1}, {-0.5f, 0.5f});
  expect(RmsNorm{2, 3}, {2, 2}, {-1, 1, 1, 1}, {-0.5f, 0.5f, 0.5f, 0.5f});
  expect(GroupNorm{2, 4, 3}, {1, 4}, {-1, 1, 7, 5}, {-0.5f, 0.5f, 0.5f, -0.5f});
  const BatchNorm batch{1, 0.25, 3};
  Params all = batch.init(Key(0));
  all.merge("", batch.init_state());
  const auto both = [&](const Args& args, const Value& x) {
    const BatchNorm::Result trained = batch(args, args, x);
    return std::vector<Value>{batch.inference(args, args, x), trained.y,
                              trained.state.at("running_mean"), trained.state.at("running_var")};
  };
  const Function f = trace("batch", {{"x", {Dtype::kF32, {2, 1}}}}, [&](std::span<const Value> in) {
    Args args;
    for (const auto& [name, value] : all) args.set(name, constant(in[0].builder(), value));
    return both(args, in[0]);
  });
  const std::vector<Tensor> x{Tensor::from<float>({2, 1}, {4, 6})};
  const std::vector<Tensor> got = interpret(f, x);
  EXPECT_TRUE(got[0].same_bits(Tensor::from<float>({2, 1}, {2, 3})));
  EXPECT_TRUE(got[1].same_bits(Tensor::from<float>({2, 1}, {-0.5f, 0.5f})));
  EXPECT_EQ(got[2].values<float>()[0], 5 * 0.25f);
  EXPECT_EQ(got[3].values<float>()[0], 0.75f + 2 * 0.25f);  // the variance of a sample, 2
}

TEST(Norms, BeginWithTheNumbersOfPyTorch) {
  const std::vector<Input> inputs{{"x", {Dtype::kF32, {3, 4}}}, {"p", {Dtype::kF32, {4}}}};
  const Function shorter = trace("f", inputs, [](std::span<const Value> in) {
    const Args all{
        {"weight", in[1]}, {"bias", in[1]}, {"running_mean", in[1]}, {"running_var", in[1]}};
    const BatchNorm::Result batch = BatchNorm{4}(all, all, in[0]);
    return std::vector<Value>{LayerNorm{4}(all, in[0]),
                              RmsNorm{4}(all, in[0]),
                              GroupNorm{2, 4}(all, in[0]),
                              BatchNorm{4}.inference(all, all, in[0]),
                              batch.y,
                              batch.state.at("running_var")};
  });
  const Function longer = trace("f", inputs, [](std::span<const Value> in) {
    const Value &x = in[0], &p = in[1];
    const BatchNormResult batch = batch_norm(x, p, p, p, p, 0.1, 1e-5);
    return std::vector<Value>{layer_norm(x, p, p, 1e-5),
                              rms_norm(x, p, 1e-5),
                              group_norm(x, 2, p, p, 1e-5),
                              batch_norm_inference(x, p, p, p, p, 1e-5),
                              batch.y,
                              batch.running_var};
  });
  EXPECT_EQ(simplify(shorter), simplify(longer));
}

// The running variance would be divided by zero and stay invalid.
TEST(BatchNorm, RefusesOneElementAChannel) {
  const auto train = [](const Shape& x) {
    Builder builder("train");
    const auto constants = [&](const Params& params) {
      Args args;
      for (const auto& [name, value] : params) args.set(name, constant(builder, value));
      return args;
    };
    const BatchNorm layer{2};
    layer(constants(layer.init(Key(0))), constants(layer.init_state()),
          constant(builder, Tensor::zeros({Dtype::kF32, x})));
  };
  EXPECT_THROW(train({1, 2}), Error);
  EXPECT_THROW(train({0, 2, 5}), Error);
  EXPECT_NO_THROW(train({2, 2}));
  EXPECT_NO_THROW(train({1, 2, 2}));
}

TEST(Embedding, TakesRows) {
  const Embedding layer{10, 4};
  const Tensor table = layer.init(Key(0)).at("weight");
  const Tensor got = run(layer, Tensor::from<std::int32_t>({2}, {7, 0}));
  EXPECT_TRUE(got.rows(0, 1).same_bits(table.rows(7, 1)));
  EXPECT_TRUE(got.rows(1, 1).same_bits(table.rows(0, 1)));
}

// A hidden width of 8/3 of the features keeps the parameter count of a plain one of 4.
TEST(FeedForward, CountsParameters) {
  const std::int64_t d = 48;
  const Params plain = FeedForward{d, 4 * d}.init(Key(0));
  const Params gated = GatedFeedForward{d, 8 * d / 3}.init(Key(0));
  EXPECT_EQ(parameters(gated), 2 * 4 * d * d);
  EXPECT_EQ(parameters(plain), 2 * 4 * d * d + 4 * d + d);
  EXPECT_EQ(gated.names(), (Names{"gate_proj.weight", "up_proj.weight", "down_proj.weight"}));
  EXPECT_EQ(plain.names(),
            (Names{"linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"}));
  GatedFeedForward biased{4, 6};
  biased.bias = true;
  EXPECT_EQ(parameters(biased.init(Key(0))), 3 * 4 * 6 + 6 + 6 + 4);
  EXPECT_EQ(run(GatedFeedForward{6, 16, geglu}, ones({3, 6})).shape(), (Shape{3, 6}));
  // Dropout needs a key.
  const FeedForward dropping{6, 24, relu, 0.5};
  EXPECT_FALSE(run(dropping, ones({6})).same_bits(run(dropping, ones({6}), Key(1))));
}

// With one hidden element, dropout changes all outputs alike: at a rate of 0.5 they are 0 or
// doubled.
TEST(FeedForward, DropsHiddenElements) {
  const FeedForward layer{16, 1, limpid::tanh, 0.5};
  const Tensor kept = run(layer, ones({16}));
  int dropped = 0;
  for (std::uint64_t key = 0; key < 16; ++key) {
    const Tensor y = run(layer, ones({16}), Key(key));
    const auto v = y.values<float>();
    const float factor = v[0] == 0 ? 0.0f : 2.0f;
    dropped += v[0] == 0;
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(v[i], factor * kept.values<float>()[i]) << i;
  }
  EXPECT_TRUE(dropped > 0 && dropped < 16) << dropped;
}

// The initialisers that layers have by default, by the spread of the first values.
TEST(Init, LayersBeginAsTheirPapersHaveIt) {
  const auto spread = [](const Params& params, const char* name) {
    double squares = 0;
    for (const float v : params.at(name).values<float>()) squares += static_cast<double>(v * v);
    return std::sqrt(squares / static_cast<double>(params.at(name).elements()));
  };
  const auto expect = [&](const auto& layer, const char* name, double std) {
    EXPECT_NEAR(spread(layer.init(Key(1)), name), std, 0.05 * std) << name;
  };
  expect(Linear{128, 64}, "weight", std::sqrt(2.0 / 128));
  expect(Embedding{64, 128}, "weight", 1);
  expect(FeedForward{64, 128}, "linear1.weight", std::sqrt(2.0 / (64 + 128)));
  expect(GatedFeedForward{64, 128}, "gate_proj.weight", 0.02);
  expect(MultiHeadAttention{.features = 64}, "in_proj_weight", std::sqrt(2.0 / (3 * 64 + 64)));
  expect(MultiHeadAttention{.features = 64}, "out_proj.weight", std::sqrt(2.0 / (64 + 64)));
  expect(mlp({128, 64, 1}, relu), "layers.0.weight", std::sqrt(2.0 / 128));
}

TEST(MultiHeadAttention, SharesKeysBetweenHeads) {
  const MultiHeadAttention full{.features = 12, .heads = 6};
  const MultiHeadAttention grouped{.features = 12, .heads = 6, .kv_heads = 2};
  EXPECT_EQ(full.init(Key(0)).names(),
            (Names{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}));
  EXPECT_EQ(full.init(Key(0)).at("in_proj_weight").shape(), (Shape{36, 12}));
  EXPECT_EQ(grouped.init(Key(0)).at("in_proj_weight").shape(), (Shape{12 + 2 * 4, 12}));
  EXPECT_EQ(run(grouped, normal(1)(Key(2), {3, 5, 12})).shape(), (Shape{3, 5, 12}));
  EXPECT_THROW((MultiHeadAttention{.features = 12, .heads = 5}.init(Key(0))), Error);
  EXPECT_THROW((MultiHeadAttention{.features = 12, .heads = 6, .kv_heads = 4}.init(Key(0))), Error);
}

TEST(MultiHeadAttention, DrawsItsLastWeightsByTheirOwnInit) {
  const MultiHeadAttention net{
      .features = 8, .heads = 2, .in_init = constant(2), .out_init = constant(3)};
  const Params params = net.init(Key(0));
  EXPECT_EQ(params.at("in_proj_weight").values<float>()[0], 2);
  EXPECT_EQ(params.at("out_proj.weight").values<float>()[0], 3);
}

TEST(MultiHeadAttention, HasBiasesOrNone) {
  const MultiHeadAttention biased{.features = 8, .heads = 2};
  const MultiHeadAttention plain{.features = 8, .heads = 2, .bias = false};
  EXPECT_EQ(plain.init(Key(0)).names(), (Names{"in_proj_weight", "out_proj.weight"}));
  // Biases are zero at first.
  const Tensor x = normal(1)(Key(2), {5, 8});
  EXPECT_TRUE(run(plain, x).same_bits(run(biased, x)));
}

// Here the queries have the number in their function that the memory has in the function around.
TEST(MultiHeadAttention, AttendsToAMemoryOfTheFunctionAround) {
  for (const bool bias : {true, false}) {
    const MultiHeadAttention net{.features = 8, .heads = 2, .bias = bias};
    const Params params = net.init(Key(1));
    const auto run_with = [&](const auto& attend) {
      std::vector<Tensor> values{normal(1)(Key(2), {5, 8}), normal(1)(Key(3), {3, 5, 8})};
      std::vector<Input> inputs{{"memory", values[0].type()}, {"batch", values[1].type()}};
      for (const Input& input : inputs_of(params)) inputs.push_back(input);
      for (const Tensor& value : params.values()) values.push_back(value);
      const Function f = trace("f", inputs, [&](std::span<const Value> in) {
        return std::vector<Value>{attend(args_of(params, in.subspan(2)), in[0], in[1])};
      });
      return interpret(f, values)[0];
    };
    const Tensor one_by_one = run_with([&](const Args& p, Value memory, Value batch) {
      return vmap([&](Value x) { return net.attend(p, x, memory, {}); })(batch);
    });
    const Tensor together = run_with([&](const Args& p, Value memory, Value batch) {
      return net.attend(p, batch, broadcast(memory, batch.shape()), {});
    });
    EXPECT_TRUE(one_by_one.same_bits(together));
  }
}

TEST(MultiHeadAttention, RefusesNoHeadsAndNoSequence) {
  const auto refuses = [](const MultiHeadAttention& layer, const Shape& x) {
    EXPECT_THROW(function_of(layer, {Dtype::kF32, x}), Error);
  };
  refuses({.features = 8, .heads = 0}, {5, 8});
  refuses({.features = 8, .heads = -2}, {5, 8});
  refuses({.features = 8, .heads = 2, .kv_heads = -1}, {5, 8});
  expect_refused(ErrorCode::kShape, [&] {
    function_of(MultiHeadAttention{.features = 8, .heads = 2}, {Dtype::kF32, {8}});
  });
}

// Later tokens of the sequence do not affect earlier ones.
TEST(MultiHeadAttention, CausalLooksBackOnly) {
  const MultiHeadAttention layer{.features = 8, .heads = 2, .causal = true};
  const Tensor x = normal(1)(Key(2), {5, 8});
  const Tensor longer = run(layer, x);
  EXPECT_TRUE(run(layer, x.rows(0, 3)).same_bits(longer.rows(0, 3)));
}

// A transformer block, composed of layers: forward pass and every gradient, compiled, have the bits
// of the interpreter on every instruction set and number of threads. Batching does not change them.
TEST(Block, HasTheSameBitsHoweverItRuns) {
  const auto block = sequential(
      named("attention",
            PreNorm{LayerNorm{12},
                    MultiHeadAttention{.features = 12, .heads = 6, .kv_heads = 2, .causal = true}}),
      named("feed_forward", PreNorm{RmsNorm{12}, GatedFeedForward{12, 32}}));
  const Params params = block.init(Key(0));
  const Function one = function_of(block, {Dtype::kF32, {5, 12}});
  const Tensor batch = normal(1)(Key(2), {3, 5, 12});
  const Function all = function_of(block, batch.type());
  const Function loss = trace("loss", all.inputs(), [&](std::span<const Value> in) {
    const Value y = in[0].builder().inline_function(all, in).front();
    return std::vector<Value>{mse_loss(y, number_like(y, 1)), y};
  });
  std::vector<std::size_t> wrt(params.size());
  for (std::size_t i = 0; i < wrt.size(); ++i) wrt[i] = i;
  const Function step = value_and_grad(loss, wrt);
  std::vector<Tensor> inputs = params.values();
  inputs.push_back(batch);
  const std::vector<Tensor> expected = interpret(step, inputs);
  for (kernels::Isa isa : kernels::available_isas())
    for (int threads : {1, 3}) {
      ThreadPool pool({.threads = threads});
      const std::vector<Tensor> got = compile(step, {isa})(inputs, &pool);
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(got[i].same_bits(expected[i])) << i << ", " << kernels::name(isa);
    }
  for (std::int64_t i = 0; i < 3; ++i) {
    inputs.back() = batch.rows(i, 1).reshape({5, 12});
    EXPECT_TRUE(interpret(one, inputs)[0].same_bits(expected[1].rows(i, 1).reshape({5, 12}))) << i;
  }
}

// x is both at once, so that no weights fit.
TEST(Perceptron, HearsOfEveryExample) {
  const Tensor x = Tensor::from<float>({3, 1}, {1, 1, 2});
  int examples = 0;
  const PerceptronRun run =
      train_perceptron({1}, x, Tensor::from<float>({3}, {0, 1, 1}), 4, 1, [&] { ++examples; });
  EXPECT_EQ(run.mistakes.size(), 4u);
  EXPECT_EQ(examples, 4 * 3);
}

// The rule by hand, on what a line divides and on what none does.
TEST(Perceptron, LearnsByItsRule) {
  const std::vector<float> points{0, 0, 0, 1, 1, 0, 1, 1};
  const auto learned = [&](const std::vector<float>& targets) {
    const PerceptronRun run = train_perceptron({2}, Tensor::from<float>({4, 2}, points),
                                               Tensor::from<float>({4}, targets), 12, 0.5);
    std::vector<float> w{0, 0}, b{0};
    for (std::size_t epoch = 0; epoch < run.mistakes.size(); ++epoch) {
      std::int64_t mistakes = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        const float *const x = &points[2 * i], z = w[0] * x[0] + w[1] * x[1] + b[0];
        const float error = targets[i] - (z > 0 ? 1.0f : 0.0f);
        mistakes += error != 0;
        for (std::size_t k = 0; k < 2; ++k) w[k] += 0.5f * error * x[k];
        b[0] += 0.5f * error;
      }
      EXPECT_EQ(run.mistakes[epoch], mistakes) << epoch;
      EXPECT_TRUE(run.params[epoch].at("weight").same_bits(Tensor::from<float>({1, 2}, w)));
      EXPECT_TRUE(run.params[epoch].at("bias").same_bits(Tensor::from<float>({1}, b)));
    }
    return run;
  };
  const PerceptronRun both = learned({0, 0, 0, 1});
  EXPECT_EQ(both.mistakes.back(), 0);
  EXPECT_LT(both.mistakes.size(), 12u);
  EXPECT_FALSE(first_return(both));
  const PerceptronRun either = learned({0, 1, 1, 0});
  EXPECT_EQ(either.mistakes.size(), 12u);
  const std::optional<Return> again = first_return(either);
  ASSERT_TRUE(again);
  EXPECT_LT(again->earlier, again->epoch);
  for (const char* name : {"weight", "bias"})
    EXPECT_TRUE(
        either.params[again->epoch].at(name).same_bits(either.params[again->earlier].at(name)));
}

// To be where it was is no return while the bias differs, or where nothing was wrong.
TEST(Perceptron, ReturnsToAllOfItsParametersByAMistake) {
  const auto at = [](float weight, float bias) {
    return Params{{"weight", Tensor::from<float>({1, 1}, {weight})},
                  {"bias", Tensor::from<float>({1}, {bias})}};
  };
  EXPECT_FALSE(first_return({.params = {at(1, 0), at(1, 1)}, .mistakes = {1, 1}}));
  EXPECT_FALSE(first_return({.params = {at(1, 0), at(2, 0)}, .mistakes = {1, 1}}));
  EXPECT_FALSE(first_return({.params = {at(1, 0), at(1, 0)}, .mistakes = {1, 0}}));
  const auto found =
      first_return({.params = {at(1, 0), at(2, 0), at(3, 0), at(2, 0)}, .mistakes = {1, 1, 1, 1}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->epoch, 3u);
  EXPECT_EQ(found->earlier, 1u);
}

TEST(Perceptron, RefusesExamplesOfAnotherShape) {
  const auto refuses = [](const Shape& x, const Shape& targets) {
    EXPECT_THROW(train_perceptron({2}, Tensor::zeros({Dtype::kF32, x}),
                                  Tensor::zeros({Dtype::kF32, targets}), 1),
                 Error)
        << to_string(x);
  };
  refuses({4}, {4});
  refuses({4, 3}, {4});
  refuses({4, 2}, {3});
  refuses({4, 2}, {4, 1});
}

TEST(Linear, CountsParameters) {
  EXPECT_EQ(parameters(Linear{512, 2048}.init(Key(0))), 1'050'624);
  EXPECT_EQ(parameters(mlp({256, 512, 256, 128, 100}, relu).init(Key(0))),
            256 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128 + 128 * 100 + 100);
}

// Whoever is refused learns from one line what came and what was expected.
TEST(Messages, OfLayers) {
  expect_refused(ErrorCode::kInvalidArgument, [] { mlp({3}, relu).init(Key(0)); });
  expect_refused(ErrorCode::kInvalidArgument, [] { mlp({3, 0}, relu).init(Key(0)); });
  expect_refused(ErrorCode::kShape, [] { lecun_normal()(Key(0), {64}); });
  expect_refused(ErrorCode::kInvalidArgument,
                 [] { MultiHeadAttention{.features = 9, .heads = 3, .kv_heads = 2}.init(Key(0)); });
  expect_refused(ErrorCode::kInvalidArgument, [] { CharLm{5, 0, 2, Mlp{{6, 5}}}.init(Key(0)); });
  expect_refused(ErrorCode::kInvalidArgument, [] {
    CharLm{5, 3, 2, Mlp{.sizes = {6, 4, 5}, .norm = MlpNorm::kBatch}}.init(Key(0));
  });
  expect_refused(ErrorCode::kShape, [] {
    train_perceptron({2}, Tensor::zeros({Dtype::kF32, {4, 3}}), Tensor::zeros({Dtype::kF32, {5}}),
                     1);
  });
  expect_refused(ErrorCode::kInvalidArgument, [] {
    std::vector<std::int32_t> window(2);
    fill_window({}, window);
  });
}

// The error for an unknown name lists the known ones.
TEST(Messages, OfNames) {
  expect_refused(ErrorCode::kNotFound, [] { from_name<MlpNorm>("no"); });
  expect_refused(ErrorCode::kNotFound, [] { from_name<GptNorm>("no"); });
  expect_refused(ErrorCode::kNotFound, [] { from_name<GptFeedForward>("no"); });
  expect_refused(ErrorCode::kNotFound, [] { from_name<GptPositions>("no"); });
  expect_refused(ErrorCode::kNotFound, [] { init_from_name("no", 1); });
  expect_refused(ErrorCode::kNotFound, [] { activation_from_name("no"); });
}

}  // namespace
}  // namespace limpid::nn
