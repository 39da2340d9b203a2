// The doctor's rules on the data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/in_quotes.h"
#include "limpid/train/detail/rules.h"

namespace limpid::train::detail {
namespace {

Finding finding(Severity severity, std::string symptom, std::string cause, std::string fix) {
  return {"", severity, "", std::move(symptom), std::move(cause), std::move(fix), 0};
}

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

// The worst of the doubles between parts, or inside of one.
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
      Severity::kError,
      fmt::format("{} of the inputs are not finite; the first is {} in row {}, column {} of "
                  "the {} part",
                  log.data->non_finite, first.value, first.row, first.column, first.part),
      "missing values, or a division by 0 when the data was made",
      "remove these rows, or fill in the column's mean");
}

std::optional<Finding> inputs_not_normalized(const RunLog& log, const Thresholds& t) {
  // What reaches the first layer of a language model is learnt.
  if (log.probes.empty() || log.probes[0].step != 0 || log.run.task == "next_token") return {};
  for (const LayerStatistics& layer : log.probes[0].layers)
    for (const ActivationStatistics& a : layer.activations) {
      if (a.op != "input") continue;
      const double size = std::hypot(a.mean, a.std);
      if (!(size > t["input_high"]) && !(size < t["input_low"] && size > 0)) return {};
      std::string symptom = fmt::format(
          "what reaches the first layer has mean {:.3g} and standard "
          "deviation {:.3g}",
          a.mean, a.std);
      if (const FeatureFacts* f = log.data ? widest_feature(*log.data) : nullptr)
        symptom += fmt::format("; the largest column is {}, mean {:.3g}, from {:.3g} to {:.3g}",
                               column_name(*f), f->mean, f->min, f->max);
      return finding(Severity::kWarning, symptom,
                     "one learning rate cannot suit weights whose inputs differ so much in size",
                     "standardize=zscore behind --data's name");
    }
  return {};
}

std::optional<Finding> class_imbalance(const RunLog& log, const Thresholds& t) {
  if (!log.data || log.data->class_counts.size() < 2) return {};
  const auto& counts = log.data->class_counts;
  const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
  if (static_cast<double>(*most) <=
          t["imbalance"] * static_cast<double>(std::max<std::int64_t>(*fewest, 1)) &&
      *fewest > 0)
    return {};
  const auto place = [&](auto it) { return static_cast<std::size_t>(it - counts.begin()); };
  const double share = static_cast<double>(*most) / static_cast<double>(log.data->rows);
  return finding(
      Severity::kWarning,
      fmt::format("class {} has {} examples, class {} has {}: always answering the former "
                  "would be right in {:.0f} % of the cases",
                  class_name(log, place(most)), *most, class_name(log, place(fewest)), *fewest,
                  100 * share),
      "the data was gathered so",
      "more examples of the rare classes, or theirs repeated; --metric macro_f1 and the confusion "
      "matrix judge better than accuracy");
}

std::optional<Finding> duplicate_rows(const RunLog& log, const Thresholds& t) {
  const Duplicates* d = log.data ? most_doubles(*log.data, /*between_parts=*/false) : nullptr;
  if (!d || static_cast<double>(d->rows) < t["duplicate_share"] * static_cast<double>(d->of))
    return {};
  return finding(
      Severity::kInfo,
      fmt::format("{} of the {} rows of the {} part repeat an earlier one; the first is row "
                  "{}, like row {}",
                  d->rows, d->of, d->part, d->row, d->other_row),
      "the same example was gathered several times", "keep one of each");
}

std::optional<Finding> leaked_rows(const RunLog& log, const Thresholds& t) {
  const Duplicates* d = log.data ? most_doubles(*log.data, /*between_parts=*/true) : nullptr;
  if (!d || static_cast<double>(d->of) < t["leak_least"] ||
      static_cast<double>(d->rows) < t["leak_share"] * static_cast<double>(d->of))
    return {};
  return finding(
      Severity::kWarning,
      fmt::format("{} of the {} rows of the {} part are also in the {} part; the first is "
                  "row {}, like row {}",
                  d->rows, d->of, d->part, d->other, d->row, d->other_row),
      "the parts were cut from data with repeated rows: what they say about new examples "
      "is too good",
      "keep one of each row before the data is split");
}

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
    {"data_not_finite",
     "inputs that are NaN or infinite",
     "remove or fill in these values",
     {},
     data_not_finite},
    {"inputs_not_normalized", "inputs of the first layer that are very large or very small",
     "--data SPEC,standardize=zscore", kInputs, inputs_not_normalized},
    {"class_imbalance", "classes with many times the examples of others, or with none",
     "more examples of the rare classes; --metric macro_f1", kImbalance, class_imbalance},
    {"duplicate_rows", "rows that repeat an earlier one of the same part", "keep one of each",
     kDuplicates, duplicate_rows},
    {"leaked_rows", "rows of the validation or test part that are also in an earlier part",
     "keep one of each row before the data is split", kLeak, leaked_rows},
};

}  // namespace

constexpr std::span<const Rule> rules_of_data = kRules;

}  // namespace limpid::train::detail
