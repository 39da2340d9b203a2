#include "limpid/nn/lora.h"

#include <gtest/gtest.h>

#include <cmath>

#include "limpid/core/half.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/linear.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

Gpt small_gpt() {
  Gpt net = llama_shaped();
  net.vocabulary = 11;
  net.context = 8;
  net.layers = 2;
  net.width = 8;
  net.heads = 2;
  net.kv_heads = 1;
  net.hidden = 12;
  return net;
}

TEST(Lora, NamesModulesByTheEndsOfTheirNames) {
  const std::vector<Input> parameters = small_gpt().parameters();
  EXPECT_EQ(Lora{.rank = 2}.modules(parameters),
            (std::vector<std::string>{"layers.0.self_attn.q_proj", "layers.0.self_attn.v_proj",
                                      "layers.1.self_attn.q_proj", "layers.1.self_attn.v_proj"}));
  EXPECT_EQ((Lora{.rank = 2, .targets = {"layers.1.mlp.up_proj", "lm_head"}}.modules(parameters)),
            (std::vector<std::string>{"layers.1.mlp.up_proj", "lm_head"}));
}

TEST(Lora, RefusesWhatIsNoModule) {
  const std::vector<Input> parameters = small_gpt().parameters();
  for (const Lora& lora :
       {Lora{.rank = 2, .targets = {"q_proj", "proj"}}, Lora{.rank = 2, .targets = {"norm"}},
        Lora{.rank = 2, .targets = {"embed_tokens"}}, Lora{.rank = 2, .targets = {}},
        Lora{.rank = 2, .targets = {""}}, Lora{.rank = 0}, Lora{.rank = 5},
        Lora{.rank = 2, .alpha = 0}, Lora{.rank = 2, .alpha = std::nan("")}})
    expect_refused(ErrorCode::kInvalidArgument, [&] { lora.modules(parameters); });
}

// The network begins as it was, and what is drawn is within PEFT's bound.
TEST(Lora, BeginsWithoutAnEffect) {
  const Params weights = small_gpt().init(Key(1));
  const Lora lora{.rank = 3, .targets = {"down_proj", "q_proj"}};
  const std::vector<std::string> modules = lora.modules(small_gpt().parameters());
  const Params drawn = lora.init(Key(2), modules, weights);
  ASSERT_EQ(drawn.size(), 2 * modules.size());
  for (const std::string& module : modules) {
    const Tensor& a = drawn.at(module + ".lora_A.weight");
    const Shape shape = weights.at(module + ".weight").shape();
    EXPECT_EQ(a.shape(), (Shape{3, shape[1]}));
    EXPECT_EQ(drawn.at(module + ".lora_B.weight").shape(), (Shape{shape[0], 3}));
    const double bound = 1 / std::sqrt(static_cast<double>(shape[1]));
    double most = 0;
    for (const float x : a.values<float>()) most = std::max(most, std::abs(double{x}));
    EXPECT_LE(most, bound);
    EXPECT_GT(most, 0.6 * bound);
  }
  EXPECT_FALSE(drawn.at("layers.0.self_attn.q_proj.lora_A.weight")
                   .same_bits(drawn.at("layers.1.self_attn.q_proj.lora_A.weight")));
  Params all = weights;
  all.merge("", drawn);
  const Params merged = merge_adapters(all, lora.scale());
  EXPECT_EQ(merged.names(), weights.names());
  for (const auto& [name, value] : merged) EXPECT_TRUE(value.same_bits(weights.at(name))) << name;
}

// In f32, rounded once to the dtype of the weight.
TEST(Lora, KeepsTheDtypeOfTheWeight) {
  const Tensor weight = Tensor::from<Bf16>({1, 2}, {to_bf16(1.0F), to_bf16(-2.0F)});
  const Tensor a = Tensor::from<float>({1, 2}, {0.5F, 0.25F}),
               b = Tensor::from<float>({1, 1}, {0.015625F});
  const Tensor sum = adapted_weight(weight, a, b, 2);
  ASSERT_EQ(sum.dtype(), Dtype::kBf16);
  EXPECT_EQ(to_f32(sum.values<Bf16>()[0]), to_f32(to_bf16(1.015625F)));
  EXPECT_EQ(to_f32(sum.values<Bf16>()[1]), to_f32(to_bf16(-1.9921875F)));
}

}  // namespace
}  // namespace limpid::nn
