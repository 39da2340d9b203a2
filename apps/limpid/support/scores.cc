#include "apps/limpid/support/scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "limpid/core/number_text.h"
#include "limpid/data/standardize.h"
#include "limpid/inspect/table.h"
#include "limpid/ops/constant.h"
#include "limpid/train/loop/evaluator.h"

namespace limpid::tool {
namespace {

// The largest confusion matrix that is printed.
constexpr std::size_t kMostClasses = 20;
// With more classes, only those with the lowest F1 are printed.
constexpr std::size_t kMostRows = 100;

std::string percent(double share) { return fmt::format("{:.2f} %", unsigned_nan(100 * share)); }

Table metrics_table(const train::TestResult& result) {
  Table table{{{"metric", Align::kLeft}, {"value", Align::kRight}}, {}};
  for (const auto& [name, value] : result.metrics)
    table.rows.push_back({name, score_text(name, value)});
  return table;
}

// In their order.
std::vector<std::size_t> shown_classes(const train::TestResult& result) {
  std::vector<std::size_t> classes(result.per_class.size());
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  if (classes.size() <= kMostRows) return classes;
  std::stable_sort(classes.begin(), classes.end(), [&](std::size_t a, std::size_t b) {
    return result.per_class[a].f1 < result.per_class[b].f1;
  });
  classes.resize(kMostRows);
  std::sort(classes.begin(), classes.end());
  return classes;
}

Table class_table(const Dataset& data, const train::TestResult& result) {
  Table table{{{data.has_classes() ? "class" : "label", Align::kLeft},
               {"precision", Align::kRight},
               {"recall", Align::kRight},
               {"F1", Align::kRight}},
              {}};
  const bool counted = !result.confusion.empty();
  if (counted) table.columns.push_back({"examples", Align::kRight});
  for (const std::size_t c : shown_classes(result)) {
    const train::ClassScores& s = result.per_class[c];
    table.rows.push_back(
        {class_name(data, c), percent(s.precision), percent(s.recall), percent(s.f1)});
    if (!counted) continue;
    const auto& row = result.confusion[c];
    table.rows.back().push_back(grouped(std::accumulate(row.begin(), row.end(), std::int64_t{0})));
  }
  return table;
}

Table target_table(const Dataset& data, const train::TestResult& result) {
  Table table{{{"target", Align::kLeft},
               {"rmse", Align::kRight},
               {"mae", Align::kRight},
               {"r2", Align::kRight}},
              {}};
  for (std::size_t t = 0; t < result.per_target.size(); ++t) {
    const train::TargetScores& s = result.per_target[t];
    table.rows.push_back(
        {class_name(data, t), short_number(s.rmse), short_number(s.mae), short_number(s.r2)});
  }
  return table;
}

Table confusion_table(const Dataset& data, const train::TestResult& result) {
  Table table{{{"label \\ prediction", Align::kLeft}}, {}};
  for (std::size_t c = 0; c < result.confusion.size(); ++c)
    table.columns.push_back({class_name(data, c), Align::kRight});
  for (std::size_t c = 0; c < result.confusion.size(); ++c) {
    table.rows.push_back({class_name(data, c)});
    for (const std::int64_t count : result.confusion[c])
      table.rows.back().push_back(count == 0 ? "." : std::to_string(count));
  }
  return table;
}

// The loss of the model's training, else the default of its task.
train::Loss loss_of(const Model& model, Task task) {
  const std::optional<train::Loss> loss = train::loss_config_of(model);
  return loss && train::fits(loss->kind, task) ? *loss : train::usual_loss(task);
}

}  // namespace

std::string class_name(const Dataset& data, std::size_t c) {
  const auto& names = data.has_classes() ? data.class_names : data.target_names;
  return c < names.size() ? names[c] : std::to_string(c);
}

train::TestResult scores_of(const Model& model, const Dataset& test, ThreadPool& pool) {
  // Bound parameters are no inputs, so the terms of the loss that need them are added as outputs.
  const train::Losses losses = [&, in_scale = train::losses_in_scale(loss_of(model, test.task))](
                                   const Args&, const Value& output, const Value& target) {
    Args values;
    for (const auto& [name, tensor] : model.params)
      if (is_standardization(name)) values.set(name, constant(output.builder(), tensor));
    return in_scale(values, output, target);
  };
  return train::Evaluator(bound(model), losses, test, &pool)(Params{});
}

std::string score_text(const std::string& metric, double value) {
  const bool share = metric.find("accuracy") != std::string::npos || metric == "exact_match" ||
                     metric.starts_with("macro_");
  return share ? percent(value) : short_number(value);
}

std::string scores_text(const Dataset& data, const train::TestResult& result) {
  std::string text = to_text(metrics_table(result));
  if (result.per_class.size() > kMostRows)
    text += fmt::format("\nthe {} of {} with the lowest F1:\n", kMostRows,
                        grouped(static_cast<std::int64_t>(result.per_class.size())) + " classes");
  if (!result.per_target.empty()) text += "\n" + to_text(target_table(data, result));
  if (!result.per_class.empty()) text += "\n" + to_text(class_table(data, result));
  if (!result.confusion.empty() && result.confusion.size() <= kMostClasses)
    text += "\n" + to_text(confusion_table(data, result));
  return text;
}

Json scores_json(const train::TestResult& result) {
  Json json = Json::object();
  for (const auto& [name, value] : result.metrics) json[name] = json_of(value);
  if (!result.per_class.empty()) {
    json["per_class"] = Json::array();
    for (const train::ClassScores& s : result.per_class)
      json["per_class"].push_back({{"precision", s.precision}, {"recall", s.recall}, {"f1", s.f1}});
  }
  if (!result.per_target.empty()) {
    json["per_target"] = Json::array();
    for (const train::TargetScores& s : result.per_target)
      json["per_target"].push_back(
          {{"rmse", json_of(s.rmse)}, {"mae", json_of(s.mae)}, {"r2", json_of(s.r2)}});
  }
  if (!result.confusion.empty()) json["confusion"] = result.confusion;
  return json;
}

}  // namespace limpid::tool
