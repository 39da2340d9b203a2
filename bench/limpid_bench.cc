// Compares limpid with other libraries. Each runs in its own process (subject_main.cc). This
// program lets them take turns, compares their answers with those of plain loops before anything is
// timed, and writes tables. bench/README.md explains how to read them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/arguments.h"
#include "bench/cases.h"
#include "bench/machine.h"
#include "bench/peers.h"
#include "bench/report.h"
#include "bench/rules.h"
#include "bench/task.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

// In units in the last place: larger errors are shown beside the times.
constexpr double kExact = 16;

struct Settings {
  int rounds = 15;
  double milliseconds = 150;
  bool quick = false;
  std::string only;
  std::vector<int> threads;
  std::filesystem::path out;
};

// A peer's process, for one number of threads.
struct Subject {
  std::string name, description;
  std::unique_ptr<Process> process;
};

// The available peers. The others are reported once.
std::vector<Subject> start_all(const Machine& machine, int threads,
                               std::map<std::string, std::string>& left_out) {
  std::vector<Subject> subjects;
  for (const Peer& peer : all_peers()) {
    if (left_out.contains(peer.name)) continue;
    try {
      Subject subject{peer.name, "", start(peer, "subject_", machine, threads)};
      subject.description = subject.process->ask("describe");
      subjects.push_back(std::move(subject));
    } catch (const std::exception& e) {
      if (&peer == &all_peers().front()) throw;
      left_out[peer.name] = e.what();
    }
  }
  return subjects;
}

double largest_ulp(const std::vector<float>& answer, const std::vector<long double>& right) {
  double error = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    error = std::max(error, error_in_ulp(answer[i], right[i]));
  return error;
}

struct Result {
  std::vector<double> rounds;  // nanoseconds per call; empty if the library cannot do it
  double ulp = 0;              // of a function
  double mib = 0;              // resident after the last round
  long switches = 0;
  double seconds = 0;  // length of all rounds
};

Turns turns_of(const std::vector<Result>& results) {
  Turns turns;
  for (const Result& result : results) turns.push_back(result.rounds);
  return turns;
}

std::vector<Result> measure(const Case& c, std::vector<Subject>& subjects,
                            const Settings& settings) {
  std::vector<Result> results(subjects.size());
  const std::vector<long double> right = c.right_answer();
  std::vector<bool> takes_part(subjects.size(), true);
  const auto prepare = [&](std::size_t i, bool first) {
    const std::vector<float> answer = subjects[i].process->ask_floats(c.prepare());
    takes_part[i] = !answer.empty();
    if (!first || answer.empty()) return;
    const double error = c.error(answer, right);
    if (!(error < 1))
      throw std::runtime_error(
          fmt::format("{}, {}: the answer is wrong, its error is {:.2e} times the allowed one",
                      subjects[i].name, c.name(), error));
    if (c.kind == Case::Kind::kFunction) results[i].ulp = largest_ulp(answer, right);
  };
  for (std::size_t i = 0; i < subjects.size(); ++i) prepare(i, true);
  for (int r = 0; needs_turn(r, settings.rounds, turns_of(results)); ++r)
    for (std::size_t k = 0; k < subjects.size(); ++k) {
      // Each round starts with another library.
      const std::size_t i = (k + static_cast<std::size_t>(r)) % subjects.size();
      if (!takes_part[i]) continue;
      // Prepared again each time, so that no figure depends on one placement in memory.
      if (r > 0 && !c.heavy) prepare(i, false);
      const auto begin = Clock::now();
      const std::string reply =
          subjects[i].process->ask(fmt::format("time {}", settings.milliseconds));
      results[i].seconds += std::chrono::duration<double>(Clock::now() - begin).count();
      double nanoseconds = 0;
      unsigned long calls = 0;
      long switches = 0;
      std::sscanf(reply.c_str(), "time %lf %lu %ld", &nanoseconds, &calls, &switches);
      if (nanoseconds > 0) results[i].rounds.push_back(nanoseconds);
      results[i].switches += switches;
      results[i].mib = subjects[i].process->resident_mib();
      // OpenMP's threads spin for some milliseconds before they sleep.
      std::this_thread::sleep_for(std::chrono::milliseconds{15});
    }
  for (Subject& subject : subjects) subject.process->ask("forget");
  return results;
}

