// MLPs on token embeddings: their keys, recipe, defaults and problem.
#include "limpid/train/config/detail/complete.h"

namespace limpid::train {
namespace detail {
namespace {

void fill_char_lm(TrainConfig& c, const Split& data, const Recipe& recipe) {
  fill(c.context, char_lm_family().context);
  fill(c.embedding, nn::CharLm{}.embedding);
  if (c.norm == "batch")
    refuse("model.norm", "a charlm has no batch norm; expected none, layer or rms");
  fill_layers(c, data, recipe, *c.context * *c.embedding);
}

FamilyModel make_char_lm(const TrainConfig& c, const Split&) {
  const nn::CharLm net = char_lm_of(c);
  return {net.config(), char_lm_problem(net, loss_of(c))};
}

FamilyModel go_on_char_lm(const Model& first, const TrainConfig& c, const Split& data) {
  nn::CharLm net = nn::CharLm::from_config(first.config);
  require_vocabulary(net.vocabulary, data);
  net.mlp.dropout = *c.dropout;
  return {net.config(), char_lm_problem(net, loss_of(c))};
}

}  // namespace

const ModelFamily& char_lm_family() {
  static const ModelFamily family{.name = "charlm",
                                  .help = "MLP on token embeddings, predicts the next token",
                                  .keys = {"name", "context", "embedding", "hidden", "layers",
                                           "activation", "norm", "dropout", "init"},
                                  .recipes = {{.name = "charlm",
                                               .hidden = {128, 128},
                                               .optimizer = "adamw",
                                               .schedule = "cosine",
                                               .batch = 256,
                                               .rate = 0.002,
                                               .epochs = 5}},
                                  .recipe = first_recipe,
                                  .reads_text = true,
                                  .context = nn::CharLm{}.context,
                                  .fill = fill_char_lm,
                                  .make = make_char_lm,
                                  .go_on = go_on_char_lm};
  return family;
}

}  // namespace detail

nn::CharLm char_lm_of(const TrainConfig& c) {
  return {c.layers->back(), *c.context, *c.embedding, network_of(c)};
}

}  // namespace limpid::train
