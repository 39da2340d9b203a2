// A configuration made complete: what the data and the choices suggest where nobody chose, and what
// comes of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "limpid/core/error.h"
#include "limpid/optim/optimizer.h"
#include "limpid/train/config.h"

namespace limpid::train {
namespace {

using Integers = TrainConfig::Integers;

[[noreturn]] void refuse(std::string_view path, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, fmt::format("config.{}: {}", path, why));
}

template <class T>
void fill(std::optional<T>& choice, const T& value) {
  if (!choice) choice = value;
}

// What suits the data, as docs/reference/train.md has it.
enum class Recipe : std::uint8_t { kLarge, kSmall, kText };

Recipe recipe_for(const Split& data) {
  constexpr std::int64_t kManyExamples = 10'000;
  if (data.train.task == Task::kNextToken) return Recipe::kText;
  const bool large = data.train.task == Task::kClassification && data.train.size() >= kManyExamples;
  return large ? Recipe::kLarge : Recipe::kSmall;
}

template <class T>
T by_recipe(Recipe recipe, const T& large, const T& small, const T& text) {
  return recipe == Recipe::kLarge ? large : recipe == Recipe::kSmall ? small : text;
}

constexpr std::int64_t kUsualContext = 8, kUsualEmbedding = 32;

std::int64_t steps_an_epoch(const TrainConfig& c, const Split& data) {
  const std::int64_t rows = *c.batch * *c.accumulate;
  return std::max<std::int64_t>(1, (data.train.size() + rows - 1) / rows);
}

// A charlm for text, and for nothing else.
void fill_kind(TrainConfig& c, Task task) {
  const bool text = task == Task::kNextToken;
  fill<std::string>(c.model, text ? "charlm" : "mlp");
  if (text != (*c.model == "charlm"))
    refuse("model.name", fmt::format("{}, but the data is for {}", *c.model, limpid::name(task)));
  if (text) {
    fill(c.context, kUsualContext);
    fill(c.embedding, kUsualEmbedding);
    return;
  }
  for (const auto& [choice, path] :
       {std::pair{c.context, "model.context"}, std::pair{c.embedding, "model.embedding"}})
    if (choice) refuse(path, fmt::format("the model {} has none", *c.model));
}

// What the first layer is given for an example.
std::int64_t features_of(const TrainConfig& c, const Dataset& train) {
  if (c.context) return *c.context * *c.embedding;
  return train.inputs.elements() / std::max<std::int64_t>(1, train.size());
}

void fill_model(TrainConfig& c, const Split& data, Recipe recipe) {
  fill_kind(c, data.train.task);
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
    const Integers usual = by_recipe<Integers>(recipe, {256, 128}, {64, 64}, {128, 128});
    Integers sizes{in};
    const Integers& hidden = c.hidden ? *c.hidden : usual;
    sizes.insert(sizes.end(), hidden.begin(), hidden.end());
    sizes.push_back(out);
    c.layers = sizes;
  }
  c.hidden.reset();
  fill<std::string>(c.activation, "relu");
  fill<std::string>(c.norm, "none");
  fill<std::string>(c.init, "he");
  fill(c.dropout, by_recipe(recipe, 0.2, 0.0, 0.0));
}

void fill_loss(TrainConfig& c, Task task) {
  fill(c.loss, std::string(name(usual_loss(task).kind)));
  const Loss::Kind kind = loss_from_name(*c.loss);
  if (!fits(kind, task))
    refuse("loss.name", fmt::format("{} does not fit {}", *c.loss, limpid::name(task)));
  if (c.label_smoothing && kind != Loss::Kind::kCrossEntropy)
    refuse("loss.label_smoothing", fmt::format("the loss {} has none", *c.loss));
  if (c.delta && kind != Loss::Kind::kHuber)
    refuse("loss.delta", fmt::format("the loss {} has none", *c.loss));
  if (kind == Loss::Kind::kCrossEntropy) fill(c.label_smoothing, 0.0);
  if (kind == Loss::Kind::kHuber) fill(c.delta, 1.0);
}

// The optimiser's numbers by the names of optim::numbers.
struct OptimizerNumber {
  const char* name;
  std::variant<std::optional<double> TrainConfig::*, std::optional<bool> TrainConfig::*> member;
};
constexpr OptimizerNumber kOptimizerNumbers[] = {
    {"momentum", &TrainConfig::momentum},
    {"nesterov", &TrainConfig::nesterov},
    {"alpha", &TrainConfig::alpha},
    {"centered", &TrainConfig::centered},
    {"beta1", &TrainConfig::beta1},
    {"beta2", &TrainConfig::beta2},
    {"amsgrad", &TrainConfig::amsgrad},
    {"eps", &TrainConfig::eps},
    {"initial_sum", &TrainConfig::initial_sum},
    {"weight_decay", &TrainConfig::weight_decay},
    {"decay_vectors", &TrainConfig::decay_vectors},
};

optim::Optimizer optimizer_of(const TrainConfig& c) {
  optim::Optimizer optimizer = optim::optimizer_from_name(*c.optimizer);
  for (const OptimizerNumber& number : kOptimizerNumbers)
    std::visit(
        [&](auto member) {
          if (!(c.*member)) return;
          try {
            optim::set_number(optimizer, number.name, static_cast<double>(*(c.*member)));
          } catch (const Error& e) {
            refuse(fmt::format("optimizer.{}", number.name), e.what());
          }
        },
        number.member);
  return optimizer;
}

