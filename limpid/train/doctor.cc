#include "limpid/train/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/error.h"
#include "limpid/formats/in_quotes.h"
#include "limpid/train/detail/rules.h"

namespace limpid::train {
namespace {

constexpr Threshold kFlat[] = {
    {"flat_steps", 100, "steps before the rule speaks"},
    {"flat_drop", 0.02, "share of the initial loss by which a loss that is not flat has fallen"}};
constexpr Threshold kExploding[] = {
    {"explode_rise", 0.5, "rise above the initial, or the lowest loss, as a share of it"},
    {"explode_loss", 0.5, "share of what had been gained that is lost again"}};
constexpr Threshold kSpikes[] = {
    {"spike_rise", 0.25, "rise above the 50 steps before, as a share of the initial loss"},
    {"spike_spread", 10, "the same rise in standard deviations of their losses"},
    {"spike_share", 0.02, "share of the steps above which they are no exceptions"}};
constexpr Threshold kOscillating[] = {
    {"oscillation_rise", 0.1, "rise from one epoch to the next, as a share of the loss"},
    {"oscillation_share", 0.3, "share of the epochs of the second half with such a rise"},
    {"oscillation_level", 0.1, "share of the initial loss below which swings are no matter"}};
constexpr Threshold kOverfitting[] = {
    {"overfit_rise", 0.1,
     "rise of the validation loss above its lowest, and fall of the training loss, as shares"},
    {"overfit_of_start", 0.02, "the same rise as a share of the initial loss"}};
constexpr Threshold kUnderfitting[] = {
    {"underfit_level", 0.5, "share of the initial loss above which the training loss is high"},
    {"underfit_still", 0.02, "fall over the last quarter that counts as still falling"}};
constexpr Threshold kVanishing[] = {
    {"vanishing_factor", 1000, "how many times smaller than the largest a layer's gradient is"}};
constexpr Threshold kGradient[] = {
    {"exploding_factor", 100, "how many times larger than its weights a layer's gradient is"}};
constexpr Threshold kDead[] = {{"dead_share", 0.5, "share of the layer's units"}};
constexpr Threshold kSaturated[] = {{"saturated_share", 0.5, "share of the layer's activations"}};
constexpr Threshold kRatio[] = {
    {"update_ratio_low", 1e-5, "the largest ratio of any probe is below"},
    {"update_ratio_high", 0.1, "the median ratio of a layer is above"}};
constexpr Threshold kSpread[] = {
    {"spread_low", 0.02, "standard deviation of a linear layer, over the size of the inputs"},
    {"spread_high", 50, "the same"}};
constexpr Threshold kCollapse[] = {
    {"attention_entropy", 0.02,
     "entropy of a layer's weights, as a share of the largest possible"}};
constexpr Threshold kGrowth[] = {
    {"residual_growth", 10, "root mean square behind a block over that before it"}};
constexpr Threshold kInputs[] = {
    {"input_low", 0.02, "root mean square of the first layer's inputs"},
    {"input_high", 5, "the same"}};
constexpr Threshold kImbalance[] = {
    {"imbalance", 10, "examples of the most frequent class over those of the rarest"}};
constexpr Threshold kDuplicates[] = {{"duplicate_share", 0.05, "share of a part's rows"}};
constexpr Threshold kLeak[] = {
    {"leak_share", 0.01, "share of a part's rows"},
    {"leak_least", 10, "rows of a part below which it is all there is, as of a truth table"}};

constexpr Rule kRules[] = {
    {"loss_not_finite",
     "a loss, a gradient or a parameter that is NaN or infinite, at once or later",
     "a learning rate ten times smaller, or --clip-norm 1",
     {},
     detail::loss_not_finite},
    {"loss_flat", "a loss that has hardly moved from where it began",
     "a learning rate ten times larger or smaller, as the updates tell", kFlat, detail::loss_flat},
    {"loss_exploding", "a loss that fell and then grew, or grew from the start",
     "a learning rate ten times smaller, --clip-norm 1, or --warmup", kExploding,
     detail::loss_exploding},
    {"loss_spikes", "single steps whose loss leaps far above those before",
     "--clip-norm 1, a longer --warmup, a learning rate three times smaller", kSpikes,
     detail::loss_spikes},
    {"loss_oscillating", "a loss that goes up and down and no longer falls",
     "a learning rate ten times smaller, a larger --batch, or --schedule cosine", kOscillating,
     detail::loss_oscillating},
    {"overfitting", "the training loss falls while the validation loss rises",
     "--patience, --dropout, --weight-decay, fewer or narrower --layers, more data", kOverfitting,
     detail::overfitting},
    {"underfitting", "training and validation loss both end high",
     "wider or more --layers, less --dropout, more --epochs", kUnderfitting, detail::underfitting},
    {"vanishing_gradient", "a layer whose gradient is far smaller than that of another",
     "--activation relu with --init he, or fewer --layers", kVanishing, detail::vanishing_gradient},
    {"exploding_gradient", "a layer whose gradient is far larger than its weights",
     "--init he, a smaller --lr, --clip-norm 1; normalise inputs and targets", kGradient,
     detail::exploding_gradient},
    {"dead_units", "ReLUs that are 0 for every example of a batch",
     "a learning rate ten times smaller, or --activation leaky_relu", kDead, detail::dead_units},
    {"saturated_units", "sigmoid, tanh and their like where their slope is below 1e-3",
     "--init xavier, a smaller --lr, or normalised inputs", kSaturated, detail::saturated_units},
    {"zero_activations",
     "a layer all of whose values are 0",
     "--init he, or a smaller --lr",
     {},
     detail::zero_activations},
    {"update_ratio", "steps that change weights by far more or less than 1e-3 of their size",
     "--lr ten times smaller, or a hundred times larger", kRatio, detail::update_ratio},
    {"frozen_weights",
     "a layer whose weights never change",
     "--init he, or a larger --lr",
     {},
     detail::frozen_weights},
    {"poor_initialization",
     "before the first step: a signal that dies out or grows through the layers, or units that are "
     "all alike",
     "--init he for relu and its like, --init xavier for tanh and sigmoid", kSpread,
     detail::poor_initialization},
    {"attention_collapse", "an attention whose queries look at one key alone",
     "--warmup, a smaller --lr, more --weight-decay", kCollapse, detail::attention_collapse},
    {"residual_growth", "a block that adds far more to the residual stream than there was",
     "a smaller --lr, more --weight-decay, fewer --layers", kGrowth, detail::residual_growth},
    {"data_not_finite",
     "inputs that are NaN or infinite",
     "remove or fill in these values",
     {},
     detail::data_not_finite},
    {"inputs_not_normalized", "inputs of the first layer that are very large or very small",
     "--data SPEC,standardize=zscore", kInputs, detail::inputs_not_normalized},
    {"class_imbalance", "classes with many times the examples of others, or with none",
     "more examples of the rare classes; --metric macro_f1", kImbalance, detail::class_imbalance},
    {"duplicate_rows", "rows that repeat an earlier one of the same part", "keep one of each",
     kDuplicates, detail::duplicate_rows},
    {"leaked_rows", "rows of the validation or test part that are also in an earlier part",
     "keep one of each row before the data is split", kLeak, detail::leaked_rows},
};

const Threshold& threshold_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Rule& rule : kRules)
    for (const Threshold& t : rule.thresholds) {
      if (t.name == name) return t;
      names.emplace_back(t.name);
    }
  throw Error(ErrorCode::kNotFound, fmt::format("there is no threshold {}; there are: {}",
                                                in_quotes(name), fmt::join(names, ", ")));
}

}  // namespace

