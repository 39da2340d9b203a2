// Completes a configuration: defaults that depend on the data and on other keys, and the values
// derived from them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/optim/optimizer.h"
#include "limpid/train/config/config.h"
#include "limpid/train/config/detail/complete.h"
#include "limpid/train/config/detail/first_model.h"

namespace limpid::train {
namespace {

using detail::fill;
using detail::Recipe;
using detail::refuse;

std::int64_t steps_an_epoch(const TrainConfig& c, const Split& data) {
  const BatchPlan plan{data.train.size(), *c.batch, *c.accumulate};
  return std::max<std::int64_t>(1, plan.updates_an_epoch());
}

// Of the whole run.
std::int64_t steps_of(const TrainConfig& c, const Split& data) {
  return c.steps ? *c.steps : product_or_most(*c.epochs, steps_an_epoch(c, data));
}

void check_loss_options(const TrainConfig& c) {
  const Loss::Kind kind = from_name<Loss::Kind>(*c.loss);
  if (c.label_smoothing && kind != Loss::Kind::kCrossEntropy)
    refuse("loss.label_smoothing", fmt::format("the loss {} has no such option", *c.loss));
  if (c.class_weights && kind != Loss::Kind::kCrossEntropy)
    refuse("loss.class_weights", fmt::format("the loss {} has no such option", *c.loss));
  if (c.delta && kind != Loss::Kind::kHuber)
    refuse("loss.delta", fmt::format("the loss {} has no such option", *c.loss));
}

// The numbers of loss.class_weights.
std::vector<double> class_weights_of(const std::string& text) {
  constexpr double kMost = 1e6;
  std::vector<double> weights;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    double weight = 0;
    const char* const last = text.data() + end;
    const auto [behind, error] = std::from_chars(text.data() + begin, last, weight);
    if (error != std::errc{} || behind != last || !(weight >= 0 && weight <= kMost))
      refuse("loss.class_weights",
             fmt::format("expected balanced, or numbers of 0 to {} such as 1,2.5, got {}", kMost,
                         in_quotes(text)));
    weights.push_back(weight);
    begin = end + 1;
  }
  return weights;
}

// Numbers for "balanced", as scikit-learn has them: their mean over the examples is 1.
void fill_class_weights(TrainConfig& c, const Dataset& train) {
  if (!c.class_weights) return;
  if (train.task != Task::kClassification)
    refuse("loss.class_weights", fmt::format("expected classes, the data is for {}", *c.task));
  const auto classes = static_cast<std::size_t>(train.classes);
  if (*c.class_weights == "balanced") {
    std::vector<std::int64_t> counts(classes);
    for (const std::int32_t label : train.targets.values<std::int32_t>())
      ++counts[static_cast<std::size_t>(label)];
    std::vector<std::string> weights;
    for (const std::int64_t count : counts)
      weights.push_back(fmt::format("{}", count == 0 ? 0
                                                     : static_cast<double>(train.size()) /
                                                           static_cast<double>(classes) /
                                                           static_cast<double>(count)));
    c.class_weights = fmt::format("{}", fmt::join(weights, ","));
  }
  const std::size_t given = class_weights_of(*c.class_weights).size();
  if (given != classes)
    refuse("loss.class_weights",
           fmt::format("expected a weight for each of {} classes, got {}", classes, given));
}

// The steps, or a refusal that names the key: messages begin with its name.
Augmentation augmentation_of(const TrainConfig& c, const Dataset* train = nullptr) {
  if (!c.augment) return {};
  try {
    const Augmentation augmentation = parse_augmentation(*c.augment);
    if (train) check_augmentation(augmentation, *train);
    return augmentation;
  } catch (const Error& e) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("config.{}", e.what()));
  }
}

void fill_loss(TrainConfig& c, Task task, const Recipe& recipe) {
  fill(c.loss, std::string(name(usual_loss(task).kind)));
  const Loss::Kind kind = from_name<Loss::Kind>(*c.loss);
  if (!fits(kind, task))
    refuse("loss.name", fmt::format("{} does not fit {}", *c.loss, limpid::name(task)));
  check_loss_options(c);
  if (kind == Loss::Kind::kCrossEntropy) fill(c.label_smoothing, recipe.label_smoothing);
  if (kind == Loss::Kind::kHuber) fill(c.delta, 1.0);
}

