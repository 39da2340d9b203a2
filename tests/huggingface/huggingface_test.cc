#include "limpid/formats/huggingface.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>

#include "limpid/core/json.h"
#include "limpid/formats/safetensors.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/language_model.h"
#include "limpid/nn/mlp.h"
#include "limpid/transforms/quantize.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"
#include "tests/source_folder.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;

const fs::path kFixtures = testing::source_folder() / "tests/huggingface";
const char* const kAll[] = {"gpt2", "gpt2-bf16", "llama", "llama-f16", "llama-bf16"};

// The logits that PyTorch gave, those of the model for the same tokens, and how far apart they are.
void expect_logits(const Model& model, const fs::path& fixture, double tolerance) {
  const Params expected = load_safetensors(fixture / "expected.safetensors").tensors;
  const Tensor tokens = expected.at("tokens");
  const Tensor logits = predict(model, tokens.reshape(tokens.shape().insert(0, 1)));
  const auto ours = logits.values<float>();
  const auto theirs = expected.at("logits").values<float>();
  ASSERT_EQ(ours.size(), theirs.size());
  double largest = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double difference =
        std::fabs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i]));
    EXPECT_LE(difference, tolerance * (1 + std::fabs(static_cast<double>(theirs[i])))) << i;
    largest = std::max(largest, std::fabs(static_cast<double>(theirs[i])));
  }
  EXPECT_GT(largest, 0.5);
}

std::int64_t length_of(const fs::path& fixture) {
  return load_safetensors(fixture / "expected.safetensors").tensors.at("tokens").elements();
}

// A copy of a fixture whose files can be changed.
class Changed {
 public:
  explicit Changed(const char* fixture) { fs::copy(kFixtures / fixture, folder_.path()); }

  const fs::path& path() const { return folder_.path(); }
  Json json(const char* name) const { return Json::parse(testing::read(path() / name)); }
  void write(const char* name, const Json& json) {
    testing::write(path() / name, bytes_of(json.dump()));
  }
  void set(const char* key, const Json& value) {
    Json config = json("config.json");
    config[key] = value;
    write("config.json", config);
  }
  void erase(const char* key) {
    Json config = json("config.json");
    config.erase(key);
    write("config.json", config);
  }
  void refused(ErrorCode code) const {
    expect_refused(code, [&] { load_huggingface(path()); });
  }

 private:
  testing::TemporaryFolder folder_;
};

class Fixture : public ::testing::TestWithParam<const char*> {};

TEST_P(Fixture, HasTheLogitsOfPyTorch) {
  const fs::path folder = kFixtures / GetParam();
  expect_logits(load_huggingface(folder, length_of(folder)), folder, 1e-5);
}

// In f32, whatever it was.
TEST_P(Fixture, ComesBackAsItWasWritten) {
  const fs::path folder = kFixtures / GetParam();
  const Model model = load_huggingface(folder, length_of(folder));
  const testing::TemporaryFolder out;
  save_huggingface(out / "model", model);
  const Model back = load_huggingface(out / "model", length_of(folder));
  EXPECT_EQ(back.config, model.config);
  const Quantized narrow = quantize(back.function, back.params, {.to = Dtype::kBf16});
  for (const auto& [name, tensor] : model.params) {
    const Tensor& written = back.params.at(name);
    EXPECT_EQ(written.dtype(), Dtype::kF32);
    const bool was_narrow = tensor.dtype() == Dtype::kBf16;
    EXPECT_TRUE((was_narrow ? narrow.params.at(name) : written).same_bits(tensor)) << name;
  }
  expect_logits(back, folder, 1e-5);
}

TEST_P(Fixture, BecomesAModelOfOneFile) {
  const Model model = load_huggingface(kFixtures / GetParam(), 3);
  const testing::TemporaryFolder out;
  save_model(out / "m.safetensors", model);
  EXPECT_EQ(load_model(out / "m.safetensors").function, model.function);
}

INSTANTIATE_TEST_SUITE_P(HuggingFace, Fixture, ::testing::ValuesIn(kAll), [](const auto& fixture) {
  std::string name = fixture.param;
  name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
  return name;
});

