// The families of language models that Hugging Face's folders hold: what their config.json means,
// and which of their tensors hold the parameters of a Gpt.
#include <algorithm>
#include <cmath>

#include "limpid/core/enum_names.h"
#include "limpid/formats/detail/huggingface.h"

namespace limpid::detail {
namespace {

using Keys = HuggingFaceKeys;
using Layer = HuggingFaceFamily::Layer;
using Rows = HuggingFaceFamily::Rows;
using nn::Gpt;
using nn::GptFeedForward;

// ---- what several families have

// An activation by one of its names.
GptFeedForward activation_of(const Keys& keys, const char* key, std::string_view otherwise,
                             bool gated) {
  const std::string name = keys.text(key, otherwise);
  const bool tanh = name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast";
  if (tanh) return gated ? GptFeedForward::kGegluTanh : GptFeedForward::kGeluTanh;
  if (name == "gelu") return gated ? GptFeedForward::kGeglu : GptFeedForward::kGelu;
  if (gated && (name == "silu" || name == "swish")) return GptFeedForward::kSwiglu;
  if (!gated && name == "relu") return GptFeedForward::kRelu;
  keys.report().unsupported("{} is {}; expected {}gelu_new, gelu_pytorch_tanh, gelu_fast or gelu",
                            key, in_quotes(name), gated ? "silu, " : "relu, ");
}

// Llama 3.1's scaling, with the defaults of RotaryScaling.
nn::RotaryScaling llama3_scaling(const Keys& keys) {
  const nn::RotaryScaling usual;
  return {.factor = keys.number("factor", usual.factor),
          .low = keys.number("low_freq_factor", usual.low),
          .high = keys.number("high_freq_factor", usual.high),
          .context = keys.integer("original_max_position_embeddings", usual.context)};
}

// YaRN (Peng et al. 2023): pairs that turn often stay, those that turn seldom are divided by the
// factor, between them it is blended along the pairs.
void read_yarn(const Keys& rope, Gpt& net) {
  const double factor = rope.number("factor", 1);
  const auto original =
      static_cast<double>(rope.integer("original_max_position_embeddings", net.context));
  const auto size = static_cast<double>(net.rotated());
  // The pair that turns so often in the original context.
  const auto pair_of = [&](double turns) {
    constexpr double kTurn = 6.2831853071795865;
    return size * nn::exact_log(original / (turns * kTurn)) / (2 * nn::exact_log(net.rotary_base));
  };
  double low = pair_of(rope.number("beta_fast", 32)), high = pair_of(rope.number("beta_slow", 1));
  if (rope.flag("truncate", true)) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, size - 1);
  if (low == high) high += 0.001;
  for (std::int64_t i = 0; i < net.rotated() / 2; ++i) {
    const double stretched = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    net.rotary_divisors.push_back(1 / (stretched / factor + 1 - stretched));
  }
  const auto gain = [&](double scale) {
    return factor <= 1 ? 1 : 0.1 * scale * nn::exact_log(factor) + 1;
  };
  const double all = rope.number("mscale_all_dim", 0), some = rope.number("mscale", 0);
  net.rotary_gain =
      rope.number("attention_factor", some != 0 && all != 0 ? gain(some) / gain(all) : gain(1));
}

// LongRoPE (Ding et al. 2024): up to the original context, the factors for short texts.
void read_long_rope(const Keys& rope, const Keys& keys, Gpt& net) {
  const std::int64_t whole = net.context;
  const std::int64_t original = keys.integer(
      "original_max_position_embeddings", rope.integer("original_max_position_embeddings", whole));
  net.rotary_divisors = rope.numbers("short_factor");
  const double factor =
      rope.number("factor", static_cast<double>(whole) / static_cast<double>(original));
  const double gain =
      factor <= 1
          ? 1
          : std::sqrt(1 + nn::exact_log(factor) / nn::exact_log(static_cast<double>(original)));
  net.rotary_gain = rope.number("attention_factor", gain);
  net.context = std::min(whole, original);
}

// After the sizes.
void read_rotary(const Keys& keys, Gpt& net) {
  net.positions = nn::GptPositions::kRotary;
  net.rotary_base = keys.number("rope_theta", 10000);
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!keys.has(key)) continue;
    const Keys rope(keys.at(key), keys.report());
    net.rotary_base = rope.number("rope_theta", net.rotary_base);
    const std::string type = rope.text("rope_type", rope.text("type", "default"));
    net.rotary_divisors.clear();
    if (type == "llama3")
      net.rotary_scaling = llama3_scaling(rope);
    else if (type == "linear")
      net.rotary_divisors.assign(
          static_cast<std::size_t>(std::max<std::int64_t>(net.rotated() / 2, 0)),
          rope.number("factor", 1));
    else if (type == "yarn")
      read_yarn(rope, net);
    else if (type == "longrope" || type == "su")
      read_long_rope(rope, keys, net);
    // "dynamic" changes nothing up to the context.
    else if (type != "default" && type != "dynamic")
      keys.report().unsupported(
          "{} of type {}, expected one of default, linear, dynamic, llama3, yarn, longrope", key,
          in_quotes(type));
  }
}

