// Compares the training step of a GPT with PyTorch's, in turns; or profiles it.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "bench/arguments.h"
#include "bench/foreign.h"
#include "bench/peers.h"
#include "bench/prepared.h"
#include "bench/profiled.h"
#include "bench/report.h"
#include "bench/rules.h"
#include "bench/timing.h"

namespace bench {
namespace {

namespace lp = limpid;

constexpr int kCheckedSteps = 3;

struct Settings {
  lp::nn::Gpt net{.vocabulary = 65};
  std::int64_t batch = 12;
  int rounds = 7;
  double milliseconds = 500;
  std::vector<int> threads;
  bool profile = false;
  bool alone = false;
  std::filesystem::path out;
};

const lp::optim::AdamW kOptimizer{.beta2 = 0.99, .weight_decay = 0.1};

lp::Function training_step(const Settings& s) {
  lp::train::Problem problem;
  problem.task = lp::Task::kNextToken;
  problem.inference = s.net.function();
  problem.target = {lp::Dtype::kI32, {s.net.context}};
  problem.init = [net = s.net](lp::Key key) { return net.init(key); };
  problem.forward = [net = s.net](const lp::Args& params, const lp::Args& non_trainable,
                                  const lp::Value& x, const lp::Value& key) {
    return lp::train::Problem::Result{net(params, x, key), non_trainable};
  };
  problem.losses = lp::train::losses_in_scale({lp::train::Loss::Kind::kCrossEntropy});
  return lp::train::step_function(problem, {kOptimizer, {.norm = 1.0}}, s.batch);
}

// The initial parameters and optimiser state, a text in which each token occurs, and the next token
// of each position.
std::vector<lp::Tensor> first_inputs(const lp::Function& step, const Settings& s) {
  lp::Params begin = s.net.init(lp::Key(1));
  begin.merge("", kOptimizer.init(begin));
  std::vector<lp::Tensor> inputs;
  for (const lp::Input& input : step.inputs()) {
    if (const lp::Tensor* p = begin.find(input.name)) {
      inputs.push_back(*p);
    } else if (input.type.dtype == lp::Dtype::kI32) {
      const std::size_t first = input.name == "y" ? 1 : 0;
      inputs.push_back(
          lp::Tensor::generate<std::int32_t>(input.type.shape, [&](std::span<std::int32_t> ids) {
            for (std::size_t i = 0; i < ids.size(); ++i)
              ids[i] = static_cast<std::int32_t>((i + first) * 31 %
                                                 static_cast<std::size_t>(s.net.vocabulary));
          }));
    } else {
      inputs.push_back(input.name == "rate" ? lp::Tensor::scalar(1e-3f)
                                            : lp::Tensor::zeros(input.type));
    }
  }
  return inputs;
}

// The losses of the first steps.
std::vector<float> first_losses(const lp::Function& step, const Settings& s) {
  const lp::Executable executable = lp::compile(step);
  std::vector<lp::Tensor> inputs = first_inputs(step, s);
  std::vector<float> losses;
  for (int i = 0; i < kCheckedSteps; ++i) {
    const std::vector<lp::Tensor> outputs = executable(inputs);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const std::string& name = step.outputs()[o].name;
      if (name == "loss") losses.push_back(outputs[o].item<float>());
      for (std::size_t k = 0; k < inputs.size(); ++k)
        if (step.inputs()[k].name == name) inputs[k] = outputs[o];
    }
  }
  return losses;
}

// ---- the profile

void show_profile(const Settings& s) {
  const lp::Function step = training_step(s);
  print_profile(step, first_inputs(step, s), s.rounds, s.threads.empty() ? 1 : s.threads[0]);
  const auto begin = std::chrono::steady_clock::now();
  const lp::Executable executable = lp::compile(step);
  const std::chrono::duration<double, std::milli> compiling =
      std::chrono::steady_clock::now() - begin;
  fmt::print("{} KiB of workspace, {:.1f} ms to compile\n", executable.workspace_bytes() / 1024,
             compiling.count());
}

// ---- in turns

class PyTorch {
 public:
  // Starts with the parameters of `step`. Throws if its losses differ.
  PyTorch(const lp::Function& step, const Settings& s, const Machine& machine, int threads)
      : python_({.name = "PyTorch",
                 .command = {python(), source_path("peer_gpt.py")},
                 .environment = environment(kOpenBlas, machine, threads),
                 .cpu = {}}) {
    const std::string parameters = python_.path("parameters.npz");
    lp::save_npz(parameters, s.net.init(lp::Key(1)));
    python_.process().ask(fmt::format("load {} {} {} {} {} {} {} {}", parameters, s.net.layers,
                                      s.net.heads, s.net.width, s.net.context, s.net.vocabulary,
                                      s.batch, threads));
    check_losses(first_losses(step, s),
                 python_.process().ask_floats(fmt::format("losses {}", kCheckedSteps)));
  }

