// config.json: its keys, and what a GPT-2 or a Llama is written as.
#include <algorithm>
#include <cmath>

#include "limpid/formats/detail/huggingface.h"
#include "limpid/formats/safetensors.h"

namespace limpid::detail {
namespace {

std::string shown(const Json& json) { return in_quotes(brief(json)); }

// Keys of a Gpt's configuration.
constexpr const char* kOptionsOfNeither[] = {
    "head_size",      "query_bias",      "output_bias", "feed_forward_bias", "head_bias",
    "pre_norm",       "post_norm",       "parallel",    "shared_norm",       "head_norm",
    "rotary_size",    "rotary_divisors", "rotary_gain", "rotations",         "embedding_scale",
    "residual_scale", "attention_scale", "logit_scale", "logit_cap"};

// The names of all families, for messages.
std::string known_families() {
  std::string names;
  for (const HuggingFaceFamily& family : huggingface_families()) {
    if (!names.empty()) names += ", ";
    names += family.type;
  }
  for (const HuggingFaceEncoder& family : huggingface_encoders())
    names += fmt::format(", {}", family.type);
  return names;
}

Json gpt2_json(const nn::Gpt& net) {
  const bool exact = net.feed_forward == nn::GptFeedForward::kGelu;
  return {{"architectures", Json::array({"GPT2LMHeadModel"})},
          {"model_type", "gpt2"},
          {"vocab_size", net.vocabulary},
          {"n_positions", net.context},
          {"n_ctx", net.context},
          {"n_embd", net.width},
          {"n_layer", net.layers},
          {"n_head", net.heads},
          {"n_inner", net.hidden_width()},
          {"activation_function", exact ? "gelu" : "gelu_new"},
          {"layer_norm_epsilon", net.norm_eps},
          {"tie_word_embeddings", net.tied}};
}

Json llama_json(const nn::Gpt& net) {
  Json json{{"architectures", Json::array({"LlamaForCausalLM"})},
            {"model_type", "llama"},
            {"vocab_size", net.vocabulary},
            {"max_position_embeddings", net.context},
            {"hidden_size", net.width},
            {"intermediate_size", net.hidden_width()},
            {"num_hidden_layers", net.layers},
            {"num_attention_heads", net.heads},
            {"num_key_value_heads", net.key_heads()},
            {"head_dim", net.head()},
            {"hidden_act", "silu"},
            {"rms_norm_eps", net.norm_eps},
            {"rope_theta", net.rotary_base},
            {"attention_bias", net.bias},
            {"mlp_bias", net.bias},
            {"tie_word_embeddings", net.tied}};
  if (const std::optional<nn::RotaryScaling>& scaling = net.rotary_scaling)
    json["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", scaling->factor},
                            {"low_freq_factor", scaling->low},
                            {"high_freq_factor", scaling->high},
                            {"original_max_position_embeddings", scaling->context}};
  return json;
}

}  // namespace

// ---- keys

HuggingFaceKeys::HuggingFaceKeys(const Json& json, const Reporter& report)
    : json_(json), report_(report) {
  if (!json.is_object()) report.broken("expected an object, got {}", shown(json));
}

