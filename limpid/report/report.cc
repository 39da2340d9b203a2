#include "limpid/report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "limpid/core/number_text.h"
#include "limpid/inspect/table.h"
#include "limpid/report/chart.h"
#include "limpid/report/html.h"
#include "limpid/report/page.h"

namespace limpid::report {
namespace {

using train::EpochEvent;
using train::Finding;
using train::LayerStatistics;
using train::Numbers;
using train::ProbeEvent;
using train::RunLog;

// The largest confusion matrix shown, in rows and columns.
constexpr std::size_t kMostClasses = 40;
// The largest numbers of metric curves and of layers in a chart.
constexpr std::size_t kMostMetrics = 64;
constexpr std::size_t kMostLayers = 256;

// A name of a metric for people: "macro_f1" is "macro f1".
std::string metric_title(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// ---- the results

std::string tile(std::string_view name, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value));
}

std::string duration(double seconds) {
  if (!(seconds >= 60)) return fmt::format("{:.3g} s", seconds);
  if (!(seconds < 3600 * 1000)) return fmt::format("{:.3g} h", seconds / 3600);
  // Rounded first: 119.6 s are 2 min 0 s.
  const std::int64_t whole = std::llround(seconds), minutes = whole / 60;
  return minutes < 60 ? fmt::format("{} min {} s", minutes, whole % 60)
                      : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::string tiles(const RunLog& log) {
  std::string text = "<dl class=\"tiles\">\n";
  const Numbers* numbers = nullptr;
  std::string part;
  if (log.end && !log.end->test.metrics.empty()) {
    numbers = &log.end->test.metrics;
    part = "test";
  } else if (!log.epochs.empty()) {
    numbers = &log.epochs.back().validation;
    part = log.watched_part();
  }
  if (numbers)
    for (const auto& [name, value] : *numbers)
      text += tile(fmt::format("{} ({})", metric_title(name), part), short_number(value));
  if (!log.epochs.empty()) {
    text += tile("epochs", grouped(log.epochs.back().epoch));
    if (log.end && log.end->best_epoch > 0)
      text += tile("best epoch", grouped(log.end->best_epoch));
  }
  text += tile("steps", grouped(log.steps_done()));
  text += tile("parameters", grouped(log.run.parameters));
  text += tile("ended", log.end ? log.end->reason : "not yet, or killed");
  if (log.end) text += tile("time", duration(log.end->seconds));
  return text + "</dl>\n";
}

// ---- what the doctor found

std::string findings_html(const std::vector<Finding>& findings,
                          const std::vector<Finding>& earlier) {
  if (findings.empty() && earlier.empty())
    return fmt::format("<p>None of the {} rules found anything wrong.</p>\n",
                       train::rules().size());
  std::string text;
  for (const Finding& f : findings)
    text += fmt::format(
        "<div class=\"finding {0}\"><h3><span>{0}</span> "
        "{1}{2}</h3><dl><dt>symptom</dt><dd>{3}</dd>"
        "<dt>cause</dt><dd>{4}</dd><dt>{5}</dt><dd>{6}</dd></dl></div>\n",
        name(f.severity), escaped(f.rule), f.layer.empty() ? "" : " in " + escaped(f.layer),
        escaped(f.symptom), escaped(f.cause), f.follows_from.empty() ? "try" : "follows from",
        escaped(f.follows_from.empty() ? f.fix : f.follows_from));
  // Without its remedy, which may now be the opposite of what helps.
  for (const Finding& f : earlier)
    text += fmt::format("<p>At step {}, no longer at the end: {}: {}</p>\n", grouped(f.step),
                        escaped(f.rule), escaped(f.symptom));
  return text;
}

// ---- the model

std::string model_html(const RunLog& log, const Beside& beside) {
  std::string text;
  if (beside.summary) {
    std::vector<Cells> rows;
    for (const SummaryRow& row : beside.summary->rows)
      rows.push_back({escaped(row.layer), escaped(row.op), escaped(tuple_text(row.output)),
                      row.parameters ? grouped(row.parameters) : "",
                      row.multiply_adds ? grouped(row.multiply_adds) : ""});
    rows.push_back({"total", "", "", grouped(beside.summary->parameters),
                    grouped(beside.summary->multiply_adds)});
    text += table("", {"layer", "op", "output", "parameters", "multiply-adds"}, rows);
  }
  const auto& data = log.run.data;
  text += fmt::format(
      "<p>{}: {} examples for training, {} for validation, {} for testing; {} features, {} "
      "outputs.</p>\n",
      escaped(data.name), grouped(data.train), grouped(data.validation), grouped(data.test),
      grouped(data.features), grouped(data.outputs));
  return text;
}

// ---- curves

Series step_series(const RunLog& log, std::string name, double train::StepEvent::*field) {
  Series series{std::move(name), {}};
  for (const train::StepEvent& s : log.steps)
    series.points.push_back({static_cast<double>(s.step), s.*field});
  return series;
}

Series epoch_series(const RunLog& log, std::string name, Numbers EpochEvent::*part,
                    std::string_view metric) {
  Series series{std::move(name), {}};
  for (const EpochEvent& e : log.epochs)
    if (const double* value = (e.*part).find(metric))
      series.points.push_back({static_cast<double>(e.step), *value});
  return series;
}

std::string curves(const RunLog& log) {
  if (log.steps.empty() && log.epochs.empty()) return "";
  Series batches = step_series(log, "training, by step", &train::StepEvent::loss);
  batches.faint = true;
  std::string text = "<div class=\"charts\">\n";
  text +=
      to_html({"Loss",
               "step",
               "loss",
               {epoch_series(log, "training, by epoch", &EpochEvent::train, "loss"),
                epoch_series(log, std::string(log.watched_part()), &EpochEvent::validation, "loss"),
                batches}});
  std::vector<std::string> metrics;
  for (const EpochEvent& e : log.epochs)
    for (const auto& [name, value] : e.validation)
      if (name != "loss" && metrics.size() < kMostMetrics &&
          std::find(metrics.begin(), metrics.end(), name) == metrics.end())
        metrics.push_back(name);
  // Metrics between 0 and 1 share a chart; errors have one each, in their own units.
  Chart shares{fmt::format("Metrics on the {} set", log.watched_part()), "step", "score", {}};
  for (const std::string& name : metrics) {
    Series series = epoch_series(log, metric_title(name), &EpochEvent::validation, name);
    if (name == "rmse" || name == "mae")
      text += to_html(
          {fmt::format("{} on the {} set", name, log.watched_part()), "step", name, {series}});
    else
      shares.series.push_back(series);
  }
  if (!shares.series.empty()) text += to_html(shares);
  text += to_html({"Learning rate",
                   "step",
                   "rate",
                   {step_series(log, "learning rate", &train::StepEvent::learning_rate)}});
  text += to_html({"Gradient norm",
                   "step",
                   "L2 norm",
                   {step_series(log, "gradient", &train::StepEvent::gradient_norm)},
                   /*log_y=*/true});
  return text + "</div>\n";
}

// ---- layers

// A line for each layer, over the probes.
Chart layer_chart(const RunLog& log, Chart chart,
                  const std::function<std::optional<double>(const LayerStatistics&)>& measure) {
  for (const ProbeEvent& probe : log.probes)
    for (const LayerStatistics& layer : probe.layers) {
      const std::optional<double> value = measure(layer);
      if (!value) continue;
      auto found = std::find_if(chart.series.begin(), chart.series.end(),
                                [&](const Series& s) { return s.name == layer.name; });
      if (found == chart.series.end()) {
        if (chart.series.size() == kMostLayers) continue;
        found = chart.series.insert(found, {layer.name, {}});
      }
      found->points.push_back({static_cast<double>(probe.step), *value});
    }
  return chart;
}

std::optional<double> norm(const LayerStatistics& layer,
                           double train::ParameterStatistics::*field) {
  if (layer.parameters.empty()) return {};
  double squares = 0;
  for (const train::ParameterStatistics& p : layer.parameters) squares += p.*field * p.*field;
  return std::sqrt(squares);
}

// The last one of a layer: after its activation, if it has one.
std::function<std::optional<double>(const LayerStatistics&)> activation(
    double train::ActivationStatistics::*field) {
  return [field](const LayerStatistics& layer) -> std::optional<double> {
    if (layer.activations.empty()) return {};
    return layer.activations.back().*field;
  };
}

// Statistics that only attention layers and residual blocks have.
std::string transformer_charts(const RunLog& log) {
  using train::AttentionStatistics;
  const auto of_heads = [](double AttentionStatistics::*field) {
    return [field](const LayerStatistics& layer) -> std::optional<double> {
      if (layer.attention.empty()) return {};
      return layer.attention.front().*field;
    };
  };
  const auto stream = [](const LayerStatistics& layer) -> std::optional<double> {
    if (layer.activations.empty() || layer.activations.back().op != "residual") return {};
    return std::hypot(layer.activations.back().mean, layer.activations.back().std);
  };
  std::string text;
  for (const Chart& chart :
       {layer_chart(log, {"Residual stream after each block", "step", "RMS", {}, true}, stream),
        layer_chart(log, {"Attention entropy; 1: equal attention to all keys", "step", "share", {}},
                    of_heads(&AttentionStatistics::entropy)),
        layer_chart(log, {"Attention entropy of the lowest head", "step", "share", {}},
                    of_heads(&AttentionStatistics::lowest_head))})
    if (!chart.series.empty()) text += to_html(chart);
  return text;
}

std::string layers_html(const RunLog& log) {
  if (log.probes.empty()) return "";
  const auto ratio = [](const LayerStatistics& layer) -> std::optional<double> {
    const auto update = norm(layer, &train::ParameterStatistics::update_norm);
    const auto weight = norm(layer, &train::ParameterStatistics::norm);
    if (!update || !(*weight > 0)) return {};
    return *update / *weight;
  };
  const auto gradient = [](const LayerStatistics& layer) {
    return norm(layer, &train::ParameterStatistics::gradient_norm);
  };
  using A = train::ActivationStatistics;
  std::string text = "<div class=\"charts\">\n";
  text +=
      to_html(layer_chart(log, {"Gradient norm by layer", "step", "L2 norm", {}, true}, gradient));
  text += to_html(layer_chart(
      log, {"Update-to-weight ratio by layer", "step", "ratio", {}, true, 1e-3, "1e-3: typical"},
      ratio));
  text +=
      to_html(layer_chart(log, {"Activations: mean", "step", "mean", {}}, activation(&A::mean)));
  text += to_html(layer_chart(log, {"Activations: standard deviation", "step", "std", {}},
                              activation(&A::std)));
  text += to_html(layer_chart(log, {"Activations: share of zeros", "step", "share", {}},
                              activation(&A::zero_share)));
  text += to_html(layer_chart(log, {"Dead units: 0 for a whole batch", "step", "share", {}},
                              activation(&A::dead_share)));
  text += to_html(layer_chart(log, {"Saturated activations", "step", "share", {}},
                              activation(&A::saturated_share)));
  text += transformer_charts(log);
  return text + "</div>\n";
}

// ---- texts

// Samples that a language model generated during training: the first, the last, and some in
// between.
std::string samples_html(const RunLog& log) {
  constexpr std::size_t kMostSamples = 12;
  const std::size_t all = log.samples.size(), shown = std::min(all, kMostSamples);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const train::SampleEvent& sample = log.samples[shown < 2 ? 0 : i * (all - 1) / (shown - 1)];
    text += fmt::format("<h3>After step {}</h3>\n<pre>{}</pre>\n", grouped(sample.step),
                        escaped(sample.text));
  }
  return text;
}

// ---- classes

std::string class_name(const RunLog& log, std::size_t c) {
  const auto& names = log.run.data.class_names;
  return c < names.size() ? escaped(names[c]) : fmt::format("{}", c);
}

// A cell's darkness is its share of the row.
std::string confusion_html(const RunLog& log) {
  const auto& confusion = log.end->test.confusion;
  if (confusion.empty() || confusion.size() > kMostClasses) return "";
  Cells heading{"label \\ prediction"};
  std::vector<Cells> rows;
  for (std::size_t label = 0; label < confusion.size(); ++label) {
    heading.push_back(class_name(log, label));
    double total = 0;
    for (std::int64_t n : confusion[label]) total += static_cast<double>(n);
    Cells row{fmt::format("<th>{}</th>", class_name(log, label))};
    for (std::size_t answer = 0; answer < confusion[label].size(); ++answer) {
      const std::int64_t n = confusion[label][answer];
      const double share = total > 0 ? static_cast<double>(n) / total : 0;
      row.push_back(
          fmt::format("<td style=\"background: rgb(var(--heat) / {:.3f})\" title=\"{} predicted as "
                      "{}: {}, {:.1f} %\">{}</td>",
                      n > 0 ? 0.08 + 0.52 * share : 0, class_name(log, label),
                      class_name(log, answer), n, 100 * share, n));
    }
    rows.push_back(std::move(row));
  }
  return table("confusion", heading, rows);
}

std::string scores_html(const RunLog& log) {
  std::vector<Cells> rows;
  const auto& all = log.end->test.per_class;
  for (std::size_t c = 0; c < all.size(); ++c)
    rows.push_back({class_name(log, c), fmt::format("{:.4f}", all[c].precision),
                    fmt::format("{:.4f}", all[c].recall), fmt::format("{:.4f}", all[c].f1)});
  return rows.empty() ? ""
                      : "<h2>Scores by class</h2>\n" +
                            table("", {"class", "precision", "recall", "F1"}, rows);
}

std::string mistakes_html(const RunLog& log, const std::vector<Mistake>& mistakes) {
  if (mistakes.empty()) return "";
  std::string text = "<div class=\"mistakes\">\n";
  for (const Mistake& m : mistakes) {
    const std::string label = class_name(log, static_cast<std::size_t>(m.label));
    const std::string answer = class_name(log, static_cast<std::size_t>(m.answer));
    text += fmt::format(
        "<figure><img src=\"{}\" alt=\"example {}\"><figcaption>{} predicted as {}<br><span "
        "class=\"soft\">at {:.1f} %, row {}</span></figcaption></figure>\n",
        png_uri(m.pixels, m.width), m.row, label, answer, 100 * m.probability, m.row);
  }
  return text + "</div>\n";
}

// ---- how to repeat it

// An argument as a shell takes it.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string shell_line(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (const std::string& word : command) words.push_back(shell_word(word));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string repeat_html(const RunLog& log) {
  std::string commands = shell_line(log.run.command);
  for (const train::ResumeEvent& r : log.resumes)
    if (!r.command.empty()) commands += "\n" + shell_line(r.command);
  const auto& e = log.run.environment;
  return fmt::format(
      "<pre>{}</pre>\n<p class=\"soft\">limpid {}; {}, {} {}; {}; {}; {}</p>\n<pre>{}</pre>\n<p "
      "class=\"soft\">To inspect its weights, its predictions and any of its steps in a browser: "
      "<code>limpid view RUN</code>, where RUN is the folder of this file.</p>\n",
      escaped(commands), escaped(log.run.version), escaped(e.isa), e.threads,
      e.threads == 1 ? "thread" : "threads", escaped(e.cpu), escaped(e.system), escaped(e.compiler),
      escaped(log.run.config.dump({.replace_invalid = true})));
}

}  // namespace

