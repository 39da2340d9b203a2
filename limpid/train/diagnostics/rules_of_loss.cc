// The doctor's rules on the curve of the loss.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/number_text.h"
#include "limpid/train/diagnostics/detail/rules.h"

namespace limpid::train::detail {
namespace {

// The smoothed loss: by epoch if there are enough epochs, otherwise over windows of steps.
struct Levels {
  std::vector<double> losses;
  bool by_epoch = false;
};
constexpr std::size_t kFewEpochs = 8;
constexpr std::size_t kWindows = 16;
constexpr std::size_t kWindow = 5;  // steps, at least

Levels levels_of(const RunLog& log) {
  Levels levels;
  if (whole_epochs(log) >= kFewEpochs) {
    levels.by_epoch = true;
    for (const EpochEvent& e : log.epochs) levels.losses.push_back(loss_of(e.train));
    return levels;
  }
  const std::size_t n = log.steps.size();
  const std::size_t windows = std::min(kWindows, n / kWindow);
  for (std::size_t w = 0; w < windows; ++w) {
    std::vector<double> part;
    for (std::size_t i = w * n / windows; i < (w + 1) * n / windows; ++i)
      part.push_back(log.steps[i].loss);
    levels.losses.push_back(mean(part));
  }
  return levels;
}

// Whether the curve has never fallen by flat_drop, from its beginning or from the loss of guessing:
// initial weights may be worse than guessing, and reaching that is not learning.
bool never_fell(const RunLog& log, double initial, const Levels& levels, const Thresholds& t) {
  const double lowest = *std::min_element(levels.losses.begin(), levels.losses.end());
  return lowest > (1 - t["flat_drop"]) * std::fmin(initial, loss_of_chance(log));
}

// Where the loss jumps above the preceding steps by far more than their spread.
struct Spikes {
  std::int64_t count = 0;  // steps close to each other are one
  const StepEvent* highest = nullptr;
  double usual = 0;           // the median loss before the highest
  double usual_gradient = 0;  // and that of the gradient's norm
};
Spikes spikes_of(const std::vector<StepEvent>& steps, double least_rise, double least_spread) {
  constexpr std::size_t kBefore = 50, kFewest = 20, kApart = 5;
  constexpr double kStdOfNormal = 1.4826;  // over the median distance from the median
  Spikes spikes;
  double highest_rise = 0;
  std::size_t last = 0;
  for (std::size_t i = kFewest; i < steps.size(); ++i) {
    std::vector<double> losses, distances, gradients;
    for (std::size_t j = i - std::min(i, kBefore); j < i; ++j) {
      losses.push_back(steps[j].loss);
      gradients.push_back(steps[j].gradient_norm);
    }
    const double usual = median(losses);
    for (double loss : losses) distances.push_back(std::fabs(loss - usual));
    const double rise = steps[i].loss - usual;
    if (!(rise > least_rise) || !(rise > least_spread * kStdOfNormal * median(distances))) continue;
    spikes.count += last == 0 || i - last > kApart;
    last = i;
    if (rise <= highest_rise) continue;
    highest_rise = rise;
    spikes.highest = &steps[i];
    spikes.usual = usual;
    spikes.usual_gradient = median(gradients);
  }
  return spikes;
}

// Hidden layers eight times as wide, at least 64; one of 64 if there are none. A gpt has other keys
// for its sizes.
std::vector<Remedy> wider(const RunLog& log) {
  constexpr std::int64_t kTimes = 8, kMost = 1024, kLargest = 1 << 24;
  const Json* const layers = value_at(log.config(), "model.layers");
  if (text_at(log, "model.name") != "mlp" || !layers || !layers->is_array() || layers->size() < 2)
    return {words("wider --layers")};
  std::vector<std::int64_t> sizes;
  for (const Json& size : layers->elements()) {
    sizes.push_back(size.is_small_integer() ? size.as_integer() : 0);
    if (sizes.back() < 1 || sizes.back() > kLargest) return {words("wider --layers")};
  }
  if (sizes.size() == 2) sizes.insert(sizes.begin() + 1, 1);
  for (std::size_t i = 1; i + 1 < sizes.size(); ++i)
    sizes[i] = std::max(sizes[i], std::min(std::max(sizes[i], kTimes) * kTimes, kMost));
  return {set("model.layers", Json(sizes))};
}

// A run three times as long.
std::vector<Remedy> longer(const RunLog& log) {
  constexpr double kTimes = 3;
  for (const char* key : {"steps", "epochs"}) {
    const double now = number_at(log, key, 0);
    if (now > 0 && now < 1e12) return {set(key, static_cast<std::int64_t>(kTimes * now))};
  }
  return {words("more --epochs")};
}

// A language model that is worse than counting n-grams: the lowest possible perplexity of a text is
// not known, but it is at most that of counting. The baseline's metrics are beside the model's.
std::optional<Finding> below_baseline(const RunLog& log) {
  const double* perplexity = log.end->test.metrics.find("perplexity");
  const double* baseline = log.end->test.metrics.find("ngram_perplexity");
  if (!perplexity || !baseline || !(*perplexity > *baseline)) return {};
  return finding(
      Severity::kWarning, "",
      fmt::format("the test perplexity is {:.4g}; an n-gram model of the same text has {:.4g}",
                  *perplexity, *baseline),
      "training ended too early, or the network is too small or sees too few tokens",
      joined(longer(log), {words("a longer --context"), words("a wider network")}));
}

bool all_finite(const Levels& levels) {
  return std::all_of(levels.losses.begin(), levels.losses.end(),
                     [](double v) { return std::isfinite(v); });
}

std::optional<Finding> loss_not_finite(const RunLog& log, const Thresholds&) {
  auto bad = std::find_if(log.steps.begin(), log.steps.end(), [](const StepEvent& s) {
    return !std::isfinite(s.loss) || !std::isfinite(s.gradient_norm);
  });
  // If --check-finite ended the run, every logged loss may be finite: the last step is the one.
  const bool failed = log.end && log.end->reason == "non-finite loss" && !log.steps.empty();
  if (bad == log.steps.end() && failed) bad = log.steps.end() - 1;
  if (bad == log.steps.end()) return {};
  std::string symptom =
      !std::isfinite(bad->loss)
          ? fmt::format("the loss is {} in step {}", unsigned_nan(bad->loss), bad->step)
      : !std::isfinite(bad->gradient_norm)
          ? fmt::format("the gradient norm is {} in step {}, at a loss of {:.4g}",
                        unsigned_nan(bad->gradient_norm), bad->step, bad->loss)
          : fmt::format("step {} made a parameter that is not finite, at a loss of {:.4g}",
                        bad->step, bad->loss);
  if (bad != log.steps.begin()) symptom += fmt::format(", after {:.4g}", (bad - 1)->loss);
  constexpr double kEps = 1e-8;
  if (static_cast<float>(number_at(log, "optimizer.eps", kEps)) == 0)
    return finding(Severity::kError, "", symptom,
                   "the optimiser divides by a mean of gradients plus an eps of 0: 0 / 0 where a "
                   "weight has had no gradient",
                   {set("optimizer.eps", kEps)});
  return finding(
      Severity::kError, "", symptom,
      fmt::format(
          "the steps are too large: the learning rate is {:.3g} and the gradient norm was {:.3g}",
          bad->learning_rate, (bad == log.steps.begin() ? bad : bad - 1)->gradient_norm),
      {lower_rate(log)});
}

std::optional<Finding> loss_flat(const RunLog& log, const Thresholds& t) {
  const Levels levels = levels_of(log);
  const double initial = initial_loss(log);
  if (static_cast<double>(log.last_step()) < t["flat_steps"] || levels.losses.size() < 4 ||
      !all_finite(levels) || !(initial > 0) || initial < 0.5 * loss_of_chance(log))
    return {};
  const double last = levels.losses.back();
  if (!never_fell(log, initial, levels, t) || last > (1 + t["explode_rise"]) * initial) return {};
  std::string symptom = fmt::format("the loss began at {:.4g} and is {:.4g} after {} steps",
                                    initial, last, log.last_step());
  if (last < (1 - t["flat_drop"]) * initial)
    symptom += fmt::format(", no better than the {:.4g} of chance", loss_of_chance(log));
  const double ratio = typical_update_ratio(log);
  // Even if all steps went in the same direction, the weights would not move far.
  constexpr double kFar = 0.1;
  if (ratio * static_cast<double>(log.last_step()) < kFar)
    return finding(Severity::kError, "", symptom,
                   fmt::format("the updates are tiny: {:.1e} of the weights a step", ratio),
                   {higher_rate(log)});
  if (ratio > t["update_ratio_high"])
    return finding(Severity::kError, "", symptom,
                   fmt::format("the updates are large: {:.1e} of the weights a step; the weights "
                               "jump about or units have died",
                               ratio),
                   {lower_rate(log)});
  return finding(Severity::kError, "", symptom,
                 "the updates are of usual size and gradients reach all layers: the inputs do not "
                 "predict the targets, or the network is too small to learn how",
                 joined({words("check that each target belongs to its row")}, wider(log)));
}

// The largest loss of a step, which shows that training diverged before it settled.
std::optional<double> blown_up(const RunLog& log, const Levels& levels, double initial,
                               const Thresholds& t) {
  double largest = 0;
  for (const StepEvent& s : log.steps) largest = std::max(largest, s.loss);
  const double kept = std::fmin(initial, loss_of_chance(log));
  const bool flat = levels.losses.back() > (1 - t["explode_kept"]) * kept;
  return largest > t["explode_peak"] * initial && flat ? std::optional(largest) : std::nullopt;
}

std::optional<Finding> loss_exploding(const RunLog& log, const Thresholds& t) {
  const Levels levels = levels_of(log);
  const double initial = initial_loss(log);
  if (levels.losses.size() < 4 || !all_finite(levels) || !(initial > 0)) return {};
  const double lowest = *std::min_element(levels.losses.begin(), levels.losses.end());
  const double last = levels.losses.back();
  const bool above_start = last > (1 + t["explode_rise"]) * initial;
  const bool lost_gain = last > (1 + t["explode_rise"]) * lowest &&
                         last - lowest > t["explode_loss"] * (initial - lowest) &&
                         lowest < (1 - t["flat_drop"]) * initial;
  const std::optional<double> peak = blown_up(log, levels, initial, t);
  if (!above_start && !lost_gain && !peak) return {};
  const std::string way = peak ? fmt::format("rose to {:.4g}", *peak)
                               : fmt::format("was {:.4g} at best", std::min(initial, lowest));
  return finding(Severity::kError, "",
                 fmt::format("the loss began at {:.4g}, {} and is {:.4g} now", initial, way, last),
                 fmt::format("training diverged: the steps are too large where the loss is steep; "
                             "the largest learning rate was {:.3g}",
                             largest_rate(log)),
                 {lower_rate(log)});
}

std::optional<Finding> loss_spikes(const RunLog& log, const Thresholds& t) {
  const double initial = initial_loss(log);
  const bool finite = std::all_of(log.steps.begin(), log.steps.end(), [](const StepEvent& s) {
    return std::isfinite(s.loss) && std::isfinite(s.gradient_norm);
  });
  if (!finite || !(initial > 0)) return {};
  const Spikes spikes = spikes_of(log.steps, t["spike_rise"] * initial, t["spike_spread"]);
  // If jumps are frequent, they are the normal spread of batch losses.
  if (spikes.count == 0 ||
      static_cast<double>(spikes.count) > t["spike_share"] * static_cast<double>(log.steps.size()))
    return {};
  return finding(
      Severity::kWarning, "",
      fmt::format("{} the loss jumped far above the steps before, in step {} from about {:.4g} to "
                  "{:.4g}, with a gradient norm of {:.3g} where {:.3g} was usual",
                  spikes.count == 1 ? "once" : fmt::format("{} times", spikes.count),
                  spikes.highest->step, spikes.usual, spikes.highest->loss,
                  spikes.highest->gradient_norm, spikes.usual_gradient),
      fmt::format(
          "a step that was too large, or a batch unlike all others; the learning rate is {:.3g}",
          spikes.highest->learning_rate),
      joined(clip(log), {rate_times(log, 0.3), words("a longer --warmup")}));
}

std::optional<Finding> loss_oscillating(const RunLog& log, const Thresholds& t) {
  const Levels levels = levels_of(log);
  const double initial = initial_loss(log);
  const std::size_t n = levels.losses.size();
  // Over fewer batches than an epoch has, the loss varies by chance alone.
  if (!levels.by_epoch || !all_finite(levels) || !(initial > 0)) return {};
  const std::span<const double> half = std::span(levels.losses).subspan(n / 2);
  std::size_t rises = 0;
  for (std::size_t i = 1; i < half.size(); ++i)
    rises += half[i] > (1 + t["oscillation_rise"]) * half[i - 1];
  const double share = static_cast<double>(rises) / static_cast<double>(half.size() - 1);
  const double level = mean(half);
  if (share < t["oscillation_share"] || level < t["oscillation_level"] * initial) return {};
  const auto [low, high] = std::minmax_element(half.begin(), half.end());
  return finding(Severity::kWarning, "",
                 fmt::format("{} of the last {} epochs ended with a loss more than {:.0f} % above "
                             "that of the epoch before; it oscillates between {:.4g} and {:.4g}",
                             rises, half.size() - 1, 100 * t["oscillation_rise"], *low, *high),
                 fmt::format("the steps overshoot the minimum; the learning rate is {:.3g}",
                             log.steps.back().learning_rate),
                 {lower_rate(log), set("schedule.name", "cosine"), words("a larger --batch")});
}

std::optional<Finding> underfitting(const RunLog& log, const Thresholds& t) {
  const Levels levels = levels_of(log);
  const double initial = initial_loss(log);
  const std::size_t n = levels.losses.size();
  if (!ended(log) || n < 4 || log.epochs.empty() || !all_finite(levels) || !(initial > 0))
    return {};
  if (log.run.task == "next_token") return below_baseline(log);
  const auto quarter = [&](std::size_t from_the_end) {
    return mean(std::span(levels.losses).subspan(n - (from_the_end + 1) * (n / 4), n / 4));
  };
  const double last = quarter(0);
  const double validation = loss_of(log.epochs.back().validation);
  const double high = t["underfit_level"] * initial;
  if (last < high || validation < high || never_fell(log, initial, levels, t) ||
      last > (1 + t["explode_rise"]) * initial || validation > 2 * last)
    return {};
  const bool falling = last < (1 - t["underfit_still"]) * quarter(1);
  std::string symptom =
      fmt::format("the training loss ended at {:.4g}, {:.0f} % of the {:.4g} it began at", last,
                  100 * last / initial, initial);
  if (std::isfinite(validation))
    symptom += fmt::format(", the {} loss at {:.4g}", log.watched_part(), validation);
  if (falling)
    return finding(Severity::kWarning, "", symptom + "; both were still falling",
                   "training ended too early, or is too slow",
                   joined(longer(log), {higher_rate(log)}));
  return finding(
      Severity::kWarning, "", symptom,
      "the network is too small or too strongly regularised, or the inputs hardly predict the "
      "targets",
      joined(wider(log), {set("model.dropout", 0.0), set("optimizer.weight_decay", 0.0)}));
}

constexpr Threshold kFlat[] = {
    {"flat_steps", 100, "steps before the rule applies"},
    {"flat_drop", 0.02, "decrease of the loss as a share of the initial loss, below"}};
constexpr Threshold kExploding[] = {
    {"explode_rise", 0.5, "rise above the initial or the lowest loss, as a share of it"},
    {"explode_loss", 0.5, "share of the decrease that is lost again"},
    {"explode_peak", 10, "ratio of a step's loss to the initial loss, if the loss ends flat"},
    {"explode_kept", 0.5,
     "decrease of a loss that ends flat, as a share of the initial loss, below"}};
constexpr Threshold kSpikes[] = {
    {"spike_rise", 0.5, "rise above the 50 steps before, as a share of the initial loss"},
    {"spike_spread", 10, "rise above the 50 steps before, in standard deviations of their losses"},
    {"spike_share", 0.02,
     "share of steps with a spike above which spikes are no longer exceptions"}};
constexpr Threshold kOscillating[] = {
    {"oscillation_rise", 0.1, "rise from one epoch to the next, as a share of the loss"},
    {"oscillation_share", 0.3, "share of the epochs of the second half with such a rise"},
    {"oscillation_level", 0.1, "share of the initial loss below which oscillation is ignored"}};
constexpr Threshold kUnderfitting[] = {
    {"underfit_level", 0.5, "share of the initial loss above which the training loss is high"},
    {"underfit_still", 0.02, "fall over the last quarter that counts as still falling"}};

constexpr Rule kLossRules[] = {
    {"loss_not_finite",
     Cause::kRate,
     "a loss, a gradient or a parameter that is NaN or infinite, at once or later",
     "a learning rate with a usual update-to-weight ratio; --eps above 0",
     {},
     loss_not_finite,
     Cause::kRate},
    {"loss_exploding", Cause::kRate,
     "a loss that fell and then rose, rose from the start, or exploded and then stayed flat",
     "a learning rate with a usual update-to-weight ratio", kExploding, loss_exploding,
     Cause::kRate},
    {"loss_oscillating", Cause::kRate, "a loss that oscillates and no longer falls",
     "a learning rate with a usual update-to-weight ratio, --schedule cosine, a larger --batch",
     kOscillating, loss_oscillating},
    {"loss_spikes", Cause::kRate, "single steps whose loss is far above those before",
     "--clip-norm 1, a learning rate three times smaller, a longer --warmup", kSpikes, loss_spikes},
    {"loss_flat", Cause::kArchitecture, "a loss that has hardly changed since the start",
     "check that targets belong to their rows, wider --layers; another learning rate if the "
     "updates suggest it",
     kFlat, loss_flat, Cause::kRegularisation},
    {"underfitting", Cause::kArchitecture, "training and validation loss both end high",
     "wider --layers, less --dropout and --weight-decay, more --epochs", kUnderfitting,
     underfitting},
};

}  // namespace

constexpr std::span<const Rule> rules_of_loss = kLossRules;

}  // namespace limpid::train::detail
