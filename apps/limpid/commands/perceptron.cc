// limpid perceptron: Rosenblatt's learning rule on a truth table of two inputs, epoch by epoch.
#include "apps/limpid/lab/perceptron.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/output.h"

namespace limpid::tool {
namespace {

struct PerceptronArguments {
  std::string target = "XOR";
  std::int64_t epochs = 20;
  bool json = false;
};

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const lab::TruthTable& t : lab::truth_tables()) names.emplace_back(t.name);
  return names;
}

void perceptron(const PerceptronArguments& options) {
  const lab::Lesson lesson = lab::learn(lab::truth_table_from_name(options.target), options.epochs);
  const nn::PerceptronRun& run = lesson.run;
  if (options.json) {
    Json epochs = Json::array();
    for (std::size_t e = 0; e < run.mistakes.size(); ++e)
      epochs.push_back({{"mistakes", run.mistakes[e]},
                        {"weight", json_of(run.params[e].at("weight"))},
                        {"bias", json_of(run.params[e].at("bias").item<float>())}});
    return print_json(
        Json{{"target", options.target}, {"epochs", epochs}, {"ending", lab::ending(lesson)}});
  }
  print(fmt::format("{}: step(w1 x1 + w2 x2 + b), from zeros, rate 1\n", options.target));
  print("epoch   mistakes     w1     w2      b\n");
  for (std::size_t e = 0; e < run.mistakes.size(); ++e) {
    const auto w = run.params[e].at("weight").values<float>();
    print(fmt::format("{:>5}   {:>8}   {:>4}   {:>4}   {:>4}\n", e + 1, run.mistakes[e], w[0], w[1],
                      run.params[e].at("bias").item<float>()));
  }
  print(lab::ending(lesson) + "\n");
}

}  // namespace

void add_perceptron(Command& app) {
  auto options = std::make_shared<PerceptronArguments>();
  Command command = app.command(
      "perceptron", "Train Rosenblatt's perceptron on a truth table and print every epoch");
  command.choice("--target", options->target, target_names(), "Truth table to learn");
  command.option("--epochs", options->epochs, "Maximum number of epochs").check(within(1, 1000));
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { perceptron(*options); });
}

}  // namespace limpid::tool
