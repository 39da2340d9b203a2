// limpid train: trains a network, reports progress, and saves it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apps/limpid/commands/train_run.h"
#include "apps/limpid/support/command.h"
#include "apps/limpid/support/data_spec.h"
#include "apps/limpid/support/output.h"
#include "apps/limpid/support/threads.h"
#include "limpid/core/error.h"
#include "limpid/data/split_ratio.h"
#include "limpid/train/config/config.h"
#include "limpid/train/run/run_folder.h"

namespace limpid::tool {
namespace {

struct TrainArguments {
  std::map<const train::ConfigKey*, std::string> flags;  // as they came
  std::string config;
  std::string resume;
  bool markdown = false;
  std::optional<std::int64_t> folds;
  RunOptions run;
};

train::TrainConfig chosen_config(const TrainArguments& options) {
  train::TrainConfig flags;
  try {
    for (const auto& [key, text] : options.flags) train::set_from_text(flags, *key, text);
    if (options.config.empty()) return flags;
    return overridden(train::parse_train_config(train::read_text(options.config), options.config),
                      flags);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::kIo) throw;
    throw UsageError(e.what());
  }
}

void train(TrainArguments options) {
  if (options.markdown) {
    print(train::train_reference());
    return;
  }
  if (options.resume.empty() && options.folds) {
    train_folds(chosen_config(options), options.run, *options.folds);
    return;
  }
  if (options.resume.empty()) {
    train_from_start(chosen_config(options), options.run);
    return;
  }
  for (const auto& [key, text] : options.flags)
    if (key->flag != "--epochs" && key->flag != "--steps" && key->flag != "--patience")
      throw UsageError(
          fmt::format("{}: --resume takes the run's own configuration; only --epochs, --steps and "
                      "--patience may differ",
                      key->flag));
  options.run.out = options.resume;
  train_from_checkpoint(chosen_config(options), options.run);
}

void add_key(Command& command, const train::ConfigKey& key, TrainArguments& options) {
  const std::string help = fmt::format("{}; default: {}", key.help, key.otherwise);
  const std::string& flag = key.flag;
  if (key.kind() == train::ConfigKey::Kind::kSwitch) {
    command.flag(
        flag, [&options, &key](bool on) { options.flags[&key] = on ? "true" : "false"; }, help);
    return;
  }
  constexpr const char* kTypes[] = {"TEXT", "N", "X", "", "N,N,..."};
  const std::string type = key.choices          ? fmt::format("{}", fmt::join(key.choices(), "|"))
                           : key.path == "data" ? "SPEC"
                                                : kTypes[static_cast<std::size_t>(key.kind())];
  command
      .option(
          flag, [&options, &key](const std::string& text) { options.flags[&key] = text; }, help)
      .type(type);
}

}  // namespace

void add_train(Command& app) {
  auto options = std::make_shared<TrainArguments>();
  Command command =
      app.command("train", "Train a network; with --out, save the model, its log and checkpoints");
  command.footer(std::string("--data: ") + data_spec_help() +
                 "\n\nSee docs/training.md, docs/scale.md for several processes, and "
                 "docs/reference/train.md for the keys of --config.");
  for (const train::ConfigKey& key : train::config_keys()) add_key(command, key, *options);
  const Option config = command
                            .option("--config", options->config,
                                    "JSON file of these options; the command line overrides it")
                            .path("FILE");
  const Option out = command
                         .option("--out", options->run.out,
                                 "Run folder for config.json, log.jsonl, checkpoint.safetensors, "
                                 "model.safetensors and report.html; default: nothing is saved")
                         .path("RUN");
  const Option folds = command
                           .option("--folds", options->folds,
                                   "Cross-validation: train N networks, each tested on another of "
                                   "N equal parts of the table, and print the mean of their scores")
                           .check(within(2, kMostFolds));
  command.flag("--overwrite", options->run.overwrite, "Start over even if --out holds a run");
  command
      .option("--resume", options->resume,
              "Resume the run in this folder, with the configuration saved there; --epochs, "
              "--steps or --patience make it longer")
      .path("RUN")
      .excludes(config)
      .excludes(folds)
      .excludes(out);
  add_threads_option(command, options->run.threads);
  options->run.threads = 0;
  command.flag("--json", options->run.json, "Print the log as JSON lines instead of tables");
  command.flag("--markdown", options->markdown,
               "Print the reference of all configuration keys as Markdown, and exit");
  command.run([options] { train(*options); });
}

}  // namespace limpid::tool
