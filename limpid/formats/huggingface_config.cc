// config.json of GPT-2 and Llama, with the defaults of transformers' GPT2Config and LlamaConfig.
#include <array>
#include <cmath>

#include "limpid/formats/detail/huggingface.h"
#include "limpid/formats/safetensors.h"

namespace limpid::detail {
namespace {

// The values of an object under their keys; one that is not there, or null, is the default.
class Keys {
 public:
  Keys(const Json& json, const Reporter& report) : json_(json), report_(report) {
    if (!json.is_object()) report.broken("expected an object, got {}", shown(json));
  }

  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }
  const Json& at(const char* key) const { return json_.at(key); }
  const Reporter& report() const { return report_; }

  std::int64_t integer(const char* key, std::int64_t otherwise,
                       std::int64_t most = nn::Gpt::kMaxSize) const {
    if (!has(key)) return otherwise;
    try {
      return JsonView(at(key), key).as_integer(1, most);
    } catch (const Error& e) {
      report_.broken("{}", e.what());
    }
  }
  double number(const char* key, double otherwise) const {
    if (!has(key)) return otherwise;
    if (!at(key).is_number()) expected(key, "a number");
    return at(key).as_number();
  }
  bool flag(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!at(key).is_bool()) expected(key, "true or false");
    return at(key).as_bool();
  }
  std::string text(const char* key, std::string_view otherwise) const {
    if (!has(key)) return std::string(otherwise);
    if (!at(key).is_string()) expected(key, "a string");
    return at(key).as_string();
  }
  // Refuses a key that would make it another model.
  void must_be(const char* key, bool value) const {
    if (flag(key, value) != value) report_.unsupported("{} is {}, expected {}", key, !value, value);
  }
  void must_be_absent(const char* key) const {
    if (has(key)) report_.unsupported("{} is {}, expected none", key, shown(at(key)));
  }
  [[noreturn]] void expected(const char* key, std::string_view what) const {
    report_.broken("{}: expected {}, got {}", key, what, shown(at(key)));
  }

  static std::string shown(const Json& json) { return in_quotes(brief(json)); }

 private:
  const Json& json_;
  const Reporter& report_;
};

// ---- GPT-2

struct Activation {
  const char* name;
  nn::GptFeedForward feed_forward;
};
constexpr std::array kActivations = {
    Activation{"gelu_new", nn::GptFeedForward::kGeluTanh},
    Activation{"gelu_pytorch_tanh", nn::GptFeedForward::kGeluTanh},
    Activation{"gelu_fast", nn::GptFeedForward::kGeluTanh},  // the same formula, written otherwise
    Activation{"gelu", nn::GptFeedForward::kGelu},
};

nn::GptFeedForward feed_forward_of(const Keys& keys) {
  const std::string name = keys.text("activation_function", kActivations.front().name);
  for (const Activation& activation : kActivations)
    if (name == activation.name) return activation.feed_forward;
  keys.report().unsupported(
      "activation_function is {}; expected gelu_new, gelu_pytorch_tanh, gelu_fast or gelu",
      in_quotes(name));
}

nn::Gpt gpt2_of(const Keys& keys) {
  keys.must_be("scale_attn_weights", true);
  keys.must_be("scale_attn_by_inverse_layer_idx", false);
  keys.must_be("add_cross_attention", false);
  nn::Gpt net = nn::gpt2_shaped();
  net.vocabulary = keys.integer("vocab_size", 50257);
  net.context = keys.integer("n_positions", 1024);
  net.layers = keys.integer("n_layer", 12, nn::Gpt::kMaxLayers);
  net.width = keys.integer("n_embd", 768);
  net.heads = keys.integer("n_head", 12);
  net.hidden = keys.integer("n_inner", 4 * net.width);
  net.norm_eps = keys.number("layer_norm_epsilon", 1e-5);
  net.feed_forward = feed_forward_of(keys);
  net.tied = keys.flag("tie_word_embeddings", true);
  return net;
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

// ---- Llama

nn::RotaryScaling llama3_scaling(const Keys& keys) {
  const nn::RotaryScaling usual;
  return {.factor = keys.number("factor", usual.factor),
          .low = keys.number("low_freq_factor", usual.low),
          .high = keys.number("high_freq_factor", usual.high),
          .context = keys.integer("original_max_position_embeddings", usual.context)};
}

void read_rotary(const Keys& keys, nn::Gpt& net) {
  net.rotary_base = keys.number("rope_theta", 10000);
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!keys.has(key)) continue;
    const Keys rope(keys.at(key), keys.report());
    const std::string type = rope.text("rope_type", rope.text("type", "default"));
    if (type == "llama3")
      net.rotary_scaling = llama3_scaling(rope);
    else if (type != "default")
      keys.report().unsupported("{} of type {}, expected 'default' or 'llama3'", key,
                                in_quotes(type));
    net.rotary_base = rope.number("rope_theta", net.rotary_base);
  }
}

