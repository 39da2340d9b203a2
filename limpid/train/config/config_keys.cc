// The table of keys of config.h: names, ranges, descriptions of defaults; and its reference page.
// Texts about optimisers and model families come from their records.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "limpid/optim/optimizer.h"
#include "limpid/train/config/config.h"
#include "limpid/train/config/detail/complete.h"

namespace limpid::train {
namespace {

constexpr double kMostSteps = 1e12;
constexpr double kMostRows = 1 << 24;

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const detail::ModelFamily* family : detail::model_families())
    names.emplace_back(family->name);
  return names;
}
std::vector<std::string> preset_names() {
  std::vector<std::string> names{"gpt2", "llama"};
  for (const std::string& name : all_names<nn::CnnPreset>()) names.push_back(name);
  return names;
}
std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const detail::ModelFamily* family : detail::model_families())
    for (const detail::Recipe& recipe : family->recipes)
      if (!recipe.level.empty() &&
          std::find(names.begin(), names.end(), recipe.level) == names.end())
        names.emplace_back(recipe.level);
  return names;
}
std::vector<std::string> all_metric_names() {
  std::vector<std::string> names;
  for (const std::string& task : all_names<Task>())
    for (const std::int64_t outputs : {2, 1000})  // some are of few, some of many
      for (const std::string& name : metric_names(from_name<Task>(task), outputs))
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

// ---- prose made from records

std::string number_text(double value) { return fmt::format("{}", value); }
template <class T>
std::string text(const T& value) {
  return fmt::format("{}", value);
}
std::string text(bool value) { return value ? "true" : "false"; }

// "a, b X; c Y", names of one value together.
struct Grouped {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // value, names

  void add(const std::string& name, const std::string& value) {
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return group.first == value; });
    if (found == groups.end())
      groups.push_back({value, {name}});
    else
      found->second.push_back(name);
  }
};

// The first recipe's default, then those that differ: "128; small recipe: 32; gpt: 12".
std::string by_recipe(const std::function<std::string(const detail::Recipe&)>& show) {
  std::string first;
  Grouped others;
  for (const detail::ModelFamily* family : detail::model_families())
    for (const detail::Recipe& recipe : family->recipes) {
      const std::string value = show(recipe);
      if (recipe.name.empty())
        first = value;
      else if (value != first && !value.empty())
        others.add(std::string(recipe.name), value);
    }
  for (const auto& [value, names] : others.groups)
    first += fmt::format("; {}: {}", fmt::join(names, ", "), value);
  return first;
}

// "adam 0.001, adamw 0.001", or only the value if all are equal.
std::string by_optimizer(const Grouped& values) {
  if (values.groups.size() == 1) return values.groups.front().first;
  std::string all;
  for (const auto& [value, names] : values.groups)
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", fmt::join(names, ", "), value);
  return all;
}

std::string model_help() {
  std::string all;
  for (const detail::ModelFamily* family : detail::model_families())
    all +=
        fmt::format("{}{} ({})", all.empty() ? "Architecture: " : ", ", family->name, family->help);
  return all;
}

std::string default_models() {
  const auto first = [](bool reads_text) {
    const auto families = detail::model_families();
    return (*std::find_if(families.begin(), families.end(),
                          [&](const auto* family) { return family->reads_text == reads_text; }))
        ->name;
  };
  return fmt::format("{}; text: {}", first(false), first(true));
}

std::string default_contexts() {
  std::string all;
  for (const detail::ModelFamily* family : detail::model_families())
    if (family->reads_text)
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", family->name, family->context);
  return all;
}

std::string default_rates() {
  Grouped usual;
  for (const std::string& name : optim::optimizer_names())
    usual.add(name, number_text(optim::usual_rate(optim::optimizer_from_name(name))));
  return by_optimizer(usual) + by_recipe([](const detail::Recipe& recipe) {
           return recipe.rate ? fmt::format("{} {}", recipe.optimizer, *recipe.rate) : "";
         });
}

std::string default_losses() {
  const auto usual = [](Task task) { return name(usual_loss(task).kind); };
  return fmt::format("{}; multilabel: {}; regression: {}", usual(Task::kClassification),
                     usual(Task::kMultiLabel), usual(Task::kRegression));
}

// ---- hyper-parameters of optimisers

