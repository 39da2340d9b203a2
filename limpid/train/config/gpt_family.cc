// Transformers: their keys, recipe, defaults and problem.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/train/config/detail/complete.h"

namespace limpid::train {
namespace detail {
namespace {

using Integers = TrainConfig::Integers;

// A single number for a key that is a list for the other models.
std::int64_t one_of(std::string_view path, const std::optional<Integers>& list,
                    std::int64_t otherwise) {
  if (!list) return otherwise;
  if (list->size() != 1)
    refuse(path, fmt::format("expected 1 number for a gpt, got {}", list->size()));
  return list->front();
}

nn::Gpt preset(const TrainConfig& c) {
  if (!c.preset) return {};
  if (*c.preset == "gpt2") return nn::gpt2_shaped();
  if (*c.preset == "llama") return nn::llama_shaped();
  refuse("model.preset", fmt::format("a gpt has no {}; expected gpt2 or llama", *c.preset));
}

void fill_gpt(TrainConfig& c, const Split& data, const Recipe&) {
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
    refuse("model.rotary_base", fmt::format("expected rotary positions, got {}", *c.positions));
  fill(c.bias, net.bias);
  fill(c.tied, net.tied);
  const std::vector<std::string> norms = all_names<nn::GptNorm>();
  if (std::find(norms.begin(), norms.end(), *c.norm) == norms.end())
    refuse("model.norm",
           fmt::format("a gpt has no {}; expected {}", *c.norm, fmt::join(norms, " or ")));
  net.width = *c.width;
  net.feed_forward = from_name<nn::GptFeedForward>(*c.feed_forward);
  c.hidden = Integers{one_of("model.hidden", c.hidden, net.hidden_width())};
  try {
    gpt_of(c, data.train.classes).check();
  } catch (const Error& e) {
    refuse("model", e.what());
  }
}

FamilyModel make_gpt(const TrainConfig& c, const Split& data) {
  const nn::Gpt net = gpt_of(c, data.train.classes);
  return {net.config(), gpt_problem(net, loss_of(c))};
}

FamilyModel go_on_gpt(const Model& first, const TrainConfig& c, const Split& data) {
  nn::Gpt net = nn::Gpt::from_config(first.config);
  require_vocabulary(net.vocabulary, data);
  net.dropout = *c.dropout;
  return {net.config(), gpt_problem(net, loss_of(c))};
}

}  // namespace

const ModelFamily& gpt_family() {
  static const ModelFamily family{
      .name = "gpt",
      .help = "transformer, predicts the next token",
      .keys = {"name", "preset", "context", "layers", "width", "heads", "kv_heads", "hidden",
               "norm", "feed_forward", "positions", "rotary_base", "bias", "tied", "dropout"},
      .recipes = {{.name = "gpt",
                   .optimizer = "adamw",
                   .schedule = "cosine",
                   .batch = 12,
                   .rate = 0.003,
                   .numbers = {{"beta2", 0.99}},
                   .clip_norm = 1,
                   .warmup = 100,
                   .steps = 2000}},
      .recipe = first_recipe,
      .reads_text = true,
      .context = nn::Gpt{}.context,
      .every_token = true,
      .fill = fill_gpt,
      .make = make_gpt,
      .go_on = go_on_gpt};
  return family;
}

}  // namespace detail

nn::Gpt gpt_of(const TrainConfig& c, std::int64_t vocabulary) {
  nn::Gpt net;
  net.vocabulary = vocabulary;
  net.context = *c.context;
  net.layers = c.layers->front();
  net.width = *c.width;
  net.heads = *c.heads;
  net.kv_heads = *c.kv_heads;
  net.hidden = c.hidden->front();
  net.norm = from_name<nn::GptNorm>(*c.norm);
  net.feed_forward = from_name<nn::GptFeedForward>(*c.feed_forward);
  net.positions = from_name<nn::GptPositions>(*c.positions);
  net.rotary_base = c.rotary_base.value_or(net.rotary_base);
  net.bias = *c.bias;
  net.tied = *c.tied;
  net.dropout = *c.dropout;
  return net;
}

}  // namespace limpid::train