optim::Optimizer optimizer_of(const TrainConfig& c) {
  optim::Optimizer optimizer = optim::optimizer_from_name(*c.optimizer);
  const auto set = [&](const std::string& name, double value) {
    try {
      optim::set_number(optimizer, name, value);
    } catch (const Error& e) {
      refuse(fmt::format("optimizer.{}", name), e.what());
    }
  };
  for (const auto& [name, number] : c.optimizer_numbers)
    if (number) set(name, *number);
  for (const auto& [name, is_on] : c.optimizer_switches)
    if (is_on) set(name, *is_on ? 1 : 0);
  return optimizer;
}

void fill_optimizer(TrainConfig& c, const Recipe& recipe) {
  const bool own = !c.optimizer;
  fill(c.optimizer, recipe.optimizer);
  if (own)
    for (const auto& [name, value] : recipe.numbers) fill(c.optimizer_numbers[name], value);
  for (const optim::Number& number : optim::numbers_of(*c.optimizer))
    if (number.range == optim::Range::kSwitch)
      fill(c.optimizer_switches[std::string(number.name)], number.in_training != 0);
    else
      fill(c.optimizer_numbers[std::string(number.name)], number.in_training);
  const double usual = optim::usual_rate(optimizer_of(c));
  fill(c.rate, own ? recipe.rate.value_or(usual) : usual);
}

void fill_length(TrainConfig& c, const Split& data, const Recipe& recipe) {
  fill(c.batch, recipe.batch);
  if (c.epochs || c.steps) return;
  if (recipe.steps > 0) {
    c.steps = recipe.steps;
    return;
  }
  const std::int64_t each = steps_an_epoch(c, data);
  c.epochs = std::max(recipe.epochs, (recipe.least_steps + each - 1) / each);
}

constexpr std::int64_t kSamples = 10;  // of a run

// The variance of a single example is undefined.
void check_batch_norm(const TrainConfig& c, std::int64_t rows) {
  if (rows == 0) return;  // the trainer refuses such data
  const BatchPlan plan{rows, *c.batch, *c.accumulate, *c.shards};
  for (const std::int64_t u : {std::int64_t{0}, plan.updates_an_epoch() - 1}) {
    const RowRange update = plan.update(u);
    for (std::int64_t s = 0; s < plan.shards; ++s) {
      const RowRange shard = plan.shard(update, s);
      if (shard.size() % plan.most_rows() != 1 && (shard.size() == 0 || plan.most_rows() != 1))
        continue;
      if (plan.shards > 1)
        refuse("shards",
               fmt::format("shard {} of a batch of {} would have a micro-batch of one example, but "
                           "batch norm needs two; choose another batch size or number of shards",
                           s, update.size()));
      refuse("batch", fmt::format("the last batch of an epoch would have one of the {} examples, "
                                  "but batch norm needs two; choose another size",
                                  rows));
    }
  }
}

}  // namespace

void detail::refuse(std::string_view path, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, fmt::format("config.{}: {}", path, why));
}

