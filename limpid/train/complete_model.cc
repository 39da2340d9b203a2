// The model's part of a configuration: which keys a model has, what they are where nobody chose,
// and the network that they make.
#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/train/detail/complete.h"

namespace limpid::train {
namespace detail {
namespace {

using Integers = TrainConfig::Integers;

constexpr const char* kMlp = "mlp";
constexpr const char* kCharLm = "charlm";
constexpr const char* kGpt = "gpt";
constexpr std::string_view kModelKeys = "model.";

// The keys of each model, without their "model.".
const std::vector<std::string_view>& keys_of(std::string_view model) {
  using Keys = std::vector<std::string_view>;
  static const Keys mlp{"name", "hidden", "layers", "activation", "norm", "dropout", "init"};
  static const Keys char_lm{"name",       "context", "embedding", "hidden", "layers",
                            "activation", "norm",    "dropout",   "init"};
  static const Keys gpt{"name",      "preset",      "context", "layers", "width",
                        "heads",     "kv_heads",    "hidden",  "norm",   "feed_forward",
                        "positions", "rotary_base", "bias",    "tied",   "dropout"};
  return model == kGpt ? gpt : model == kCharLm ? char_lm : mlp;
}

void refuse_keys_of_others(const TrainConfig& c) {
  const std::vector<std::string_view>& keys = keys_of(*c.model);
  for (const ConfigKey& key : config_keys()) {
    if (!key.path.starts_with(kModelKeys)) continue;
    const std::string_view name = key.path.substr(kModelKeys.size());
    const bool chosen =
        std::visit([&](auto member) { return (c.*member).has_value(); }, key.member);
    if (chosen && std::find(keys.begin(), keys.end(), name) == keys.end())
      refuse(key.path,
             fmt::format("the model {} has none; it has {}", *c.model, fmt::join(keys, ", ")));
  }
}

// What the first layer is given for an example.
std::int64_t features_of(const TrainConfig& c, const Dataset& train) {
  return *c.model == kCharLm ? *c.context * *c.embedding : train.input_type().shape.elements();
}

void fill_layers(TrainConfig& c, const Split& data, const Recipe& recipe) {
  const std::int64_t in = features_of(c, data.train);
  const std::int64_t out = data.train.outputs();
  if (c.layers) {
    if (c.hidden) refuse("model.hidden", "model.layers says the same; one of them is expected");
    if (c.layers->size() < 2)
      refuse("model.layers", fmt::format("{} sizes, at least 2 are expected", c.layers->size()));
    if (c.layers->front() != in)
      refuse("model.layers", fmt::format("{} features in, the data has {}", c.layers->front(), in));
    const bool enough = data.train.task == Task::kClassification ? c.layers->back() >= out
                                                                 : c.layers->back() == out;
    if (!enough)
      refuse("model.layers", fmt::format("{} outputs, the data has {}", c.layers->back(), out));
  } else {
    Integers sizes{in};
    const Integers& hidden = c.hidden ? *c.hidden : recipe.hidden;
    sizes.insert(sizes.end(), hidden.begin(), hidden.end());
    sizes.push_back(out);
    c.layers = sizes;
  }
  c.hidden.reset();
  fill<std::string>(c.activation, "relu");
  fill<std::string>(c.norm, "none");
  fill<std::string>(c.init, "he");
}

// ---- gpt

// One number of a key that is a list for the other models.
std::int64_t one_of(std::string_view path, const std::optional<Integers>& list,
                    std::int64_t otherwise) {
  if (!list) return otherwise;
  if (list->size() != 1)
    refuse(path, fmt::format("{} numbers came, 1 is expected for a gpt", list->size()));
  return list->front();
}

nn::Gpt preset(const TrainConfig& c) {
  if (!c.preset) return {};
  return *c.preset == "gpt2" ? nn::gpt2_shaped() : nn::llama_shaped();
}

void fill_gpt(TrainConfig& c, const Split& data) {
  nn::Gpt net = preset(c);
  c.preset.reset();
  fill(c.context, net.context);
  c.layers = Integers{one_of("model.layers", c.layers, net.layers)};
  fill(c.width, net.width);
  fill(c.heads, net.heads);
  fill(c.kv_heads, *c.heads);
  fill<std::string>(c.norm, std::string(name(net.norm)));
  fill<std::string>(c.feed_forward, std::string(name(net.feed_forward)));
  fill<std::string>(c.positions, std::string(name(net.positions)));
  if (*c.positions == name(nn::GptPositions::kRotary))
    fill(c.rotary_base, net.rotary_base);
  else if (c.rotary_base)
    refuse("model.rotary_base", fmt::format("positions are {}", *c.positions));
  fill(c.bias, net.bias);
  fill(c.tied, net.tied);
  const std::vector<std::string> norms = nn::gpt_norm_names();
  if (std::find(norms.begin(), norms.end(), *c.norm) == norms.end())
    refuse("model.norm",
           fmt::format("a gpt has no {}; {} is expected", *c.norm, fmt::join(norms, " or ")));
  net.width = *c.width;
  net.feed_forward = nn::gpt_feed_forward_from_name(*c.feed_forward);
  c.hidden = Integers{one_of("model.hidden", c.hidden, net.hidden_width())};
  try {
    gpt_of(c, data.train.classes).check();
  } catch (const Error& e) {
    refuse("model", e.what());
  }
}

}  // namespace

void fill_model_name(TrainConfig& c, Task task) {
  const bool text = task == Task::kNextToken;
  fill<std::string>(c.model, text ? kCharLm : kMlp);
  if (text != (*c.model != kMlp))
    refuse("model.name", fmt::format("{}, but the data is for {}", *c.model, limpid::name(task)));
}

void fill_model(TrainConfig& c, const Split& data, const Recipe& recipe) {
  refuse_keys_of_others(c);
  fill(c.dropout, recipe.dropout);
  if (*c.model == kGpt) {
    fill_gpt(c, data);
    return;
  }
  if (*c.model == kCharLm) {
    fill(c.context, window_options_of(c).context);
    fill<std::int64_t>(c.embedding, nn::CharLm{}.embedding);
    if (c.norm == "batch")
      refuse("model.norm", "a charlm has no batch norm; none, layer or rms is expected");
  }
  fill_layers(c, data, recipe);
}

}  // namespace detail

WindowOptions window_options_of(const TrainConfig& c) {
  const bool gpt = c.model == detail::kGpt;
  const WindowOptions options{c.context.value_or(gpt ? nn::Gpt{}.context : nn::CharLm{}.context),
                              gpt, c.tokenizer.value_or(WindowOptions{}.tokenizer)};
  try {
    check_tokenizer_name(options.tokenizer);
  } catch (const Error& e) {
    detail::refuse("tokenizer", e.what());
  }
  return options;
}

nn::Mlp network_of(const TrainConfig& c) {
  return {*c.layers, nn::activation_from_name(*c.activation), *c.dropout, *c.init,
          nn::mlp_norm_from_name(*c.norm)};
}

nn::CharLm char_lm_of(const TrainConfig& c) {
  return {c.layers->back(), *c.context, *c.embedding, network_of(c)};
}

nn::Gpt gpt_of(const TrainConfig& c, std::int64_t vocabulary) {
  nn::Gpt net;
  net.vocabulary = vocabulary;
  net.context = *c.context;
  net.layers = c.layers->front();
  net.width = *c.width;
  net.heads = *c.heads;
  net.kv_heads = *c.kv_heads;
  net.hidden = c.hidden->front();
  net.norm = nn::gpt_norm_from_name(*c.norm);
  net.feed_forward = nn::gpt_feed_forward_from_name(*c.feed_forward);
  net.positions = nn::gpt_positions_from_name(*c.positions);
  net.rotary_base = c.rotary_base.value_or(net.rotary_base);
  net.bias = *c.bias;
  net.tied = *c.tied;
  net.dropout = *c.dropout;
  return net;
}

}  // namespace limpid::train