std::int64_t HuggingFaceKeys::integer(const char* key, std::int64_t otherwise,
                                      std::int64_t most) const {
  if (!has(key)) return otherwise;
  try {
    return JsonView(at(key), key).as_integer(1, most);
  } catch (const Error& e) {
    report_.broken("{}", e.what());
  }
}
double HuggingFaceKeys::number(const char* key, double otherwise) const {
  if (!has(key)) return otherwise;
  if (!at(key).is_number()) expected(key, "a number");
  return at(key).as_number();
}
bool HuggingFaceKeys::flag(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!at(key).is_bool()) expected(key, "true or false");
  return at(key).as_bool();
}
std::string HuggingFaceKeys::text(const char* key, std::string_view otherwise) const {
  if (!has(key)) return std::string(otherwise);
  if (!at(key).is_string()) expected(key, "a string");
  return at(key).as_string();
}
std::vector<double> HuggingFaceKeys::numbers(const char* key) const {
  if (!has(key) || !at(key).is_array()) expected(key, "a list of numbers");
  std::vector<double> all;
  for (const Json& one : at(key).elements()) {
    if (!one.is_number()) expected(key, "a list of numbers");
    all.push_back(one.as_number());
  }
  return all;
}
void HuggingFaceKeys::must_be(const char* key, bool value) const {
  if (flag(key, value) != value) report_.unsupported("{} is {}, expected {}", key, !value, value);
}
void HuggingFaceKeys::must_be_absent(const char* key) const {
  if (has(key)) report_.unsupported("{} is {}, expected none", key, shown(at(key)));
}
void HuggingFaceKeys::must_have(std::initializer_list<const char*> keys) const {
  for (const char* key : keys)
    if (!has(key)) report_.broken("{} is missing", key);
}
void HuggingFaceKeys::expected(const char* key, std::string_view what) const {
  report_.broken("{}: expected {}, got {}", key, what, has(key) ? shown(at(key)) : "none");
}

// ---- files

Json parse_huggingface_json(std::string_view text, const Reporter& report) {
  try {
    return Json::parse(text, {.bytes = kMaxHuggingFaceJson, .members = kMaxSafetensorsCount});
  } catch (const Error& e) {
    report.broken("{}", e.what());
  }
}

HuggingFaceConfig huggingface_config(const HuggingFaceKeys& keys) {
  const Reporter& report = keys.report();
  keys.must_be_absent("quantization_config");
  const std::string type = keys.text("model_type", "");
  const auto families = huggingface_families();
  const auto found =
      std::find_if(families.begin(), families.end(),
                   [&](const HuggingFaceFamily& family) { return family.type == type; });
  if (found == families.end())
    report.unsupported("model_type is {}, expected one of {}", in_quotes(type), known_families());
  const HuggingFaceConfig config{&*found, found->read(keys)};
  try {
    config.net.check();
  } catch (const Error& e) {
    report.broken("{}", e.what());
  }
  return config;
}

Json huggingface_json(const HuggingFaceConfig& config, std::optional<std::int32_t> eos_token) {
  Json json = is_gpt2(*config.family) ? gpt2_json(config.net) : llama_json(config.net);
  json["torch_dtype"] = "float32";
  if (eos_token) json["eos_token_id"] = *eos_token;
  return json;
}

const HuggingFaceFamily& huggingface_family(const nn::Gpt& net) {
  const bool gpt2 = net.norm == nn::GptNorm::kLayer;
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: not supported by a {}", what, gpt2 ? "GPT-2" : "Llama"));
  };
  const bool gated = net.feed_forward == nn::GptFeedForward::kSwiglu;
  const bool rotary = net.positions == nn::GptPositions::kRotary;
  const bool gelu = net.feed_forward == nn::GptFeedForward::kGelu ||
                    net.feed_forward == nn::GptFeedForward::kGeluTanh;
  if (gpt2 ? !gelu : !gated) refuse(fmt::format("the feed-forward {}", name(net.feed_forward)));
  if (rotary == gpt2) refuse(fmt::format("{} positions", name(net.positions)));
  if (gpt2 && net.key_heads() != net.heads)
    refuse(fmt::format("{} key/value heads for {} query heads", net.key_heads(), net.heads));
  // The configuration has what is not as in GPT-2 and Llama.
  const Json config = Json::parse(net.config());
  for (const char* key : kOptionsOfNeither)
    if (config.contains(key)) refuse(key);
  return *std::find_if(huggingface_families().begin(), huggingface_families().end(),
                       [&](const HuggingFaceFamily& f) { return is_gpt2(f) == gpt2; });
}

bool is_gpt2(const HuggingFaceFamily& family) { return family.type == "gpt2"; }

}  // namespace limpid::detail
