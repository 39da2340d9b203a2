#include "limpid/nn/gpt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "limpid/limpid.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

std::int64_t element_count(const Params& params) {
  std::int64_t sum = 0;
  for (const auto& [name, value] : params) sum += value.elements();
  return sum;
}

// Small networks with every combination of options.
std::vector<Gpt> small_nets() {
  const auto shrink = [](Gpt net) {
    net.vocabulary = 11;
    net.context = 9;
    net.layers = 2;
    net.width = 24;
    return net;
  };
  Gpt plain = shrink({});
  Gpt grouped = shrink(llama_shaped());
  grouped.kv_heads = 2;
  Gpt untied = shrink(gpt2_shaped());
  untied.tied = false;
  untied.feed_forward = GptFeedForward::kSwiglu;
  return {plain, shrink(gpt2_shaped()), shrink(llama_shaped()), grouped, untied};
}

Tensor logits_of(const Gpt& net, const Params& params, const std::vector<std::int32_t>& ids) {
  const auto length = static_cast<std::int64_t>(ids.size());
  std::vector<Tensor> inputs = params.values();
  inputs.push_back(Tensor::from<std::int32_t>({length}, ids));
  return compile(net.function(length))(inputs)[0];
}

TEST(Gpt, HasTheParametersThatOneCounts) {
  // Embeddings (65 + 64) * 128; a block 4 * 128 * 128 + 2 * 128 * 512 and two norms of 256; a norm.
  const Gpt net{.vocabulary = 65};
  EXPECT_EQ(element_count(net.init(Key(0))), 805'248);
  // Three matrices of 8/3 of the width are as large as two of four times the width.
  const Gpt gated{
      .vocabulary = 65, .width = 96, .heads = 4, .feed_forward = GptFeedForward::kSwiglu};
  EXPECT_EQ(gated.init(Key(0)).at("layers.0.mlp.up_proj.weight").shape(), (Shape{256, 96}));
  EXPECT_EQ((Gpt{.width = 128, .feed_forward = GptFeedForward::kSwiglu}.hidden_width()), 341);
}

// Of a stream of ones and -ones: an eps of 3 halves both kinds of norm.
TEST(Gpt, NormsWithItsEps) {
  for (const GptNorm norm : {GptNorm::kLayer, GptNorm::kRms}) {
    const Gpt net{.vocabulary = 2,
                  .context = 2,
                  .layers = 1,
                  .width = 4,
                  .heads = 1,
                  .norm = norm,
                  .norm_eps = 3};
    Params params = net.init(Key(0));
    for (const auto& [name, value] : net.init(Key(0)))
      if (value.shape().rank() == 2) params.set(name, Tensor::zeros(value.type()));
    params.set("embed_tokens.weight", Tensor::from<float>({2, 4}, {1, 1, -1, -1, 0, 0, 1, 0}));
    EXPECT_TRUE(logits_of(net, params, {0}).same_bits(Tensor::from<float>({1, 2}, {2, -0.5f})));
  }
}

TEST(Gpt, NamesItsParametersAsItDrawsThem) {
  for (const Gpt& net : small_nets()) {
    const Params params = net.init(Key(0));
    const std::vector<Input> inputs = net.parameters();
    ASSERT_EQ(inputs.size(), params.size()) << net.config();
    std::size_t i = 0;
    for (const auto& [name, value] : params) {
      EXPECT_EQ(inputs[i].name, name);
      EXPECT_EQ(inputs[i].type, value.type()) << name;
      ++i;
    }
  }
}

TEST(Gpt, SeesNoTokenThatIsStillToCome) {
  const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6, 5};
  for (const Gpt& net : small_nets()) {
    const Params params = net.init(Key(5));
    const Tensor all = logits_of(net, params, ids);
    for (const std::size_t length : {1u, 4u, 8u}) {
      const Tensor some =
          logits_of(net, params, {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(length)});
      EXPECT_TRUE(some.same_bits(all.rows(0, static_cast<std::int64_t>(length))))
          << net.config() << " at " << length;
    }
  }
}

TEST(Gpt, GivesTheBitsOfTheInterpreterAndOfABatch) {
  const std::vector<std::int32_t> ids{3, 1, 4, 1, 5, 9, 2, 6, 5};
  for (const Gpt& net : small_nets()) {
    const Params params = net.init(Key(6));
    const Function f = net.function();
    std::vector<Tensor> inputs = params.values();
    inputs.push_back(Tensor::from<std::int32_t>({9}, ids));
    const Tensor alone = compile(f)(inputs)[0];
    EXPECT_TRUE(alone.same_bits(interpret(f, inputs)[0])) << net.config();

    std::vector<std::int32_t> three(ids.rbegin(), ids.rend());
    three.insert(three.end(), ids.begin(), ids.end());
    three.insert(three.end(), 9, 7);
    const Tensor together = compile(net)(params, Tensor::from<std::int32_t>({3, 9}, three));
    EXPECT_TRUE(alone.same_bits(together.rows(1, 1).reshape(alone.shape()))) << net.config();
  }
}

