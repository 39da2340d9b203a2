// limpid report: one HTML page about a run.
#include "limpid/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "apps/limpid/commands/report.h"
#include "apps/limpid/support/command.h"
#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/output.h"
#include "limpid/core/error.h"
#include "limpid/formats/file.h"
#include "limpid/formats/model.h"
#include "limpid/inspect/table.h"
#include "limpid/train/config/config.h"
#include "limpid/train/loop/metrics.h"
#include "limpid/train/run/earlier_runs.h"
#include "limpid/train/run/run_folder.h"
#include "limpid/train/run/run_setup.h"

namespace limpid::tool {
namespace {

constexpr std::size_t kMistakes = 24;

struct ModelAnswer {
  std::int64_t row, label, answer;
  double probability;
};

// The wrong predictions, those with the highest probability first. Where a logit is NaN there is
// none.
std::vector<ModelAnswer> wrong_answers(const Tensor& logits, const Tensor& labels) {
  const std::int64_t rows = logits.shape()[0];
  const auto classes = static_cast<std::size_t>(logits.shape()[1]);
  std::vector<ModelAnswer> wrong;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = logits.values<float>().subspan(static_cast<std::size_t>(r) * classes, classes);
    const std::optional<std::size_t> answer = train::prediction_of(row);
    const std::int64_t label = labels.values<std::int32_t>()[static_cast<std::size_t>(r)];
    if (!answer || static_cast<std::int64_t>(*answer) == label) continue;
    double sum = 0;
    for (float z : row) sum += std::exp(static_cast<double>(z - row[*answer]));
    wrong.push_back({r, label, static_cast<std::int64_t>(*answer), 1 / sum});
  }
  std::stable_sort(wrong.begin(), wrong.end(), [](const ModelAnswer& a, const ModelAnswer& b) {
    return a.probability > b.probability;
  });
  return wrong;
}

// The side of square images; 0 if the examples are no images.
std::int64_t image_side(const Dataset& data) {
  const std::int64_t features = data.inputs.shape()[1];
  const auto side =
      static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(features))));
  const auto pixels = data.inputs.values<float>();
  const bool grey =
      std::all_of(pixels.begin(), pixels.end(), [](float p) { return p >= 0 && p <= 1; });
  return side >= 8 && side * side == features && grey ? side : 0;
}

std::vector<report::Mistake> mistakes_of(const Model& model, const Dataset& data) {
  if (data.task != Task::kClassification || data.size() == 0 || data.inputs.shape().rank() != 2)
    return {};
  const std::int64_t side = image_side(data);
  if (side == 0) return {};
  check_outputs(data, model);
  std::vector<report::Mistake> mistakes;
  for (const ModelAnswer& a :
       wrong_answers(predict(model, fit_inputs(data, model)), data.targets)) {
    if (mistakes.size() == kMistakes) break;
    const auto pixels = data.inputs.rows(a.row, 1).reshape({side * side});
    std::vector<std::uint8_t> grey;
    for (float p : pixels.values<float>())
      grey.push_back(static_cast<std::uint8_t>(std::lround(p * 255)));
    mistakes.push_back({a.row, a.label, a.answer, a.probability, grey, side});
  }
  return mistakes;
}

// The data of a run's configuration; nullopt if it names none.
std::optional<Dataset> test_part(const Json& config) {
  const Json* const data = config.find("data");
  if (!data || !data->is_string()) return {};
  const std::string text = config.dump({.replace_invalid = true});
  return train::load_data(train::parse_train_config(text, "of the run")).test;
}

// Writes the page of an earlier run. If files of the folder or the data are missing by now, it
// leaves those parts out and says so in a note.
void report_again(const std::string& folder) {
  train::RunLog log = train::parse_run_log(train::log_path(folder));
  const auto note = [&](const std::exception& e) {
    log.notes.push_back(fmt::format("not on this page: {}", e.what()));
  };
  std::optional<Model> model;
  std::optional<Dataset> test;
  try {
    model = load_model(train::RunFolder(folder).model());
    test = test_part(log.run.config);
  } catch (const Error& e) {
    note(e);
  }
  write_report(folder, log, model ? &*model : nullptr, test ? &*test : nullptr);
}

}  // namespace

void write_report(const std::filesystem::path& folder, const train::RunLog& log, const Model* model,
                  const Dataset* test) {
  report::Beside beside;
  if (model) beside.summary = summarize(model->function, model->params);
  if (model && test) beside.mistakes = mistakes_of(*model, *test);
  const auto found = train::diagnose(log, {}, train::earlier_runs(folder));
  const std::string html = report::report_html(log, found, beside);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(html));
  write_file_atomically(train::RunFolder(folder).report(), {&bytes, 1});
}

void add_report(Command& app) {
  auto run = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  Command command =
      app.command("report", "Write the report of a training run as one HTML page, RUN/report.html");
  command.option("RUN", *run, "Run folder written by train").path("RUN").required();
  command.flag("--json", *json, "Print JSON");
  command.run([run, json] {
    report_again(*run);
    const std::string page = train::RunFolder(*run).report().string();
    if (*json) return print_json(Json{{"report", page}});
    print(fmt::format("saved {}\n", printable(page)));
  });
}

}  // namespace limpid::tool