// ---- the families since Llama

class Family : public ::testing::TestWithParam<const char*> {};

TEST_P(Family, HasTheLogitsOfPyTorch) {
  const fs::path folder = kFixtures / GetParam();
  expect_logits(load_huggingface(folder, length_of(folder)), folder, 1e-5);
}

// With a cache, in chunks, beside other sequences: the bits of one pass over the tokens alone.
TEST_P(Family, HasTheSameBitsWithACacheAndInABatch) {
  const fs::path folder = kFixtures / GetParam();
  const Params expected = load_safetensors(folder / "expected.safetensors").tensors;
  const auto all = expected.at("tokens").values<std::int32_t>();
  const Model model = load_huggingface(folder, length_of(folder));
  const nn::Gpt net = nn::Gpt::from_config(model.config);
  nn::LanguageModel language_model(net, model.params, {.sequences = 3, .chunk = 4});
  std::vector<nn::LanguageModel::Sequence> sequences;
  const std::size_t lengths[] = {all.size(), 5, 1};
  for (const std::size_t length : lengths)
    sequences.push_back(language_model.join(all.first(length)));
  const auto is_ready = [](const nn::LanguageModel::Sequence& s) { return s.ready(); };
  while (!std::all_of(sequences.begin(), sequences.end(), is_ready)) language_model.step();
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto length = static_cast<std::int64_t>(lengths[i]);
    const Model alone = load_huggingface(folder, length);
    const Tensor logits =
        predict(alone, Tensor::from<std::int32_t>({1, length}, all.first(lengths[i])));
    const auto last = logits.values<float>().last(static_cast<std::size_t>(net.vocabulary));
    const auto cached = sequences[i].logits();
    EXPECT_TRUE(std::equal(last.begin(), last.end(), cached.begin(), cached.end(),
                           [](float a, float b) {
                             return std::bit_cast<std::uint32_t>(a) ==
                                    std::bit_cast<std::uint32_t>(b);
                           }))
        << length;
  }
}

TEST_P(Family, BecomesAModelOfOneFile) {
  const Model model = load_huggingface(kFixtures / GetParam(), 3);
  const testing::TemporaryFolder out;
  save_model(out / "m.safetensors", model);
  const Model back = load_model(out / "m.safetensors");
  EXPECT_EQ(back.function, model.function);
  const nn::Gpt net = nn::Gpt::from_config(back.config);
  EXPECT_EQ(net.config(), nn::Gpt::from_config(net.config()).config());
}

// Only a GPT-2 or a Llama is written.
TEST_P(Family, IsNotWrittenAsALlama) {
  const testing::TemporaryFolder out;
  const Model model = load_huggingface(kFixtures / GetParam(), 3);
  expect_refused(ErrorCode::kUnsupported, [&] { save_huggingface(out / "x", model); });
}

// Weights in 8 bits give logits nearby.
TEST_P(Family, MayBeQuantized) {
  const fs::path folder = kFixtures / GetParam();
  const Model model = load_huggingface(folder, length_of(folder));
  Quantized narrow = quantize(model.function, model.params, {.to = Dtype::kI8});
  expect_logits({std::move(narrow.function), std::move(narrow.params), model.config}, folder, 0.2);
}

INSTANTIATE_TEST_SUITE_P(HuggingFace, Family,
                         ::testing::Values("mistral", "qwen2", "qwen3", "gemma", "gemma2",
                                           "gemma3_text", "phi", "phi3", "gpt_neox", "stablelm",
                                           "olmo2", "granite", "smollm3", "starcoder2", "opt"),
                         [](const auto& family) { return std::string(family.param); });

// Within a window every token sees all before it: the context is no longer.
TEST(HuggingFace, HasTheContextThatItsKeysAllow) {
  const auto context = [](const char* fixture, const char* key, const Json& value) {
    Changed folder(fixture);
    folder.set(key, value);
    return nn::Gpt::from_config(load_huggingface(folder.path(), 3).config).context;
  };
  EXPECT_EQ(context("mistral", "sliding_window", 7), 7);
  EXPECT_EQ(context("mistral", "sliding_window", nullptr), 32);
  EXPECT_EQ(context("qwen2", "use_sliding_window", true), 4);
  EXPECT_EQ(context("gemma2", "sliding_window", 9), 9);
  EXPECT_EQ(context("phi3", "original_max_position_embeddings", 8), 8);  // of short factors
}

