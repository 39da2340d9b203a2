#include "apps/limpid/commands/train_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <variant>
#include <vector>

#include "apps/limpid/commands/report.h"
#include "apps/limpid/support/command.h"
#include "apps/limpid/support/data_spec.h"
#include "apps/limpid/support/examples.h"
#include "apps/limpid/support/findings.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/progress.h"
#include "apps/limpid/support/ranks.h"
#include "apps/limpid/support/scores.h"
#include "apps/limpid/support/stop_signals.h"
#include "apps/limpid/support/threads.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/data/load_data.h"
#include "limpid/formats/folder_lock.h"
#include "limpid/inspect/table.h"
#include "limpid/train/run/environment.h"
#include "limpid/train/run/run.h"
#include "limpid/train/run/run_folder.h"
#include "limpid/train/run/run_setup.h"

namespace limpid::tool {
namespace {

using train::Ending;

// code(), whose Error is a fault of the configuration.
template <class Code>
auto as_usage(const Code& code) {
  try {
    return code();
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kInvalidArgument) throw;
    throw UsageError(e.what());
  }
}

// Prints a run: model and data, epochs, findings, scores. If the terminal was closed, a
// write fails; the run then ends as after SIGHUP.
class Terminal {
 public:
  Terminal(train::Run& run, const RunOptions& options)
      : run_(run),
        options_(options),
        progress_(run.data().train.task, watched(run.data()), run.trainer().steps(),
                  run.trainer().steps_an_epoch(), options.ranks == 1) {
    run.on_event([this](const train::Event& event) { say([&] { std::visit(*this, event); }); });
    run.on_step([this](const train::StepEvent& step) { say([&] { progress_.step(step); }); });
  }

  void begin_epochs() {
    say([&] { progress_.begin(); });
  }

  void operator()(const train::RunEvent&) { introduce(); }
  void operator()(const train::ResumeEvent& event) {
    introduce();
    progress_.say(
        fmt::format("resuming after step {} of {}\n", event.step, run_.trainer().steps()));
  }
  void operator()(const train::EpochEvent& epoch) { progress_.epoch(epoch, run_.done()); }
  void operator()(const train::Finding& finding) { progress_.say(to_text(finding)); }
  void operator()(const train::EndEvent& end) {
    const bool failed = run_.trainer().ending() == Ending::kNonFinite;
    progress_.say(failed || end.reason == train::kInterrupted ? "" : end_text(end));
  }
  void operator()(const train::DataFacts&) {}
  void operator()(const train::StepEvent&) {}
  void operator()(const train::ProbeEvent&) {}
  void operator()(const train::SampleEvent&) {}

 private:
  template <class Say>
  void say(const Say& say) const {
    try {
      say();
    } catch (const Error& e) {
      if (!on_terminal_ || e.code() != ErrorCode::kIo) throw;
      StopSignals::hang_up();
    }
  }

  static std::string watched(const Split& data) {
    if (data.validation.size() > 0) return "validation";
    return data.test.size() > 0 ? "test" : "";
  }

  void introduce() {
    const Split& data = run_.data();
    std::string parts = fmt::format("{}: {} to train on", printable(data.train.name),
                                    counted(data.train.size(), "example"));
    if (data.validation.size() > 0)
      parts += fmt::format(", {} to validate", data.validation.size());
    if (data.test.size() > 0) parts += fmt::format(", {} to test", data.test.size());
    progress_.say(fmt::format("{}; {} for {} on {}\n", parts, network_text(run_.config()),
                              limpid::name(data.train.task), workers_text()));
    progress_.say(notes_text(data.train));
  }

  // "2 threads", "4 ranks of 2 threads".
  std::string workers_text() const {
    const std::string threads = counted(options_.threads, "thread");
    return options_.ranks > 1 ? fmt::format("{} of {}", counted(options_.ranks, "rank"), threads)
                              : threads;
  }