std::vector<std::string> detail::names_in(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

void check_choices(const TrainConfig& config) {
  const TrainConfig c = detail::with_first_network(config);
  detail::check_tokenizer(c);
  augmentation_of(c);
  detail::refuse_keys_of_others(c);
  if (c.loss) check_loss_options(c);
  if (c.optimizer) optimizer_of(c);
  if (c.freeze && !c.from) refuse("freeze", "expected --from with it");
  if (c.lora_rank && !c.from) refuse("lora.rank", "expected --from with it");
  if (c.lora_rank && c.freeze) refuse("freeze", "expected none: with --lora all parameters stay");
  for (const auto& [path, chosen] : {std::pair("lora.alpha", c.lora_alpha.has_value()),
                                     std::pair("lora.targets", c.lora_targets.has_value())})
    if (chosen && !c.lora_rank) refuse(path, "expected lora.rank (--lora) with it");
  if (c.epochs && c.steps) refuse("epochs", "expected epochs or steps, got both");
  // Whoever says 0 has the run go on without early stopping.
  if (c.min_delta.value_or(0) > 0 && !c.patience)
    refuse("early_stopping.min_delta", "expected early_stopping.patience (--patience) with it");
  if (c.log_shards.value_or(false) && c.shards.value_or(1) == 1)
    refuse("log_shards", "expected 2 or more shards");
}

TrainConfig complete(const TrainConfig& config, const Split& data) {
  const DefaultFloatMode mode;
  check_choices(config);
  TrainConfig c = detail::with_first_network(config);
  detail::fill_usual(c);
  const Task task = data.train.task;
  fill<std::string>(c.data, "digits");
  fill(c.task, std::string(limpid::name(task)));
  if (*c.task != limpid::name(task))
    refuse("task", fmt::format("{}, but the data is for {}", *c.task, limpid::name(task)));
  // Tables and arrays have the task that they are given.
  if (task == Task::kNextToken && !data.train.windows && is_floating(data.train.inputs.dtype()))
    refuse("task", fmt::format("{}, but the data is no text", *c.task));
  if (task == Task::kNextToken)
    fill(c.tokenizer, WindowOptions{}.tokenizer);
  else if (c.tokenizer)
    refuse("tokenizer", fmt::format("expected a text, but the data is for {}", *c.task));
  detail::fill_model_name(c, task);
  const Recipe& recipe = detail::recipe_of(c, data);
  c.recipe.reset();
  if (c.lora_rank) {
    fill(c.lora_alpha, 2 * static_cast<double>(*c.lora_rank));
    fill(c.lora_targets, fmt::format("{}", fmt::join(nn::Lora{}.targets, ",")));
  }
  if (data.train.picture && !recipe.augment.empty()) fill(c.augment, std::string(recipe.augment));
  if (c.augment) c.augment = to_text(augmentation_of(c, &data.train));
  detail::fill_model(c, data, recipe);
  fill_loss(c, task, recipe);
  fill_class_weights(c, data.train);
  fill_optimizer(c, recipe);
  const bool of_usual_length = !c.epochs && !c.steps;
  fill_length(c, data, recipe);
  if (data.train.table && data.validation.size() > 0 && of_usual_length)
    fill(c.patience, detail::kPatienceOfTables);
  fill(c.patience, std::int64_t{0});
  const std::int64_t steps = steps_of(c, data);
  fill(c.schedule, recipe.schedule);
  fill(c.warmup, std::min(recipe.warmup, steps / 10));
  if (!c.clip_norm) c.clip_norm = recipe.clip_norm;
  fill(c.ema, recipe.ema);
  const std::int64_t an_epoch = steps_an_epoch(c, data);
  fill(c.log_every,
       std::max<std::int64_t>(1, std::min(an_epoch, c.steps.value_or(an_epoch)) / 100));
  if (task == Task::kNextToken)
    fill(c.sample_every, std::max<std::int64_t>(1, steps / kSamples));
  else if (c.sample_every)
    refuse("sample_every", fmt::format("a {} model generates no text", *c.task));
  const std::vector<std::string> metrics = metric_names(task, data.train.outputs());
  if (std::find(metrics.begin(), metrics.end(), *c.metric) == metrics.end())
    refuse("early_stopping.metric",
           fmt::format("{} has no {}; it has {}", *c.task, *c.metric, fmt::join(metrics, ", ")));
  if (*c.patience > 0 && data.validation.size() == 0)
    refuse("early_stopping.patience",
           "the data has no validation set; expected 0, or data with one (split=90/10)");
  if (c.norm == "batch") check_batch_norm(c, data.train.size());
  return c;
}

Loss loss_of(const TrainConfig& c) {
  return {from_name<Loss::Kind>(*c.loss), c.label_smoothing.value_or(0), c.delta.value_or(1),
          c.class_weights ? class_weights_of(*c.class_weights) : std::vector<double>()};
}

std::optional<nn::Lora> lora_of(const TrainConfig& c) {
  if (!c.lora_rank) return {};
  return nn::Lora{*c.lora_rank, *c.lora_alpha, detail::names_in(*c.lora_targets)};
}

TrainOptions options_of(const TrainConfig& c, const Split& data) {
  const DefaultFloatMode mode;
  TrainOptions options;
  for (const ConfigKey& key : config_keys())
    if (key.set) key.set(options, c);
  if (c.epochs) options.epochs = *c.epochs;
  if (*c.log_shards) options.hash_shards_every = *c.log_every;
  options.schedule.every = std::max<std::int64_t>(
      1, std::llround(*c.decay_every * static_cast<double>(steps_an_epoch(c, data))));
  options.rule.optimizer = optimizer_of(c);
  if (*c.patience > 0) options.early_stopping = EarlyStopping{*c.patience, *c.min_delta};
  return options;
}

}  // namespace limpid::train