nn::Gpt llama_of(const Keys& keys) {
  if (const std::string act = keys.text("hidden_act", "silu"); act != "silu")
    keys.report().unsupported("hidden_act is {}, expected 'silu'", in_quotes(act));
  keys.must_be_absent("sliding_window");
  nn::Gpt net = nn::llama_shaped();
  net.vocabulary = keys.integer("vocab_size", 32000);
  net.context = keys.integer("max_position_embeddings", 2048);
  net.layers = keys.integer("num_hidden_layers", 32, nn::Gpt::kMaxLayers);
  net.width = keys.integer("hidden_size", 4096);
  net.heads = keys.integer("num_attention_heads", 32);
  net.kv_heads = keys.integer("num_key_value_heads", net.heads);
  net.hidden = keys.integer("intermediate_size", 11008);
  net.norm_eps = keys.number("rms_norm_eps", 1e-6);
  read_rotary(keys, net);
  net.tied = keys.flag("tie_word_embeddings", false);
  net.bias = keys.flag("attention_bias", false);
  if (keys.flag("mlp_bias", false) != net.bias)
    keys.report().unsupported("expected attention_bias and mlp_bias to be equal, got {} and {}",
                              net.bias, !net.bias);
  const std::int64_t head = keys.integer("head_dim", net.head());
  if (keys.has("head_dim") && head * net.heads != net.width)
    keys.report().unsupported("head_dim is {}, but {} heads of a width of {} have {}", head,
                              net.heads, net.width, net.head());
  return net;
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

Json parse_huggingface_json(std::string_view text, const Reporter& report) {
  try {
    return Json::parse(text, {.bytes = kMaxHuggingFaceJson, .members = kMaxSafetensorsCount});
  } catch (const Error& e) {
    report.broken("{}", e.what());
  }
}

HuggingFaceConfig huggingface_config(std::string_view text, const Reporter& report) {
  const Json json = parse_huggingface_json(text, report);
  const Keys keys(json, report);
  keys.must_be_absent("quantization_config");
  const std::string type = keys.text("model_type", "");
  if (type != "gpt2" && type != "llama")
    report.unsupported("model_type is {}, expected 'gpt2' or 'llama'", in_quotes(type));
  const HuggingFaceConfig config = type == "gpt2"
                                       ? HuggingFaceConfig{HuggingFaceType::kGpt2, gpt2_of(keys)}
                                       : HuggingFaceConfig{HuggingFaceType::kLlama, llama_of(keys)};
  try {
    config.net.check();
  } catch (const Error& e) {
    report.broken("{}", e.what());
  }
  return config;
}

Json huggingface_json(const HuggingFaceConfig& config, std::optional<std::int32_t> eos_token) {
  Json json =
      config.type == HuggingFaceType::kGpt2 ? gpt2_json(config.net) : llama_json(config.net);
  json["torch_dtype"] = "float32";
  if (eos_token) json["eos_token_id"] = *eos_token;
  return json;
}

HuggingFaceType huggingface_type(const nn::Gpt& net) {
  const bool gpt2 = net.norm == nn::GptNorm::kLayer;
  const auto refuse = [&](std::string_view what) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: not supported by a {}", what, gpt2 ? "GPT-2" : "Llama"));
  };
  const bool gated = net.feed_forward == nn::GptFeedForward::kSwiglu;
  const bool rotary = net.positions == nn::GptPositions::kRotary;
  if (gated == gpt2) refuse(fmt::format("the feed-forward {}", name(net.feed_forward)));
  if (rotary == gpt2) refuse(fmt::format("{} positions", name(net.positions)));
  if (gpt2 && net.key_heads() != net.heads)
    refuse(fmt::format("{} key/value heads for {} query heads", net.key_heads(), net.heads));
  return gpt2 ? HuggingFaceType::kGpt2 : HuggingFaceType::kLlama;
}

}  // namespace limpid::detail
