// limpid perceptron: Rosenblatt's rule on a table of truth of two inputs, epoch by epoch.
#include "limpid/nn/perceptron.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "apps/limpid/command.h"
#include "apps/limpid/output.h"

namespace limpid::tool {
namespace {

struct Options {
  std::string target = "xor";
  std::int64_t epochs = 20;
};

struct Target {
  std::string_view name, answers;  // to (0, 0), (0, 1), (1, 0), (1, 1)
};
constexpr Target kTargets[] = {
    {"and", "0001"}, {"or", "0111"}, {"nand", "1110"}, {"nor", "1000"}, {"xor", "0110"}};

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const Target& t : kTargets) names.emplace_back(t.name);
  return names;
}

Tensor answers_of(std::string_view name) {
  std::vector<float> answers;
  for (const Target& t : kTargets)
    if (t.name == name)
      for (char c : t.answers) answers.push_back(c == '1' ? 1.0f : 0.0f);
  return Tensor::from({4}, answers);
}

std::string ending(const nn::PerceptronRun& run) {
  if (!run.mistakes.empty() && run.mistakes.back() == 0)
    return fmt::format("Learnt: epoch {} is without a mistake.\n", run.mistakes.size());
  if (const auto back = nn::first_return(run))
    return fmt::format(
        "Never learnt: behind epoch {} the weights are those behind epoch {} again, so that it "
        "goes "
        "on like this for ever.\n",
        back->epoch + 1, back->earlier + 1);
  return fmt::format("Not learnt in {} epochs.\n", run.mistakes.size());
}

void perceptron(const Options& options) {
  const Tensor corners = Tensor::from<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  const nn::PerceptronRun run =
      nn::train_perceptron(nn::Perceptron{2}, corners, answers_of(options.target), options.epochs);
  print(fmt::format("{}: step(w1 x1 + w2 x2 + b), from zeros, rate 1\n", options.target));
  print("epoch   mistakes     w1     w2      b\n");
  for (std::size_t e = 0; e < run.mistakes.size(); ++e) {
    const auto w = run.params[e].at("weight").values<float>();
    print(fmt::format("{:>5}   {:>8}   {:>4}   {:>4}   {:>4}\n", e + 1, run.mistakes[e], w[0], w[1],
                      run.params[e].at("bias").item<float>()));
  }
  print(ending(run));
}

}  // namespace

void add_perceptron(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("perceptron", "Rosenblatt's rule on AND, OR or XOR, epoch by epoch");
  command->add_option("--target", options->target, "What to learn")
      ->check(CLI::IsMember(target_names()))
      ->capture_default_str();
  command->add_option("--epochs", options->epochs, "Epochs at most")
      ->check(within(1, 1000))
      ->type_name("N")
      ->capture_default_str();
  command->callback([options] { perceptron(*options); });
}

}  // namespace limpid::tool
