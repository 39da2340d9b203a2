// limpid runs: the training runs below a folder, one line each.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/limpid/commands/train_run.h"
#include "apps/limpid/support/command.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/scores.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/inspect/table.h"
#include "limpid/train/log/run_log.h"
#include "limpid/train/loop/metrics.h"
#include "limpid/train/run/run.h"
#include "limpid/train/run/run_folder.h"

namespace limpid::tool {
namespace {

namespace fs = std::filesystem;

struct RunsArguments {
  std::string folder;
  std::string sort = "name";
  bool json = false;
};

// One row of the table.
struct RunFacts {
  std::string name;  // its folder, relative to the searched one
  std::string data, model;
  std::string state;  // "finished", "early stopping", "step 120 of 400"
  std::int64_t step = 0;
  // Of the best epoch, or of the last if none is marked; on the validation or the test set.
  std::optional<std::int64_t> epoch;
  std::optional<double> loss;
  std::string metric;  // the metric of its task; empty before the first epoch
  double score = 0;
  std::int64_t findings = 0;         // warnings and errors of the doctor
  std::chrono::sys_seconds written;  // when the log was last written
};

std::chrono::sys_seconds written_at(const fs::path& file) {
  const auto time = std::chrono::file_clock::to_sys(fs::last_write_time(file));
  return std::chrono::floor<std::chrono::seconds>(time);
}

std::string time_text(std::chrono::sys_seconds time) {
  return fmt::format("{:%Y-%m-%d %H:%M}",
                     fmt::localtime(std::chrono::system_clock::to_time_t(time)));
}

const train::EpochEvent* best_epoch(const train::RunLog& log) {
  if (log.epochs.empty()) return nullptr;
  for (auto e = log.epochs.rbegin(); e != log.epochs.rend(); ++e)
    if (e->best) return &*e;
  return &log.epochs.back();
}

std::string state_of(const train::RunLog& log) {
  if (log.end && log.end->reason != train::kInterrupted) return log.end->reason;
  return fmt::format("{} after step {}", log.end ? "interrupted" : "unfinished", log.steps_done());
}

RunFacts facts_of(const fs::path& run, const fs::path& below) {
  const fs::path file = train::RunFolder(run).log();
  const train::RunLog log = train::parse_run_log(file);
  const train::TrainConfig config =
      train::parse_train_config(log.run.config.dump({.replace_invalid = true}), file.string());
  RunFacts facts;
  facts.name = run == below ? "." : run.lexically_relative(below).string();
  facts.data = config.data.value_or(log.run.data.name);
  const bool has_layers = config.layers && !config.layers->empty();
  const bool recurrent = config.model == "lstm" || config.model == "gru";
  const bool complete = config.model == "cnn"   ? config.preset && config.width
                        : config.model == "gpt" ? has_layers && config.heads && config.width
                        : recurrent             ? has_layers && config.width
                                                : has_layers;
  facts.model = complete || (config.from && config.model) ? network_text(config) : "";
  facts.state = state_of(log);
  facts.step = log.steps_done();
  facts.written = written_at(file);
  facts.findings = std::count_if(log.findings.begin(), log.findings.end(), [](const auto& f) {
    return f.severity != train::Severity::kInfo;
  });
  const train::EpochEvent* const best = best_epoch(log);
  if (!best) return facts;
  facts.epoch = best->epoch;
  const train::Numbers& watched = best->validation.empty() ? best->train : best->validation;
  if (const double* const loss = watched.find("loss")) facts.loss = *loss;
  for (const char* const metric : {"accuracy", "rmse", "perplexity"}) {
    const double* const score = watched.find(metric);
    if (!score || !facts.metric.empty()) continue;
    facts.metric = metric;
    facts.score = *score;
  }
  return facts;
}

// `folder` and the folders below it that have a log, sorted by name.
std::vector<fs::path> run_folders(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  const auto look = [&](const fs::path& path) {
    std::error_code ignored;
    if (fs::is_regular_file(train::RunFolder(path).log(), ignored)) found.push_back(path);
  };
  const auto options = fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator all(folder, options, error);
  if (error)
    throw Error(ErrorCode::kIo,
                fmt::format("open {}: {}", in_quotes(folder.string()), error.message()));
  look(folder);
  for (; all != fs::recursive_directory_iterator(); all.increment(error)) {
    if (error) break;
    std::error_code ignored;
    if (all->is_directory(ignored)) look(all->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Sorts by smaller values first; runs without a value, or with NaN, come last.
double sort_key(const RunFacts& run, const std::string& key) {
  constexpr double kLast = std::numeric_limits<double>::infinity();
  const auto or_last = [](double value) { return std::isnan(value) ? kLast : value; };
  if (key == "loss") return or_last(run.loss.value_or(kLast));
  if (key == "findings") return -static_cast<double>(run.findings);
  if (key == "time") return -static_cast<double>(run.written.time_since_epoch().count());
  if (key == "metric" && !run.metric.empty())
    return or_last(train::larger_is_better(run.metric) ? -run.score : run.score);
  return key == "metric" ? kLast : 0;
}

Json facts_json(const RunFacts& run) {
  Json json{{"run", run.name},
            {"data", run.data},
            {"model", run.model},
            {"state", run.state},
            {"step", run.step},
            {"findings", run.findings},
            {"written", run.written.time_since_epoch().count()}};
  if (run.epoch) json["epoch"] = *run.epoch;
  if (run.loss) json["loss"] = json_of(*run.loss);
  if (!run.metric.empty()) json["metrics"] = Json{{run.metric, json_of(run.score)}};
  return json;
}

Table table_of(const std::vector<RunFacts>& runs) {
  Table table{{{"run"},
               {"data"},
               {"model"},
               {"epoch", Align::kRight},
               {"loss", Align::kRight},
               {"metric"},
               {"findings", Align::kRight},
               {"written"},
               {"state"}},
              {}};
  for (const RunFacts& run : runs)
    table.rows.push_back(
        {run.name, run.data, run.model, run.epoch ? std::to_string(*run.epoch) : "",
         run.loss ? short_number(*run.loss) : "",
         run.metric.empty() ? ""
                            : fmt::format("{} {}", run.metric, score_text(run.metric, run.score)),
         std::to_string(run.findings), time_text(run.written), run.state});
  return table;
}

void runs(const RunsArguments& options) {
  std::vector<RunFacts> found;
  for (const fs::path& run : run_folders(options.folder)) {
    try {
      found.push_back(facts_of(run, options.folder));
    } catch (const Error& e) {  // a broken log must not hide other runs
      print_note(e.what());
    }
  }
  std::stable_sort(found.begin(), found.end(), [&](const RunFacts& a, const RunFacts& b) {
    return sort_key(a, options.sort) < sort_key(b, options.sort);
  });
  if (options.json) {
    Json list = Json::array();
    for (const RunFacts& run : found) list.push_back(facts_json(run));
    return print_json(Json{{"runs", list}});
  }
  if (found.empty())
    return print(fmt::format("no training runs below {}\n", in_quotes(options.folder)));
  print(to_text(table_of(found)));
}

}  // namespace

void add_runs(Command& app) {
  auto options = std::make_shared<RunsArguments>();
  Command command = app.command(
      "runs", "List the training runs below a folder: data, model, best epoch, findings, state");
  command.option("DIR", options->folder, "Folder to search").path("DIR").required();
  command.choice("--sort", options->sort, {"name", "loss", "metric", "findings", "time"},
                 "Order: the least loss, the best metric, the most findings or the latest first");
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { runs(*options); });
}

}  // namespace limpid::tool