TEST(HuggingFace, TakesItsChoicesFromTheConfig) {
  const nn::Gpt gpt2 = nn::Gpt::from_config(load_huggingface(kFixtures / "gpt2").config);
  EXPECT_EQ(gpt2.context, 16);
  EXPECT_EQ(gpt2.hidden_width(), 48);
  EXPECT_TRUE(gpt2.tied && gpt2.bias);
  EXPECT_EQ(gpt2.feed_forward, nn::GptFeedForward::kGeluTanh);
  const nn::Gpt llama = nn::Gpt::from_config(load_huggingface(kFixtures / "llama").config);
  EXPECT_EQ(llama.key_heads(), 2);
  EXPECT_EQ(llama.rotary_base, 500);
  EXPECT_TRUE(llama.tied && !llama.bias);
  EXPECT_FALSE(llama.rotary_scaling);
  const nn::Gpt scaled = nn::Gpt::from_config(load_huggingface(kFixtures / "llama-bf16").config);
  EXPECT_EQ(scaled.rotary_scaling, (nn::RotaryScaling{8, 1, 4, 16}));
}

// What a config leaves out is as transformers has it. Sizes that are others than the fixture's show
// in the first tensor that does not fit.
TEST(HuggingFace, HasTheDefaultsOfTransformers) {
  const auto net = [](const char* fixture, const char* key) {
    Changed folder(fixture);
    folder.erase(key);
    return nn::Gpt::from_config(load_huggingface(folder.path()).config);
  };
  EXPECT_EQ(net("gpt2", "layer_norm_epsilon").norm_eps, 1e-5);
  EXPECT_EQ(net("gpt2", "activation_function").feed_forward, nn::GptFeedForward::kGeluTanh);
  EXPECT_EQ(net("llama-f16", "rms_norm_eps").norm_eps, 1e-6);
  EXPECT_EQ(net("llama-f16", "rope_theta").rotary_base, 10000);
  EXPECT_EQ(net("llama-f16", "num_key_value_heads").key_heads(), 4);
  EXPECT_EQ(net("llama-f16", "tie_word_embeddings").tied, false);
  EXPECT_EQ(net("llama", "max_position_embeddings").context, 2048);
  EXPECT_EQ(net("llama", "hidden_act").feed_forward, nn::GptFeedForward::kSwiglu);
  EXPECT_EQ(net("gpt2", "n_head").heads, 12);
  for (const auto& [fixture, keys] :
       {std::pair{"gpt2", "vocab_size n_positions n_embd n_layer"},
        {"llama",
         "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads"}}) {
    std::istringstream all(keys);
    for (std::string key; all >> key;) {
      Changed folder(fixture);
      folder.erase(key.c_str());
      folder.refused(ErrorCode::kFormat);
    }
  }
  for (const char* const key : {"attention_bias", "mlp_bias"}) {
    Changed folder("llama-f16");
    folder.erase(key);
    folder.refused(ErrorCode::kFormat);
  }
}

TEST(HuggingFace, KnowsTheNamesOfOneActivation) {
  for (const auto& [name, meant] : {std::pair{"gelu_new", nn::GptFeedForward::kGeluTanh},
                                    {"gelu_pytorch_tanh", nn::GptFeedForward::kGeluTanh},
                                    {"gelu_fast", nn::GptFeedForward::kGeluTanh},
                                    {"gelu", nn::GptFeedForward::kGelu}}) {
    Changed folder("gpt2");
    folder.set("activation_function", name);
    EXPECT_EQ(nn::Gpt::from_config(load_huggingface(folder.path()).config).feed_forward, meant)
        << name;
  }
}

