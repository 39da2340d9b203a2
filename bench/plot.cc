#include "bench/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace bench {
namespace {

constexpr double kWidth = 640, kHeight = 400;
constexpr double kLeft = 90, kRight = 30, kTop = 36, kBottom = 50;
constexpr double kLegendLine = 18;

// Distinguishable with red-green colour blindness, too (Okabe and Ito).
constexpr std::array<const char*, 6> kColours = {"#0072b2", "#d55e00", "#009e73",
                                                 "#cc79a7", "#e69f00", "#56b4e9"};

// The decades that contain all values, laid out from `begin` to `end`.
struct Axis {
  Axis(double smallest, double largest, double from, double to)
      : first(static_cast<int>(std::floor(std::log10(smallest) + 1e-9))),
        last(std::max(first + 1, static_cast<int>(std::ceil(std::log10(largest) - 1e-9)))),
        begin(from),
        end(to) {}

  double at(double value) const {
    return begin + (std::log10(value) - first) / (last - first) * (end - begin);
  }

  int first, last;
  double begin, end;
};

std::string text(double x, double y, const char* anchor, const std::string& what,
                 const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, what);
}

std::string line(double x1, double y1, double x2, double y2, const char* colour) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, colour);
}

// "0.01", "1", "1,000".
std::string decade(int exponent) {
  if (exponent < 0) return fmt::format("{:.{}f}", std::pow(10, exponent), -exponent);
  std::string digits = fmt::format("{:.0f}", std::pow(10, exponent));
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string grid(const Axis& x, const Axis& y) {
  std::string out;
  for (int e = x.first; e <= x.last; ++e) {
    const double at = x.at(std::pow(10, e));
    out += line(at, y.begin, at, y.end, "#ddd") + text(at, y.begin + 18, "middle", decade(e));
  }
  for (int e = y.first; e <= y.last; ++e) {
    const double at = y.at(std::pow(10, e));
    out += line(x.begin, at, x.end, at, "#ddd") + text(x.begin - 8, at + 4, "end", decade(e));
  }
  return out;
}

}  // namespace

std::string svg(const Plot& plot) {
  double left = INFINITY, right = 0, low = INFINITY, high = 0;
  for (const Curve& curve : plot.curves)
    for (const auto& [x, y] : curve.points) {
      left = std::min(left, x);
      right = std::max(right, x);
      low = std::min(low, y);
      high = std::max(high, y);
    }
  const Axis x(left, right, kLeft, kWidth - kRight);
  const Axis y(low, high, kHeight - kBottom, kTop);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"white\"/>\n",
      kWidth, kHeight);
  out += text(kWidth / 2, 20, "middle", plot.title, " font-size=\"14\"") + grid(x, y);
  out += text((kLeft + kWidth - kRight) / 2, kHeight - 10, "middle", plot.x_label);
  out += fmt::format("<g transform=\"translate(16 {:.1f}) rotate(-90)\">\n{}</g>\n",
                     (y.begin + y.end) / 2, text(0, 0, "middle", plot.y_label));
  for (std::size_t c = 0; c < plot.curves.size(); ++c) {
    const char* colour = kColours[c % kColours.size()];
    std::string points, dots;
    for (const auto& [px, py] : plot.curves[c].points) {
      points += fmt::format("{:.1f},{:.1f} ", x.at(px), y.at(py));
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"/>\n", x.at(px),
                          y.at(py), colour);
    }
    out +=
        fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                    points, colour);
    // Curves rise, so the upper left corner is free.
    const double at = kTop + kLegendLine * (static_cast<double>(c) + 1);
    out += dots + line(kLeft + 12, at - 4, kLeft + 32, at - 4, colour) +
           text(kLeft + 38, at, "start", plot.curves[c].name);
  }
  return out + "</svg>\n";
}

}  // namespace bench