void Thresholds::set(std::string_view name, double value) {
  threshold_named(name);
  if (!std::isfinite(value))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("threshold {}: a finite number is expected, {} came", name, value));
  changed_.set(std::string(name), value);
}

double Thresholds::operator[](std::string_view name) const {
  const double* changed = changed_.find(name);
  return changed ? *changed : threshold_named(name).value;
}

std::span<const Rule> rules() { return kRules; }

std::vector<Finding> diagnose(const RunLog& log, const Thresholds& thresholds) {
  std::vector<Finding> found;
  for (const Rule& rule : kRules) {
    std::optional<Finding> finding = rule.check(log, thresholds);
    if (!finding) continue;
    finding->rule = rule.name;
    finding->step = log.steps_done();
    found.push_back(*std::move(finding));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return found;
}

std::vector<Finding> new_findings(const std::vector<Finding>& found,
                                  const std::vector<Finding>& before) {
  std::vector<Finding> result;
  for (const Finding& f : found)
    if (std::none_of(before.begin(), before.end(),
                     [&](const Finding& b) { return b.rule == f.rule; }))
      result.push_back(f);
  return result;
}

std::string doctor_reference() {
  std::string text =
      "# What the doctor looks for\n\n"
      "`limpid doctor RUN` reads the log of a run and tells what is wrong with it; `limpid train` "
      "does so at the end of every\nepoch. Each rule speaks once, of the layer where it is worst. "
      "This page is written by `limpid doctor --markdown`; the\nrules stand in "
      "limpid/train/doctor.cc. `--threshold name=value` changes a threshold.\n\n"
      "| rule | looks for | what to try |\n|---|---|---|\n";
  for (const Rule& rule : kRules)
    text += fmt::format("| {} | {} | {} |\n", rule.name, rule.looks_for, rule.fix);
  text += "\n| threshold | default | rule | meaning |\n|---|---|---|---|\n";
  for (const Rule& rule : kRules)
    for (const Threshold& t : rule.thresholds)
      text += fmt::format("| {} | {:g} | {} | {} |\n", t.name, t.value, rule.name, t.meaning);
  return text;
}

}  // namespace limpid::train