// A window of attention: within it, every token sees all tokens before it.
void read_window(const Keys& keys, Gpt& net, bool otherwise) {
  if (keys.flag("use_sliding_window", otherwise) && keys.has("sliding_window"))
    net.context = std::min(net.context, keys.integer("sliding_window", net.context));
}

void read_sizes(const Keys& keys, Gpt& net) {
  net.vocabulary = keys.integer("vocab_size", 32000);
  net.context = keys.integer("max_position_embeddings", 2048);
  net.layers = keys.integer("num_hidden_layers", 32, Gpt::kMaxLayers);
  net.width = keys.integer("hidden_size", 4096);
  net.heads = keys.integer("num_attention_heads", 32);
  net.kv_heads = keys.integer("num_key_value_heads", net.heads);
  net.hidden = keys.integer("intermediate_size", 11008);
  const std::int64_t head = keys.integer("head_dim", 0);
  if (head != 0 && !(net.width % net.heads == 0 && head == net.width / net.heads))
    net.head_size = head;
}

void must_have_sizes(const Keys& keys) {
  keys.must_have({"vocab_size", "max_position_embeddings", "num_hidden_layers", "hidden_size",
                  "num_attention_heads"});
}

// Elements of a head that are rotated.
void read_share(const Keys& keys, const char* key, double otherwise, Gpt& net) {
  const double share = keys.number(key, otherwise);
  if (!(share > 0 && share <= 1)) keys.expected(key, "a number above 0 and up to 1");
  if (share < 1)
    net.rotary_size = static_cast<std::int64_t>(share * static_cast<double>(net.head()));
}

Gpt llama_like(const Keys& keys) {
  Gpt net = nn::llama_shaped();
  read_sizes(keys, net);
  net.feed_forward = activation_of(keys, "hidden_act", "silu", true);
  net.norm_eps = keys.number("rms_norm_eps", 1e-6);
  net.tied = keys.flag("tie_word_embeddings", false);
  const bool attention = keys.flag("attention_bias", false), mlp = keys.flag("mlp_bias", false);
  net.bias = attention && mlp;
  net.query_bias = net.output_bias = attention && !mlp;
  net.feed_forward_bias = mlp && !attention;
  read_rotary(keys, net);
  return net;
}

// ---- the families

Gpt gpt2(const Keys& keys) {
  keys.must_be("scale_attn_weights", true);
  keys.must_be("scale_attn_by_inverse_layer_idx", false);
  keys.must_be("add_cross_attention", false);
  Gpt net = nn::gpt2_shaped();
  net.vocabulary = keys.integer("vocab_size", 50257);
  net.context = keys.integer("n_positions", 1024);
  net.layers = keys.integer("n_layer", 12, Gpt::kMaxLayers);
  net.width = keys.integer("n_embd", 768);
  net.heads = keys.integer("n_head", 12);
  net.hidden = keys.integer("n_inner", 4 * net.width);
  net.norm_eps = keys.number("layer_norm_epsilon", 1e-5);
  net.feed_forward = activation_of(keys, "activation_function", "gelu_new", false);
  net.tied = keys.flag("tie_word_embeddings", true);
  return net;
}

Gpt llama(const Keys& keys) {
  keys.must_be_absent("sliding_window");
  return llama_like(keys);
}

