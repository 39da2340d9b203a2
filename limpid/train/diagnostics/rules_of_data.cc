// The doctor's rules on the data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/in_quotes.h"
#include "limpid/train/diagnostics/data_facts.h"
#include "limpid/train/diagnostics/detail/rules.h"

namespace limpid::train::detail {
namespace {

std::string class_name(const RunLog& log, std::size_t c) {
  return c < log.run.data.class_names.size() ? in_quotes(log.run.data.class_names[c])
                                             : fmt::format("{}", c);
}

const FeatureFacts* widest_feature(const DataFacts& facts) {
  const auto size = [](const FeatureFacts& f) { return std::hypot(f.mean, f.std); };
  const auto widest = std::max_element(
      facts.features.begin(), facts.features.end(),
      [&](const FeatureFacts& a, const FeatureFacts& b) { return size(a) < size(b); });
  return widest == facts.features.end() ? nullptr : &*widest;
}

std::string column_name(const FeatureFacts& f) {
  return f.name.empty() ? fmt::format("column {}", f.column) : in_quotes(f.name);
}

// The option that drops a column: for a table the column's name, which a one-hot column has before
// the first '='. Its category may have others: "status=0<=X<200".
Remedy without(const RunLog& log, const FeatureFacts& f) {
  if (!text_at(log, "data").starts_with("csv:") || f.name.empty())
    return words(fmt::format("leave out {}", column_name(f)));
  return set_data(log, "ignore", f.name.substr(0, f.name.find('=', 1)));
}

// Whether this is a one-hot column: it is constant in a part of the data without that category.
bool of_category(const FeatureFacts& f) { return f.name.find('=') != std::string::npos; }

// The worst case of duplicate rows, between parts or within one.
const Duplicates* most_doubles(const DataFacts& facts, bool between_parts) {
  const Duplicates* most = nullptr;
  const auto share = [](const Duplicates& d) {
    return static_cast<double>(d.rows) / static_cast<double>(d.of);
  };
  for (const Duplicates& d : facts.duplicates)
    if ((d.part != d.other) == between_parts && (!most || share(d) > share(*most))) most = &d;
  return most;
}

std::optional<Finding> data_not_finite(const RunLog& log, const Thresholds&) {
  if (!log.data || log.data->non_finite == 0 || log.data->first_non_finite.empty()) return {};
  const NonFinite& first = log.data->first_non_finite.front();
  return finding(
      Severity::kError, "",
      fmt::format(
          "{} of the inputs are not finite; the first is {} in row {}, column {} of the {} set",
          log.data->non_finite, first.value, first.row, first.column, set_name(first.part)),
      "missing values, or a division by 0 when the data was made",
      {words("remove these rows"), words("fill in the column's mean")});
}

std::optional<Finding> one_answer(const RunLog& log, const Thresholds&) {
  if (!log.data) return {};
  std::string answer;
  const auto& counts = log.data->class_counts;
  const auto some = [](std::int64_t count) { return count > 0; };
  if (std::count_if(counts.begin(), counts.end(), some) == 1)
    answer = fmt::format(
        "class {}",
        class_name(log, static_cast<std::size_t>(std::find_if(counts.begin(), counts.end(), some) -
                                                 counts.begin())));
  const auto& targets = log.data->targets;
  if (targets.size() == 1 && targets[0].min == targets[0].max)
    answer = fmt::format("{:.4g}", targets[0].min);
  if (answer.empty() || log.data->rows < 2) return {};
  return finding(
      Severity::kError, "",
      fmt::format("the target of all {} training rows is {}", log.data->rows, answer),
      "the rows with other targets are missing, or another column is the target: the model can "
      "learn only this one prediction",
      {words("add rows with other targets"), words("check that the right column is the target")});
}

std::optional<Finding> likely_leakage(const RunLog& log, const Thresholds&) {
  if (!log.data || log.data->telling.empty()) return {};
  const TellingColumn& found = log.data->telling.front();
  const std::string_view of =
      log.run.task == "regression" ? "the target's variance" : "the errors of guessing";
  return finding(
      Severity::kWarning, "",
      fmt::format("{} alone explains {:.0f} % of {}, the next best column {:.0f} %",
                  column_name(found.column), 100 * found.share, of, 100 * found.next),
      "perhaps target leakage: the column was derived from the target, or is known only after it; "
      "then the scores say nothing about rows whose target is unknown",
      {without(log, found.column)});
}

std::optional<Finding> target_leakage(const RunLog& log, const Thresholds&) {
  if (!log.data || log.data->target_leakage.empty()) return {};
  const FeatureFacts& first = log.data->target_leakage.front();
  return finding(Severity::kError, "",
                 fmt::format("{} alone determines the target of each of the {} rows",
                             column_name(first), log.data->rows),
                 "target leakage: the column is the target in another form, or was derived from "
                 "it; the scores say nothing about rows whose target is unknown",
                 {without(log, first)});
}

// "-9999", as a user would write it.
std::string plain(double value) { return fmt::format("{:.12g}", value); }

std::optional<Finding> far_value(const RunLog& log, const Thresholds&) {
  if (!log.data || log.data->far_values.empty()) return {};
  const auto& all = log.data->far_values;
  const auto of_target =
      std::find_if(all.begin(), all.end(), [](const FarValue& f) { return f.target; });
  const FarValue& far = of_target == all.end() ? all.front() : *of_target;
  const std::string column =
      column_name({far.name, far.column, far.value, far.value, far.value, 0});
  // A target that is missing cannot be filled in.
  std::vector<Remedy> remedies;
  if (text_at(log, "data").starts_with("csv:") && !far.target) {
    Remedy remedy = set_data(log, "missing-values", plain(far.value));
    if (!remedy.settings.empty())
      remedy.settings[0].value = remedy.settings[0].value.as_string() + ",missing=impute";
    remedies.push_back(std::move(remedy));
  }
  remedies.push_back(words(fmt::format("correct or remove the value {}", plain(far.value))));
  return finding(
      Severity::kWarning, "",
      fmt::format("{}{} is {} in {} of the {} training rows, and between {:.4g} and {:.4g} in all "
                  "others",
                  far.target ? "the target " : "", column, plain(far.value), far.rows,
                  log.data->rows, far.low, far.high),
      "a marker of a missing value, or a mistake: the mean, the scale and the loss follow it, and "
      "the other rows hardly count",
      std::move(remedies));
}

std::optional<Finding> sets_differ(const RunLog& log, const Thresholds&) {
  if (!log.data || log.data->shifts.empty()) return {};
  const Shift& shift = log.data->shifts.back();
  return finding(
      Severity::kError, "",
      fmt::format(
          "{} has mean {:.4g} in the {} set, and mean {:.4g} with standard deviation {:.3g} "
          "in the training set",
          column_name(shift.here), shift.here.mean, set_name(shift.part), shift.train.mean,
          shift.train.std),
      "the sets are of different data, or in other units: the scores are those of inputs that were "
      "never seen",
      {words(fmt::format("bring the {} set into the units of the training set",
                         set_name(shift.part))),
       words("split one file")});
}

std::optional<Finding> targets_not_normalized(const RunLog& log, const Thresholds& t) {
  if (!log.data || standardizes(log)) return {};
  for (const FeatureFacts& f : log.data->targets)
    if (std::hypot(f.mean, f.std) > t["target_high"])
      return finding(Severity::kWarning, "",
                     fmt::format("the target {} has mean {:.3g} and standard deviation {:.3g}",
                                 column_name(f), f.mean, f.std),
                     "initial weights give predictions of about 1: the loss and its gradients are "
                     "large, and no usual learning rate suits them",
                     {set_data(log, "standardize", "zscore")});
  return {};
}

// The best loss on rows that were not trained on; NaN if there are none.
double best_watched_loss(const RunLog& log) {
  double best = std::nan("");
  for (const EpochEvent& e : log.epochs) best = std::fmin(best, loss_of(e.validation));
  return best;
}

std::optional<Finding> no_better_than_chance(const RunLog& log, const Thresholds& t) {
  constexpr std::size_t kFewestEpochs = 3;
  const double constant = loss_of_constant(log), best = best_watched_loss(log);
  if (whole_epochs(log) < kFewestEpochs || !(best > (1 - t["chance_gain"]) * constant) ||
      !(last_training_loss(log) < (1 - t["chance_learnt"]) * constant))
    return {};
  return finding(
      Severity::kError, "",
      fmt::format("the {} loss was {:.4g} at best, while a constant prediction has {:.4g}; the "
                  "training loss fell to {:.4g}",
                  log.watched_part(), best, constant, last_training_loss(log)),
      "the inputs do not predict the targets: the model memorised the training rows",
      {words("check that each target belongs to its row, and that labels were not sorted or "
             "shuffled separately"),
       words("other columns")});
}

std::optional<Finding> few_rows(const RunLog& log, const Thresholds& t) {
  if (!log.data || log.epochs.empty()) return {};
  const double initial = initial_loss(log), train = last_training_loss(log);
  const double watched = loss_of(log.epochs.back().validation);
  if (static_cast<double>(log.data->rows) >= t["few_rows"] || !(train < 0.2 * initial) ||
      !(watched > 3 * train) || !(watched > 0.3 * initial))
    return {};
  return finding(
      Severity::kError, "",
      fmt::format("the model memorised its {} training rows: the training loss is {:.4g}, the {} "
                  "loss {:.4g}",
                  log.data->rows, train, log.watched_part(), watched),
      fmt::format("so few rows do not tell signal from noise, least of all for {} parameters",
                  log.run.parameters),
      {words("more rows: no setting replaces them")});
}

std::optional<Finding> inputs_not_normalized(const RunLog& log, const Thresholds& t) {
  // The input of a language model's first layer is learnt embeddings.
  if (log.probes.empty() || log.probes[0].step != 0 || log.run.task == "next_token") return {};
  for (const LayerStatistics& layer : log.probes[0].layers)
    for (const ActivationStatistics& a : layer.activations) {
      if (a.op != "input") continue;
      const double size = std::hypot(a.mean, a.std);
      if (!(size > t["input_high"]) && !(size < t["input_low"] && size > 0)) return {};
      std::string symptom = fmt::format(
          "the inputs of the first layer have mean {:.3g} and standard deviation {:.3g}", a.mean,
          a.std);
      if (const FeatureFacts* f = log.data ? widest_feature(*log.data) : nullptr)
        symptom += fmt::format("; the largest column is {}, mean {:.3g}, from {:.3g} to {:.3g}",
                               column_name(*f), f->mean, f->min, f->max);
      return finding(Severity::kWarning, "", symptom,
                     "one learning rate does not suit weights whose inputs differ so much in scale",
                     {set_data(log, "standardize", "zscore")});
    }
  return {};
}

std::optional<Finding> class_imbalance(const RunLog& log, const Thresholds& t) {
  if (!log.data || log.data->class_counts.size() < 2 || one_answer(log, t)) return {};
  const auto& counts = log.data->class_counts;
  const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
  if (static_cast<double>(*most) <=
          t["imbalance"] * static_cast<double>(std::max<std::int64_t>(*fewest, 1)) &&
      *fewest > 0)
    return {};
  const auto place = [&](auto it) { return static_cast<std::size_t>(it - counts.begin()); };
  const double share = static_cast<double>(*most) / static_cast<double>(log.data->rows);
  return finding(Severity::kWarning, "",
                 fmt::format("class {} has {} examples, class {} has {}: always predicting the "
                             "former has an accuracy of {:.0f} %",
                             class_name(log, place(most)), *most, class_name(log, place(fewest)),
                             *fewest, 100 * share),
                 "the data was collected so",
                 {words("more examples of the rare classes, or repeat them; --metric macro_f1 and "
                        "the confusion matrix say more than accuracy")});
}

std::optional<Finding> duplicate_rows(const RunLog& log, const Thresholds& t) {
  const Duplicates* d = log.data ? most_doubles(*log.data, /*between_parts=*/false) : nullptr;
  if (!d || static_cast<double>(d->rows) < t["duplicate_share"] * static_cast<double>(d->of))
    return {};
  return finding(Severity::kInfo, "",
                 fmt::format("{} of the {} rows of the {} set repeat an earlier one; the first is "
                             "row {}, equal to row {}",
                             d->rows, d->of, set_name(d->part), d->row, d->other_row),
                 "the same example was collected several times",
                 {words("keep one copy of each row")});
}

std::optional<Finding> constant_column(const RunLog& log, const Thresholds&) {
  if (!log.data) return {};
  for (const FeatureFacts& f : log.data->features) {
    // Pixels at the border of a picture are all 0.
    if (f.min != f.max || (f.min == 0 && f.name.empty()) || of_category(f) || log.data->rows < 2)
      continue;
    return finding(
        Severity::kInfo, "",
        fmt::format("{} is {:.4g} in all {} rows", column_name(f), f.min, log.data->rows),
        "a constant column says nothing about the target", {without(log, f)});
  }
  return {};
}

std::optional<Finding> leaked_rows(const RunLog& log, const Thresholds& t) {
  const Duplicates* d = log.data ? most_doubles(*log.data, /*between_parts=*/true) : nullptr;
  if (!d || static_cast<double>(d->of) < t["leak_least"] ||
      static_cast<double>(d->rows) < t["leak_share"] * static_cast<double>(d->of))
    return {};
  return finding(
      Severity::kWarning, "",
      fmt::format("{} of the {} rows of the {} set are also in the {} set; the first is "
                  "row {}, equal to row {}",
                  d->rows, d->of, set_name(d->part), set_name(d->other), d->row, d->other_row),
      "the data had duplicate rows when it was split: the scores are better than those "
      "on new examples",
      {words("remove duplicate rows before the data is split")});
}

constexpr Threshold kTargets[] = {
    {"target_high", 50, "root mean square of a regression's target that is not standardised"}};
constexpr Threshold kChance[] = {{"chance_gain", 0.05,
                                  "difference of a constant prediction's loss and the best loss, "
                                  "as a share of the former, below"},
                                 {"chance_learnt", 0.1,
                                  "difference of a constant prediction's loss and the training "
                                  "loss, as a share of the former, above"}};
constexpr Threshold kFewRows[] = {
    {"few_rows", 50, "number of training rows below which they are few"}};
constexpr Threshold kInputs[] = {
    {"input_low", 0.02, "root mean square of the first layer's inputs, below"},
    {"input_high", 5, "root mean square of the first layer's inputs, above"}};
constexpr Threshold kImbalance[] = {
    {"imbalance", 10, "examples of the most frequent class divided by those of the rarest"}};
constexpr Threshold kDuplicates[] = {{"duplicate_share", 0.05, "share of a set's rows"}};
constexpr Threshold kLeak[] = {
    {"leak_share", 0.01, "share of a set's rows"},
    {"leak_least", 10,
     "rows of a set below which it may hold every possible row, like a truth table"}};

constexpr Rule kDataRules[] = {
    {"data_not_finite",
     Cause::kData,
     "inputs that are NaN or infinite",
     "remove or fill in these values",
     {},
     data_not_finite,
     Cause::kInitialisation},
    {"one_answer",
     Cause::kData,
     "one class, or one target value, in all rows",
     "add rows with other targets",
     {},
     one_answer,
     Cause::kInitialisation},
    {"far_value",
     Cause::kData,
     "a value of a column that is far from all its others",
     "--data SPEC,missing-values=VALUE,missing=impute",
     {},
     far_value,
     Cause::kInitialisation},
    {"sets_differ",
     Cause::kData,
     "inputs of the validation or test set that are far from those of the training set",
     "bring the sets into the same units",
     {},
     sets_differ,
     Cause::kData},
    {"inputs_not_normalized", Cause::kData,
     "inputs of the first layer that are very large or very small",
     "--data SPEC,standardize=zscore", kInputs, inputs_not_normalized, Cause::kInitialisation},
    {"targets_not_normalized", Cause::kData, "targets of a regression that are very large",
     "--data SPEC,standardize=zscore", kTargets, targets_not_normalized, Cause::kInitialisation},
    {"few_rows", Cause::kData, "few rows, which the model memorised", "more rows", kFewRows,
     few_rows, Cause::kData},
    {"no_better_than_chance", Cause::kData,
     "predictions for new rows that are no better than a constant, however well the training rows "
     "are learnt",
     "check that each target belongs to its row", kChance, no_better_than_chance,
     Cause::kInitialisation},
    {"target_leakage",
     Cause::kData,
     "a column that alone determines the target",
     "--data SPEC,ignore=COLUMN",
     {},
     target_leakage},
    {"likely_leakage",
     Cause::kData,
     "a column that tells the target almost alone, where no other does",
     "--data SPEC,ignore=COLUMN",
     {},
     likely_leakage},
    {"leaked_rows", Cause::kData,
     "rows of the validation or test set that are also in an earlier set",
     "remove duplicate rows before the data is split", kLeak, leaked_rows},
    {"class_imbalance", Cause::kData,
     "classes with many times the examples of others, or with none",
     "more examples of the rare classes; --metric macro_f1", kImbalance, class_imbalance},
    {"duplicate_rows", Cause::kData, "rows that repeat an earlier one of the same set",
     "keep one copy of each row", kDuplicates, duplicate_rows},
    {"constant_column",
     Cause::kData,
     "a constant column",
     "--data SPEC,ignore=COLUMN",
     {},
     constant_column},
};

}  // namespace

constexpr std::span<const Rule> rules_of_data = kDataRules;

}  // namespace limpid::train::detail
