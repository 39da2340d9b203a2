// limpid train: trains a classifier, tells how it goes, and saves it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "apps/limpid/command.h"
#include "apps/limpid/data_spec.h"
#include "apps/limpid/output.h"
#include "apps/limpid/threads.h"
#include "limpid/core/error.h"
#include "limpid/formats/model.h"
#include "limpid/train/trainer.h"

namespace limpid::tool {
namespace {

struct Options {
  std::string data = "digits";
  std::vector<std::int64_t> layers{784, 256, 128, 10};
  std::string activation = "relu";
  double dropout = 0.2;
  std::string init = "he";
  std::string optimizer = "sgd";
  std::optional<double> rate;
  std::map<std::string, double> numbers;  // of the optimiser, where given
  bool nesterov = false, centered = false, amsgrad = false;
  std::string schedule = "linear";
  double decay_every = 10;
  std::string out;
  int threads = 1;
  train::TrainOptions run;
};

nn::Mlp network(const Options& options) {
  nn::Mlp net;
  net.sizes = options.layers;
  net.activation = nn::activation_from_name(options.activation);
  net.dropout = options.dropout;
  net.init_name = options.init;
  return net;
}

// One JSON object a line, each written whole, so that a run that is killed leaves the lines of the
// epochs it finished.
class Log {
 public:
  explicit Log(const std::string& folder) {
    if (folder.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    path_ = folder + "/log.jsonl";
    if (!error) file_.open(path_, std::ios::binary | std::ios::trunc);
    if (error || !file_) throw Error(ErrorCode::kIo, fmt::format("{}: cannot be written", path_));
  }

  void line(const Json& object) {
    if (path_.empty()) return;
    // A folder's name need not be UTF-8; what is not becomes U+FFFD.
    file_ << object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" << std::flush;
    if (!file_) throw Error(ErrorCode::kIo, fmt::format("{}: cannot be written", path_));
  }

 private:
  std::string path_;
  std::ofstream file_;
};

Json schedule_json(const optim::Schedule& s) {
  Json json{{"kind", std::string(optim::name(s.kind))}, {"warmup", s.warmup}};
  if (s.kind == optim::Schedule::Kind::kStep)
    json.update({{"every", s.every}, {"factor", s.factor}});
  return json;
}

Json optimizer_json(const optim::Optimizer& optimizer) {
  Json json{{"name", std::string(optim::name(optimizer))}};
  for (const auto& [name, value] : optim::numbers(optimizer)) json[name] = value;
  return json;
}

Json limit_json(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

Json run_json(const Options& options, const nn::Mlp& net, const Split& data) {
  return {{"event", "run"},
          {"model", Json::parse(net.config())},
          {"data", data.train.name},
          {"train_examples", data.train.size()},
          {"test_examples", data.test.size()},
          {"epochs", options.run.epochs},
          {"batch", options.run.batch},
          {"learning_rate", options.run.schedule.rate},
          {"schedule", schedule_json(options.run.schedule)},
          {"optimizer", optimizer_json(options.run.rule.optimizer)},
          {"clip_value", limit_json(options.run.rule.clip.value)},
          {"clip_norm", limit_json(options.run.rule.clip.norm)},
          {"seed", options.run.seed}};
}

Json epoch_json(const train::EpochEvent& e) {
  return {{"event", "epoch"},
          {"epoch", e.epoch},
          {"learning_rate", json_of(e.learning_rate)},
          {"train_loss", json_of(e.train.at("loss"))},
          {"test_loss", json_of(e.validation.at("loss"))},
          {"test_accuracy", json_of(e.validation.at("accuracy"))},
          {"gradient_norm", json_of(e.gradient_norm)},
          {"samples_per_second", json_of(e.samples_per_second)}};
}

std::string epoch_line(const train::EpochEvent& e, std::int64_t epochs) {
  return fmt::format("{:>5}   {:>10.4f}   {:>9.4f}   {:>11.2f} %   {:>8.3f}   {:>9.0f}\n",
                     fmt::format("{}/{}", e.epoch, epochs), e.train.at("loss"),
                     e.validation.at("loss"), 100 * e.validation.at("accuracy"), e.gradient_norm,
                     e.samples_per_second);
}

constexpr std::string_view kHeader =
    "epoch   train loss   test loss   test accuracy   |grad|   samples/s\n";

// A bar on a terminal, drawn over itself; nothing in a pipe.
class Progress {
 public:
  void step(const train::StepEvent& e, std::int64_t epochs, std::int64_t steps) {
    const std::int64_t step = e.step - (e.epoch - 1) * steps;
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || (now - drawn_ < std::chrono::milliseconds(50) && step != steps)) return;
    drawn_ = now;
    constexpr std::int64_t kWidth = 40;
    const std::int64_t filled = kWidth * step / steps;
    std::string bar;
    for (std::int64_t i = 0; i < kWidth; ++i) bar += i < filled ? "━" : "╌";
    print(fmt::format("\r{:>5}   {} {:>4}/{}   loss {:.4f}", fmt::format("{}/{}", e.epoch, epochs),
                      bar, step, steps, e.loss));
    flush();
  }
  void clear() {
    if (terminal_) print("\r\x1b[K");
  }

 private:
  bool terminal_ = isatty(STDOUT_FILENO) == 1;
  std::chrono::steady_clock::time_point drawn_{};
};

// A number that the optimiser does not have is a mistake of the command line.
optim::Optimizer optimizer_of(const Options& options) {
  optim::Optimizer optimizer = optim::optimizer_from_name(options.optimizer);
  std::map<std::string, double> numbers = options.numbers;
  if (options.optimizer == "sgd") numbers.insert({"momentum", 0.9});
  if (options.nesterov) numbers["nesterov"] = 1;
  if (options.centered) numbers["centered"] = 1;
  if (options.amsgrad) numbers["amsgrad"] = 1;
  try {
    for (const auto& [name, value] : numbers) optim::set_number(optimizer, name, value);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return optimizer;
}

void train(Options options) {
  const nn::Mlp net = network(options);
  const Function function = net.function();
  options.run.rule.optimizer = optimizer_of(options);
  optim::Schedule& schedule = options.run.schedule;
  schedule.kind = optim::schedule_from_name(options.schedule);
  schedule.rate = options.rate.value_or(optim::usual_rate(options.run.rule.optimizer));
  const Split data = load_data(parse_data_spec(options.data));
  const std::int64_t batches = (data.train.size() + options.run.batch - 1) / options.run.batch;
  schedule.every =
      std::max<std::int64_t>(1, std::llround(options.decay_every * static_cast<double>(batches)));
  Log log(options.out);
  ThreadPool pool({.threads = options.threads, .pin_caller = true});
  log.line(run_json(options, net, data));
  print(fmt::format("{}: {} examples to train on, {} to test; {} on {} thread{}\n", data.train.name,
                    data.train.size(), data.test.size(), fmt::join(net.sizes, "-"), options.threads,
                    options.threads == 1 ? "" : "s"));
  print(kHeader);
  flush();
  Progress progress;
  train::Trainer trainer(train::mlp_problem(net), data, options.run, &pool);
  while (trainer.ending() == train::Ending::kNone) {
    const train::StepResult result = trainer.step();
    if (trainer.ending() == train::Ending::kNonFinite)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("train: the loss is {} in step {}, a finite one is expected; a "
                              "learning rate below {} may help",
                              result.step.loss, result.step.step, result.step.learning_rate));
    progress.step(result.step, options.run.epochs, trainer.steps_an_epoch());
    if (!result.epoch) continue;
    progress.clear();
    print(epoch_line(*result.epoch, options.run.epochs));
    flush();
    log.line(epoch_json(*result.epoch));
  }
  if (options.out.empty()) return;
  const std::string path = options.out + "/model.safetensors";
  save_model(path, {function, trainer.model(), net.config()});
  print(fmt::format("saved {}\n", path));
}

struct OptimizerNumber {
  std::string_view option, number, help;
};
constexpr OptimizerNumber kNumbers[] = {
    {"--momentum", "momentum", "Momentum (sgd: 0.9 by default, rmsprop: 0)"},
    {"--weight-decay", "weight_decay", "L2 decay; decoupled in adamw (0.01 by default there)"},
    {"--alpha", "alpha", "Decay of the mean square (rmsprop: 0.99)"},
    {"--beta1", "beta1", "Decay of the mean (adam, adamw: 0.9)"},
    {"--beta2", "beta2", "Decay of the mean square (adam, adamw: 0.999)"},
    {"--eps", "eps", "What is added to the root of the mean square"},
};

std::string usual_rates() {
  std::vector<std::string> all;
  for (const std::string& name : optim::optimizer_names())
    all.push_back(fmt::format("{} {}", name, optim::usual_rate(optim::optimizer_from_name(name))));
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

void add_train(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("train", "Train a classifier and save it");
  train::TrainOptions& run = options->run;
  const auto add = [&](const std::string& name, auto& value, const std::string& help) {
    return command->add_option(name, value, help)->capture_default_str();
  };
  add("--data", options->data, kDataSpecHelp)->type_name("SPEC");
  add("--layers", options->layers, "Features in, widths of the hidden layers, classes")
      ->delimiter(',')
      ->expected(2, 1024)
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  add("--activation", options->activation, "Between the layers")
      ->check(CLI::IsMember(nn::activation_names()));
  add("--dropout", options->dropout, "Share of hidden values dropped in training, in [0, 1)")
      ->check(CLI::Range(0.0, 0.999999));
  add("--init", options->init, "First values of the weights")
      ->check(CLI::IsMember(nn::init_names()));
  add("--epochs", run.epochs, "Passes over the training part")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 30));
  add("--batch", run.batch, "Examples of a step")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  add("--optimizer", options->optimizer, "What makes steps of gradients")
      ->check(CLI::IsMember(optim::optimizer_names()));
  command->add_option("--lr", options->rate, "Learning rate; by default " + usual_rates())
      ->check(positive(true));
  for (const OptimizerNumber& n : kNumbers)
    command
        ->add_option_function<double>(
            std::string(n.option),
            [options, n](double value) { options->numbers[std::string(n.number)] = value; },
            std::string(n.help))
        ->type_name("FLOAT");
  command->add_flag("--nesterov", options->nesterov, "Nesterov's form of momentum (sgd)");
  command->add_flag("--centered", options->centered, "Variance instead of mean square (rmsprop)");
  command->add_flag("--amsgrad", options->amsgrad, "Largest mean square so far (adam, adamw)");
  add("--schedule", options->schedule, "How the learning rate goes on")
      ->check(CLI::IsMember(optim::schedule_names()));
  add("--warmup", run.schedule.warmup, "Steps in which the rate rises in a line")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  add("--decay-every", options->decay_every, "Epochs between falls (schedule step)")
      ->check(CLI::Range(1e-6, 1e9));
  add("--decay-factor", run.schedule.factor, "What each fall leaves (schedule step)")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--clip-value", run.rule.clip.value, "Largest size of a gradient's element")
      ->check(positive());
  command
      ->add_option("--clip-norm", run.rule.clip.norm, "Largest L2 norm of all gradients together")
      ->check(positive());
  add("--seed", run.seed, "Of the first weights, the order and the dropout");
  add_threads_option(*command, options->threads);
  add("--out", options->out, "Folder for model.safetensors and log.jsonl")->type_name("DIR");
  command->callback([options] { train(*options); });
}

}  // namespace limpid::tool
