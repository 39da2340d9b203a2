// The families of encoders that Hugging Face's folders hold: what their config.json means, which of
// their tensors hold the parameters of a TextEncoder, and what sentence-transformers adds.
#include <algorithm>

#include "limpid/formats/detail/huggingface.h"

namespace limpid::detail {
namespace {

using Keys = HuggingFaceKeys;
using Layer = HuggingFaceEncoder::Layer;
using nn::EncoderActivation;
using nn::TextEncoder;

EncoderActivation encoder_activation(const Keys& keys, const char* key) {
  const std::string name = keys.text(key, "gelu");
  if (name == "gelu") return EncoderActivation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast")
    return EncoderActivation::kGeluTanh;
  if (name == "relu") return EncoderActivation::kRelu;
  keys.report().unsupported(
      "{} is {}; expected gelu, gelu_new, gelu_pytorch_tanh, gelu_fast or relu", key,
      in_quotes(name));
}

// The classes of a folder whose architecture has a head for them; 0: it has none.
std::int64_t count_classes(const Keys& keys) {
  if (!keys.has("architectures")) return 0;
  const Json& all = keys.at("architectures");
  if (!all.is_array() || all.size() != 1 || !all.at(0).is_string())
    keys.expected("architectures", "a list of one name");
  const std::string& name = all.at(0).as_string();
  const auto ends_with = [&](std::string_view end) { return name.ends_with(end); };
  if (ends_with("ForSequenceClassification")) {
    if (keys.has("id2label")) {
      if (!keys.at("id2label").is_object() || keys.at("id2label").size() == 0)
        keys.expected("id2label", "an object of numbers and labels");
      return static_cast<std::int64_t>(keys.at("id2label").size());
    }
    return keys.integer("num_labels", 2);
  }
  // Other heads are left out: what is read is the encoder.
  if (!ends_with("Model") && !ends_with("ForMaskedLM") && !ends_with("ForPreTraining"))
    keys.report().unsupported(
        "the architecture is {}, expected one of a model without a head, ForMaskedLM, "
        "ForPreTraining, ForSequenceClassification",
        in_quotes(name));
  return 0;
}

TextEncoder bert(const Keys& keys) {
  keys.must_have({"vocab_size", "max_position_embeddings", "num_hidden_layers", "hidden_size",
                  "num_attention_heads", "intermediate_size"});
  keys.must_be("is_decoder", false);
  if (const std::string kind = keys.text("position_embedding_type", "absolute"); kind != "absolute")
    keys.report().unsupported("position_embedding_type is {}, expected absolute", in_quotes(kind));
  return {.vocabulary = keys.integer("vocab_size", 1),
          .context = keys.integer("max_position_embeddings", 1, TextEncoder::kMaxContext),
          .layers = keys.integer("num_hidden_layers", 1, TextEncoder::kMaxLayers),
          .width = keys.integer("hidden_size", 1),
          .heads = keys.integer("num_attention_heads", 1),
          .hidden = keys.integer("intermediate_size", 1),
          .token_types = keys.integer("type_vocab_size", 2),
          .norm_eps = keys.number("layer_norm_eps", 1e-12),
          .activation = encoder_activation(keys, "hidden_act"),
          .classes = count_classes(keys)};
}

// Positions begin after that of padding, which is 1.
void skip_padding(const Keys& keys, TextEncoder& net) {
  if (keys.integer("pad_token_id", 1) != 1)
    keys.report().unsupported("pad_token_id is {}, expected 1", keys.integer("pad_token_id", 1));
  net.context -= 2;
  if (net.context < 1) keys.expected("max_position_embeddings", "a number of 3 or more");
}

TextEncoder roberta(const Keys& keys) {
  TextEncoder net = bert(keys);
  skip_padding(keys, net);
  return net;
}

TextEncoder mpnet(const Keys& keys) {
  TextEncoder net = bert(keys);
  skip_padding(keys, net);
  net.token_types = 0;
  net.distances = keys.integer("relative_attention_num_buckets", 32);
  return net;
}

TextEncoder distilbert(const Keys& keys) {
  keys.must_have(
      {"vocab_size", "max_position_embeddings", "n_layers", "dim", "n_heads", "hidden_dim"});
  return {.vocabulary = keys.integer("vocab_size", 1),
          .context = keys.integer("max_position_embeddings", 1, TextEncoder::kMaxContext),
          .layers = keys.integer("n_layers", 1, TextEncoder::kMaxLayers),
          .width = keys.integer("dim", 1),
          .heads = keys.integer("n_heads", 1),
          .hidden = keys.integer("hidden_dim", 1),
          .activation = encoder_activation(keys, "activation"),
          .classes = count_classes(keys),
          .head = nn::EncoderHead::kRelu};
}

constexpr Layer kBertLayers[] = {{"embed_tokens", "embeddings.word_embeddings"},
                                 {"embed_positions", "embeddings.position_embeddings"},
                                 {"embed_types", "embeddings.token_type_embeddings"},
                                 {"embed_norm", "embeddings.LayerNorm"},
                                 {"self_attn.q_proj", "attention.self.query"},
                                 {"self_attn.k_proj", "attention.self.key"},
                                 {"self_attn.v_proj", "attention.self.value"},
                                 {"self_attn.o_proj", "attention.output.dense"},
                                 {"self_attn_norm", "attention.output.LayerNorm"},
                                 {"mlp.up_proj", "intermediate.dense"},
                                 {"mlp.down_proj", "output.dense"},
                                 {"mlp_norm", "output.LayerNorm"},
                                 {"head", "pooler.dense"}};
constexpr Layer kRobertaLayers[] = {
    {"embed_positions", "embeddings.position_embeddings", HuggingFaceFamily::Rows::kFromTwo},
    {"head", "classifier.dense"},
    {"classifier", "classifier.out_proj"}};
constexpr Layer kMpnetLayers[] = {{"embed_distances", "encoder.relative_attention_bias"},
                                  {"self_attn.q_proj", "attention.attn.q"},
                                  {"self_attn.k_proj", "attention.attn.k"},
                                  {"self_attn.v_proj", "attention.attn.v"},
                                  {"self_attn.o_proj", "attention.attn.o"},
                                  {"self_attn_norm", "attention.LayerNorm"}};
constexpr Layer kDistilbertLayers[] = {{"self_attn.q_proj", "attention.q_lin"},
                                       {"self_attn.k_proj", "attention.k_lin"},
                                       {"self_attn.v_proj", "attention.v_lin"},
                                       {"self_attn.o_proj", "attention.out_lin"},
                                       {"self_attn_norm", "sa_layer_norm"},
                                       {"mlp.up_proj", "ffn.lin1"},
                                       {"mlp.down_proj", "ffn.lin2"},
                                       {"mlp_norm", "output_layer_norm"},
                                       {"head", "pre_classifier"}};
using Layers = std::span<const Layer>;
constexpr Layers kOfBert[] = {kBertLayers};
constexpr Layers kOfRoberta[] = {kRobertaLayers, kBertLayers};
constexpr Layers kOfMpnet[] = {kMpnetLayers, kRobertaLayers, kBertLayers};
constexpr Layers kOfDistilbert[] = {kDistilbertLayers, kBertLayers};

constexpr HuggingFaceEncoder kEncoders[] = {
    {.type = "bert", .read = bert, .prefix = "bert.", .layers = kOfBert},
    {.type = "roberta", .read = roberta, .prefix = "roberta.", .layers = kOfRoberta},
    {.type = "xlm-roberta", .read = roberta, .prefix = "roberta.", .layers = kOfRoberta},
    {.type = "camembert", .read = roberta, .prefix = "roberta.", .layers = kOfRoberta},
    {.type = "mpnet", .read = mpnet, .prefix = "mpnet.", .layers = kOfMpnet},
    {.type = "distilbert",
     .read = distilbert,
     .prefix = "distilbert.",
     .blocks = "transformer.layer",
     .layers = kOfDistilbert}};

// Heads of pretraining, and what is computed from the configuration.
constexpr std::string_view kLeftOut[] = {"cls.",
                                         "lm_head.",
                                         "pooler.",
                                         "vocab_transform.",
                                         "vocab_layer_norm.",
                                         "vocab_projector.",
                                         "embeddings.position_ids",
                                         "embeddings.token_type_ids"};

}  // namespace

std::span<const HuggingFaceEncoder> huggingface_encoders() { return kEncoders; }

HuggingFaceTensor huggingface_tensor(const HuggingFaceEncoder& family, const Input& parameter) {
  const HuggingFaceName name = huggingface_name(parameter.name, family.blocks);
  const Layer* found = nullptr;
  for (const Layers& layers : family.layers)
    for (const Layer& layer : layers)
      if (!found && layer.ours == name.layer) found = &layer;
  const std::string_view theirs = found ? found->theirs : name.layer;
  const bool from_two = found && found->rows == HuggingFaceFamily::Rows::kFromTwo;
  const std::int64_t rows = parameter.type.shape[0];
  const bool of_head =
      name.layer == "classifier" || (name.layer == "head" && !theirs.starts_with("pooler."));
  return {.name = fmt::format("{}{}.{}", name.block, theirs, name.kind),
          .prefixed = !of_head,
          .first = from_two ? 2 : 0,
          .block = rows,
          .stride = rows,
          .rows = rows + (from_two ? 2 : 0)};
}

bool is_left_out_of_encoders(std::string_view name) {
  return std::any_of(std::begin(kLeftOut), std::end(kLeftOut),
                     [&](std::string_view begin) { return name.starts_with(begin); });
}

std::vector<std::string> huggingface_labels(const HuggingFaceKeys& keys, std::int64_t classes) {
  std::vector<std::string> labels;
  for (std::int64_t i = 0; i < classes && keys.has("id2label"); ++i) {
    const Json* const label = keys.at("id2label").find(std::to_string(i));
    if (!label || !label->is_string())
      keys.expected("id2label", fmt::format("a label for each of 0 to {}", classes - 1));
    labels.push_back(label->as_string());
  }
  return labels;
}

void read_pooling(const HuggingFaceKeys& keys, nn::TextEncoder& net) {
  static constexpr std::pair<const char*, nn::TextPooling> kModes[] = {
      {"pooling_mode_cls_token", nn::TextPooling::kFirst},
      {"pooling_mode_mean_tokens", nn::TextPooling::kMean},
      {"pooling_mode_max_tokens", nn::TextPooling::kMax}};
  int count = 0;
  for (const auto& [key, pooling] : kModes)
    if (keys.flag(key, false)) {
      net.pooling = pooling;
      ++count;
    }
  for (const char* key : {"pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens",
                          "pooling_mode_lasttoken"})
    keys.must_be(key, false);
  if (count != 1)
    keys.report().unsupported(
        "expected one of pooling_mode_cls_token, pooling_mode_mean_tokens and "
        "pooling_mode_max_tokens, got {}",
        count);
  if (keys.integer("word_embedding_dimension", net.width) != net.width)
    keys.report().broken("word_embedding_dimension is {}, expected {}",
                         keys.integer("word_embedding_dimension", net.width), net.width);
}

}  // namespace limpid::detail
