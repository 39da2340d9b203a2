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
#include <map>
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
  bool training;
  int batch;
  int threads;

  std::string name() const {
    return fmt::format("{} b{} t{}", training ? "train" : "forward", batch, threads);
  }
};

// Ordered by the number of threads.
const std::vector<Case> kCases = {
    {false, 1, 1}, {false, 8, 1}, {false, 32, 1}, {false, 256, 1}, {false, 4096, 1}, {true, 128, 1},
    {false, 1, 2}, {false, 8, 2}, {false, 32, 2}, {false, 256, 2}, {false, 4096, 2}, {true, 128, 2},
};

constexpr int kCheckedSteps = 3;

// Multiply-adds count two. Training: forward, the gradients of the weights, and those of the
// activations but for the images.
double flops(const Case& c) {
  const double first = 784.0 * 256, rest = 256.0 * 128 + 128.0 * 10;
  return 2 * c.batch * (c.training ? 2 * first + 3 * rest : first + rest);
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

// The right answers, computed once for both numbers of threads.
const std::vector<double>& reference(const Case& c) {
  static std::map<std::pair<bool, int>, std::vector<double>> known;
  std::vector<double>& answer = known[{c.training, c.batch}];
  if (!answer.empty()) return answer;
  const Network network = digits_network();
  const int rows = c.training ? c.batch * kTrainingBatches : c.batch;
  const std::vector<float> images = digits_images(rows);
  const std::vector<std::int32_t> labels = digits_labels(rows);
  answer = c.training ? reference_training(network, {c.batch, images, labels, kRate, kMomentum},
                                           kCheckedSteps)
                      : reference_logits(network, c.batch, images);
  return answer;
}

// Both the logits and the parameters are about 1, and come from sums of 784 products rounded to 24
// bits: 784 * 2^-24 = 5e-5 bounds their error. A bug makes a thousandth and more.
constexpr double kTolerance = 1e-4;

void check(const std::string& peer, const Case& c, const std::vector<float>& answer) {
  const std::vector<double>& right = reference(c);
  double error = answer.size() == right.size() ? 0 : 1;
  for (std::size_t i = 0; i < right.size() && error < kTolerance; ++i)
    error = std::max(error, std::abs(static_cast<double>(answer[i]) - right[i]));
  if (!(error < kTolerance))
    throw std::runtime_error(fmt::format("{}, {}: wrong by {:.2e}", peer, c.name(), error));
}

struct Result {
  std::vector<double> rounds;  // nanoseconds a call; empty where the library does not do it
  long switches = 0;
};

std::string prepare(const Case& c) {
  return c.training ? fmt::format("train {} {} {}", c.threads, c.batch, kCheckedSteps)
                    : fmt::format("forward {} {}", c.batch, c.threads);
}

std::vector<Result> measure(const Case& c, std::vector<std::unique_ptr<Process>>& processes,
                            int rounds, double milliseconds) {
  std::vector<Result> results(processes.size());
  for (int r = 0; r < rounds; ++r)
    for (std::size_t k = 0; k < processes.size(); ++k) {
      // Another one begins each round.
      const std::size_t i = (k + static_cast<std::size_t>(r)) % processes.size();
      // Prepared anew each time, so that no figure hangs on where memory happened to lie.
      const std::vector<float> answer = processes[i]->ask_floats(prepare(c));
      if (answer.empty()) continue;
      if (r == 0) check(kPeers[i].name, c, answer);
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

void print_heading(bool training, int threads) {
  fmt::print("\n{}, {} thread{}, {}\n\n| batch | bound |",
             training ? "One training step of 784-256-128-10, SGD with momentum"
                      : "Forward pass of 784-256-128-10",
             threads, threads == 1 ? "" : "s", "microseconds a call");
  for (const Peer& peer : kPeers) fmt::print(" {} |", peer.name);
  fmt::print(" best peer / limpid |\n|---|---|");
  for (std::size_t i = 0; i <= kPeers.size(); ++i) fmt::print("---|");
  fmt::print("\n");
}

void print_row(const Case& c, double bound_ns, const std::vector<Result>& results) {
  fmt::print("| {} | {:.1f} |", c.batch, bound_ns / 1e3);
  double best = INFINITY;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].rounds.empty()) {
      fmt::print(" |");
      continue;
    }
    const double ns = median(results[i].rounds);
    if (i > 0) best = std::min(best, ns);
    fmt::print(" {:.1f} |", ns / 1e3);
  }
  fmt::print(" {:.2f} |\n", best / median(results[0].rounds));
  std::fflush(stdout);
}

int run(int rounds, double milliseconds, const std::string& only, const std::string& json_file,
        const std::filesystem::path& folder) {
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
  for (const Case& c : kCases) {
    if (static_cast<std::size_t>(c.threads) > machine.cpus.size()) continue;
    if (c.name().find(only) == std::string::npos) continue;
    if (before == nullptr || before->threads != c.threads) {
      processes.clear();
      for (const Peer& peer : kPeers) {
        processes.push_back(std::make_unique<Process>(peer, folder, machine.cpus, c.threads));
        subjects[peer.name] = processes.back()->ask("describe");
      }
    }
    if (before == nullptr || before->training != c.training || before->threads != c.threads)
      print_heading(c.training, c.threads);
    before = &c;
    const std::vector<Result> results = measure(c, processes, rounds, milliseconds);
    print_row(c, flops(c) / (peak * c.threads), results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      switches += results[i].switches;
      if (results[i].rounds.empty()) continue;
      all.push_back({{"case", c.training ? "train" : "forward"},
                     {"batch", c.batch},
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
  app.add_flag("--quick", quick, "5 rounds of 40 ms");
  app.add_option("--only", only, "Cases whose name has this part, such as 'train' or 'b32 t1'");
  app.add_option("--json", json, "Write every round to this file");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    rounds = 5;
    milliseconds = 40;
  }
  try {
    return bench::run(rounds, milliseconds, only, json,
                      std::filesystem::canonical("/proc/self/exe").parent_path());
  } catch (const std::exception& e) {
    fmt::print(stderr, "limpid_bench: {}\n", e.what());
    return 1;
  }
}