  std::string end_text(const train::EndEvent& end) const {
    const Dataset& test = run_.data().test;
    std::string text;
    if (run_.trainer().ending() == Ending::kEarlyStopping)
      text += end.best_epoch > 0
                  ? fmt::format("stopped early: epoch {} was the best, its model is kept\n",
                                end.best_epoch)
                  : "stopped early: no epoch was the best, as the metric of each is nan on the "
                    "validation set; the last model is kept\n";
    if (test.size() > 0)
      text += fmt::format("\non the test set of {}:\n\n{}", counted(test.size(), "example"),
                          scores_text(test, end.test));
    if (!options_.out.empty())
      text +=
          fmt::format("\nsaved {}\n", printable(train::RunFolder(options_.out).model().string()));
    return text;
  }

  train::Run& run_;
  const RunOptions& options_;
  const bool on_terminal_ = is_terminal();
  Progress progress_;
};

void print_event(const train::Event& event) {
  print(train::to_json_line(event));
  flush();
}

// The page of a run that has ended.
void write_page(const train::Run& run, const std::string& out) {
  if (run.trainer().ending() == Ending::kNonFinite) return write_report(out, run.log());
  const Model model = run.model();
  write_report(out, run.log(), &model, &run.data().test);
}

// All steps. Throws Interrupted where a signal comes.
void go_through(train::Run& run, const std::string& out, std::optional<Terminal>& terminal) {
  const StopSignals signals;
  // Not before: whoever reads the heading may send a signal.
  if (terminal) terminal->begin_epochs();
  while (!run.done()) {
    if (!run.step([] { return StopSignals::received() != 0; })) continue;
    run.interrupt();
    const std::string how = out.empty()
                                ? "nothing was saved, since there is no --out"
                                : fmt::format("`limpid train --resume {}` continues it", out);
    // With ranks, another one may have had the signal.
    throw Interrupted(StopSignals::received() != 0 ? StopSignals::received() : SIGTERM,
                      fmt::format("train: interrupted after step {} of {}; {}",
                                  run.trainer().steps_done(), run.trainer().steps(), how));
  }
}

void refuse_to_overwrite(const RunOptions& options) {
  if (options.out.empty()) return;
  if (const auto file = train::RunFolder(options.out).foreign_file())
    throw UsageError(fmt::format("--out {}: holds a {} that no run wrote, expected another folder",
                                 in_quotes(options.out), file->filename().string()));
  if (options.overwrite) return;
  if (const auto held = train::RunFolder(options.out).held_run()) {
    const FolderLock nobody_writes(options.out);
    throw UsageError(fmt::format(
        "--out {}: holds a run that is {} (step {}); --resume {}{} continues it, --overwrite "
        "starts over",
        in_quotes(options.out), held->finished ? "finished" : "not finished", held->step,
        options.out, held->finished ? " --epochs N" : ""));
  }
}

// begin: start() or resume().
train::EndEvent train_by(const train::TrainConfig& chosen, RunOptions options,
                         distribute::LaunchedRanks* ranks, void (train::Run::*begin)()) {
  const int cpus = share_of_cpus(ranks);
  if (options.threads == 0) options.threads = cpus;
  if (ranks) options.ranks = ranks->size();
  const bool leads = !ranks || ranks->rank() == 0;
  // First what needs no data: to load it may take minutes.
  as_usage([&] { train::check_choices(chosen); });
  if (leads && begin == &train::Run::start) refuse_to_overwrite(options);
  Split data = with_data_option([&] { return train::load_data(chosen); });
  const train::TrainConfig config = as_usage([&] { return train::complete(chosen, data); });
  ThreadPool pool({.threads = options.threads, .pin_caller = true});
  train::Run run(config, std::move(data),
                 {.folder = options.out,
                  .overwrite = options.overwrite,
                  .pool = &pool,
                  .gather_ahead = options.threads < cpus,
                  .command = train::command_line(),
                  .ranks = ranks});
  if (leads && !options.out.empty())
    run.on_event([&](const train::Event& event) {
      const auto* end = std::get_if<train::EndEvent>(&event);
      if (end && end->reason != train::kInterrupted) write_page(run, options.out);
    });
  std::optional<Terminal> terminal;
  if (leads && options.json)
    run.on_event(print_event);
  else if (leads)
    terminal.emplace(run, options);
  (run.*begin)();
  go_through(run, options.out, terminal);
  return run.finish();
}

// The mean of each metric over the folds, and its sample standard deviation.
void print_folds(const std::vector<train::Numbers>& folds, bool json) {
  Table table{{{"metric"}, {"mean", Align::kRight}, {"std", Align::kRight}}, {}};
  for (std::size_t k = 1; k <= folds.size(); ++k)
    table.columns.push_back({fmt::format("fold {}", k), Align::kRight});
  Json means = Json::object();
  for (const auto& [metric, ignored] : folds.front()) {
    const auto count = static_cast<double>(folds.size());
    double sum = 0, squares = 0;
    for (const train::Numbers& fold : folds) sum += fold.at(metric) / count;
    for (const train::Numbers& fold : folds)
      squares += (fold.at(metric) - sum) * (fold.at(metric) - sum) / (count - 1);
    const double std = std::sqrt(squares);
    table.rows.push_back({metric, score_text(metric, sum), score_text(metric, std)});
    Json each = Json::array();
    for (const train::Numbers& fold : folds) {
      table.rows.back().push_back(score_text(metric, fold.at(metric)));
      each.push_back(json_of(fold.at(metric)));
    }
    means[metric] = Json{{"mean", json_of(sum)}, {"std", json_of(std)}, {"folds", each}};
  }
  if (json)
    print(Json{{"event", "folds"}, {"test", means}}.dump() + "\n");
  else
    print(fmt::format("\n{} folds, each the test set of a run on the others:\n\n{}", folds.size(),
                      to_text(table)));
}

}  // namespace