Gpt mistral(const Keys& keys) {
  must_have_sizes(keys);
  Gpt net = llama_like(keys);
  read_window(keys, net, true);
  return net;
}

Gpt qwen2(const Keys& keys) {
  Gpt net = mistral(keys);
  if (!keys.flag("use_sliding_window", false))
    net.context = keys.integer("max_position_embeddings", net.context);
  net.query_bias = true;
  return net;
}

Gpt qwen3(const Keys& keys) {
  must_have_sizes(keys);
  keys.must_have({"head_dim"});
  Gpt net = llama_like(keys);
  read_window(keys, net, false);
  net.head_norm = nn::GptHeadNorm::kEach;
  return net;
}

Gpt gemma(const Keys& keys) {
  must_have_sizes(keys);
  keys.must_have({"head_dim"});
  Gpt net = llama_like(keys);
  // "hidden_act" of the first files is not what the model was trained with.
  net.feed_forward = activation_of(keys, "hidden_activation", "gelu_pytorch_tanh", true);
  net.tied = keys.flag("tie_word_embeddings", true);
  net.embedding_scale = std::sqrt(static_cast<double>(net.width));
  return net;
}

Gpt gemma2(const Keys& keys) {
  keys.must_be_absent("attn_logit_softcapping");
  Gpt net = gemma(keys);
  read_window(keys, net, true);
  net.post_norm = true;
  net.logit_cap = keys.number("final_logit_softcapping", 0);
  const double scalar = keys.number("query_pre_attn_scalar", static_cast<double>(net.head()));
  if (!(scalar > 0)) keys.expected("query_pre_attn_scalar", "a number above 0");
  net.attention_scale = 1 / std::sqrt(scalar);
  return net;
}

Gpt gemma3(const Keys& keys) {
  Gpt net = gemma2(keys);
  net.head_norm = nn::GptHeadNorm::kEach;
  net.local_rotary_base = keys.number("rope_local_base_freq", 10000);
  const std::int64_t pattern = keys.integer("sliding_window_pattern", 6);
  const bool listed = keys.has("layer_types");
  if (listed && (!keys.at("layer_types").is_array() ||
                 static_cast<std::int64_t>(keys.at("layer_types").size()) != net.layers))
    keys.expected("layer_types", "a list of the kind of each layer");
  for (std::int64_t i = 0; i < net.layers; ++i) {
    const bool global =
        listed ? keys.at("layer_types").at(static_cast<std::size_t>(i)) == "full_attention"
               : (i + 1) % pattern == 0;
    net.rotations.push_back(global ? nn::GptRotation::kGlobal : nn::GptRotation::kLocal);
  }
  return net;
}

Gpt phi3(const Keys& keys) {
  must_have_sizes(keys);
  Gpt net = nn::llama_shaped();
  read_sizes(keys, net);
  net.feed_forward = activation_of(keys, "hidden_act", "silu", true);
  net.norm_eps = keys.number("rms_norm_eps", 1e-5);
  net.tied = keys.flag("tie_word_embeddings", false);
  keys.must_be("attention_bias", false);
  read_share(keys, "partial_rotary_factor", 1, net);
  read_rotary(keys, net);
  read_window(keys, net, true);
  return net;
}

Gpt phi(const Keys& keys) {
  must_have_sizes(keys);
  keys.must_be("qk_layernorm", false);
  Gpt net{.feed_forward = activation_of(keys, "hidden_act", "gelu_new", false), .bias = true};
  read_sizes(keys, net);
  net.norm_eps = keys.number("layer_norm_eps", 1e-5);
  net.tied = false;
  keys.must_be("tie_word_embeddings", false);
  net.parallel = net.shared_norm = net.head_bias = true;
  read_share(keys, "partial_rotary_factor", 0.5, net);
  read_rotary(keys, net);
  return net;
}

Gpt gpt_neox(const Keys& keys) {
  must_have_sizes(keys);
  keys.must_be("attention_bias", true);
  Gpt net{.feed_forward = activation_of(keys, "hidden_act", "gelu", false), .bias = true};
  read_sizes(keys, net);
  net.norm_eps = keys.number("layer_norm_eps", 1e-5);
  net.tied = keys.flag("tie_word_embeddings", false);
  net.parallel = keys.flag("use_parallel_residual", true);
  read_share(keys, "rotary_pct", 0.25, net);
  read_rotary(keys, net);
  if (!keys.has("rope_theta")) net.rotary_base = keys.number("rotary_emb_base", net.rotary_base);
  return net;
}