// As transformers 5 writes it.
TEST(HuggingFace, FindsTheBaseAmongTheParametersOfTheRotation) {
  Changed folder("llama");
  folder.set("rope_theta", Json());
  folder.set("rope_parameters", Json{{"rope_type", "default"}, {"rope_theta", 700}});
  EXPECT_EQ(nn::Gpt::from_config(load_huggingface(folder.path()).config).rotary_base, 700);
}

// "type" is its older name.
TEST(HuggingFace, TheNewerKeyOfARotationsTypeGoesBeforeTheOlderOne) {
  Changed folder("llama");
  folder.set("rope_scaling", Json{{"type", "llama3"}, {"rope_type", "default"}});
  EXPECT_FALSE(nn::Gpt::from_config(load_huggingface(folder.path()).config).rotary_scaling);
  folder.set("rope_scaling", Json{{"type", "llama3"}});
  EXPECT_TRUE(nn::Gpt::from_config(load_huggingface(folder.path()).config).rotary_scaling);
}

// Numbers that are not the usual ones, under both of their keys, and written again.
TEST(HuggingFace, ScalesTheRotation) {
  const Json scaling{{"rope_type", "llama3"},
                     {"factor", 4.5},
                     {"low_freq_factor", 2},
                     {"high_freq_factor", 8},
                     {"original_max_position_embeddings", 32}};
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    Changed folder("llama");
    folder.set(key, scaling);
    const Model model = load_huggingface(folder.path());
    EXPECT_EQ(nn::Gpt::from_config(model.config).rotary_scaling,
              (nn::RotaryScaling{4.5, 2, 8, 32}));
    const testing::TemporaryFolder out;
    save_huggingface(out.path(), model);
    EXPECT_EQ(load_huggingface(out.path()).config, model.config);
  }
}

// The context length is halved, from 65536 tokens on, until an example fits in memory: 8192 tokens
// have 313 MiB of logits, which count twice.
TEST(HuggingFace, TakesAsManyTokensAsFit) {
  nn::Gpt net = nn::llama_shaped();
  net.vocabulary = 10'000;
  net.context = 100'000;
  net.layers = net.heads = 1;
  net.width = net.hidden = 4;
  const testing::TemporaryFolder folder;
  save_huggingface(folder.path(), {net.function(8), net.init(Key(1)), net.config()});
  EXPECT_EQ(data_input(load_huggingface(folder.path())).type.shape, Shape{8192});
}