TEST(Gpt, AnUntiedHeadBeginsAsSmallAsTheEmbeddings) {
  Gpt net{.vocabulary = 50, .layers = 1, .width = 64, .tied = false};
  double squares = 0;
  const Params params = net.init(Key(2));
  for (const float v : params.at("lm_head.weight").values<float>()) squares += std::pow(v, 2);
  EXPECT_NEAR(std::sqrt(squares / (50 * 64)), 0.02, 0.002);
}

// Whoever reads a trace or feeds caches back finds them by name.
TEST(Gpt, NamesItsLayersAndCaches) {
  const Gpt net = small_nets()[0];
  const auto scopes = [](const Function& f) {
    std::vector<std::string> all;
    for (const Node& node : f.nodes()) all.push_back(node.scope);
    return all;
  };
  for (const Function& f : {net.function(), net.cached_function({})}) {
    const std::vector<std::string> all = scopes(f);
    for (const char* layer : {"embed_tokens", "embed_positions", "layers.1.mlp.down_proj", "norm"})
      EXPECT_NE(std::find(all.begin(), all.end(), layer), all.end()) << layer;
    EXPECT_EQ(all.back(), "lm_head");
  }
  std::vector<std::string> names;
  for (const Output& o : net.cached_function({}).outputs()) names.push_back(o.name);
  EXPECT_EQ(names, (std::vector<std::string>{"logits", "layers.0.self_attn.keys",
                                             "layers.0.self_attn.values", "layers.1.self_attn.keys",
                                             "layers.1.self_attn.values"}));
}

// Of two texts, each read in two parts: every token has the logits that a whole pass gives it.
TEST(Gpt, GivesTheLogitsOfEveryTokenThatItReadsIntoACache) {
  const std::vector<std::int32_t> texts[] = {{3, 1, 4, 1, 5}, {9, 2, 6, 5, 3}};
  for (const Gpt& net : small_nets()) {
    const Params params = net.init(Key(6));
    Gpt::Chunk chunk{.sequences = 2, .length = 3, .capacity = 5};
    std::vector<Tensor> caches;
    for (const Input& cache : net.caches(chunk)) caches.push_back(Tensor::zeros(cache.type));
    for (const auto& [first, length] : {std::pair{0, 3}, std::pair{3, 2}}) {
      chunk.length = length;
      std::vector<std::int32_t> tokens;
      for (const auto& text : texts)
        tokens.insert(tokens.end(), text.begin() + first, text.begin() + first + length);
      std::vector<Tensor> inputs = params.values();
      inputs.push_back(Tensor::from<std::int32_t>({2, length}, tokens));
      inputs.push_back(Tensor::from<std::int32_t>({2}, {first, first}));
      inputs.insert(inputs.end(), caches.begin(), caches.end());
      std::vector<Tensor> outputs = compile(net.cached_function(chunk))(inputs);
      caches.assign(outputs.begin() + 1, outputs.end());
      for (std::int64_t t = 0; t < 2; ++t)
        EXPECT_TRUE(outputs[0]
                        .rows(t, 1)
                        .reshape({length, 11})
                        .same_bits(logits_of(net, params, texts[t]).rows(first, length)))
            << net.config() << " at " << first;
    }
  }
  EXPECT_EQ(small_nets()[0].caches({}).front().type.shape.back(), 9);  // the context
  for (const Gpt::Chunk& chunk :
       {Gpt::Chunk{.sequences = 0}, Gpt::Chunk{.length = 0}, Gpt::Chunk{.capacity = -1}})
    expect_refused(ErrorCode::kInvalidArgument, [&] { small_nets()[0].cached_function(chunk); });
}

TEST(Gpt, DropsOutByAKeyAlone) {
  Gpt net = small_nets()[0];
  net.dropout = 0.5;
  const Params params = net.init(Key(1));
  const auto with_key = [&](std::uint64_t key) {
    return compile([&](const Args& args, const Value& ids, const Value& k) {
      return net(args, ids, k);
    })(params, Tensor::zeros({Dtype::kI32, {9}}), key_tensor(Key(key)));
  };
  EXPECT_TRUE(with_key(3).same_bits(with_key(3)));
  EXPECT_FALSE(with_key(3).same_bits(with_key(4)));
}