Gpt stablelm(const Keys& keys) {
  must_have_sizes(keys);
  keys.must_be("qk_layernorm", false);
  Gpt net{.feed_forward = activation_of(keys, "hidden_act", "silu", true)};
  read_sizes(keys, net);
  net.norm_eps = keys.number("layer_norm_eps", 1e-5);
  net.tied = keys.flag("tie_word_embeddings", false);
  net.query_bias = keys.flag("use_qkv_bias", false);
  net.parallel = net.shared_norm = keys.flag("use_parallel_residual", false);
  read_share(keys, "partial_rotary_factor", 0.25, net);
  read_rotary(keys, net);
  return net;
}

Gpt olmo2(const Keys& keys) {
  must_have_sizes(keys);
  Gpt net = llama_like(keys);
  net.norm_eps = keys.number("rms_norm_eps", 1e-5);
  net.pre_norm = false;
  net.post_norm = true;
  net.head_norm = nn::GptHeadNorm::kAll;
  return net;
}

Gpt granite(const Keys& keys) {
  must_have_sizes(keys);
  Gpt net = llama_like(keys);
  net.embedding_scale = keys.number("embedding_multiplier", 1);
  net.residual_scale = keys.number("residual_multiplier", 1);
  net.attention_scale = keys.number("attention_multiplier", 1);
  const double divisor = keys.number("logits_scaling", 1);
  if (!(divisor > 0)) keys.expected("logits_scaling", "a number above 0");
  net.logit_scale = 1 / divisor;
  return net;
}

Gpt smollm3(const Keys& keys) {
  Gpt net = mistral(keys);
  if (!keys.flag("use_sliding_window", false))
    net.context = keys.integer("max_position_embeddings", net.context);
  const std::int64_t interval = keys.integer("no_rope_layer_interval", 4);
  std::vector<double> rotated;
  if (keys.has("no_rope_layers")) rotated = keys.numbers("no_rope_layers");
  if (!rotated.empty() && static_cast<std::int64_t>(rotated.size()) != net.layers)
    keys.expected("no_rope_layers", "a number for each layer");
  for (std::int64_t i = 0; i < net.layers; ++i) {
    const bool rotates =
        rotated.empty() ? (i + 1) % interval != 0 : rotated[static_cast<std::size_t>(i)] != 0;
    net.rotations.push_back(rotates ? nn::GptRotation::kGlobal : nn::GptRotation::kNone);
  }
  return net;
}

Gpt starcoder2(const Keys& keys) {
  must_have_sizes(keys);
  Gpt net{.feed_forward = activation_of(keys, "hidden_act", "gelu_pytorch_tanh", false),
          .bias = keys.flag("use_bias", true)};
  read_sizes(keys, net);
  net.norm_eps = keys.number("norm_epsilon", 1e-5);
  net.tied = keys.flag("tie_word_embeddings", true);
  read_rotary(keys, net);
  read_window(keys, net, true);
  return net;
}

Gpt opt(const Keys& keys) {
  keys.must_have({"vocab_size", "max_position_embeddings", "num_hidden_layers", "hidden_size",
                  "num_attention_heads", "ffn_dim"});
  keys.must_be("do_layer_norm_before", true);
  keys.must_be("_remove_final_layer_norm", false);
  keys.must_be("layer_norm_elementwise_affine", true);
  Gpt net{.feed_forward = activation_of(keys, "activation_function", "relu", false),
          .bias = keys.flag("enable_bias", true)};
  read_sizes(keys, net);
  net.hidden = keys.integer("ffn_dim", net.hidden);
  if (keys.integer("word_embed_proj_dim", net.width) != net.width)
    keys.report().unsupported("word_embed_proj_dim is {}, expected hidden_size, {}",
                              keys.integer("word_embed_proj_dim", 1), net.width);
  net.tied = keys.flag("tie_word_embeddings", true);
  return net;
}

// ---- names of layers; those that are not here have the names of a Gpt

