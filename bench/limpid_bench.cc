// Compares limpid with libtorch and oneDNN. Each library lives in a process of its own
// (subject_main.cc); this program has them take turns, checks their answers against plain loops
// before anything is timed, and prints a table. bench/README.md says how to read it.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/machine.h"
#include "bench/task.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

// A library, and how its program is started.
struct Peer {
  std::string name;
  std::string program;
  std::string variant;
  std::string blas;  // a folder whose libblas.so.3 it is to use
};

const std::vector<Peer> kPeers = {
    {"limpid", "subject_limpid", "", ""},
    {"libtorch, OpenBLAS", "subject_torch", "OpenBLAS",
     "/usr/lib/x86_64-linux-gnu/openblas-openmp"},
    {"libtorch, BLIS", "subject_torch", "BLIS", "/usr/lib/x86_64-linux-gnu/blis-openmp"},
    {"oneDNN, matmul", "subject_dnnl", "matmul", ""},
    {"oneDNN, inner product", "subject_dnnl", "inner_product", ""},
};

struct Case {
  enum class Kind { kForward, kGated, kTraining, kFunction };
  Kind kind;
  std::string what;  // the network, the sizes of the block, the optimiser or the function
  int batch;         // rows; of a function, columns too
  int threads;
  std::string table, row;  // where its figures stand
  bool heavy = false;      // left out of a quick look, and prepared only once

  std::string name() const { return fmt::format("{} {} b{} t{}", table, what, batch, threads); }
};

void add_forward_passes(std::vector<Case>& cases, int threads) {
  using Kind = Case::Kind;
  for (const int batch : {1, 8, 32, 256, 4096})
    cases.push_back({Kind::kForward, kDigits, batch, threads, "forward pass of 784-256-128-10",
                     std::to_string(batch)});
  if (threads == 1)
    for (const char* net : {"tanh:3-4-2", "relu:64-64-64-1"})
      cases.push_back({Kind::kForward, net, 1, threads, "small networks, one example", net});
  for (const int rows : {1, 16, 128})
    cases.push_back({Kind::kForward, "gelu:4096-16384-4096", rows, threads, "feed-forward blocks",
                     fmt::format("4096-16384-4096 GELU, {} rows", rows), true});
  for (const int rows : {1, 32, 256})
    cases.push_back({Kind::kGated, "1024-2736", rows, threads, "feed-forward blocks",
                     fmt::format("1024-2736-1024 SwiGLU, {} rows", rows)});
}

void add_products(std::vector<Case>& cases) {
  struct Product {
    int m, k, n;
  };
  for (const auto& [m, k, n] :
       {Product{64, 64, 64}, Product{256, 256, 256}, Product{1024, 1024, 1024},
        Product{2048, 2048, 2048}, Product{8, 1024, 1024}, Product{32, 4096, 4096},
        Product{1, 1024, 1024}, Product{1, 4096, 4096}})
    cases.push_back({Case::Kind::kForward, fmt::format("none:{}-{}", k, n), m, 1,
                     "products with weights, plus bias", fmt::format("{} x {} x {}", m, k, n),
                     m * 1.0 * k * n > 2e9});
}

void add_training(std::vector<Case>& cases, int threads) {
  for (const char* optimizer : {"sgd", "adamw"})
    for (const int batch : {32, 128, 512})
      cases.push_back({Case::Kind::kTraining, optimizer, batch, threads,
                       "training step of 784-256-128-10",
                       fmt::format("{}, batch {}", optimizer, batch), batch != 128});
}

void add_functions(std::vector<Case>& cases) {
  for (const int size : {256, 4096})
    for (const char* function : {"relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "softmax",
                                 "layer_norm", "rms_norm"})
      cases.push_back({Case::Kind::kFunction, function, size, 1,
                       fmt::format("functions of {0} x {0}", size), function});
}

// Ordered by the number of threads.
std::vector<Case> make_cases() {
  std::vector<Case> cases;
  for (const int threads : {1, 2}) {
    add_forward_passes(cases, threads);
    if (threads == 1) add_products(cases);
    add_training(cases, threads);
    if (threads == 1) add_functions(cases);
  }
  return cases;
}

