// What the doctor's rules share.
#include "limpid/train/diagnostics/detail/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/data/load_data.h"
#include "limpid/nn/activation.h"
#include "limpid/optim/optimizer.h"
#include "limpid/train/loop/batch_plan.h"

namespace limpid::train::detail {

// ---- the configuration of the run

const Json* value_at(const Json& config, std::string_view path) {
  const Json* value = &config;
  while (value && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = value->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return value;
}

double number_at(const RunLog& log, std::string_view path, double otherwise) {
  const Json* const value = value_at(log.config(), path);
  return value && value->is_number() ? value->as_number() : otherwise;
}

std::string_view text_at(const RunLog& log, std::string_view path) {
  const Json* const value = value_at(log.config(), path);
  return value && value->is_string() ? std::string_view(value->as_string()) : std::string_view();
}

namespace {

// Nothing if the log names no data, or a kind of data that this version does not know.
std::optional<DataSpec> data_of(const RunLog& log) {
  const std::string_view text = text_at(log, "data");
  if (text.empty()) return {};
  try {
    return parse_data_spec(text);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

bool standardizes(const RunLog& log) {
  const std::optional<DataSpec> data = data_of(log);
  return data && scaling_of(*data) != Scaling::kNone;
}

// ---- remedies

Remedy words(std::string text) { return {std::move(text), {}}; }
Remedy set(std::string_view key, Json value) {
  return {"", {{std::string(key), std::move(value)}}};
}

Remedy set_data(const RunLog& log, std::string_view option, std::string_view value) {
  std::optional<DataSpec> data = data_of(log);
  if (!data) return words(fmt::format("{}={} in --data", option, value));
  if (option == "standardize")
    std::erase_if(data->options, [&](const DataSpec::Option& o) { return o.key == option; });
  data->options.push_back({std::string(option), std::string(value)});
  return set("data", to_text(*data));
}

Remedy suitable_init(const RunLog& log) {
  const std::string_view activation = text_at(log, "model.activation");
  const auto names = nn::activation_names();
  const bool known = std::find(names.begin(), names.end(), activation) != names.end();
  const bool bounded = known && std::isfinite(nn::activation_from_name(activation).high);
  return set("model.init", bounded ? "xavier" : "he");
}

std::vector<Remedy> clip(const RunLog& log) {
  if (number_at(log, "clip.norm", 2) <= 1) return {};
  return {set("clip.norm", 1.0)};
}

namespace {

// Rounded to two digits, as a person would type them.
double rounded(double value) {
  const std::string text = fmt::format("{:.1e}", value);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

double update_ratio_of(const ProbeEvent& probe) {
  double largest = 0;
  for (const LayerStatistics& layer : probe.layers) {
    double squares = 0;
    for (const ParameterStatistics& p : layer.parameters) squares += p.update_norm * p.update_norm;
    if (weight_norm(layer) > 0)
      largest = std::max(largest, std::sqrt(squares) / weight_norm(layer));
  }
  return largest;
}

// Uses the first probe with non-zero steps: later ones may be of a network that is already ruined.
std::optional<double> measured_rate(const RunLog& log) {
  // The update-to-weight ratio to aim for; at the beginning it is higher than the usual 1e-3.
  constexpr double kFirstSteps = 0.02;
  // The factor by which momentum lengthens steps.
  const bool adds = text_at(log, "optimizer.name") == "sgd";
  const double momentum = adds ? number_at(log, "optimizer.momentum", 0) : 0;
  const double gain = momentum < 1 ? 1 / (1 - momentum) : 1;
  for (const ProbeEvent& probe : log.probes) {
    const double ratio = update_ratio_of(probe);
    const auto step = std::find_if(log.steps.begin(), log.steps.end(),
                                   [&](const StepEvent& s) { return s.step > probe.step; });
    if (!(ratio > 0) || !std::isfinite(ratio) || step == log.steps.end()) continue;
    const double rate = step->learning_rate * kFirstSteps / gain / ratio;
    if (rate > 0 && std::isfinite(rate)) return rate;
  }
  return {};
}

// The geometric mean of what the first steps suggest and the optimiser's default rate, as first
// gradients are larger than later ones. If only one of the two is known, for example after
// non-finite steps, it is that one.
double suitable_rate(const RunLog& log, double otherwise) {
  const auto names = optim::optimizer_names();
  const std::string name(text_at(log, "optimizer.name"));
  const bool known = std::find(names.begin(), names.end(), name) != names.end();
  const double usual = known ? optim::usual_rate(optim::optimizer_from_name(name)) : 0;
  const std::optional<double> measured = measured_rate(log);
  if (!measured) return known ? usual : otherwise;
  return known ? std::sqrt(*measured * usual) : *measured;
}

}  // namespace

Remedy rate_times(const RunLog& log, double factor) {
  return set("optimizer.lr", rounded(factor * largest_rate(log)));
}

Remedy lower_rate(const RunLog& log) {
  const double tenth = 0.1 * largest_rate(log);
  // A log that was cut off before its first step knows no rate, and one of 0 trains nothing.
  if (tenth == 0) return words("a lower --lr");
  return set("optimizer.lr", rounded(std::min(suitable_rate(log, tenth), tenth)));
}

Remedy higher_rate(const RunLog& log) {
  const double tenfold = 10 * largest_rate(log);
  if (tenfold == 0) return set("optimizer.lr", 0.01);
  return set("optimizer.lr", rounded(std::max(suitable_rate(log, tenfold), tenfold)));
}

std::vector<Remedy> joined(std::vector<Remedy> first, const std::vector<Remedy>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

// ---- facts from the log

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double mean(std::span<const double> values) {
  double sum = 0;
  for (double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

bool ended(const RunLog& log) { return log.end && log.end->reason != kInterrupted; }

std::size_t whole_epochs(const RunLog& log) {
  constexpr double kMost = 1 << 24;  // of both keys
  const double batch = number_at(log, "batch", 0), accumulate = number_at(log, "accumulate", 1);
  const auto known = [](double number) { return number >= 1 && number <= kMost; };
  if (log.run.data.train < 1 || !known(batch) || !known(accumulate)) return log.epochs.size();
  const BatchPlan plan{log.run.data.train, static_cast<std::int64_t>(batch),
                       static_cast<std::int64_t>(accumulate)};
  const std::int64_t each = plan.updates_an_epoch();
  return static_cast<std::size_t>(
      std::count_if(log.epochs.begin(), log.epochs.end(),
                    [&](const EpochEvent& epoch) { return epoch.step % each == 0; }));
}

double loss_of(const Numbers& numbers) {
  const double* loss = numbers.find("loss");
  return loss ? *loss : std::nan("");
}

double initial_loss(const RunLog& log) {
  constexpr std::size_t kFirst = 3;
  constexpr double kLeap = 2;  // times the first
  std::vector<double> first;
  for (const StepEvent& s : log.steps) {
    if (first.size() == kFirst || (!first.empty() && !(s.loss <= kLeap * first[0]))) break;
    first.push_back(s.loss);
  }
  return first.empty() ? std::nan("") : mean(first);
}

double last_training_loss(const RunLog& log) {
  return log.epochs.empty() ? std::nan("") : loss_of(log.epochs.back().train);
}

double loss_of_chance(const RunLog& log) {
  if (log.run.task != "classification") return std::nan("");
  return static_cast<double>(arithmetic::log(static_cast<float>(log.run.data.outputs)));
}

double loss_of_constant(const RunLog& log) {
  if (log.run.task == "regression" && text_at(log, "loss.name") == "mse") {
    if (standardizes(log)) return 1;
    if (!log.data || log.data->targets.empty() ||
        log.data->targets.size() != static_cast<std::size_t>(log.run.data.outputs))
      return std::nan("");
    double squares = 0;
    for (const FeatureFacts& target : log.data->targets) squares += target.std * target.std;
    return squares > 0 ? squares / static_cast<double>(log.data->targets.size()) : std::nan("");
  }
  if (log.run.task != "classification" || !log.data || log.data->rows <= 0) return std::nan("");
  double entropy = 0;
  for (const std::int64_t count : log.data->class_counts) {
    const double share = static_cast<double>(count) / static_cast<double>(log.data->rows);
    if (share > 0)
      entropy -= share * static_cast<double>(arithmetic::log(static_cast<float>(share)));
  }
  return entropy > 0 ? entropy : std::nan("");
}

double largest_rate(const RunLog& log) {
  double largest = 0;
  for (const StepEvent& s : log.steps) largest = std::max(largest, s.learning_rate);
  return largest;
}

double weight_norm(const LayerStatistics& layer) {
  double squares = 0;
  for (const ParameterStatistics& p : layer.parameters) squares += p.norm * p.norm;
  return std::sqrt(squares);
}

double typical_update_ratio(const RunLog& log) {
  std::vector<double> ratios;
  for (const ProbeEvent& probe : log.probes) ratios.push_back(update_ratio_of(probe));
  return median(ratios);
}

Finding finding(Severity severity, std::string layer, std::string symptom, std::string cause,
                std::vector<Remedy> remedies) {
  return {"", severity, std::move(layer),   std::move(symptom), std::move(cause),
          "", 0,        std::move(remedies)};
}

}  // namespace limpid::train::detail