// Masks, frequencies and a head that is the embedding may lie in a file; nothing else may.
TEST(HuggingFace, LeavesBuffersAside) {
  const auto loads_with = [](const char* fixture, const char* name) {
    Changed folder(fixture);
    Safetensors file = load_safetensors(folder.path() / "model.safetensors");
    file.tensors.set(name, Tensor::zeros({Dtype::kF32, {3}}));
    save_safetensors(folder.path() / "model.safetensors", file);
    try {
      load_huggingface(folder.path());
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (const char* name : {"h.0.attn.bias", "h.1.attn.masked_bias", "lm_head.weight"})
    EXPECT_TRUE(loads_with("gpt2", name)) << name;
  for (const char* name : {"model.layers.0.self_attn.rotary_emb.inv_freq", "lm_head.weight"})
    EXPECT_TRUE(loads_with("llama", name)) << name;
  for (const char* name : {"h.0.attn.biases", "more"}) EXPECT_FALSE(loads_with("gpt2", name));
  EXPECT_FALSE(loads_with("llama", "model.layers.0.attn.bias"));
}

// What transformers needs to open a folder by AutoModelForCausalLM.
TEST(HuggingFace, SaysWhatItsWeightsAre) {
  for (const auto& [fixture, architecture] :
       {std::pair{"gpt2", "GPT2LMHeadModel"}, std::pair{"llama", "LlamaForCausalLM"}}) {
    const testing::TemporaryFolder out;
    save_huggingface(out.path(), load_huggingface(kFixtures / fixture));
    const Json config = Json::parse(testing::read(out / "config.json"));
    EXPECT_EQ(config.at("architectures"), Json::array({architecture}));
    EXPECT_EQ(config.at("torch_dtype"), Json("float32"));
    const Safetensors weights = load_safetensors(out / "model.safetensors");
    EXPECT_EQ(weights.metadata,
              (std::vector<std::pair<std::string, std::string>>{{"format", "pt"}}));
    const bool gpt2 = config.contains("n_positions");
    if (gpt2) {
      EXPECT_EQ(config.at("n_ctx"), config.at("n_positions"));
    }
    EXPECT_TRUE(weights.tensors.find(gpt2 ? "transformer.ln_f.weight" : "model.norm.weight"));
  }
}

TEST(HuggingFace, LeavesTensorsWhereTheyAre) {
  const Model model = load_huggingface(kFixtures / "llama");
  const Params file = map_safetensors(kFixtures / "llama/model.safetensors").tensors;
  EXPECT_TRUE(model.params.at("norm.weight").same_bits(file.at("model.norm.weight")));
  // Tensors of one file lie as far apart in memory as in the file.
  const auto distance = [](const Tensor& a, const Tensor& b) {
    return b.bytes().data() - a.bytes().data();
  };
  EXPECT_EQ(distance(model.params.at("embed_tokens.weight"), model.params.at("norm.weight")),
            distance(file.at("model.embed_tokens.weight"), file.at("model.norm.weight")));
}

// Those of products: a table of embeddings is one where it gives the logits, too.
TEST(HuggingFace, KeepsMatricesInBf16) {
  for (const char* fixture : {"llama-bf16", "gpt2-bf16"}) {
    const Model model = load_huggingface(kFixtures / fixture);
    const bool tied = nn::Gpt::from_config(model.config).tied;
    for (const auto& [name, tensor] : model.params) {
      const bool product = tensor.shape().rank() == 2 && name != "embed_positions.weight" &&
                           (tied || name != "embed_tokens.weight");
      EXPECT_EQ(tensor.dtype(), product ? Dtype::kBf16 : Dtype::kF32) << name;
    }
  }
}

TEST(HuggingFace, TakesAsManyTokensAsItIsTold) {
  const auto tokens = [](std::int64_t length) {
    return data_input(load_huggingface(kFixtures / "gpt2", length)).type.shape;
  };
  EXPECT_EQ(tokens(0), Shape{16});
  EXPECT_EQ(tokens(5), Shape{5});
  expect_refused(ErrorCode::kInvalidArgument, [&] { tokens(17); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { tokens(-1); });
}

TEST(HuggingFace, RefusesConfigsByTheKey) {
  constexpr ErrorCode kNo = ErrorCode::kUnsupported, kBroken = ErrorCode::kFormat;
  const struct {
    const char* fixture;
    const char* key;
    Json value;
    ErrorCode code;
  } rows[] = {{"gpt2", "model_type", "t5", kNo},
              {"gpt2", "activation_function", "silu", kNo},
              {"gpt2", "scale_attn_weights", false, kNo},
              {"gpt2", "scale_attn_by_inverse_layer_idx", true, kNo},
              {"gpt2", "add_cross_attention", true, kNo},
              {"gpt2", "quantization_config", Json{{"bits", 4}}, kNo},
              {"gpt2", "n_layer", 0, kBroken},
              {"gpt2", "n_embd", 12.5, kBroken},
              {"gpt2", "n_embd", 18446744073709551615u, kBroken},
              {"gpt2", "n_head", 5, kBroken},
              {"gpt2", "layer_norm_epsilon", -1, kBroken},
              {"gpt2", "layer_norm_epsilon", "x", kBroken},
              {"llama", "hidden_act", "relu", kNo},
              {"llama", "mlp_bias", true, kBroken},
              {"llama", "head_dim", 8, kBroken},
              {"llama", "head_dim", 5, kBroken},
              {"llama", "sliding_window", 4096, kNo},
              {"llama", "rope_scaling", Json{{"type", "other"}}, kNo},
              {"llama", "rope_scaling", Json{{"type", "linear"}, {"factor", 0}}, kBroken},
              {"llama", "rope_scaling", Json{{"type", "longrope"}}, kBroken},
              {"llama", "rope_scaling",
               Json{{"type", "longrope"}, {"short_factor", Json::array({1})}}, kBroken},
              {"mistral", "hidden_size", nullptr, kBroken},
              {"qwen3", "head_dim", nullptr, kBroken},
              {"gemma2", "attn_logit_softcapping", 50, kNo},
              {"gemma2", "query_pre_attn_scalar", 0, kBroken},
              {"gemma3_text", "layer_types", Json::array({"full_attention"}), kBroken},
              {"phi", "qk_layernorm", true, kNo},
              {"phi", "partial_rotary_factor", 1.5, kBroken},
              {"gpt_neox", "attention_bias", false, kNo},
              {"granite", "logits_scaling", 0, kBroken},
              {"smollm3", "no_rope_layers", Json::array({1}), kBroken},
              {"opt", "word_embed_proj_dim", 8, kNo},
              {"opt", "do_layer_norm_before", false, kNo},
              {"llama", "rope_scaling", Json{{"type", "llama3"}, {"factor", 0.5}}, kBroken},
              {"llama", "rope_scaling", 3, kBroken},
              {"llama", "tie_word_embeddings", 1, kBroken}};
  for (const auto& [fixture, key, value, code] : rows) {
    Changed folder(fixture);
    folder.set(key, value);
    folder.refused(code);
  }
}

TEST(HuggingFace, RefusesTensorsByName) {
  const auto refused = [](const char* key, const Json& value) {
    Changed folder("gpt2");
    folder.set(key, value);
    folder.refused(ErrorCode::kFormat);
  };
  refused("n_layer", 3);
  refused("n_layer", 1);
  refused("tie_word_embeddings", false);
  refused("vocab_size", 36);
  refused("n_inner", 47);

  Changed folder("gpt2");
  Safetensors file = load_safetensors(folder.path() / "model.safetensors");
  const Tensor embedding = file.tensors.at("wte.weight");
  file.tensors.set("ln_f.bias", Tensor::zeros({Dtype::kI32, {12}}));
  save_safetensors(folder.path() / "model.safetensors", file);
  folder.refused(ErrorCode::kUnsupported);
  file.tensors.set("wte.weight", embedding.reshape({12, 37}));
  save_safetensors(folder.path() / "model.safetensors", file);
  folder.refused(ErrorCode::kFormat);
}

TEST(HuggingFace, RefusesAnIndexThatLiesOrLeads) {
  const auto refused = [](const auto& change, ErrorCode code = ErrorCode::kFormat) {
    Changed folder("gpt2-bf16");
    Json index = folder.json("model.safetensors.index.json");
    change(index["weight_map"]);
    folder.write("model.safetensors.index.json", index);
    folder.refused(code);
  };
  const char* const kTensor = "transformer.wte.weight";
  const std::string with_zero("model.safetensors\0.txt", 22);  // the system reads up to the zero
  for (const std::string& name : std::vector<std::string>{
           "../gpt2/model.safetensors", "/etc/passwd", "..", ".", "", "a\\b", with_zero})
    refused([&](Json& map) { map[kTensor] = name; });
  refused([&](Json& map) { map[kTensor] = 1; });
  refused([&](Json& map) { map[kTensor] = "a.safetensors"; }, ErrorCode::kIo);
  refused([&](Json& map) { map[kTensor] = "model-00002-of-00002.safetensors"; });
  refused([&](Json& map) { map["more"] = "model-00002-of-00002.safetensors"; });
  refused([&](Json& map) { map.erase(kTensor); });
  refused([](Json& map) { map = 3; });
  // Beside the two that are there.
  const auto add = [](int files) {
    return [files](Json& map) {
      for (int i = 0; i < files; ++i) map[std::to_string(i)] = "file" + std::to_string(i);
    };
  };
  refused(add(1022), ErrorCode::kIo);
  refused(add(1023), ErrorCode::kUnsupported);
}

// As transformers does.
TEST(HuggingFace, TakesOneFileBeforeAnIndexOfSeveral) {
  const Changed folder("gpt2");
  testing::write(folder.path() / "model.safetensors.index.json", bytes_of("no index"));
  EXPECT_NO_THROW(load_huggingface(folder.path()));
}

TEST(HuggingFace, RefusesFoldersThatAreNone) {
  const testing::TemporaryFolder folder;
  EXPECT_FALSE(is_huggingface(folder.path()));
  EXPECT_TRUE(is_huggingface(kFixtures / "gpt2"));
  expect_refused(ErrorCode::kIo, [&] { load_huggingface(folder.path()); });
  fs::copy(kFixtures / "gpt2/config.json", folder.path());
  expect_refused(ErrorCode::kIo, [&] { load_huggingface(folder.path()); });
  for (const char* text : {"", "[]", "{", "{\"n_embd\":1,\"n_embd\":1}"}) {
    testing::write(folder / "config.json", bytes_of(text));
    expect_refused(ErrorCode::kFormat, [&] { load_huggingface(folder.path()); });
    EXPECT_FALSE(is_huggingface(folder.path())) << text;
  }
  testing::write(folder / "config.json", bytes_of("{\"n_embd\":1}"));
  EXPECT_FALSE(is_huggingface(folder.path()));
}

TEST(HuggingFace, WritesGptsThatHaveNoBiases) {
  const nn::Gpt net{.vocabulary = 11, .context = 6, .layers = 1, .width = 8, .heads = 2};
  const Model model{net.function(), net.init(Key(3)), net.config()};
  const testing::TemporaryFolder folder;
  save_huggingface(folder.path(), model);
  const Model back = load_huggingface(folder.path());
  const Tensor tokens = Tensor::from<std::int32_t>(Shape{1, 6}, {1, 10, 3, 0, 3, 7});
  EXPECT_TRUE(predict(back, tokens).same_bits(predict(model, tokens)));
}

TEST(HuggingFace, WritesNoWeightsOf8Bits) {
  const nn::Gpt net{.vocabulary = 11, .context = 6, .layers = 1, .width = 8, .heads = 2};
  const Quantized q = quantize(net.function(), net.init(Key(3)), {.to = Dtype::kI8});
  const testing::TemporaryFolder folder;
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    save_huggingface(folder / "m", {q.function, q.params, net.config()});
  });
  EXPECT_FALSE(fs::exists(folder / "m"));
}

// A folder with a config is taken for a model.
TEST(HuggingFace, WritesNoConfigWithoutTheWeights) {
  const testing::TemporaryFolder folder;
  fs::create_directory(folder / "model.safetensors");
  const Model model = load_huggingface(kFixtures / "gpt2");
  expect_refused(ErrorCode::kIo, [&] { save_huggingface(folder.path(), model); });
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model.safetensors"});
}

TEST(HuggingFace, WritesNoOtherModels) {
  const testing::TemporaryFolder folder;
  const auto refused = [&](nn::Gpt net) {
    net.vocabulary = 11;
    const Model model{net.function(), net.init(Key(3)), net.config()};
    expect_refused(ErrorCode::kUnsupported, [&] { save_huggingface(folder / "m", model); });
    EXPECT_FALSE(fs::exists(folder / "m"));
  };
  for (const nn::Gpt& net :
       {nn::Gpt{.positions = nn::GptPositions::kRotary}, nn::Gpt{.norm = nn::GptNorm::kRms},
        nn::Gpt{.kv_heads = 2}, nn::Gpt{.feed_forward = nn::GptFeedForward::kSwiglu}})
    refused(net);
  nn::Gpt net = nn::llama_shaped();
  net.positions = nn::GptPositions::kLearned;
  refused(net);

  const nn::Mlp mlp{{3, 2}};
  Model other{mlp.function(), mlp.init(Key(3)), mlp.config()};
  for (const std::string& config : {other.config, std::string(), std::string(R"({"model":1})"),
                                    std::string(R"({"model":"gpt","width":-1})")}) {
    other.config = config;
    EXPECT_THROW(save_huggingface(folder / "m", other), Error) << config;
  }
  EXPECT_FALSE(fs::exists(folder / "m"));

  testing::write(folder / "file", {});
  const Model model = load_huggingface(kFixtures / "gpt2");
  expect_refused(ErrorCode::kIo, [&] { save_huggingface(folder / "file/m", model); });
}

}  // namespace
}  // namespace limpid