void fill_optimizer(TrainConfig& c, Recipe recipe) {
  const bool chosen = c.optimizer.has_value();
  fill<std::string>(c.optimizer, by_recipe<std::string>(recipe, "sgd", "adam", "adamw"));
  if (*c.optimizer == "sgd") fill(c.momentum, 0.9);
  fill(c.decay_vectors, false);
  const optim::Optimizer optimizer = optimizer_of(c);
  constexpr double kSmallRate = 0.005, kTextRate = 0.002;
  const double usual = optim::usual_rate(optimizer);
  fill(c.rate, chosen ? usual : by_recipe(recipe, usual, kSmallRate, kTextRate));
  for (const auto& [name, value] : optim::numbers(optimizer))
    for (const OptimizerNumber& number : kOptimizerNumbers)
      if (number.name == name)
        std::visit(
            [&, v = value](auto member) {
              using T = typename std::decay_t<decltype(c.*member)>::value_type;
              c.*member = static_cast<T>(v);
            },
            number.member);
}

void fill_length(TrainConfig& c, const Split& data, Recipe recipe) {
  fill(c.batch, by_recipe<std::int64_t>(recipe, 128, 32, 256));
  fill<std::int64_t>(c.accumulate, 1);
  constexpr std::int64_t kLeastSteps = 1000;
  constexpr std::int64_t kEpochs = 10, kSmallEpochs = 100, kTextEpochs = 5;
  const std::int64_t steps = steps_an_epoch(c, data);
  fill(c.epochs, by_recipe(recipe, kEpochs,
                           std::max(kSmallEpochs, (kLeastSteps + steps - 1) / steps), kTextEpochs));
}

}  // namespace

TrainConfig complete(const TrainConfig& config, const Split& data) {
  TrainConfig c = config;
  const Task task = data.train.task;
  fill<std::string>(c.data, "digits");
  fill(c.task, std::string(limpid::name(task)));
  if (*c.task != limpid::name(task))
    refuse("task", fmt::format("{}, but the data is for {}", *c.task, limpid::name(task)));
  const Recipe recipe = recipe_for(data);
  fill_model(c, data, recipe);
  fill_loss(c, task);
  fill_optimizer(c, recipe);
  fill<std::string>(c.schedule, by_recipe<std::string>(recipe, "linear", "linear", "cosine"));
  fill<std::int64_t>(c.warmup, 0);
  fill(c.decay_every, 10.0);
  fill(c.decay_factor, 0.1);
  fill_length(c, data, recipe);
  fill<std::int64_t>(c.seed, 0);
  fill<std::int64_t>(c.patience, 0);
  fill<std::string>(c.metric, "loss");
  fill(c.min_delta, 0.0);
  fill(c.check_finite, false);
  const std::int64_t an_epoch = steps_an_epoch(c, data);
  fill(c.log_every, std::max<std::int64_t>(1, an_epoch / 100));
  fill<std::int64_t>(c.checkpoint_every, 0);
  const std::vector<std::string> metrics = metric_names(task, data.train.outputs());
  if (std::find(metrics.begin(), metrics.end(), *c.metric) == metrics.end())
    refuse("early_stopping.metric",
           fmt::format("{} has no {}; it has {}", *c.task, *c.metric, fmt::join(metrics, ", ")));
  if (*c.patience > 0 && data.validation.size() == 0)
    refuse("early_stopping.patience",
           "the data has no validation part; 0, or data with one (split=90/10) is expected");
  if (*c.norm == "batch" && *c.model == "charlm")
    refuse("model.norm", "a charlm has no batch norm; none, layer or rms is expected");
  if (*c.norm == "batch" && (*c.batch == 1 || data.train.size() % *c.batch == 1))
    refuse("batch", fmt::format("the last batch of an epoch would have one of the {} examples, "
                                "and batch norm needs two; another size is expected",
                                data.train.size()));
  return c;
}

std::int64_t context_of(const TrainConfig& c) { return c.context.value_or(kUsualContext); }

nn::CharLm char_lm_of(const TrainConfig& c) {
  return {c.layers->back(), *c.context, *c.embedding, network_of(c)};
}

nn::Mlp network_of(const TrainConfig& c) {
  return {*c.layers, nn::activation_from_name(*c.activation), *c.dropout, *c.init,
          nn::mlp_norm_from_name(*c.norm)};
}

Loss loss_of(const TrainConfig& c) {
  return {loss_from_name(*c.loss), c.label_smoothing.value_or(0), c.delta.value_or(1)};
}

TrainOptions options_of(const TrainConfig& c, const Split& data) {
  TrainOptions options;
  options.epochs = *c.epochs;
  options.batch = *c.batch;
  options.accumulate = *c.accumulate;
  options.schedule.kind = optim::schedule_from_name(*c.schedule);
  options.schedule.rate = *c.rate;
  options.schedule.warmup = *c.warmup;
  options.schedule.every = std::max<std::int64_t>(
      1, std::llround(*c.decay_every * static_cast<double>(steps_an_epoch(c, data))));
  options.schedule.factor = *c.decay_factor;
  options.rule = {optimizer_of(c), {c.clip_value, c.clip_norm}};
  options.seed = static_cast<std::uint64_t>(*c.seed);
  options.metric = *c.metric;
  if (*c.patience > 0) options.early_stopping = EarlyStopping{*c.patience, *c.min_delta};
  options.check_finite = *c.check_finite;
  return options;
}

}  // namespace limpid::train
