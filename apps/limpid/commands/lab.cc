// limpid lab: small experiments that show what networks can and cannot do.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>

#include "apps/limpid/lab/activations.h"
#include "apps/limpid/lab/approximation.h"
#include "apps/limpid/lab/collapse.h"
#include "apps/limpid/lab/init.h"
#include "apps/limpid/lab/perceptron.h"
#include "apps/limpid/support/command.h"
#include "apps/limpid/support/output.h"
#include "limpid/formats/file.h"
#include "limpid/inspect/table.h"
#include "limpid/report/chart.h"
#include "limpid/report/html.h"
#include "limpid/report/page.h"

namespace limpid::tool {
namespace {

// The result of an experiment.
struct Outcome {
  std::string title, about;
  Table table;
  std::vector<std::string> notes;
  std::vector<report::Chart> charts;
};

report::Cells escaped_cells(const std::vector<std::string>& cells) {
  report::Cells result;
  for (const std::string& cell : cells) result.push_back(report::escaped(cell));
  return result;
}

std::string html_of(const Outcome& outcome) {
  report::Cells heading;
  for (const Column& column : outcome.table.columns)
    heading.push_back(report::escaped(column.title));
  std::vector<report::Cells> rows;
  for (const auto& row : outcome.table.rows) rows.push_back(escaped_cells(row));
  std::string body = fmt::format("<h1>{}</h1>\n<p class=\"soft\">{}</p>\n",
                                 report::escaped(outcome.title), report::escaped(outcome.about));
  body += report::section("Numbers", report::table("", heading, rows));
  for (const std::string& note : outcome.notes)
    body += fmt::format("<p>{}</p>\n", report::escaped(note));
  std::string charts;
  for (const report::Chart& chart : outcome.charts) charts += report::to_html(chart);
  body += report::section("Pictures", "<div class=\"charts\">\n" + charts + "</div>\n");
  return report::page(outcome.title, body);
}

Json json_of_outcome(const Outcome& outcome) {
  Json charts = Json::array();
  for (const report::Chart& chart : outcome.charts) {
    Json series = Json::array();
    for (const report::Series& s : chart.series) {
      Json x = Json::array(), y = Json::array();
      for (const report::Point& point : s.points) {
        x.push_back(json_of(point.x));
        y.push_back(json_of(point.y));
      }
      series.push_back({{"name", s.name}, {"x", x}, {"y", y}});
    }
    charts.push_back({{"title", chart.title},
                      {"x_label", chart.x_label},
                      {"y_label", chart.y_label},
                      {"series", series}});
  }
  Json columns = Json::array();
  for (const Column& column : outcome.table.columns) columns.push_back(column.title);
  Json rows = Json::array();
  for (const auto& row : outcome.table.rows) rows.push_back(row);
  return Json{{"title", outcome.title}, {"about", outcome.about}, {"columns", columns},
              {"rows", rows},           {"notes", outcome.notes}, {"charts", charts}};
}

void show(const Outcome& outcome, const std::string& html_path, bool json) {
  const bool to_output = !html_path.empty() && is_standard_output(html_path);
  if (json && to_output) throw UsageError("--json: standard output is used for the page");
  if (!html_path.empty()) {
    const std::string html = html_of(outcome);
    const std::span<const std::byte> bytes = std::as_bytes(std::span(html));
    write_file_atomically(html_path, {&bytes, 1});
  }
  if (to_output) return;
  if (json) return print_json(json_of_outcome(outcome));
  print(outcome.about + "\n\n" + to_text(outcome.table));
  for (const std::string& note : outcome.notes) print(note + "\n");
  if (!html_path.empty()) print(fmt::format("saved {}\n", printable(html_path)));
}

// Adds an experiment as a command with --html and --json. The caller adds its own options.
Command add_experiment(Command& lab, const std::string& name, const std::string& help,
                       std::function<Outcome()> run) {
  Command command = lab.command(name, help);
  auto html = std::make_shared<std::string>();
  command.option("--html", *html, "Write an HTML page with charts, too").path("FILE");
  auto json = std::make_shared<bool>(false);
  command.flag("--json", *json, "Print JSON");
  command.run([html, json, run = std::move(run)] { show(run(), *html, *json); });
  return command;
}

void add_seed(Command& command, std::uint64_t& seed) {
  command.option("--seed", seed, "Random seed");
}

void add_size(Command& command, const std::string& name, std::int64_t& size, std::int64_t most,
              const std::string& help) {
  command.option(name, size, help).check(within(1, most));
}

void add_perceptron_lab(Command& lab) {
  auto epochs = std::make_shared<std::int64_t>(100);
  Command command = add_experiment(
      lab, "perceptron",
      "Show which truth tables Rosenblatt's perceptron learns, and which it never does", [epochs] {
        std::vector<lab::Lesson> lessons;
        std::vector<std::string> notes;
        for (const lab::TruthTable& t : lab::truth_tables()) {
          lessons.push_back(lab::learn(t, *epochs));
          notes.push_back(fmt::format("{}: {}", t.name, lab::ending(lessons.back())));
        }
        return Outcome{"The perceptron",
                       "Rosenblatt's rule from zero weights, rate 1, the four corners in order: "
                       "mistakes by epoch.",
                       lab::to_table(lessons), notes, lab::charts_of(lessons)};
      });
  add_size(command, "--epochs", *epochs, 1000, "Maximum number of epochs");
}

void add_init_lab(Command& lab) {
  auto options = std::make_shared<lab::SpreadOptions>();
  Command command = add_experiment(
      lab, "init",
      "Measure the standard deviation of activations through many layers, for each initialisation",
      [options] {
        const std::vector<lab::Spread> spreads = lab::spreads(*options);
        return Outcome{
            "First weights",
            fmt::format("64 standard normal rows through {} layers of {} units without biases: "
                        "standard deviation after a layer; \"over\" is beyond f32.",
                        options->layers, options->width),
            lab::to_table(spreads),
            {},
            lab::charts_of(spreads)};
      });
  add_size(command, "--layers", options->layers, 200, "Number of layers");
  add_size(command, "--width", options->width, 1024, "Units per layer");
  add_seed(command, options->seed);
}

void add_activations_lab(Command& lab) {
  add_experiment(
      lab, "activations", "List every activation: range, slope, and where it saturates", [] {
        const std::vector<lab::ActivationCurve> curves = lab::activation_curves();
        return Outcome{
            "Activations",
            fmt::format("Range and steepest slope; the slope measured from -8 to 8; flat is "
                        "where it is below {}.",
                        nn::kFlat),
            lab::to_table(curves),
            {},
            lab::charts_of(curves)};
      });
}

void add_collapse_lab(Command& lab) {
  auto options = std::make_shared<lab::CollapseOptions>();
  Command command = add_experiment(
      lab, "collapse", "Show which layers fold into one, and how much that changes the outputs",
      [options] {
        const std::vector<lab::Collapse> rows = lab::collapses(*options);
        std::vector<std::string> notes;
        for (const lab::Collapse& r : rows) {
          if (r.done.empty()) notes.push_back(r.network + ": nothing folds");
          for (const std::string& done : r.done) notes.push_back(r.network + ": " + done);
        }
        return Outcome{"Collapse",
                       fmt::format("Two layers, {} to {} to {}, for 101 examples: before and after "
                                   "collapse, and the largest change of an output at inference.",
                                   options->in, options->hidden, options->out),
                       lab::to_table(rows), notes, lab::charts_of(rows)};
      });
  add_size(command, "--in", options->in, 256, "Number of input features");
  add_size(command, "--hidden", options->hidden, 1024, "Number of hidden units");
  add_size(command, "--out", options->out, 256, "Number of outputs");
  add_seed(command, options->seed);
}

void add_approximation_lab(Command& lab) {
  auto options = std::make_shared<lab::ApproximationOptions>();
  Command command = add_experiment(
      lab, "approximation", "Train networks with one hidden layer on XOR, abs(x) and a sine",
      [options] {
        const std::vector<lab::Approximation> rows = lab::approximations(*options);
        return Outcome{"One hidden layer",
                       "Adam, all points in every step; the largest error over the points, of "
                       "probabilities for XOR.",
                       lab::to_table(rows),
                       {},
                       lab::charts_of(rows)};
      });
  command
      .option("--units", options->units,
              "Number of hidden units; default: too few for each task, and enough")
      .check(within(1, 1024));
  add_seed(command, options->seed);
}

}  // namespace

void add_lab(Command& app) {
  Command lab = app.command("lab", "Run small experiments on what networks can and cannot learn");
  lab.require_command();
  for (auto* add : {add_perceptron_lab, add_init_lab, add_activations_lab, add_collapse_lab,
                    add_approximation_lab})
    add(lab);
}

}  // namespace limpid::tool