// The tables so far: of times, of errors.
class Tables {
 public:
  void add(const Case& c, const std::vector<Subject>& subjects, double bound_ns,
           const std::vector<Result>& results) {
    const bool function = c.kind == Case::Kind::kFunction;
    const double unit = function ? static_cast<double>(c.batch) * c.batch : 1e3;
    Table& table =
        table_of(fmt::format("{}, {} thread{}, {}", c.table, c.threads, c.threads == 1 ? "" : "s",
                             function ? "nanoseconds an element" : "microseconds a call"),
                 subjects, true);
    std::vector<std::string> row{bound_ns > 0 ? number(bound_ns / unit) : ""};
    std::vector<std::string> errors, memory;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const bool took_part = !results[i].rounds.empty();
      const double ns = took_part ? median(results[i].rounds) : INFINITY;
      // A time is only meaningful together with the amount of computation.
      const std::string inexact =
          function && results[i].ulp > kExact ? fmt::format(" ({:.0e} ulp)", results[i].ulp) : "";
      row.push_back(took_part ? number(ns / unit) + inexact : "");
      errors.push_back(took_part ? number(results[i].ulp) : "");
      memory.push_back(took_part ? number(results[i].mib) : "");
    }
    const double ours = median(results[0].rounds);
    const std::optional<std::size_t> best = best_peer(turns_of(results));
    row.push_back(best ? ratio_of(results[*best].rounds, results[0].rounds).text() : "");
    row.push_back(bound_ns > 0 ? fmt::format("{:.2f}", bound_ns / ours) : "");
    if (c.kind == Case::Kind::kNarrow) {
      if (c.what == "f32") best_f32_ = best ? median(results[*best].rounds) : INFINITY;
      row.push_back(std::isfinite(best_f32_) ? fmt::format("{:.2f}", best_f32_ / ours) : "");
    } else {
      row.emplace_back();
    }
    table.add(c.row, std::move(row));
    if (function && c.batch <= 256)
      table_of(fmt::format("Largest error on [-8, 8), {0} x {0}, in ulp", c.batch), subjects, false)
          .add(c.row, std::move(errors));
    if (c.kind == Case::Kind::kTraining)
      table_of(fmt::format("Memory of a program that takes these steps, {} thread{}, MiB resident, "
                           "the library and the data included",
                           c.threads, c.threads == 1 ? "" : "s"),
               subjects, false)
          .add(c.row, std::move(memory));
  }

  std::string markdown() const {
    std::string text;
    for (const Table& table : tables_) text += table.markdown() + "\n";
    return text;
  }

 private:
  Table& table_of(const std::string& title, const std::vector<Subject>& subjects, bool times) {
    for (Table& table : tables_)
      if (table.title == title) return table;
    Table table{title, {}, {}, {}};
    if (times) table.columns.emplace_back("bound");
    for (const Subject& subject : subjects) table.columns.push_back(subject.name);
    if (times) {
      table.columns.emplace_back("best peer / limpid");
      table.columns.emplace_back("bound / limpid");
      table.columns.emplace_back("best f32 peer / limpid");
    }
    tables_.push_back(table);
    return tables_.back();
  }

  std::vector<Table> tables_;
  double best_f32_ = INFINITY;  // of the last f32 case, for the narrower dtypes after it
};

void run(const Settings& settings) {
  const Machine machine = this_machine();
  std::map<int, Speeds> speeds;
  std::map<std::string, std::string> left_out;
  std::vector<Subject> subjects;
  Json descriptions = Json::object(), figures = Json::array();
  Tables tables;
  long switches = 0;
  double seconds = 0;
  int threads = 0;
  for (const Case& c : all_cases(numbers_of_threads(settings.threads, machine))) {
    if (settings.quick && !c.quick) continue;
    if (c.name().find(settings.only) == std::string::npos) continue;
    if (threads != c.threads) {
      subjects.clear();
      speeds[c.threads] = measure_speeds(c.threads);
      subjects = start_all(machine, c.threads, left_out);
      for (const Subject& s : subjects)
        if (!descriptions.contains(s.name)) descriptions[s.name] = s.description;
      threads = c.threads;
    }
    fmt::print(stderr, "{}\n", c.name());
    const std::vector<Result> results = measure(c, subjects, settings);
    const double bound_ns = bound(c.work(), speeds[c.threads]);
    tables.add(c, subjects, bound_ns, results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      switches += results[i].switches;
      seconds += results[i].seconds;
      if (results[i].rounds.empty()) continue;
      figures.push_back({{"case", c.name()},
                         {"threads", c.threads},
                         {"subject", subjects[i].name},
                         {"bound_ns", bound_ns},
                         {"median_ns", median(results[i].rounds)},
                         {"error_ulp", results[i].ulp},
                         {"resident_mib", results[i].mib},
                         {"rounds_ns", results[i].rounds},
                         {"preemptions", results[i].switches}});
    }
  }

  std::string text = markdown(machine);
  Json json_speeds = Json::array();
  for (const auto& [count, s] : speeds) {
    text += "* " + markdown(s);
    json_speeds.push_back(json(s));
  }
  for (const auto& [name, description] : descriptions.members())
    text += fmt::format("* {}: {}\n", name, description.as_string());
  Json json_left_out = Json::object();
  for (const auto& [name, reason] : left_out) {
    json_left_out[name] = reason;
    text += fmt::format("* left out: {}: {}\n", name, reason);
  }
  const double a_second = seconds > 0 ? static_cast<double>(switches) / seconds : 0;
  text += fmt::format(
      "\nMedians of {} interleaved rounds of {} ms, of up to {} where fewer do not say who is "
      "ahead; "
      "± is two standard errors; threads pinned. The system took the CPU away {:.1f} times a "
      "second.\n\n",
      settings.rounds, settings.milliseconds, kLonger * settings.rounds, a_second);
  publish(settings.out, "compare", text + tables.markdown(),
          {{"machine", json(machine)},
           {"speeds", json_speeds},
           {"rounds", settings.rounds},
           {"milliseconds_a_round", settings.milliseconds},
           {"subjects", descriptions},
           {"left_out", json_left_out},
           {"preemptions_a_second", a_second},
           {"results", figures}});
  check_quiet(a_second);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Arguments arguments("Compares limpid with other libraries.");
  bench::Settings s;
  arguments.option("rounds", s.rounds, 1, 1000, "Turns of each library in each case");
  arguments.option("milliseconds", s.milliseconds, 1, 1e4, "Length of a turn");
  arguments.flag("quick", s.quick, "3 rounds of 25 ms, without the largest cases");
  arguments.option("only", s.only,
                   "Only cases whose name contains this, such as 'Training' or 'b32 t1'");
  arguments.option("threads", s.threads, 1, 64, "Numbers of threads: 1 and 2");
  arguments.option("out", s.out, "Write compare.md and compare.json into this folder");
  return arguments.run(argc, argv, [&] {
    if (s.quick) {
      s.rounds = 3;
      s.milliseconds = 25;
    }
    bench::run(s);
  });
}
