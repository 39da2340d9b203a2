// Reads a plot as JSON from standard input, {"title", "x", "y", "curves": {NAME: [[x, y], ...]}},
// and writes it as SVG to standard output, for programs that are not in C++.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>

#include "bench/plot.h"
#include "limpid/core/json.h"

int main() try {
  const auto json = limpid::Json::parse(std::string(std::istreambuf_iterator(std::cin), {}));
  bench::Plot plot{
      json.at("title").as_string(), json.at("x").as_string(), json.at("y").as_string(), {}};
  for (const auto& [name, points] : json.at("curves").members()) {
    bench::Curve curve{name, {}};
    for (const limpid::Json& point : points.elements())
      curve.points.emplace_back(point.at(0).as_number(), point.at(1).as_number());
    plot.curves.push_back(curve);
  }
  fmt::print("{}", bench::svg(plot));
} catch (const std::exception& e) {
  fmt::print(stderr, "draw: {}\n", e.what());
  return 1;
}