// "(sgd, rmsprop)", "(all but sgd)"; nothing if every optimiser has it.
std::string owners_text(const std::vector<std::string>& owners) {
  const std::vector<std::string> all = optim::optimizer_names();
  if (owners.size() == all.size()) return "";
  if (owners.size() + 1 < all.size() || owners.size() == 1)
    return fmt::format(" ({})", fmt::join(owners, ", "));
  const auto missing = std::find_if(all.begin(), all.end(), [&](const std::string& name) {
    return std::find(owners.begin(), owners.end(), name) == owners.end();
  });
  return fmt::format(" (all but {})", *missing);
}

ConfigKey key_of(const optim::Number& number) {
  const bool is_switch = number.range == optim::Range::kSwitch;
  // What it means, and to which optimisers: nearly always the same to all of them.
  std::vector<std::pair<std::string_view, std::vector<std::string>>> meanings;
  Grouped defaults;
  for (const std::string& optimizer : optim::optimizer_names())
    for (const optim::Number& other : optim::numbers_of(optimizer))
      if (other.name == number.name) {
        const auto known = std::find_if(meanings.begin(), meanings.end(),
                                        [&](const auto& m) { return m.first == other.help; });
        if (known == meanings.end())
          meanings.push_back({other.help, {optimizer}});
        else
          known->second.push_back(optimizer);
        defaults.add(optimizer,
                     is_switch ? text(other.in_training != 0) : number_text(other.in_training));
      }
  const std::string of_recipes = by_recipe([&](const detail::Recipe& recipe) {
    const auto found = recipe.numbers.find(number.name);
    return found == recipe.numbers.end() ? "" : number_text(found->second);
  });
  std::string help;
  for (const auto& [meaning, owners] : meanings)
    help += (help.empty() ? "" : "; ") + std::string(meaning) + owners_text(owners);
  std::string flag = fmt::format("--{}", number.name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  ConfigKey key{.path = fmt::format("optimizer.{}", number.name),
                .flag = flag,
                .member = &TrainConfig::optimizer_numbers,
                .help = help,
                .otherwise = by_optimizer(defaults) + of_recipes};
  if (is_switch) {
    key.member = &TrainConfig::optimizer_switches;
    return key;
  }
  key.low = 0;
  key.high = number.range == optim::Range::kNotNegative ? 1e30 : 1;
  key.open_high = number.range == optim::Range::kBelowOne;
  return key;
}

// Each hyper-parameter once; those that all optimisers have come last.
std::vector<ConfigKey> optimizer_keys() {
  std::vector<ConfigKey> some, common;
  for (const std::string& optimizer : optim::optimizer_names())
    for (const optim::Number& number : optim::numbers_of(optimizer)) {
      ConfigKey key = key_of(number);
      const auto is_key = [&](const ConfigKey& other) { return other.path == key.path; };
      if (std::any_of(some.begin(), some.end(), is_key) ||
          std::any_of(common.begin(), common.end(), is_key))
        continue;
      (key.help == number.help ? common : some).push_back(std::move(key));
    }
  some.insert(some.end(), common.begin(), common.end());
  return some;
}

using C = TrainConfig;

std::vector<ConfigKey> data_and_model_keys() {
  return {
      {.path = "data",
       .flag = "--data",
       .member = &C::data,
       .help = "Data set: digits, moons, csv:FILE,target=COLUMN, npz:FILE, ... (docs/data.md)",
       .otherwise = "digits"},
      {.path = "task",
       .flag = "--task",
       .member = &C::task,
       .help = "Learning task, for tables and arrays whose targets are ambiguous",
       .otherwise = "inferred from the data",
       .choices = all_names<Task>},
      {.path = "tokenizer",
       .flag = "--tokenizer",
       .member = &C::tokenizer,
       .help = "Tokenizer: characters (those in the text), bytes (all 256) or bpe:DIR (byte-pair "
               "encoding from DIR's tokenizer.json, or vocab.json and merges.txt)",
       .otherwise = WindowOptions{}.tokenizer},
      {.path = "augment",
       .flag = "--augment",
       .member = &C::augment,
       .help =
           "Augmentation of the training set's pictures: steps and presets, each after a comma, "
           "such as shift=2,rotate=10 or digits (docs/reference/train.md lists them)",
       .otherwise = by_recipe([](const detail::Recipe& recipe) {
         return recipe.augment.empty() ? std::string("none") : std::string(recipe.augment);
       }),
       .set =
           [](TrainOptions& o, const C& c) {
             if (c.augment) o.augmentation = parse_augmentation(*c.augment);
           }},

      {.path = "recipe",
       .flag = "--recipe",
       .member = &C::recipe,
       .help = "Defaults of the model and its training: quick, good or best, for more time "
               "(mlp, cnn; docs/training.md has what each reaches)",
       .otherwise = "by the model and the data",
       .choices = recipe_names},

      {.path = "from",
       .flag = "--from",
       .member = &C::from,
       .help =
           "Model to begin with: its network and its weights, from a model file, a run folder or "
           "a Hugging Face folder; a last layer of another size begins anew",
       .otherwise = "none: a new network"},
      {.path = "freeze",
       .flag = "--freeze",
       .member = &C::freeze,
       .help =
           "Parameters of --from that stay as they are: names, or their beginnings, each after a "
           "comma, such as blocks or layers.0,layers.1",
       .otherwise = "none"},

      {.path = "lora.rank",
       .flag = "--lora",
       .member = &C::lora_rank,
       .help =
           "Rank of low-rank adapters (LoRA), which alone are trained: the parameters of --from "
           "stay as they are. The model has them merged into its weights",
       .otherwise = "none",
       .low = 1,
       .high = kMostRows},
      {.path = "lora.alpha",
       .flag = "--lora-alpha",
       .member = &C::lora_alpha,
       .help = "Factor of the adapters: alpha / rank",
       .otherwise = "twice the rank",
       .low = 0,
       .high = 1e6,
       .open_low = true},
      {.path = "lora.targets",
       .flag = "--lora-targets",
       .member = &C::lora_targets,
       .help = "Matrices that have an adapter: names, or their ends, each after a comma",
       .otherwise = "q_proj,v_proj"},

      {.path = "model.name",
       .flag = "--model",
       .member = &C::model,
       .help = model_help(),
       .otherwise = default_models(),
       .choices = model_names},
      {.path = "model.preset",
       .flag = "--preset",
       .member = &C::preset,
       .help = "Defaults of GPT-2 (layer norm, gelu_tanh, learned positions, biases) or Llama "
               "(rms, swiglu, rotary, no biases, not tied); other options override them (gpt). "
               "Layout of the convolutions: lenet, small, resnet9, resnet18 or mobilenet (cnn)",
       .otherwise = "layer, gelu, learned, no biases, tied; cnn: small",
       .choices = preset_names},
      {.path = "model.context",
       .flag = "--context",
       .member = &C::context,
       .help = "Context length in tokens; of training only (lstm, gru); of any text (charlm, gpt)",
       .otherwise = default_contexts(),
       .low = 1,
       .high = kMostRows},
      {.path = "model.embedding",
       .flag = "--embedding",
       .member = &C::embedding,
       .help = "Embedding dimension (charlm)",
       .otherwise = text(nn::CharLm{}.embedding),
       .low = 1,
       .high = kMostRows},
      {.path = "model.hidden",
       .flag = "--hidden",
       .member = &C::hidden,
       .help = "Hidden layer sizes; none: linear or logistic regression; gpt: one number, the "
               "feed-forward's hidden size",
       .otherwise = by_recipe([](const detail::Recipe& recipe) {
                      return fmt::format("{}", fmt::join(recipe.hidden, ","));
                    }) +
                    "; gpt: 4 times the width, 8/3 times if swiglu",
       .low = 1,
       .high = kMostRows},
      {.path = "model.layers",
       .flag = "--layers",
       .member = &C::layers,
       .help = "All layer sizes, input and output included, instead of --hidden; gpt: one number, "
               "the number of blocks",
       .otherwise = fmt::format("from --hidden and the data; gpt: {}", nn::Gpt{}.layers),
       .low = 1,
       .high = kMostRows},
      {.path = "model.width",
       .flag = "--width",
       .member = &C::width,
       .help = "Model dimension: size of a token's vector between blocks (gpt); channels of the "
               "first convolution, whose multiples the others have (cnn); hidden units of each "
               "layer, and size of a token's vector (lstm, gru)",
       .otherwise = fmt::format("{}; cnn: of its preset; lstm, gru: {}, of numbers {}",
                                nn::Gpt{}.width, detail::lstm_family().recipes[0].width,
                                detail::lstm_family().recipes[1].width),
       .low = 1,
       .high = kMostRows},
      {.path = "model.heads",
       .flag = "--heads",
       .member = &C::heads,
       .help = "Number of attention heads; must divide --width (gpt)",
       .otherwise = text(nn::Gpt{}.heads),
       .low = 1,
       .high = kMostRows},
      {.path = "model.kv_heads",
       .flag = "--kv-heads",
       .member = &C::kv_heads,
       .help = "Number of key/value heads; must divide --heads; fewer than --heads: grouped-query "
               "attention (gpt)",
       .otherwise = "the same as --heads",
       .low = 1,
       .high = kMostRows},
      {.path = "model.activation",
       .flag = "--activation",
       .member = &C::activation,
       .help = "Activation function of the hidden layers (mlp, cnn, charlm)",
       .otherwise = "relu",
       .choices = nn::activation_names},
      {.path = "model.norm",
       .flag = "--norm",
       .member = &C::norm,
       .help = "Normalisation before each hidden activation (charlm: not batch); gpt: layer or "
               "rms, before attention, feed-forward and output; cnn: batch or none",
       .otherwise = fmt::format(
           "{}; gpt: {}; cnn: batch, of lenet none",
           by_recipe([](const detail::Recipe& recipe) { return std::string(recipe.norm); }),
           name(nn::Gpt{}.norm)),
       .choices = all_names<nn::MlpNorm>},
      {.path = "model.feed_forward",
       .flag = "--feed-forward",
       .member = &C::feed_forward,
       .help = "Activation of the feed-forward network; swiglu adds a third matrix, the gate (gpt)",
       .otherwise = text(name(nn::Gpt{}.feed_forward)),
       .choices = all_names<nn::GptFeedForward>},
      {.path = "model.positions",
       .flag = "--positions",
       .member = &C::positions,
       .help = "Position encoding; rotary is RoPE (gpt)",
       .otherwise = text(name(nn::Gpt{}.positions)),
       .choices = all_names<nn::GptPositions>},
      {.path = "model.rotary_base",
       .flag = "--rotary-base",
       .member = &C::rotary_base,
       .help = "Base of the rotary frequencies (RoPE theta); only with --positions rotary (gpt)",
       .otherwise = number_text(nn::Gpt{}.rotary_base),
       .low = 1,
       .open_low = true},
      {.path = "model.bias",
       .flag = "--bias",
       .member = &C::bias,
       .help = "Add biases to the linear projections; layer norm always has one (gpt)",
       .otherwise = text(nn::Gpt{}.bias)},
      {.path = "model.tied",
       .flag = "--tied",
       .member = &C::tied,
       .help = "Tie the output projection to the token embedding (gpt, lstm, gru)",
       .otherwise = fmt::format("{}; lstm, gru: {}", nn::Gpt{}.tied, nn::RecurrentLm{}.tied)},
      {.path = "model.dropout",
       .flag = "--dropout",
       .member = &C::dropout,
       .help = "Dropout rate in training: of hidden activations; gpt: of embeddings and of each "
               "attention and feed-forward output; lstm, gru: of embeddings and of each layer's "
               "result",
       .otherwise =
           by_recipe([](const detail::Recipe& recipe) { return number_text(recipe.dropout); }),
       .low = 0,
       .high = 1,
       .open_high = true},
      {.path = "model.init",
       .flag = "--init",
       .member = &C::init,
       .help = "Weight initialisation of the linear layers (mlp, charlm) and convolutions (cnn)",
       .otherwise = "he",
       .choices = nn::init_names},
  };
}

std::vector<ConfigKey> loss_and_optimizer_keys() {
  std::vector<ConfigKey> keys{
      {.path = "loss.name",
       .flag = "--loss",
       .member = &C::loss,
       .help = "Loss function",
       .otherwise = default_losses(),
       .choices = all_names<Loss::Kind>},
      {.path = "loss.label_smoothing",
       .flag = "--label-smoothing",
       .member = &C::label_smoothing,
       .help = "Label smoothing: share of the target spread over all classes (cross_entropy)",
       .otherwise = by_recipe(
           [](const detail::Recipe& recipe) { return number_text(recipe.label_smoothing); }),
       .low = 0,
       .high = 1},
      {.path = "loss.class_weights",
       .flag = "--class-weights",
       .member = &C::class_weights,
       .help =
           "Weight of the loss of each class' examples: balanced (examples / classes / examples "
           "of the class), or numbers such as 1,2.5; the mean divides by the examples "
           "(cross_entropy of a classification)",
       .otherwise = "all 1"},
      {.path = "loss.delta",
       .flag = "--huber-delta",
       .member = &C::delta,
       .help = "Absolute error at which the loss becomes linear, after any standardisation of the "
               "targets (huber)",
       .otherwise = number_text(Loss{}.delta),
       .low = 0,
       .open_low = true},

      {.path = "optimizer.name",
       .flag = "--optimizer",
       .member = &C::optimizer,
       .help = "Optimiser",
       .otherwise = by_recipe([](const detail::Recipe& recipe) { return recipe.optimizer; }),
       .choices = optim::optimizer_names},
      {.path = "optimizer.lr",
       .flag = "--lr",
       .member = &C::rate,
       .help = "Learning rate, the peak of the schedule",
       .otherwise = default_rates(),
       .low = 0,
       .set = [](TrainOptions& o, const C& c) { o.schedule.rate = *c.rate; }},
  };
  const std::vector<ConfigKey> numbers = optimizer_keys();
  keys.insert(keys.end(), numbers.begin(), numbers.end());
  return keys;
}

std::vector<ConfigKey> schedule_and_length_keys() {
  return {
      {.path = "schedule.name",
       .flag = "--schedule",
       .member = &C::schedule,
       .help = "Learning-rate schedule after warm-up; linear and cosine decay to 0 at the end of "
               "the run, onecycle rises and decays over the whole run",
       .otherwise = by_recipe([](const detail::Recipe& recipe) { return recipe.schedule; }),
       .choices = all_names<optim::Schedule::Kind>,
       .set = [](TrainOptions& o,
                 const C& c) { o.schedule.kind = from_name<optim::Schedule::Kind>(*c.schedule); }},
      {.path = "schedule.warmup",
       .flag = "--warmup",
       .member = &C::warmup,
       .help = "Warm-up steps, in which the learning rate rises linearly",
       .otherwise = by_recipe([](const detail::Recipe& recipe) {
         return recipe.warmup == 0 ? "0"
                                   : fmt::format("{}, at most a tenth of the run", recipe.warmup);
       }),
       .low = 0,
       .high = kMostSteps,
       .set = [](TrainOptions& o, const C& c) { o.schedule.warmup = *c.warmup; }},
      {.path = "schedule.decay_every",
       .flag = "--decay-every",
       .member = &C::decay_every,
       .help = "Epochs between two decays of the learning rate (step schedule)",
       .usual = 10.0,
       .low = 1e-6,
       .high = 1e9},
      {.path = "schedule.decay_factor",
       .flag = "--decay-factor",
       .member = &C::decay_factor,
       .help = "Factor by which each decay multiplies the learning rate (step schedule)",
       .usual = 0.1,
       .low = 0,
       .high = 1,
       .set = [](TrainOptions& o, const C& c) { o.schedule.factor = *c.decay_factor; }},

      {.path = "clip.value",
       .flag = "--clip-value",
       .member = &C::clip_value,
       .help = "Clip every gradient element to [-X, X], before --clip-norm",
       .otherwise = "no clipping",
       .low = 0,
       .open_low = true,
       .set = [](TrainOptions& o, const C& c) { o.rule.clip.value = c.clip_value; }},
      {.path = "clip.norm",
       .flag = "--clip-norm",
       .member = &C::clip_norm,
       .help = "Clip the global L2 norm of all gradients to X",
       .otherwise = by_recipe([](const detail::Recipe& recipe) {
         return recipe.clip_norm ? number_text(*recipe.clip_norm) : "no clipping";
       }),
       .low = 0,
       .open_low = true,
       .set = [](TrainOptions& o, const C& c) { o.rule.clip.norm = c.clip_norm; }},

      {.path = "ema",
       .flag = "--ema",
       .member = &C::ema,
       .help =
           "Decay of an exponential moving average of the weights, which is then the model that "
           "is evaluated and kept; 0: none",
       .otherwise = by_recipe([](const detail::Recipe& recipe) { return number_text(recipe.ema); }),
       .low = 0,
       .high = 1,
       .open_high = true,
       .set = [](TrainOptions& o, const C& c) { o.ema = *c.ema; }},

      {.path = "epochs",
       .flag = "--epochs",
       .member = &C::epochs,
       .help = "Number of passes over the training set; excludes --steps",
       .otherwise = by_recipe([](const detail::Recipe& recipe) {
         if (recipe.steps > 0) return std::string("see --steps");
         if (recipe.least_steps == 0) return text(recipe.epochs);
         return fmt::format("{}, or more if {} steps need them", recipe.epochs, recipe.least_steps);
       }),
       .low = 0,
       .high = 1e9},
      {.path = "steps",
       .flag = "--steps",
       .member = &C::steps,
       .help = "Number of optimiser steps, instead of --epochs; the run may end in the middle of "
               "an epoch",
       .otherwise = by_recipe([](const detail::Recipe& recipe) {
         return recipe.steps > 0 ? text(recipe.steps) : "set by --epochs";
       }),
       .low = 0,
       .high = kMostSteps,
       .set = [](TrainOptions& o, const C& c) { o.steps = c.steps; }},
      {.path = "batch",
       .flag = "--batch",
       .member = &C::batch,
       .help = "Batch size in examples; with --accumulate, of one micro-batch",
       .otherwise = by_recipe([](const detail::Recipe& recipe) { return text(recipe.batch); }),
       .low = 1,
       .high = kMostRows,
       .set = [](TrainOptions& o, const C& c) { o.batch = *c.batch; }},
      {.path = "accumulate",
       .flag = "--accumulate",
       .member = &C::accumulate,
       .help = "Gradient accumulation: micro-batches per optimiser step",
       .usual = std::int64_t{1},
       .low = 1,
       .high = kMostRows,
       .set = [](TrainOptions& o, const C& c) { o.accumulate = *c.accumulate; }},
      {.path = "shards",
       .flag = "--shards",
       .member = &C::shards,
       .help = "Shards of an optimiser step: parts of its examples whose gradients are added by a "
               "binary tree; as many processes (mpirun) may share the work, and give the same "
               "weights",
       .usual = std::int64_t{1},
       .low = 1,
       .high = static_cast<double>(kMostShards),
       .set = [](TrainOptions& o, const C& c) { o.shards = *c.shards; }},
      {.path = "seed",
       .flag = "--seed",
       .member = &C::seed,
       .help = "Random seed of the initial weights, shuffling, dropout and text samples",
       .usual = std::int64_t{0},
       .low = 0,
       .high = 9.2e18,
       .set = [](TrainOptions& o, const C& c) { o.seed = static_cast<std::uint64_t>(*c.seed); }},
  };
}

std::vector<ConfigKey> observation_keys() {
  return {
      {.path = "early_stopping.patience",
       .flag = "--patience",
       .member = &C::patience,
       .help = "Early stopping: end after N epochs without a better --metric on the validation set "
               "and keep the best epoch's model; 0: train all epochs and keep the last",
       .otherwise =
           fmt::format("0; of a table with a validation set, without --epochs and --steps: "
                       "{}",
                       detail::kPatienceOfTables),
       .low = 0,
       .high = 1e9},
      {.path = "early_stopping.metric",
       .flag = "--metric",
       .member = &C::metric,
       .help = "Validation metric that selects the best epoch",
       .usual = std::string("loss"),
       .choices = all_metric_names,
       .set = [](TrainOptions& o, const C& c) { o.metric = *c.metric; }},
      {.path = "early_stopping.min_delta",
       .flag = "--min-delta",
       .member = &C::min_delta,
       .help = "Improvement of --metric that an epoch must exceed to count as better; only with "
               "--patience",
       .usual = 0.0,
       .low = 0,
       .high = 1e30},

      {.path = "check_finite",
       .flag = "--check-finite",
       .member = &C::check_finite,
       .help = "Check parameters and optimiser state for NaN and infinity after every step, not "
               "only the loss and the gradient norm",
       .usual = false,
       .set = [](TrainOptions& o, const C& c) { o.check_finite = *c.check_finite; }},
      {.path = "recompute",
       .flag = "--recompute",
       .member = &C::recompute,
       .help = "Recompute the activations of N layers at a time in the backward pass instead "
               "of keeping them: less memory, more time, the same bits; 0: keep all",
       .usual = std::int64_t{0},
       .low = 0,
       .high = 1000,
       .set = [](TrainOptions& o, const C& c) { o.recompute = *c.recompute; }},
      {.path = "log_every",
       .flag = "--log-every",
       .member = &C::log_every,
       .help = "Steps between step events in the log",
       .otherwise = "a hundredth of an epoch (of the run, if --steps makes it shorter)",
       .low = 1,
       .high = kMostSteps},
      {.path = "log_shards",
       .flag = "--log-shards",
       .member = &C::log_shards,
       .help = "Log a hash of every shard's gradient with each step event, which `limpid "
               "verify-step` recomputes; needs 2 or more --shards",
       .usual = false},
      {.path = "probe_every",
       .flag = "--probe-every",
       .member = &C::probe_every,
       .help = "Steps between probes of layer statistics; 0: never",
       .otherwise = "once an epoch, four times in the first; every hundredth of the run if that is "
                    "longer",
       .low = 0,
       .high = kMostSteps},
      {.path = "sample_every",
       .flag = "--sample-every",
       .member = &C::sample_every,
       .help = "Steps between text samples in the log; 0: never (charlm, gpt)",
       .otherwise = "a tenth of the run",
       .low = 0,
       .high = kMostSteps},
      {.path = "checkpoint_every",
       .flag = "--checkpoint-every",
       .member = &C::checkpoint_every,
       .help = "Steps between checkpoints; 0: every minute, and at the end of an epoch if the last "
               "checkpoint is over a second old",
       .usual = std::int64_t{0},
       .low = 0,
       .high = kMostSteps},
  };
}

std::string_view kind_text(const ConfigKey& key) {
  constexpr std::string_view kKinds[] = {"text", "integer", "number", "switch", "list of integers"};
  return kKinds[static_cast<std::size_t>(key.kind())];
}

std::string range_of(const ConfigKey& key) {
  if (key.choices) return fmt::format("{}", fmt::join(key.choices(), ", "));
  if (key.low == -std::numeric_limits<double>::infinity()) return "";
  if (key.high == std::numeric_limits<double>::infinity())
    return fmt::format("{} {}", key.open_low ? "above" : "from", key.low);
  return fmt::format("{} {} {} {}", key.open_low ? "above" : "from", key.low,
                     key.open_high ? "to below" : "to", key.high);
}

}  // namespace