// Two with the same key would drop the same elements.
TEST(Gpt, EveryDropoutHasAKeyOfItsOwn) {
  Gpt net = small_nets()[0];
  net.dropout = 0.5;
  std::vector<Input> inputs = net.function().inputs();
  const std::size_t params = inputs.size() - 1;
  inputs.push_back({"key", {Dtype::kI64, {}}});
  const Function f = simplify(trace("training", inputs, [&](std::span<const Value> in) {
    Args args;
    for (std::size_t i = 0; i < params; ++i) args.set(inputs[i].name, in[i]);
    return std::vector<Value>{net(args, in[params], in[params + 1])};
  }));
  std::vector<ValueId> keys;
  for (const Node& node : f.nodes())
    if (node.op == &op::dropout) keys.push_back(node.inputs[1]);
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(1 + 2 * net.layers));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

// What all blocks together add to the stream begins with the spread of one projection (GPT-2).
TEST(Gpt, WhatBlocksAddBeginsSmallerTheMoreThereAre) {
  const Gpt net{.vocabulary = 11, .layers = 8, .width = 64};
  const Params params = net.init(Key(2));
  const auto spread = [&](const std::string& name) {
    double squares = 0;
    for (const float v : params.at(name).values<float>()) squares += std::pow(v, 2);
    return std::sqrt(squares / static_cast<double>(params.at(name).elements()));
  };
  for (const char* table : {"embed_tokens.weight", "embed_positions.weight"})
    EXPECT_NEAR(spread(table), 0.02, 0.002) << table;
  for (const std::string block : {"layers.0", "layers.7"}) {
    for (const char* into : {".self_attn.q_proj.weight", ".mlp.up_proj.weight"})
      EXPECT_NEAR(spread(block + into), 0.02, 0.001) << block << into;
    for (const char* out : {".self_attn.o_proj.weight", ".mlp.down_proj.weight"})
      EXPECT_NEAR(spread(block + out), 0.02 / std::sqrt(2 * 8), 0.0003) << block << out;
  }
}

TEST(Gpt, IsWrittenDownAndReadBack) {
  std::vector<Gpt> nets = small_nets();
  Gpt& odd = nets.emplace_back(nets[2]);  // nothing is as by default
  odd.hidden = 40;
  odd.norm_eps = 1e-3;
  odd.rotary_base = 500;
  odd.rotary_scaling = RotaryScaling{.factor = 4, .low = 2, .high = 3, .context = 16};
  odd.bias = !odd.bias;
  odd.dropout = 0.25;
  for (const Gpt& net : nets) EXPECT_EQ(Gpt::from_config(net.config()).config(), net.config());
  EXPECT_THROW(Gpt::from_config("{}"), Error);
  EXPECT_THROW(Gpt::from_config("[]"), Error);
  EXPECT_THROW(Gpt::from_config(R"({"model": "mlp"})"), Error);
}

TEST(Gpt, RefusesSizesThatDoNotFit) {
  for (const Gpt& net : {Gpt{}, Gpt{.vocabulary = 5, .layers = 0}, Gpt{.vocabulary = 5, .heads = 3},
                         Gpt{.vocabulary = 5, .kv_heads = 3}, Gpt{.vocabulary = 5, .dropout = 1},
                         Gpt{.vocabulary = 5, .width = 12, .positions = GptPositions::kRotary}}) {
    EXPECT_THROW(net.init(Key(0)), Error);
    EXPECT_THROW(net.function(), Error);
  }
  for (const Gpt& net :
       {Gpt{.vocabulary = 5, .heads = 0}, Gpt{.vocabulary = 5, .kv_heads = -1},
        Gpt{.vocabulary = 5, .norm_eps = 0}, Gpt{.vocabulary = 5, .dropout = -0.5}})
    EXPECT_THROW(net.check(), Error) << net.config();
  EXPECT_THROW(Gpt{.vocabulary = 5}.function(65), Error);
  // Rotary positions have no table that would end.
  for (const Gpt& net : small_nets())
    for (const Shape& ids : {Shape{}, Shape{0}, Shape{2, 10}})
      expect_refused(ErrorCode::kShape, [&] {
        compile(net)(net.init(Key(0)), Tensor::zeros({Dtype::kI32, ids}));
      });
}