constexpr Layer kGpt2Layers[] = {{"input_layernorm", "ln_1"},
                                 {"self_attn.q_proj", "attn.c_attn", Rows::kQueries, true},
                                 {"self_attn.k_proj", "attn.c_attn", Rows::kKeys, true},
                                 {"self_attn.v_proj", "attn.c_attn", Rows::kValues, true},
                                 {"self_attn.o_proj", "attn.c_proj", Rows::kAll, true},
                                 {"post_attention_layernorm", "ln_2"},
                                 {"mlp.up_proj", "mlp.c_fc", Rows::kAll, true},
                                 {"mlp.down_proj", "mlp.c_proj", Rows::kAll, true},
                                 {"embed_tokens", "wte"},
                                 {"embed_positions", "wpe"},
                                 {"norm", "ln_f"}};
constexpr Layer kGemma2Layers[] = {{"attention_output_layernorm", "post_attention_layernorm"},
                                   {"post_attention_layernorm", "pre_feedforward_layernorm"},
                                   {"mlp_output_layernorm", "post_feedforward_layernorm"}};
constexpr Layer kPhi3Layers[] = {{"self_attn.q_proj", "self_attn.qkv_proj", Rows::kQueries},
                                 {"self_attn.k_proj", "self_attn.qkv_proj", Rows::kKeys},
                                 {"self_attn.v_proj", "self_attn.qkv_proj", Rows::kValues},
                                 {"mlp.gate_proj", "mlp.gate_up_proj", Rows::kFirstHalf},
                                 {"mlp.up_proj", "mlp.gate_up_proj", Rows::kSecondHalf}};
constexpr Layer kPhiLayers[] = {{"self_attn.o_proj", "self_attn.dense"},
                                {"mlp.up_proj", "mlp.fc1"},
                                {"mlp.down_proj", "mlp.fc2"},
                                {"norm", "final_layernorm"}};
constexpr Layer kNeoxLayers[] = {
    {"self_attn.q_proj", "attention.query_key_value", Rows::kQueriesByHead},
    {"self_attn.k_proj", "attention.query_key_value", Rows::kKeysByHead},
    {"self_attn.v_proj", "attention.query_key_value", Rows::kValuesByHead},
    {"self_attn.o_proj", "attention.dense"},
    {"mlp.up_proj", "mlp.dense_h_to_4h"},
    {"mlp.down_proj", "mlp.dense_4h_to_h"},
    {"embed_tokens", "embed_in"},
    {"norm", "final_layer_norm"},
    {"lm_head", "embed_out"}};
constexpr Layer kOlmo2Layers[] = {{"attention_output_layernorm", "post_attention_layernorm"},
                                  {"mlp_output_layernorm", "post_feedforward_layernorm"}};
constexpr Layer kStarcoder2Layers[] = {{"mlp.up_proj", "mlp.c_fc"},
                                       {"mlp.down_proj", "mlp.c_proj"}};
constexpr Layer kOptLayers[] = {{"embed_positions", "embed_positions", Rows::kFromTwo},
                                {"input_layernorm", "self_attn_layer_norm"},
                                {"self_attn.o_proj", "self_attn.out_proj"},
                                {"post_attention_layernorm", "final_layer_norm"},
                                {"mlp.up_proj", "fc1"},
                                {"mlp.down_proj", "fc2"},
                                {"norm", "final_layer_norm"}};

constexpr std::string_view kGpt2Buffers[] = {".attn.bias", ".attn.masked_bias"};
constexpr std::string_view kNeoxBuffers[] = {"rotary_emb.inv_freq", ".attention.bias",
                                             ".attention.masked_bias"};