  std::string describe() { return python_.process().ask("describe"); }
  double milliseconds(double budget) {
    std::istringstream answer(python_.process().ask(fmt::format("time {}", budget)));
    std::string verb;
    double nanoseconds = 0;
    answer >> verb >> nanoseconds;
    return nanoseconds / 1e6;
  }

 private:
  Foreign python_;
};

std::unique_ptr<PyTorch> start_peer(const lp::Function& step, const Settings& s,
                                    const Machine& machine, int threads) {
  if (s.alone) return nullptr;
  try {
    return std::make_unique<PyTorch>(step, s, machine, threads);
  } catch (const std::runtime_error& e) {
    fmt::print(stderr, "gpt_bench: PyTorch is left out: {}\n", e.what());
    return nullptr;
  }
}

void compare(const Settings& s) {
  const Machine machine = this_machine();
  const lp::Function step = training_step(s);
  Table table{
      "Training step of a GPT, milliseconds (medians of the turns; ± is two standard errors)",
      {"limpid", "PyTorch", "PyTorch / limpid"},
      {},
      {}};
  Json figures = {{"machine", json(machine)}};
  std::string description;
  for (const int threads : numbers_of_threads(s.threads, machine)) {
    const auto peer = start_peer(step, s, machine, threads);
    std::vector<double> ours, theirs;
    for (int round = 0; round < s.rounds; ++round) {
      Prepared prepared(step, threads, first_inputs(step, s));
      ours.push_back(time_calls([&] { prepared.run(); }, s.milliseconds).nanoseconds / 1e6);
      if (peer) theirs.push_back(peer->milliseconds(s.milliseconds));
    }
    const std::string name = fmt::format("{} thread{}", threads, threads > 1 ? "s" : "");
    if (peer) description += fmt::format("* {}: {}\n", name, peer->describe());
    figures[name] = {{"limpid", ours}, {"PyTorch", theirs}};
    table.add(name, {fmt::format("{:.2f}", median(ours)),
                     peer ? fmt::format("{:.2f}", median(theirs)) : "",
                     peer ? ratio_of(theirs, ours).text() : ""});
  }
  publish(s.out, "gpt", markdown(machine) + description + "\n" + table.markdown(), figures);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Arguments arguments(
      "The training step of a GPT: limpid and PyTorch in turns, or limpid's profile.");
  bench::Settings s;
  bool quick = false;
  arguments.option("layers", s.net.layers, 1, 1000);
  arguments.option("heads", s.net.heads, 1, 1000);
  arguments.option("width", s.net.width, 1, 100000);
  arguments.option("context", s.net.context, 1, 100000);
  arguments.option("batch", s.batch, 1, 100000);
  arguments.option("rounds", s.rounds, 1, 1000);
  arguments.option("milliseconds", s.milliseconds, 1, 1e5, "Of each turn");
  arguments.flag("quick", quick, "3 rounds of 200 ms");
  arguments.flag("alone", s.alone, "Without PyTorch");
  arguments.flag("profile", s.profile, "Print the time of every band of the plan instead");
  arguments.option("threads", s.threads, 1, 64,
                   "Numbers of threads: 1 and 2, or 1 for the profile");
  arguments.option("out", s.out, "Write gpt.md and gpt.json into this folder");
  return arguments.run(argc, argv, [&] {
    if (quick) {
      s.rounds = 3;
      s.milliseconds = 200;
    }
    s.profile ? bench::show_profile(s) : bench::compare(s);
  });
}
