// The doctor's rules on the statistics of layers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/nn/activation.h"
#include "limpid/train/diagnostics/detail/rules.h"

namespace limpid::train::detail {
namespace {

double norm_of(const LayerStatistics& layer, double ParameterStatistics::*field) {
  double squares = 0;
  for (const ParameterStatistics& p : layer.parameters) squares += p.*field * p.*field;
  return std::sqrt(squares);
}
double gradient_norm(const LayerStatistics& l) {
  return norm_of(l, &ParameterStatistics::gradient_norm);
}
double update_norm(const LayerStatistics& l) {
  return norm_of(l, &ParameterStatistics::update_norm);
}

// One number for each layer and probe; `measure` returns nothing if it does not apply.
using Measure = std::function<std::optional<double>(const ProbeEvent&, const LayerStatistics&)>;

struct Worst {
  std::string layer;
  double value;
};

// The layer whose median over the probes is largest.
std::optional<Worst> largest_median(const RunLog& log, const Measure& measure) {
  std::optional<Worst> worst;
  if (log.probes.empty()) return worst;
  const auto& layers = log.probes[0].layers;
  std::vector<std::vector<double>> values(layers.size());
  for (const ProbeEvent& probe : log.probes)
    for (std::size_t l = 0; l < std::min(layers.size(), probe.layers.size()); ++l)
      if (const auto v = measure(probe, probe.layers[l])) values[l].push_back(*v);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (values[l].empty()) continue;
    const double typical = median(values[l]);
    if (!worst || typical > worst->value) worst = {layers[l].name, typical};
  }
  return worst;
}

const nn::Activation* activation_of(const ActivationStatistics& a) {
  for (const std::string& name : nn::activation_names())
    if (name == a.op) return &nn::activation_from_name(name);
  return nullptr;
}

// A hidden activation whose value and slope are exactly 0 on one side, such as ReLU.
bool can_die(const ActivationStatistics& a) {
  const nn::Activation* known = activation_of(a);
  return known && known->low == 0 && known->flat_below == 0 && a.op != "step";
}
// An activation that saturates at both ends.
bool can_saturate(const ActivationStatistics& a) {
  const nn::Activation* known = activation_of(a);
  return known && !can_die(a) && std::isfinite(known->low) && std::isfinite(known->high);
}

double root_mean_square(const ActivationStatistics& a) { return std::hypot(a.mean, a.std); }

const ActivationStatistics* find_op(const LayerStatistics& layer, std::string_view op) {
  for (const ActivationStatistics& a : layer.activations)
    if (a.op == op) return &a;
  return nullptr;
}

// The largest share of one kind of activations in the layer.
Measure share_of(bool (*applies)(const ActivationStatistics&),
                 double ActivationStatistics::*share) {
  return [=](const ProbeEvent&, const LayerStatistics& layer) {
    std::optional<double> largest;
    for (const ActivationStatistics& a : layer.activations)
      if (applies(a)) largest = std::max(largest.value_or(0), a.*share);
    return largest;
  };
}

// Suggests no dropout if the layers together drop most of the signal.
std::vector<Setting> less_dropout(const RunLog& log) {
  constexpr double kLittle = 0.25;
  const Json* const layers = value_at(log.config(), "model.layers");
  const double dropout = number_at(log, "model.dropout", 0);
  if (!layers || !(std::pow(1 - dropout, static_cast<double>(layers->size())) < kLittle)) return {};
  return {{"model.dropout", 0.0}};
}

// Remedies that let gradients pass through many layers. A gpt has norms and residual sums already.
std::vector<Remedy> reviving(const RunLog& log) {
  if (text_at(log, "model.name") == "gpt") return {words("fewer --layers")};
  std::vector<Remedy> remedies;
  if (text_at(log, "model.name") == "mlp") remedies.push_back(set("model.norm", "batch"));
  remedies.push_back({"", {{"model.activation", "relu"}, {"model.init", "he"}}});
  for (Remedy& remedy : remedies)
    for (const Setting& setting : less_dropout(log)) remedy.settings.push_back(setting);
  remedies.push_back(words("fewer --layers"));
  return remedies;
}

std::optional<Finding> vanishing_gradient(const RunLog& log, const Thresholds& t) {
  const auto gradient = [](const LayerStatistics& l) { return gradient_norm(l) / weight_norm(l); };
  const auto update = [](const LayerStatistics& l) { return update_norm(l) / weight_norm(l); };
  struct Largest {
    double gradient = 0, update = 0;
  };
  std::vector<Largest> largest;  // of each probe
  for (const ProbeEvent& probe : log.probes) {
    Largest& most = largest.emplace_back();
    for (const LayerStatistics& l : probe.layers) {
      if (!(weight_norm(l) > 0)) continue;
      most.gradient = std::max(most.gradient, gradient(l));
      most.update = std::max(most.update, update(l));
    }
  }
  // How many times smaller than that of the layer with the largest, each relative to the size of
  // its weights. With Adam and similar optimisers, a layer with small gradients still learns: its
  // steps are as long as any.
  constexpr double kStillLearns = 0.002;
  const auto smaller = [&](const ProbeEvent& probe,
                           const LayerStatistics& layer) -> std::optional<double> {
    const Largest& most = largest[static_cast<std::size_t>(&probe - log.probes.data())];
    if (!(weight_norm(layer) > 0) || !(gradient(layer) > 0) || !std::isfinite(most.gradient) ||
        (most.update > 0 && update(layer) > kStillLearns * most.update))
      return {};
    return most.gradient / gradient(layer);
  };
  const auto worst = largest_median(log, smaller);
  if (!worst || worst->value < t["vanishing_factor"]) return {};
  return finding(Severity::kWarning, worst->layer,
                 fmt::format("relative to its weights, its gradient is {:.1e} times smaller than "
                             "that of the layer with the largest",
                             worst->value),
                 "each layer in between passes on only a part of the gradient: activations with "
                 "small slopes, or weights that are too small",
                 reviving(log));
}

std::optional<Finding> exploding_gradient(const RunLog& log, const Thresholds& t) {
  const auto relative = [](const ProbeEvent&, const LayerStatistics& layer) {
    return weight_norm(layer) > 0 ? std::optional(gradient_norm(layer) / weight_norm(layer))
                                  : std::nullopt;
  };
  const auto worst = largest_median(log, relative);
  if (!worst || !(worst->value > t["exploding_factor"])) return {};
  // If it begins later, steps that were too long caused it.
  const auto& first = log.probes[0].layers;
  if (std::none_of(first.begin(), first.end(), [&](const LayerStatistics& layer) {
        return relative(log.probes[0], layer).value_or(0) > t["exploding_factor"];
      }))
    return {};
  return finding(Severity::kError, worst->layer,
                 fmt::format("its gradient is {:.1e} times as large as its weights", worst->value),
                 "the initial weights are too large, or inputs or targets are not normalised",
                 joined({suitable_init(log), set_data(log, "standardize", "zscore")},
                        joined(clip(log), {lower_rate(log)})));
}

std::optional<Finding> dead_units(const RunLog& log, const Thresholds& t) {
  const auto worst = largest_median(log, share_of(can_die, &ActivationStatistics::dead_share));
  if (!worst || worst->value < t["dead_share"]) return {};
  return finding(
      worst->value > 0.9 ? Severity::kError : Severity::kWarning, worst->layer,
      fmt::format("{:.0f} % of its units are 0 for every example of a batch", 100 * worst->value),
      "a step that was too large, or biases far below 0, moved the units to where their slope is "
      "0; they cannot recover",
      {lower_rate(log), set("model.activation", "leaky_relu")});
}

std::optional<Finding> saturated_units(const RunLog& log, const Thresholds& t) {
  const auto worst =
      largest_median(log, share_of(can_saturate, &ActivationStatistics::saturated_share));
  if (!worst || worst->value < t["saturated_share"]) return {};
  return finding(Severity::kWarning, worst->layer,
                 fmt::format("{:.0f} % of its activations are saturated: the slope is below {}",
                             100 * worst->value, nn::kFlat),
                 "the values before the activation are too large: large weights, large inputs, or "
                 "steps that are too large",
                 {suitable_init(log), lower_rate(log)});
}

std::optional<Finding> zero_activations(const RunLog& log, const Thresholds&) {
  if (log.probes.empty()) return {};
  const ProbeEvent& last = log.probes.back();
  for (const LayerStatistics& layer : last.layers)
    for (const ActivationStatistics& a : layer.activations) {
      if (a.zero_share < 1) continue;
      return finding(Severity::kError, layer.name,
                     fmt::format("all its values after {} are 0 at step {}", a.op, last.step),
                     a.op == "input" ? "the batch has only zeros"
                                     : "its weights are 0, or all its units are dead",
                     a.op == "input" ? std::vector{words("inspect the data")}
                                     : std::vector{suitable_init(log), lower_rate(log)});
    }
  return {};
}

// If gradients are clipped to a fraction of their norm, clipping makes the steps short.
std::vector<Remedy> unclip(const RunLog& log) {
  constexpr double kFraction = 0.01;
  std::vector<double> norms;
  for (const StepEvent& s : log.steps) norms.push_back(s.gradient_norm);
  const double usual = median(norms), most = number_at(log, "clip.norm", usual);
  if (!(most < kFraction * usual)) return {};
  return {set("clip.norm", 1.0)};
}

std::optional<Finding> update_ratio(const RunLog& log, const Thresholds& t) {
  const auto ratio = [](const ProbeEvent&, const LayerStatistics& layer) {
    return weight_norm(layer) > 0 ? std::optional(update_norm(layer) / weight_norm(layer))
                                  : std::nullopt;
  };
  const auto largest = largest_median(log, ratio);
  if (!largest || log.probes.size() < 2) return {};
  if (largest->value > t["update_ratio_high"])
    return finding(Severity::kWarning, largest->layer,
                   fmt::format("a step changes its weights by {:.1e} of their size; about 1e-3 is "
                               "usual",
                               largest->value),
                   fmt::format("the learning rate of {:.3g} is too large", largest_rate(log)),
                   {lower_rate(log)});
  // If there is little left to learn, small steps are right.
  const bool learnt = !log.epochs.empty() && !log.steps.empty() &&
                      log.epochs.back().train.find("loss") &&
                      log.epochs.back().train.at("loss") < 0.5 * log.steps.front().loss;
  double ever = 0;
  for (const ProbeEvent& probe : log.probes)
    for (const LayerStatistics& layer : probe.layers)
      ever = std::max(ever, ratio(probe, layer).value_or(0));
  if (ever > 0 && ever < t["update_ratio_low"] && !learnt)
    return finding(Severity::kWarning, largest->layer,
                   fmt::format("no step changes weights by more than {:.1e} of their size; about "
                               "1e-3 is usual",
                               ever),
                   fmt::format("the learning rate of {:.3g} is too small", largest_rate(log)),
                   joined(unclip(log), {higher_rate(log)}));
  return {};
}

std::optional<Finding> frozen_weights(const RunLog& log, const Thresholds&) {
  if (log.probes.size() < 2) return {};
  for (std::size_t l = 0; l < log.probes[0].layers.size(); ++l) {
    bool moved = log.probes[0].layers[l].parameters.empty();
    double gradient = 0;
    for (const ProbeEvent& probe : log.probes)
      if (l < probe.layers.size()) {
        // A NaN counts as moved.
        moved = moved || update_norm(probe.layers[l]) != 0;
        gradient = std::max(gradient, gradient_norm(probe.layers[l]));
      }
    if (moved) continue;
    return finding(
        Severity::kError, log.probes[0].layers[l].name,
        fmt::format("its weights have not changed in {} probes; their gradient's norm was "
                    "at most {:.3g}",
                    log.probes.size(), gradient),
        gradient > 0
            ? fmt::format("a learning rate of {:.3g} is too small to change any bit of them",
                          largest_rate(log))
            : "no gradient reaches them: weights of 0 or dead units after them",
        {gradient > 0 ? higher_rate(log) : suitable_init(log)});
  }
  return {};
}

std::optional<Finding> poor_initialization(const RunLog& log, const Thresholds& t) {
  if (log.probes.empty() || log.probes[0].step != 0) return {};
  const std::vector<LayerStatistics>& layers = log.probes[0].layers;
  double input = 0;
  for (const LayerStatistics& layer : layers) {
    if (const ActivationStatistics* a = find_op(layer, "input")) input = root_mean_square(*a);
    const ActivationStatistics* a = find_op(layer, "linear");
    if (!a || !(input > 0)) continue;
    for (const ParameterStatistics& p : layer.parameters)
      // If the norm differs from the mean's magnitude, there are several numbers.
      if (p.std == 0 && p.name.ends_with(".weight") &&
          (p.mean == 0 || p.norm > 1.01 * std::fabs(p.mean)))
        return finding(Severity::kError, layer.name,
                       fmt::format("all numbers of {} are {:.3g}", p.name, p.mean),
                       "units that start equal get equal gradients and stay equal",
                       {suitable_init(log)});
    const double spread = a->std / input;
    if (spread < t["spread_low"] || !(spread <= t["spread_high"]))
      return finding(
          Severity::kWarning, layer.name,
          fmt::format("before the first step the standard deviation of its values is "
                      "{:.2e}, {:.2e} times the size of the inputs",
                      a->std, spread),
          spread < t["spread_low"]
              ? "the initial weights are too small: the signal vanishes from layer to layer"
              : "the initial weights are too large: the signal grows from layer to layer",
          {suitable_init(log)});
  }
  return {};
}

constexpr Threshold kVanishing[] = {
    {"vanishing_factor", 1000,
     "ratio of the largest gradient to a layer's, each relative to the weights, above"}};
constexpr Threshold kGradient[] = {
    {"exploding_factor", 100, "ratio of a layer's gradient to its weights, above"}};
constexpr Threshold kDead[] = {{"dead_share", 0.5, "share of the layer's units, above"}};
constexpr Threshold kSaturated[] = {
    {"saturated_share", 0.5, "share of the layer's activations, above"}};
constexpr Threshold kRatio[] = {
    {"update_ratio_low", 1e-5, "largest update-to-weight ratio of all probes, below"},
    {"update_ratio_high", 0.1, "median update-to-weight ratio of a layer, above"}};
constexpr Threshold kSpread[] = {
    {"spread_low", 0.02,
     "standard deviation of a linear layer's outputs divided by the size of the inputs, below"},
    {"spread_high", 50,
     "standard deviation of a linear layer's outputs divided by the size of the inputs, above"}};

constexpr Rule kLayersRules[] = {
    {"poor_initialization", Cause::kInitialisation,
     "before the first step: a signal that vanishes or grows through the layers, or units that are "
     "all equal",
     "--init he for relu and similar, --init xavier for tanh and sigmoid", kSpread,
     poor_initialization, Cause::kRate},
    {"exploding_gradient", Cause::kInitialisation,
     "a layer whose gradient is far larger than its weights, from the start",
     "--init, --data SPEC,standardize=zscore, --clip-norm 1, a smaller --lr", kGradient,
     exploding_gradient, Cause::kRate},
    {"update_ratio", Cause::kRate,
     "steps that change weights by far more or less than 1e-3 of their size",
     "--lr with a usual update-to-weight ratio", kRatio, update_ratio, Cause::kRate},
    {"dead_units", Cause::kRate, "ReLUs that are 0 for every example of a batch",
     "--lr with a usual update-to-weight ratio, or --activation leaky_relu", kDead, dead_units,
     Cause::kArchitecture},
    {"saturated_units", Cause::kRate, "sigmoid, tanh and similar where their slope is below 1e-3",
     "--init xavier, or a smaller --lr", kSaturated, saturated_units, Cause::kArchitecture},
    {"frozen_weights",
     Cause::kArchitecture,
     "a layer whose weights never change",
     "--init he, or a larger --lr",
     {},
     frozen_weights,
     Cause::kArchitecture},
    {"zero_activations",
     Cause::kArchitecture,
     "a layer whose values are all 0",
     "--init he, or a smaller --lr",
     {},
     zero_activations,
     Cause::kArchitecture},
    {"vanishing_gradient", Cause::kArchitecture,
     "a layer whose gradient is far smaller than that of another",
     "--norm batch, --activation relu with --init he, or fewer --layers", kVanishing,
     vanishing_gradient, Cause::kArchitecture},
};

}  // namespace

constexpr std::span<const Rule> rules_of_layers = kLayersRules;

}  // namespace limpid::train::detail