ConfigKey::Kind ConfigKey::kind() const {
  constexpr Kind kKinds[] = {Kind::kText,     Kind::kInteger, Kind::kNumber, Kind::kSwitch,
                             Kind::kIntegers, Kind::kNumber,  Kind::kSwitch};
  return kKinds[member.index()];
}

std::string_view ConfigKey::name() const {
  return std::string_view(path).substr(path.rfind('.') + 1);
}

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all;
    for (const auto& part : {data_and_model_keys(), loss_and_optimizer_keys(),
                             schedule_and_length_keys(), observation_keys()})
      all.insert(all.end(), part.begin(), part.end());
    for (ConfigKey& key : all)
      std::visit(
          [&](const auto& usual) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(usual)>, std::monostate>)
              key.otherwise = text(usual);
          },
          key.usual);
    return all;
  }();
  return keys;
}

std::string train_reference() {
  std::string page =
      "# Keys of a training configuration\n\n"
      "`limpid train --config FILE` reads a JSON object of these keys. A dot stands for a nested "
      "object: `optimizer.lr` is\n"
      "`{\"optimizer\": {\"lr\": 0.01}}`. A flag overrides the file; for a switch such as "
      "`--tied`, `--no-tied` is the opposite.\n"
      "RUN/config.json has the value of every key in that run. docs/training.md explains their "
      "use.\n\n"
      "The *small recipe* applies to everything except text and classification with 10,000 "
      "examples or more.\n\n"
      "`limpid train --markdown` writes this page, and so does `./dev docs`.\n\n"
      "| key | flag | kind | values | default | meaning |\n"
      "|---|---|---|---|---|---|\n";
  for (const ConfigKey& key : config_keys())
    page += fmt::format("| `{}` | `{}` | {} | {} | {} | {} |\n", key.path, key.flag, kind_text(key),
                        range_of(key), key.otherwise, key.help);
  page +=
      "\n## Augmentation\n\n"
      "`--augment` takes steps and presets, each after a comma. A step is NAME, NAME=A, "
      "NAME@PROBABILITY or NAME=A@PROBABILITY, as in\n"
      "`shift=2,rotate=10@0.5,flip`. Each number is drawn uniformly from its range, anew for every "
      "example and epoch.\n\n" +
      augment_reference();
  return page;
}

}  // namespace limpid::train