std::string network_text(const train::TrainConfig& config) {
  if (config.from) return fmt::format("the {} of {}", *config.model, printable(*config.from));
  if (config.model == "cnn")
    return fmt::format("a {} cnn of width {}", *config.preset, *config.width);
  if (config.model == "lstm" || config.model == "gru")
    return fmt::format("{} of width {}",
                       counted(config.layers->front(), fmt::format("{} layer", *config.model)),
                       *config.width);
  if (config.model != "gpt") return fmt::format("{}", fmt::join(*config.layers, "-"));
  return fmt::format("a gpt of {}, {} and width {}", counted(config.layers->front(), "block"),
                     counted(*config.heads, "head"), *config.width);
}

void train_from_start(const train::TrainConfig& config, const RunOptions& options) {
  as_rank([&](distribute::LaunchedRanks* ranks) {
    train_by(config, options, ranks, &train::Run::start);
  });
}

void train_folds(const train::TrainConfig& config, const RunOptions& options, std::int64_t folds) {
  if (!config.data ||
      !with_data_option([&] { return names_one_table(parse_data_spec(*config.data)); }))
    throw UsageError("--folds: expected --data of one table (csv, npy) without split= and test=");
  as_rank([&](distribute::LaunchedRanks* ranks) {
    const bool leads = !ranks || ranks->rank() == 0;
    std::vector<train::Numbers> tests;
    for (std::int64_t k = 1; k <= folds; ++k) {
      train::TrainConfig of_fold = config;
      of_fold.data = fmt::format("{},split=fold:{}/{}", *config.data, k, folds);
      RunOptions of_run = options;
      if (!options.out.empty())
        of_run.out = (std::filesystem::path(options.out) / fmt::format("fold-{}", k)).string();
      if (leads && !options.json)
        print(fmt::format("{}fold {} of {}\n", k > 1 ? "\n" : "", k, folds));
      tests.push_back(train_by(of_fold, of_run, ranks, &train::Run::start).test.metrics);
    }
    if (leads) print_folds(tests, options.json);
  });
}

void train_from_checkpoint(const train::TrainConfig& longer, const RunOptions& options) {
  as_rank([&](distribute::LaunchedRanks* ranks) {
    const bool leads = !ranks || ranks->rank() == 0;
    train::TrainConfig config;
    if (leads) config = overridden(train::RunFolder(options.out).read_config(), longer);
    // The others may not see the first one's folder.
    if (ranks) {
      const std::string text = train::to_text(config);
      const auto theirs = distribute::from_first(*ranks, std::as_bytes(std::span(text)));
      config = train::parse_train_config(
          {reinterpret_cast<const char*>(theirs.data()), theirs.size()}, "of the first rank");
    }
    train_by(config, options, ranks, &train::Run::resume);
  });
}

}  // namespace limpid::tool