constexpr int kCheckedSteps = 3;

// The multiply-adds of a case, counted as two; 0 where they are not the bound. Training: forward,
// the gradients of the weights, and those of the activations but for the images.
double flops(const Case& c) {
  if (c.kind == Case::Kind::kFunction) return 0;
  if (c.kind == Case::Kind::kGated) {
    const std::vector<int> sizes = sizes_of_network(c.what);
    return 6.0 * c.batch * sizes[0] * sizes[1];
  }
  const bool training = c.kind == Case::Kind::kTraining;
  const std::vector<int> sizes = sizes_of_network(training ? kDigits : c.what);
  double sum = 0;
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l)
    sum += 2.0 * c.batch * sizes[l] * sizes[l + 1] * (!training ? 1 : l == 0 ? 2 : 3);
  return sum;
}

// The program of one peer, for one number of threads, reached through two pipes.
class Process {
 public:
  Process(const Peer& peer, const std::filesystem::path& folder, const std::vector<int>& cpus,
          int threads) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      if (!peer.blas.empty()) setenv("LD_LIBRARY_PATH", peer.blas.c_str(), 1);
      // OpenMP's threads are placed as limpid's are.
      std::string places;
      for (int i = 0; i < threads; ++i) places += fmt::format("{}{{{}}}", i ? "," : "", cpus[i]);
      setenv("OMP_PLACES", places.c_str(), 1);
      setenv("OMP_PROC_BIND", "true", 1);
      for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"})
        setenv(name, std::to_string(threads).c_str(), 1);
      const std::string program = folder / peer.program;
      execl(program.c_str(), program.c_str(), peer.variant.c_str(), nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = fdopen(to[1], "w");
    from_ = fdopen(from[0], "r");
    name_ = peer.name;
  }
  ~Process() {
    std::fclose(to_);
    std::fclose(from_);
    waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  std::string ask(const std::string& line) {
    std::fprintf(to_, "%s\n", line.c_str());
    std::fflush(to_);
    std::string reply;
    for (int c = std::fgetc(from_); c != '\n'; c = std::fgetc(from_)) {
      if (c == EOF) throw std::runtime_error(name_ + " ended at: " + line);
      reply += static_cast<char>(c);
    }
    if (reply.compare(0, 5, "error") == 0) throw std::runtime_error(name_ + ": " + reply);
    return reply;
  }

  // The numbers behind a reply "floats N"; none behind "none".
  std::vector<float> ask_floats(const std::string& line) {
    const std::string reply = ask(line);
    if (reply == "none") return {};
    std::vector<float> values(std::stoul(reply.substr(7)));
    if (std::fread(values.data(), sizeof(float), values.size(), from_) != values.size())
      throw std::runtime_error(name_ + " ended at: " + line);
    return values;
  }

 private:
  std::string name_;
  pid_t pid_;
  std::FILE* to_;
  std::FILE* from_;
};

double median(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

// The first rows of an answer are enough.
constexpr int kCheckedRows = 2;

std::vector<double> right_answer(const Case& c) {
  const int rows = std::min(c.batch, kCheckedRows);
  if (c.kind == Case::Kind::kFunction) {
    const std::vector<float> x = function_input(c.batch, c.batch);
    const auto checked = static_cast<std::size_t>(rows) * static_cast<std::size_t>(c.batch);
    return reference_function({c.what, rows, c.batch, std::span(x).first(checked)});
  }
  if (c.kind == Case::Kind::kTraining) {
    const std::vector<float> x = rows_of_input(c.batch * kTrainingBatches, 784);
    const std::vector<std::int32_t> labels = digits_labels(c.batch * kTrainingBatches);
    return reference_training(network_of(kDigits), {c.batch, x, labels, c.what, kRate, kMomentum},
                              kCheckedSteps);
  }
  if (c.kind == Case::Kind::kGated) {
    const Gated gated = gated_of(c.what);
    return reference_gated(gated, rows, rows_of_input(rows, gated.width));
  }
  const Network network = network_of(c.what);
  return reference_logits(network, rows, rows_of_input(rows, network.sizes.front()));
}

// All answers are about 1; they come from sums of up to 16,384 products rounded to 24 bits, whose
// errors grow with the root of their number. A bug makes a thousandth and more. AdamW's first steps
// are of the size of the rate whatever the gradient: those of a gradient near zero are no more
// alike than its rounding errors.
double tolerance(const Case& c) {
  return c.kind == Case::Kind::kTraining && c.what == "adamw" ? 2 * kCheckedSteps * kRate : 1e-4;
}

void check(const std::string& peer, const Case& c, const std::vector<float>& answer,
           const std::vector<double>& right) {
  double error = answer.size() >= right.size() ? 0 : 1;
  for (std::size_t i = 0; i < right.size() && error < tolerance(c); ++i)
    error = std::max(error, std::abs(static_cast<double>(answer[i]) - right[i]));
  if (!(error < tolerance(c)))
    throw std::runtime_error(fmt::format("{}, {}: wrong by {:.2e}", peer, c.name(), error));
}

struct Result {
  std::vector<double> rounds;  // nanoseconds a call; empty where the library does not do it
  long switches = 0;
};

std::string prepare(const Case& c) {
  switch (c.kind) {
    case Case::Kind::kForward:
      return fmt::format("forward {} {} {}", c.what, c.batch, c.threads);
    case Case::Kind::kGated:
      return fmt::format("gated {} {} {}", c.what, c.batch, c.threads);
    case Case::Kind::kTraining:
      return fmt::format("train {} {} {} {}", c.what, c.batch, c.threads, kCheckedSteps);
    case Case::Kind::kFunction:
      break;
  }
  return fmt::format("function {0} {1} {1} {2}", c.what, c.batch, c.threads);
}

std::vector<Result> measure(const Case& c, std::vector<std::unique_ptr<Process>>& processes,
                            int rounds, double milliseconds) {
  std::vector<Result> results(processes.size());
  const std::vector<double> right = right_answer(c);
  std::vector<bool> takes_part(processes.size(), true);
  for (int r = 0; r < rounds; ++r)
    for (std::size_t k = 0; k < processes.size(); ++k) {
      // Another one begins each round.
      const std::size_t i = (k + static_cast<std::size_t>(r)) % processes.size();
      if (!takes_part[i]) continue;
      // Prepared anew each time, so that no figure hangs on where memory happened to lie.
      if (r == 0 || !c.heavy) {
        const std::vector<float> answer = processes[i]->ask_floats(prepare(c));
        takes_part[i] = !answer.empty();
        if (answer.empty()) continue;
        if (r == 0) check(kPeers[i].name, c, answer, right);
      }
      const std::string reply = processes[i]->ask(fmt::format("time {}", milliseconds));
      double nanoseconds = 0;
      unsigned long calls = 0;
      long switches = 0;
      std::sscanf(reply.c_str(), "time %lf %lu %ld", &nanoseconds, &calls, &switches);
      results[i].rounds.push_back(nanoseconds);
      results[i].switches += switches;
      // OpenMP's threads look for work for some milliseconds before they sleep.
      std::this_thread::sleep_for(std::chrono::milliseconds{15});
    }
  return results;
}

void print_heading(const Case& c) {
  const bool function = c.kind == Case::Kind::kFunction;
  fmt::print("\n{}, {} thread{}, {}\n\n| | bound |", c.table, c.threads, c.threads == 1 ? "" : "s",
             function ? "nanoseconds an element" : "microseconds a call");
  for (const Peer& peer : kPeers) fmt::print(" {} |", peer.name);
  fmt::print(" best peer / limpid |\n|---|---|");
  for (std::size_t i = 0; i <= kPeers.size(); ++i) fmt::print("---|");
  fmt::print("\n");
}

void print_row(const Case& c, double bound_ns, const std::vector<Result>& results) {
  const bool function = c.kind == Case::Kind::kFunction;
  const double unit = function ? static_cast<double>(c.batch) * c.batch : 1e3;
  const auto number = [&](double ns) {
    return ns / unit < 10 ? fmt::format("{:.3f}", ns / unit) : fmt::format("{:.1f}", ns / unit);
  };
  fmt::print("| {} | {} |", c.row, bound_ns > 0 ? number(bound_ns) : "");
  double best = INFINITY;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].rounds.empty()) {
      fmt::print(" |");
      continue;
    }
    const double ns = median(results[i].rounds);
    if (i > 0) best = std::min(best, ns);
    fmt::print(" {} |", number(ns));
  }
  fmt::print(" {:.2f} |\n", best / median(results[0].rounds));
  std::fflush(stdout);
}

