#include "bench/profiled.h"

#include <fmt/format.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "limpid/compile/profile.h"

namespace bench {

namespace lp = limpid;

namespace {

// Such as "matmul 1x768x128x128", from the first step of a band: equal work gets an equal name.
std::string kind_of(const std::string& steps) {
  std::istringstream first(steps.substr(steps.find("= ") + 1));
  std::string name, sizes;
  first >> name >> sizes;
  return name + " " + sizes;
}

}  // namespace

void print_profile(const lp::Function& function, std::span<const lp::Tensor> inputs, int rounds,
                   int threads, const lp::CompileOptions& options) {
  lp::ThreadPool pool({.threads = threads, .pin_caller = true});
  const std::vector<lp::BandTime> bands = lp::profile(function, inputs, rounds, &pool, options);
  double sum = 0;
  std::map<std::string, std::pair<double, int>> kinds;
  for (std::size_t b = 0; b < bands.size(); ++b) {
    sum += bands[b].microseconds;
    auto& [time, count] = kinds[kind_of(bands[b].steps)];
    time += bands[b].microseconds;
    ++count;
    fmt::print("{:4} {:9.1f} us  {}", b, bands[b].microseconds, bands[b].steps);
  }
  for (const auto& [kind, total] : kinds)
    fmt::print("{:9.1f} us  {:3} x {}\n", total.first, total.second, kind);
  fmt::print("{:.1f} us in {} bands\n", sum, bands.size());
}

}  // namespace bench
