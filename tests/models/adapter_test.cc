#include "limpid/models/adapter.h"

#include <cmath>

#include "limpid/core/json.h"
#include "limpid/formats/file.h"
#include "limpid/formats/safetensors.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/lora.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using testing::bytes_of;
using testing::TemporaryFolder;

constexpr const char* kQuery = "layers.0.self_attn.q_proj";

Model small_gpt() {
  nn::Gpt net = nn::llama_shaped();
  net.vocabulary = 7;
  net.context = 8;
  net.layers = 1;
  net.width = 8;
  net.heads = 2;
  net.hidden = 12;
  return {net.function(), net.init(Key(1)), net.config()};
}

Tensor numbers(const Shape& shape, float first) {
  return Tensor::generate<float>(shape, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = first + 0.01F * static_cast<float>(i);
  });
}

Adapter small_adapter() {
  return {.params = {{std::string(kQuery) + ".lora_A.weight", numbers({2, 8}, 0.1F)},
                     {std::string(kQuery) + ".lora_B.weight", numbers({8, 2}, -0.2F)},
                     {"lm_head.weight", numbers({7, 8}, 1)}},
          .alpha = 3,
          .targets = {"q_proj"},
          .base = "a/llama",
          .task = "CAUSAL_LM"};
}

TEST(Adapter, IsWrittenUnderThePublishedNames) {
  const TemporaryFolder folder;
  save_adapter(folder / "a", small_adapter());
  const Params file = load_safetensors(folder / "a/adapter_model.safetensors").tensors;
  EXPECT_EQ(file.names(), (std::vector<std::string>{
                              "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
                              "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight",
                              "base_model.model.lm_head.weight"}));
  const Json config = Json::parse(testing::read(folder / "a/adapter_config.json"));
  EXPECT_EQ(config.at("r").as_integer(), 2);
  EXPECT_EQ(config.at("lora_alpha").as_number(), 3);
  EXPECT_EQ(config.at("target_modules"), Json::array({"q_proj"}));
  EXPECT_EQ(config.at("modules_to_save"), Json::array({"lm_head"}));
  const Adapter back = load_adapter(folder / "a");
  EXPECT_EQ(back.params.names(), small_adapter().params.names());
  EXPECT_EQ(back.alpha, 3);
  EXPECT_EQ(back.base, "a/llama");
  EXPECT_EQ(back.targets, small_adapter().targets);
}

TEST(Adapter, IsMergedIntoTheWeights) {
  const Model base = small_gpt();
  Adapter adapter = small_adapter();
  const Tensor &a = adapter.params.at(std::string(kQuery) + ".lora_A.weight"),
               &b = adapter.params.at(std::string(kQuery) + ".lora_B.weight");
  for (const bool stabilised : {false, true}) {
    adapter.rank_stabilised = stabilised;
    const Model merged = merge_adapter(base, adapter);
    const double scale = 3 / (stabilised ? std::sqrt(2.0) : 2.0);
    for (const auto& [name, value] : merged.params) {
      const Tensor& before = base.params.at(name);
      if (name == "lm_head.weight") {
        EXPECT_TRUE(value.same_bits(adapter.params.at(name)));
      } else if (name != std::string(kQuery) + ".weight") {
        EXPECT_TRUE(value.same_bits(before)) << name;
      } else {
        for (std::size_t i = 0; i < 64; ++i) {
          double sum = 0;
          for (std::size_t k = 0; k < 2; ++k)
            sum += double{b.values<float>()[i / 8 * 2 + k]} * a.values<float>()[k * 8 + i % 8];
          EXPECT_NEAR(value.values<float>()[i], before.values<float>()[i] + scale * sum, 1e-6);
        }
      }
    }
  }
}

TEST(Adapter, RefusesWhatItCannotMerge) {
  const Model base = small_gpt();
  const auto refused = [&](ErrorCode code, const std::string& name, const Tensor& value) {
    Adapter adapter = small_adapter();
    adapter.params.set(name, value);
    expect_refused(code, [&] { merge_adapter(base, adapter); });
  };
  const std::string query = kQuery;
  refused(ErrorCode::kInvalidArgument, "transformer.h.0.attn.c_attn.lora_A.weight",
          numbers({2, 8}, 0));
  refused(ErrorCode::kInvalidArgument, "norm.bias", numbers({8}, 0));
  refused(ErrorCode::kShape, "norm.weight", numbers({9}, 0));
  refused(ErrorCode::kShape, query + ".lora_A.weight", numbers({2, 9}, 0));
  refused(ErrorCode::kShape, query + ".lora_B.weight", numbers({9, 2}, 0));
}

TEST(Adapter, FilesThatAreNone) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "a";
  const auto with_config = [&](ErrorCode code, const char* key, const Json& value) {
    save_adapter(path, small_adapter());
    Json config = Json::parse(testing::read(path / kAdapterConfig));
    config[key] = value;
    testing::write(path / kAdapterConfig, bytes_of(config.dump()));
    expect_refused(code, [&] { load_adapter(path); });
  };
  with_config(ErrorCode::kUnsupported, "peft_type", "IA3");
  with_config(ErrorCode::kUnsupported, "peft_type", 3);
  with_config(ErrorCode::kUnsupported, "use_dora", true);
  with_config(ErrorCode::kUnsupported, "fan_in_fan_out", true);
  with_config(ErrorCode::kUnsupported, "bias", "all");
  with_config(ErrorCode::kUnsupported, "alpha_pattern", Json{{"q_proj", 3}});
  with_config(ErrorCode::kFormat, "lora_alpha", 0);
  with_config(ErrorCode::kFormat, "lora_alpha", "8");
  const auto with_tensors = [&](ErrorCode code, const auto& change) {
    save_adapter(path, small_adapter());
    Safetensors file = load_safetensors(path / kAdapterWeights);
    change(file.tensors);
    save_safetensors(path / kAdapterWeights, file);
    expect_refused(code, [&] { load_adapter(path); });
  };
  const std::string wrapped = "base_model.model.model.layers.0.self_attn.q_proj.";
  with_tensors(ErrorCode::kFormat, [&](Params& p) {
    p = p.only({"base_model.model.lm_head.weight", wrapped + "lora_A.weight"});
  });
  with_tensors(ErrorCode::kFormat, [&](Params& p) {
    p.set(wrapped + "lora_B.weight", numbers({8, 3}, 0));
  });
  with_tensors(ErrorCode::kFormat,
               [&](Params& p) { p.set(wrapped + "lora_A.weight", numbers({8}, 0)); });
  with_tensors(ErrorCode::kFormat, [&](Params& p) { p.set("lm_head.weight", numbers({1}, 0)); });
  with_tensors(ErrorCode::kUnsupported, [&](Params& p) {
    p.set("base_model.model.model.embed_tokens.lora_embedding_A", numbers({2, 7}, 0));
  });
  testing::write(path / kAdapterConfig, bytes_of("[]"));
  expect_refused(ErrorCode::kFormat, [&] { load_adapter(path); });
  std::filesystem::remove(path / kAdapterConfig);
  expect_refused(ErrorCode::kIo, [&] { load_adapter(path); });
}

}  // namespace
}  // namespace limpid