int run(int rounds, double milliseconds, bool quick, const std::string& only,
        const std::string& json_file, const std::filesystem::path& folder) {
  const Machine machine = this_machine();
  const double peak = peak_gflops();
  fmt::print("{}\n{}; {} CPUs; {}; {}\n{:.1f} GFLOP/s of f32 multiply-adds on one core\n",
             machine.cpu, machine.isa, machine.cpus.size(), machine.system, machine.compiler, peak);
  fmt::print("Medians of {} interleaved rounds of {} ms; threads pinned to CPUs {}{}\n", rounds,
             milliseconds, machine.cpus[0],
             machine.cpus.size() > 1 ? fmt::format(" and {}", machine.cpus[1]) : "");

  std::vector<std::unique_ptr<Process>> processes;
  Json subjects = Json::object();
  Json all = Json::array();
  long switches = 0;
  const Case* before = nullptr;
  const std::vector<Case> cases = make_cases();
  for (const Case& c : cases) {
    if (static_cast<std::size_t>(c.threads) > machine.cpus.size()) continue;
    if (quick && c.heavy) continue;
    if (c.name().find(only) == std::string::npos) continue;
    if (before == nullptr || before->threads != c.threads) {
      processes.clear();
      for (const Peer& peer : kPeers) {
        processes.push_back(std::make_unique<Process>(peer, folder, machine.cpus, c.threads));
        subjects[peer.name] = processes.back()->ask("describe");
      }
    }
    if (before == nullptr || before->table != c.table || before->threads != c.threads)
      print_heading(c);
    before = &c;
    const std::vector<Result> results = measure(c, processes, rounds, milliseconds);
    print_row(c, flops(c) / (peak * c.threads), results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      switches += results[i].switches;
      if (results[i].rounds.empty()) continue;
      all.push_back({{"case", c.name()},
                     {"threads", c.threads},
                     {"subject", kPeers[i].name},
                     {"median_ns", median(results[i].rounds)},
                     {"rounds_ns", results[i].rounds},
                     {"preemptions", results[i].switches}});
    }
  }
  fmt::print("\n");
  for (const auto& [name, description] : subjects.items())
    fmt::print("{}: {}\n", name, description.get<std::string>());
  fmt::print("The system took the CPU away {} times during the rounds.\n", switches);

  if (!json_file.empty()) {
    const Json json = {{"machine",
                        {{"cpu", machine.cpu},
                         {"isa", machine.isa},
                         {"cpus", machine.cpus},
                         {"system", machine.system},
                         {"compiler", machine.compiler},
                         {"peak_gflops_one_core", peak}}},
                       {"rounds", rounds},
                       {"milliseconds_a_round", milliseconds},
                       {"subjects", subjects},
                       {"results", all}};
    std::ofstream(json_file) << json.dump(2) << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  CLI::App app{"Compares limpid with libtorch and oneDNN."};
  int rounds = 15;
  double milliseconds = 150;
  bool quick = false;
  std::string only, json;
  app.add_option("--rounds", rounds, "Turns that each library gets in each case")
      ->check(CLI::Range(1, 1000));
  app.add_option("--milliseconds", milliseconds, "Length of a turn")
      ->check(CLI::Range(1.0, 10000.0));
  app.add_flag("--quick", quick, "5 rounds of 40 ms, without the largest cases");
  app.add_option("--only", only, "Cases whose name has this part, such as 'train' or 'b32 t1'");
  app.add_option("--json", json, "Write every round to this file");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    rounds = 5;
    milliseconds = 40;
  }
  try {
    return bench::run(rounds, milliseconds, quick, only, json,
                      std::filesystem::canonical("/proc/self/exe").parent_path());
  } catch (const std::exception& e) {
    fmt::print(stderr, "limpid_bench: {}\n", e.what());
    return 1;
  }
}
