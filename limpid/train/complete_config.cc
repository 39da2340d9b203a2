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

// The recipe of docs/reference/train.md for everything but large classifications.
bool is_small(const Split& data) {
  constexpr std::int64_t kLarge = 10'000;
  return data.train.task != Task::kClassification || data.train.size() < kLarge;
}

std::int64_t steps_an_epoch(const TrainConfig& c, const Split& data) {
  const std::int64_t rows = *c.batch * *c.accumulate;
  return std::max<std::int64_t>(1, (data.train.size() + rows - 1) / rows);
}

void fill_model(TrainConfig& c, const Split& data) {
  const bool small = is_small(data);
  const std::int64_t in =
      data.train.inputs.elements() / std::max<std::int64_t>(1, data.train.size());
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
    const Integers usual = small ? Integers{64, 64} : Integers{256, 128};
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
  fill(c.dropout, small ? 0.0 : 0.2);
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

void fill_optimizer(TrainConfig& c, bool small) {
  const bool chosen = c.optimizer.has_value();
  fill<std::string>(c.optimizer, small ? "adam" : "sgd");
  if (*c.optimizer == "sgd") fill(c.momentum, 0.9);
  fill(c.decay_vectors, false);
  const optim::Optimizer optimizer = optimizer_of(c);
  constexpr double kSmallRate = 0.005;
  fill(c.rate, small && !chosen ? kSmallRate : optim::usual_rate(optimizer));
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

void fill_length(TrainConfig& c, const Split& data) {
  const bool small = is_small(data);
  fill<std::int64_t>(c.batch, small ? 32 : 128);
  fill<std::int64_t>(c.accumulate, 1);
  constexpr std::int64_t kLeastSteps = 1000;
  constexpr std::int64_t kEpochs = 10, kSmallEpochs = 100;
  const std::int64_t steps = steps_an_epoch(c, data);
  fill(c.epochs, small ? std::max(kSmallEpochs, (kLeastSteps + steps - 1) / steps) : kEpochs);
}

}  // namespace

TrainConfig complete(const TrainConfig& config, const Split& data) {
  TrainConfig c = config;
  const Task task = data.train.task;
  fill<std::string>(c.data, "digits");
  fill(c.task, std::string(limpid::name(task)));
  if (*c.task != limpid::name(task))
    refuse("task", fmt::format("{}, but the data is for {}", *c.task, limpid::name(task)));
  fill_model(c, data);
  fill_loss(c, task);
  fill_optimizer(c, is_small(data));
  fill<std::string>(c.schedule, "linear");
  fill<std::int64_t>(c.warmup, 0);
  fill(c.decay_every, 10.0);
  fill(c.decay_factor, 0.1);
  fill_length(c, data);
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
  if (*c.norm == "batch" && (*c.batch == 1 || data.train.size() % *c.batch == 1))
    refuse("batch", fmt::format("the last batch of an epoch would have one of the {} examples, "
                                "and batch norm needs two; another size is expected",
                                data.train.size()));
  return c;
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