// Whoever is refused learns from one line what came and what was expected.
TEST(Gpt, SaysWhatDoesNotFit) {
  const auto refused = [](const auto& use) { expect_refused(ErrorCode::kInvalidArgument, use); };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Gpt nets[] = {
      {},
      {.vocabulary = 5, .context = 0},
      {.vocabulary = 5, .layers = 1025},
      {.vocabulary = 5, .width = 0},
      {.vocabulary = 5, .heads = 0},
      {.vocabulary = 5, .width = Gpt::kMaxSize},
      {.vocabulary = 5, .width = 12, .heads = 6, .kv_heads = 4},
      {.vocabulary = 5, .norm_eps = nan},
      {.vocabulary = 5, .dropout = nan},
      {.vocabulary = 5, .width = 12, .positions = GptPositions::kRotary},
      {.vocabulary = 5, .positions = GptPositions::kRotary, .rotary_base = nan},
      {.vocabulary = 5,
       .positions = GptPositions::kRotary,
       .rotary_scaling = RotaryScaling{.factor = 0.5, .low = 2, .high = 3, .context = 7}}};
  for (const Gpt& net : nets) {
    const std::function<void()> uses[] = {
        [&] { net.check(); },
        [&] { net.init(Key(0)); },
        [&] { net.parameters(); },
        [&] { net.function(); },
        [&] { net.cached_function({}); },
        [&] {
          trace("f", {{"ids", {Dtype::kI32, {1}}}},
                [&](std::span<const Value> in) { return std::vector<Value>{net({}, in[0])}; });
        }};
    for (const auto& use : uses) refused(use);
  }
  refused([] { small_nets()[0].cached_function({.sequences = 2, .length = 0, .capacity = 5}); });
  refused([] { Gpt::from_config(R"({"model": "mlp"})"); });
}

TEST(Gpt, RefusesSizesBeyondAllUse) {
  for (std::int64_t Gpt::*const size :
       {&Gpt::vocabulary, &Gpt::context, &Gpt::layers, &Gpt::width, &Gpt::hidden})
    for (const std::int64_t much :
         {std::int64_t{1} << 30, std::numeric_limits<std::int64_t>::max()}) {
      Gpt net{.vocabulary = 5, .heads = 1, .hidden = 8};
      net.*size = much;
      EXPECT_THROW(net.check(), Error) << net.config();
      EXPECT_THROW(Gpt::from_config(net.config()), Error) << net.config();
    }
  Gpt wide{.vocabulary = 5, .width = Gpt::kMaxSize};
  EXPECT_THROW(wide.check(), Error);  // by default the feed-forward is 4 times as wide
  wide.hidden = Gpt::kMaxSize;
  wide.layers = Gpt::kMaxLayers;
  wide.check();
}

TEST(Rotary, FrequenciesAreThePowersOfTheBase) {
  for (const double base : {10000.0, 500000.0, 1.5})
    for (const std::int64_t head : {2, 32, 64, 128}) {
      const std::vector<float> got = rotary_frequencies(head, base);
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_FLOAT_EQ(got[i], static_cast<float>(std::pow(base, -2.0 * static_cast<double>(i) /
                                                                      static_cast<double>(head))))
            << base << " " << head << " " << i;
    }
  EXPECT_THROW(rotary_frequencies(3, 10000), Error);
  EXPECT_THROW(rotary_frequencies(4, 1), Error);
  EXPECT_THROW(rotary_frequencies(0, 10000), Error);
  const RotaryScaling scaling;
  rotary_frequencies(4, 10000, scaling);
  const RotaryScaling least{.factor = 1, .low = 0, .high = 1, .context = 1};
  EXPECT_EQ(rotary_frequencies(4, 10000, least), rotary_frequencies(4, 10000));
  for (const RotaryScaling& wrong :
       {RotaryScaling{.factor = 0.5}, RotaryScaling{.low = -1}, RotaryScaling{.low = 4, .high = 4},
        RotaryScaling{.context = 0}})
    EXPECT_THROW(rotary_frequencies(4, 10000, wrong), Error);
}

// As the code of Llama 3.1's model card has it, by wavelengths.
TEST(Rotary, LongContextsTurnSlowly) {
  constexpr double kBase = 500000, kFactor = 8, kContext = 8192;
  const std::vector<float> got = rotary_frequencies(128, kBase, RotaryScaling{});
  int same = 0, divided = 0, between = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double plain = std::pow(kBase, -2.0 * static_cast<double>(i) / 128);
    const double wavelength = 2 * std::numbers::pi / plain;
    double expected = plain;
    if (wavelength > kContext) {
      expected = plain / kFactor;
      ++divided;
    } else if (wavelength >= kContext / 4) {
      const double smooth = (kContext / wavelength - 1) / (4 - 1);
      expected = (1 - smooth) * plain / kFactor + smooth * plain;
      ++between;
    } else {
      ++same;
    }
    EXPECT_FLOAT_EQ(got[i], static_cast<float>(expected)) << i;
  }
  EXPECT_TRUE(same > 0 && divided > 0 && between > 0);
}

}  // namespace
}  // namespace limpid::nn
