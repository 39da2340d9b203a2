// Plots of curves with logarithmic axes, as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x and y above 0, ascending x
};

struct Plot {
  std::string title, x_label, y_label;
  std::vector<Curve> curves;
};

std::string svg(const Plot& plot);

}  // namespace bench