constexpr HuggingFaceFamily kFamilies[] = {
    {.type = "gpt2",
     .read = gpt2,
     .prefix = "transformer.",
     .blocks = "h",
     .layers = kGpt2Layers,
     .buffers = kGpt2Buffers},
    {.type = "llama", .read = llama},
    {.type = "mistral", .read = mistral},
    {.type = "qwen2", .read = qwen2},
    {.type = "qwen3", .read = qwen3},
    {.type = "gemma", .read = gemma, .norms_add_one = true},
    {.type = "gemma2", .read = gemma2, .norms_add_one = true, .layers = kGemma2Layers},
    {.type = "gemma3_text", .read = gemma3, .norms_add_one = true, .layers = kGemma2Layers},
    {.type = "phi", .read = phi, .layers = kPhiLayers},
    {.type = "phi3", .read = phi3, .layers = kPhi3Layers},
    {.type = "gpt_neox",
     .read = gpt_neox,
     .prefix = "gpt_neox.",
     .layers = kNeoxLayers,
     .buffers = kNeoxBuffers},
    {.type = "stablelm", .read = stablelm},
    {.type = "olmo2", .read = olmo2, .layers = kOlmo2Layers},
    {.type = "granite", .read = granite},
    {.type = "smollm3", .read = smollm3},
    {.type = "starcoder2", .read = starcoder2, .layers = kStarcoder2Layers},
    {.type = "opt", .read = opt, .prefix = "model.decoder.", .layers = kOptLayers}};

// Which rows hold the `rows` of a parameter.
void choose_rows(HuggingFaceTensor& tensor, Rows kind, const Gpt& net, std::int64_t rows) {
  const std::int64_t queries = net.heads * net.head(), keys = net.key_heads() * net.head();
  tensor.block = tensor.stride = tensor.rows = std::max<std::int64_t>(rows, 1);
  switch (kind) {
    case Rows::kAll:
      return;
    case Rows::kQueries:
    case Rows::kKeys:
    case Rows::kValues:
      tensor.rows = queries + 2 * keys;
      tensor.first = kind == Rows::kQueries ? 0 : kind == Rows::kKeys ? queries : queries + keys;
      return;
    case Rows::kQueriesByHead:
    case Rows::kKeysByHead:
    case Rows::kValuesByHead:
      tensor.rows = 3 * rows;
      tensor.block = net.head();
      tensor.stride = 3 * net.head();
      tensor.first = kind == Rows::kQueriesByHead ? 0
                     : kind == Rows::kKeysByHead  ? net.head()
                                                  : 2 * net.head();
      return;
    case Rows::kFirstHalf:
    case Rows::kSecondHalf:
      tensor.rows = 2 * rows;
      tensor.first = kind == Rows::kFirstHalf ? 0 : rows;
      return;
    case Rows::kFromTwo:
      tensor.rows = rows + 2;
      tensor.first = 2;
      return;
  }
}

bool name_ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

std::span<const HuggingFaceFamily> huggingface_families() { return kFamilies; }

HuggingFaceName huggingface_name(std::string_view parameter, std::string_view blocks) {
  HuggingFaceName name{.block = {}, .layer = parameter, .kind = {}};
  if (name.layer.starts_with("layers.")) {
    name.layer.remove_prefix(name.layer.find('.') + 1);
    name.block = fmt::format("{}.{}.", blocks, name.layer.substr(0, name.layer.find('.')));
    name.layer.remove_prefix(name.layer.find('.') + 1);
  }
  name.kind = name.layer.substr(name.layer.rfind('.') + 1);
  name.layer.remove_suffix(name.kind.size() + 1);
  return name;
}

HuggingFaceTensor huggingface_tensor(const HuggingFaceConfig& config, const Input& parameter) {
  const HuggingFaceFamily& family = *config.family;
  const auto [block, layer, kind] = huggingface_name(parameter.name, family.blocks);
  const auto found = std::find_if(family.layers.begin(), family.layers.end(),
                                  [&, &ours = layer](const Layer& l) { return l.ours == ours; });
  const bool other = found != family.layers.end();
  HuggingFaceTensor tensor{
      .name = fmt::format("{}{}.{}", block, other ? found->theirs : layer, kind),
      .prefixed = layer != "lm_head",
      .transposed = other && found->turned && kind == "weight",
      .adds_one = family.norms_add_one && kind == "weight" && name_ends_with(layer, "norm")};
  choose_rows(tensor, other ? found->rows : Rows::kAll, config.net, parameter.type.shape[0]);
  return tensor;
}

std::string_view huggingface_prefix(const HuggingFaceFamily& family) { return family.prefix; }

bool is_huggingface_buffer(const HuggingFaceFamily& family, std::string_view name) {
  return std::any_of(family.buffers.begin(), family.buffers.end(),
                     [&](std::string_view end) { return name_ends_with(name, end); });
}

}  // namespace limpid::detail
