// The cost of starting, for each library: the time from the start of a program to its first
// inference and the memory then; and the time to compile a Function.
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <string>

#include "bench/arguments.h"
#include "bench/peers.h"
#include "bench/prepared.h"
#include "bench/report.h"

namespace bench {
namespace {

namespace lp = limpid;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

// ---- programs

struct Start {
  std::string name;
  std::vector<double> milliseconds, mib;
};

std::vector<Start> measure_starts(const Machine& machine, int rounds, Json& left_out) {
  std::vector<Peer> peers = {{"no library, plain loops", "none", "", ""}};
  peers.insert(peers.end(), all_peers().begin(), all_peers().end());
  std::vector<Start> starts(peers.size());
  // One more round: the first reads the files into memory.
  for (int round = 0; round <= rounds; ++round)
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (left_out.contains(peers[i].name)) continue;
      starts[i].name = peers[i].name;
      try {
        const auto begin = Clock::now();
        const auto process = start(peers[i], "start_", machine, 1);
        const std::string answer = process->ask("");
        const double time = milliseconds(Clock::now() - begin);
        if (answer == "none") throw std::runtime_error("has no such network");
        if (round == 0) continue;
        starts[i].milliseconds.push_back(time);
        starts[i].mib.push_back(process->most_resident_mib());
      } catch (const std::exception& e) {
        left_out[peers[i].name] = e.what();
      }
    }
  std::erase_if(starts, [](const Start& s) { return s.milliseconds.empty(); });
  return starts;
}

// ---- compiling

// GPT-2's architecture: `layers` pre-norm blocks of `features`, one sequence; parameters are
// inputs.
lp::Function transformer(int layers, std::int64_t features, std::int64_t heads,
                         std::int64_t length) {
  const lp::nn::LayerNorm norm{.features = features};
  const lp::nn::MultiHeadAttention attention{.features = features, .heads = heads, .causal = true};
  const lp::nn::FeedForward feed_forward{
      .features = features, .hidden = 4 * features, .activation = lp::gelu};
  const auto parameter = [](const std::string& name, const lp::Shape& shape) {
    return lp::Input{name, {lp::Dtype::kF32, shape}};
  };
  std::vector<lp::Input> inputs;
  for (int l = 0; l < layers; ++l) {
    const std::string at = fmt::format("h.{}.", l);
    for (const char* part : {"norm1", "norm2"}) {
      inputs.push_back(parameter(at + part + ".weight", {features}));
      inputs.push_back(parameter(at + part + ".bias", {features}));
    }
    inputs.push_back(parameter(at + "attention.in_proj_weight", {3 * features, features}));
    inputs.push_back(parameter(at + "attention.in_proj_bias", {3 * features}));
    inputs.push_back(parameter(at + "attention.out_proj.weight", {features, features}));
    inputs.push_back(parameter(at + "attention.out_proj.bias", {features}));
    inputs.push_back(parameter(at + "ffn.linear1.weight", {4 * features, features}));
    inputs.push_back(parameter(at + "ffn.linear1.bias", {4 * features}));
    inputs.push_back(parameter(at + "ffn.linear2.weight", {features, 4 * features}));
    inputs.push_back(parameter(at + "ffn.linear2.bias", {features}));
  }
  inputs.push_back(parameter("x", {length, features}));
  return lp::trace("transformer", inputs, [&](std::span<const lp::Value> in) {
    lp::Args args;
    for (std::size_t i = 0; i + 1 < in.size(); ++i) args.set(inputs[i].name, in[i]);
    lp::Value x = in.back();
    for (int l = 0; l < layers; ++l) {
      const lp::Args block = args.within(fmt::format("h.{}", l));
      x = x + attention(block.within("attention"), norm(block.within("norm1"), x));
      x = x + feed_forward(block.within("ffn"), norm(block.within("norm2"), x));
    }
    return std::vector<lp::Value>{x};
  });
}

lp::Function bound(const lp::Function& f) {
  lp::Params params;
  for (std::size_t i = 0; i + 1 < f.inputs().size(); ++i)
    params.set(f.inputs()[i].name, some_numbers(f.inputs()[i].type));
  return lp::bind(f, params);
}

Table measure_compiling(int rounds, Json& figures) {
  Table table{"compile(), milliseconds", {"ops", "parameters as inputs", "bound: packed"}, {}, {}};
  const auto time = [&](const lp::Function& f) {
    std::vector<double> samples;
    for (int i = 0; i < rounds; ++i) {
      const auto begin = Clock::now();
      const lp::Executable executable = lp::compile(f);
      samples.push_back(milliseconds(Clock::now() - begin));
    }
    return median(samples);
  };
  const auto add = [&](const std::string& name, const lp::Function& f) {
    const double free = time(f), packed = time(bound(f));
    table.add(name, {std::to_string(f.nodes().size()), number(free), number(packed)});
    figures[name] = {{"ops", f.nodes().size()}, {"free_ms", free}, {"bound_ms", packed}};
  };
  add("784-256-128-10", lp::nn::mlp({784, 256, 128, 10}, lp::relu).function());
  add("12-layer transformer, 768 wide, 12 heads, 64 tokens", transformer(12, 768, 12, 64));
  return table;
}

void run(int rounds, const std::filesystem::path& out) {
  const Machine machine = this_machine();
  Json left_out = Json::object(), starts = Json::object(), compiling = Json::object();
  Table table{"Start of a program to its first answer, 784-256-128-10, one example",
              {"milliseconds", "resident, MiB"},
              {},
              {}};
  for (const Start& s : measure_starts(machine, rounds, left_out)) {
    table.add(s.name, {number(median(s.milliseconds)), number(median(s.mib))});
    starts[s.name] = {{"milliseconds", s.milliseconds}, {"resident_mib", s.mib}};
  }
  std::string text = markdown(machine);
  for (const auto& [name, reason] : left_out.members())
    text += fmt::format("* left out: {}: {}\n", name, reason.as_string());
  text += "\n" + table.markdown() + "\n" + measure_compiling(rounds, compiling).markdown() + "\n";
  publish(out, "start", text,
          {{"machine", json(machine)},
           {"left_out", left_out},
           {"starts", starts},
           {"compile", compiling}});
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Arguments arguments(
      "Time to first inference of each library, and time to compile a Function.");
  bool quick = false;
  std::filesystem::path out;
  arguments.flag("quick", quick, "3 rounds instead of 11");
  arguments.option("out", out, "Write start.md and start.json into this folder");
  return arguments.run(argc, argv, [&] { bench::run(quick ? 3 : 11, out); });
}
