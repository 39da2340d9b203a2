// limpid train: trains a network, tells how it goes, and saves it.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "apps/limpid/command.h"
#include "apps/limpid/data_spec.h"
#include "apps/limpid/output.h"
#include "apps/limpid/threads.h"
#include "apps/limpid/train_run.h"
#include "limpid/core/error.h"
#include "limpid/train/config.h"
#include "limpid/train/run_folder.h"

namespace limpid::tool {
namespace {

struct Options {
  std::map<const train::ConfigKey*, std::string> flags;  // as they came
  std::string config;
  std::string resume;
  bool markdown = false;
  RunOptions run;
};

train::TrainConfig chosen_config(const Options& options) {
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

void train(Options options) {
  if (options.markdown) {
    print(train::train_reference());
    return;
  }
  if (options.resume.empty()) {
    train_from_start(chosen_config(options), options.run);
    return;
  }
  if (!options.flags.empty())
    throw UsageError(fmt::format("{}: --resume takes the run's own configuration",
                                 options.flags.begin()->first->flag));
  options.run.out = options.resume;
  train_from_checkpoint(options.run);
}

void add_key(CLI::App& command, const train::ConfigKey& key, Options& options) {
  const std::string choices =
      key.choices ? fmt::format(": {}", fmt::join(key.choices(), ", ")) : "";
  const std::string help = fmt::format("{}{}; default: {}", key.help, choices, key.otherwise);
  const std::string& flag = key.flag;
  if (key.kind() == train::ConfigKey::Kind::kSwitch) {
    command.add_flag_function(
        fmt::format("{},!--no-{}", flag, flag.substr(2)),
        [&options, &key](std::int64_t times) {
          options.flags[&key] = times > 0 ? "true" : "false";
        },
        help);
    return;
  }
  constexpr std::string_view kTypes[] = {"TEXT", "N", "X", "", "N,N,..."};
  command
      .add_option_function<std::string>(
          flag, [&options, &key](const std::string& text) { options.flags[&key] = text; }, help)
      ->type_name(key.path == "data" ? "SPEC"
                                     : std::string(kTypes[static_cast<std::size_t>(key.kind())]))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace

void add_train(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "train", "Train a network; with --out, save the model, its log and checkpoints");
  command->footer(std::string("What --data means: ") + data_spec_help() +
                  "\n\ndocs/training.md explains it all; docs/reference/train.md lists the keys of "
                  "configurations.");
  for (const train::ConfigKey& key : train::config_keys()) add_key(*command, key, *options);
  CLI::Option* config = command->add_option(
      "--config", options->config, "JSON file of these options; the command line overrides it");
  config->type_name("FILE");
  CLI::Option* out =
      command->add_option("--out", options->run.out,
                          "Run folder for config.json, log.jsonl, checkpoint.safetensors, "
                          "model.safetensors and report.html; default: nothing is saved");
  out->type_name("RUN");
  command->add_flag("--overwrite", options->run.overwrite,
                    "Start over even if --out holds an unfinished run");
  command
      ->add_option("--resume", options->resume,
                   "Resume the run in this folder, with the configuration saved there")
      ->type_name("RUN")
      ->excludes(config)
      ->excludes(out);
  add_threads_option(*command, options->run.threads);
  command->add_flag("--json", options->run.json, "Print the log as JSON lines instead of tables");
  command->add_flag("--markdown", options->markdown,
                    "Print the reference of all configuration keys as Markdown, and exit");
  command->callback([options] { train(*options); });
}

}  // namespace limpid::tool