std::string report_html(const RunLog& log, const std::vector<Finding>& findings,
                        const Beside& beside) {
  std::string notes;
  for (const std::string& note : log.notes)
    notes += fmt::format("<p class=\"soft\">{}</p>\n", escaped(note));
  for (const train::ResumeEvent& r : log.resumes)
    notes += fmt::format("<p class=\"soft\">Resumed at step {}.</p>\n", grouped(r.step));
  std::string text =
      fmt::format("<h1>{}</h1>\n<p class=\"soft\">{} with {} parameters</p>\n",
                  escaped(log.run.data.name), escaped(log.run.task), grouped(log.run.parameters));
  text += tiles(log) + notes;
  text += section("What the doctor found",
                  findings_html(findings, train::earlier_findings(log, findings)));
  text += section("Curves", curves(log));
  text += section("Layers", layers_html(log));
  text += section("Text samples", samples_html(log));
  if (log.end) {
    text += section("Confusion matrix on the test set", confusion_html(log));
    text += section("Most confident errors", mistakes_html(log, beside.mistakes));
    text += scores_html(log);
  }
  text += section("Model and data", model_html(log, beside));
  text += section("Reproduce", repeat_html(log));
  return page(log.run.data.name + ": a training run of limpid", text);
}

}  // namespace limpid::report
