// The worst-case time of a call of a small network. Each of many calls is timed, from a pinned
// thread, with first-in-first-out (real-time) scheduling if the system allows it. The same loop
// without the call measures the machine's own pauses.
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "bench/arguments.h"
#include "bench/prepared.h"
#include "bench/report.h"

namespace bench {
namespace {

namespace lp = limpid;
using Clock = std::chrono::steady_clock;

std::vector<double> sorted_nanoseconds(const std::function<void()>& call, std::size_t calls) {
  std::vector<double> samples(calls);
  for (int i = 0; i < 1000; ++i) call();
  for (double& sample : samples) {
    const auto start = Clock::now();
    call();
    sample = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

void run(std::size_t calls, const std::filesystem::path& out) {
  const Machine machine = this_machine();
  const lp::nn::Mlp net = lp::nn::mlp({64, 64, 64, 1}, lp::relu);
  Prepared prepared(lp::bind(net.function(), some_params(net)), 1);
  const sched_param highest{.sched_priority = sched_get_priority_max(SCHED_FIFO)};
  const bool real_time = sched_setscheduler(0, SCHED_FIFO, &highest) == 0;
  const bool locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;

  Table table{fmt::format("{} calls, one after the other, microseconds", calls),
              {"median", "99 %", "99.99 %", "largest"},
              {},
              {}};
  Json figures = Json::object();
  const auto add = [&](const std::string& name, const std::function<void()>& call) {
    const std::vector<double> ns = sorted_nanoseconds(call, calls);
    std::vector<std::string> row;
    for (const double part : {0.5, 0.99, 0.9999, 1.0}) {
      const double us = ns[static_cast<std::size_t>(part * static_cast<double>(calls - 1))] / 1e3;
      row.push_back(number(us));
      figures[name].push_back(us);
    }
    table.add(name, std::move(row));
  };
  add("64-64-64-1 ReLU", [&] { prepared.run(); });
  add("nothing", [] {});

  const std::string setting = fmt::format(
      "One pinned thread, {}, memory {}locked.\n\n",
      real_time ? "SCHED_FIFO" : "without SCHED_FIFO (not permitted)", locked ? "" : "not ");
  publish(out, "realtime", markdown(machine) + "\n" + setting + table.markdown() + "\n",
          {{"machine", json(machine)},
           {"calls", calls},
           {"sched_fifo", real_time},
           {"memory_locked", locked},
           {"microseconds_at_50_99_99.99_100_percent", figures}});
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  bench::Arguments arguments("The worst-case time of a call of a small network.");
  std::int64_t calls = 1000000;
  bool quick = false;
  std::filesystem::path out;
  arguments.option("calls", calls, 1000, 1000000000, "How many");
  arguments.flag("quick", quick, "The same: it takes two seconds");
  arguments.option("out", out, "Write realtime.md and realtime.json into this folder");
  return arguments.run(argc, argv, [&] { bench::run(static_cast<std::size_t>(calls), out); });
}
