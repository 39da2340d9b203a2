#include "limpid/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "limpid/report/html.h"

namespace limpid::report {
namespace {

// In units of the view box; on a phone one is about three quarters of a pixel.
constexpr double kWidth = 480, kHeight = 280;
constexpr double kLeft = 58, kRight = 12, kTop = 12, kBottom = 40;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kPlotHeight = kHeight - kTop - kBottom;
constexpr std::size_t kColors = 8;
constexpr std::size_t kMostPoints = 400;  // of a line: more than it has pixels
constexpr std::size_t kMostTitles = 80;   // places of a line that tell their value
constexpr int kXTicks = 6, kYTicks = 5;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  bool empty() const { return !(low <= high); }
};

// Beyond these magnitudes the arithmetic of the axes would overflow or lose its last digits.
constexpr double kLargest = 1e300, kSmallest = 1e-300;

bool shown(const Chart& chart, const Point& p) {
  return std::fabs(p.x) < kLargest && std::fabs(p.y) < kLargest &&
         (!chart.log_y || p.y > kSmallest);
}

// "0.05", "1e-05", "12,000" without a comma: short, as ticks are.
std::string tick_text(double v) { return fmt::format("{:.6g}", v); }

// A scale from numbers to positions on the page.
struct Axis {
  std::vector<double> ticks;
  bool logarithmic = false;
  double low = 0, high = 1;      // where it begins and ends
  double begin = 0, length = 0;  // on the page; length below 0: upwards

  double scaled(double v) const { return logarithmic ? std::log10(v) : v; }
  double operator()(double v) const {
    return begin + length * (scaled(v) - scaled(low)) / (scaled(high) - scaled(low));
  }
};

// To the left of the plot, from the tick below the values to the one above them.
Axis y_axis_of(Range range, bool logarithmic) {
  const std::vector<double> ticks = logarithmic ? power_ticks(range.low, range.high, kYTicks)
                                                : round_ticks(range.low, range.high, kYTicks);
  return {ticks, logarithmic, ticks.front(), ticks.back(), kTop + kPlotHeight, -kPlotHeight};
}

// Below it, as wide as the values are.
Axis x_axis_of(Range range) {
  std::vector<double> ticks = round_ticks(range.low, range.high, kXTicks);
  if (range.low < range.high) {
    std::erase_if(ticks, [&](double t) { return t < range.low || t > range.high; });
    return {ticks, false, range.low, range.high, kLeft, kPlotWidth};
  }
  return {ticks, false, ticks.front(), ticks.back(), kLeft, kPlotWidth};
}

// If there are many points: the lowest and highest of each of kMostPoints / 2 intervals, so that no
// peak is lost.
std::vector<Point> thinned(const Chart& chart, const std::vector<Point>& points) {
  if (points.size() <= kMostPoints) return points;
  std::vector<Point> result;
  const std::size_t stretches = kMostPoints / 2;
  for (std::size_t s = 0; s < stretches; ++s) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(s * points.size() / stretches);
    const auto end =
        points.begin() + static_cast<std::ptrdiff_t>((s + 1) * points.size() / stretches);
    const auto gap = std::find_if_not(begin, end, [&](const Point& p) { return shown(chart, p); });
    if (gap != end) {
      result.push_back(*gap);
      continue;
    }
    auto [low, high] =
        std::minmax_element(begin, end, [](const Point& a, const Point& b) { return a.y < b.y; });
    if (high < low) std::swap(low, high);
    result.push_back(*low);
    if (high != low) result.push_back(*high);
  }
  return result;
}

std::string path_of(const Chart& chart, const std::vector<Point>& points, const Axis& x,
                    const Axis& y) {
  std::string path;
  bool drawing = false;
  for (const Point& p : points) {
    const bool visible = shown(chart, p);
    if (visible) path += fmt::format("{}{:.1f} {:.1f}", drawing ? "L" : "M", x(p.x), y(p.y));
    drawing = visible;
  }
  return path;
}

// Circles, mostly invisible, that show the value under the pointer. A point without neighbours is
// drawn, as it has no line.
std::string circles_of(const Chart& chart, const Series& series, const Axis& x, const Axis& y) {
  std::string text;
  const std::vector<Point>& points = series.points;
  const std::size_t stride = (points.size() + kMostTitles - 1) / kMostTitles;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!shown(chart, points[i])) continue;
    const bool alone = (i == 0 || !shown(chart, points[i - 1])) &&
                       (i + 1 == points.size() || !shown(chart, points[i + 1]));
    if (!alone && i % stride != 0 && i + 1 != points.size()) continue;
    text += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}: {} {}, {} "
        "{:.6g}</title></circle>",
        alone ? "dot" : "hover", x(points[i].x), y(points[i].y), alone ? 2.5 : 5,
        escaped(series.name), escaped(chart.x_label), points[i].x, escaped(chart.y_label),
        points[i].y);
  }
  return text;
}

std::string grid_of(const Chart& chart, const Axis& x, const Axis& y) {
  std::string text;
  for (double tick : y.ticks)
    text += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text x=\"{3}\" "
        "y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>",
        kLeft, kWidth - kRight, y(tick), kLeft - 6, y(tick) + 4, tick_text(tick));
  for (double tick : x.ticks)
    text += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text "
        "x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>",
        x(tick), kTop, kTop + kPlotHeight, kTop + kPlotHeight + 16, tick_text(tick));
  text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                      kLeft + kPlotWidth / 2, kHeight - 6, escaped(chart.x_label));
  text += fmt::format(
      "<text transform=\"translate(13 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
      kTop + kPlotHeight / 2, escaped(chart.y_label));
  return text;
}

std::string legend_of(const Chart& chart) {
  if (chart.series.size() < 2) return "";
  std::string text = "<ul class=\"legend\">";
  for (std::size_t s = 0; s < chart.series.size(); ++s)
    text += fmt::format("<li><span class=\"c{}{}\"></span>{}</li>", s % kColors,
                        chart.series[s].faint ? " faint" : "", escaped(chart.series[s].name));
  return text + "</ul>";
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int wanted) {
  const double size = std::max(std::fabs(low), std::fabs(high));
  if (!(high - low > 1e-9 * size) || size < kSmallest) {  // one value: some room around it
    const double room = size < kSmallest ? 1 : size / 2;
    low -= room;
    high += room;
  }
  const double raw = (high - low) / wanted;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (double factor : {5.0, 2.0, 1.0})
    if (factor * power >= raw * (1 - 1e-9)) step = factor * power;
  std::vector<double> ticks;
  // A tick that is `low` but for rounding is the first one, however many steps it is from 0.
  const double first = std::floor(low / step + 1e-6);
  for (double i = first;; ++i) {
    ticks.push_back(i * step);
    if (i * step >= high - step * 1e-9 && ticks.size() > 1) break;
  }
  return ticks;
}

std::vector<double> power_ticks(double low, double high, int wanted) {
  const double first = std::floor(std::log10(low) + 1e-9);
  const double last = std::max(first + 1, std::ceil(std::log10(high) - 1e-9));
  const double stride = std::ceil((last - first) / wanted);
  std::vector<double> ticks;
  for (double e = first;; e += stride) {
    ticks.push_back(std::pow(10, e));
    if (e >= last) return ticks;
  }
}

std::string to_html(const Chart& chart) {
  Range xs, ys;
  for (const Series& s : chart.series)
    for (const Point& p : s.points)
      if (shown(chart, p)) {
        xs.add(p.x);
        ys.add(p.y);
      }
  std::string text =
      fmt::format("<figure class=\"chart\"><figcaption>{}</figcaption>", escaped(chart.title));
  if (xs.empty()) return text + "<p class=\"nothing\">No values to show.</p></figure>";
  if (chart.y_marker && shown(chart, {0, *chart.y_marker})) ys.add(*chart.y_marker);
  const Axis x = x_axis_of(xs);
  const Axis y = y_axis_of(ys, chart.log_y);

  text += fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, kHeight,
                      escaped(chart.title));
  text += grid_of(chart, x, y);
  if (chart.y_marker && shown(chart, {0, *chart.y_marker}))
    text += fmt::format(
        "<line class=\"marker\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"><title>{3}"
        "</title></line>",
        kLeft, kWidth - kRight, y(*chart.y_marker), escaped(chart.y_marker_label));
  // The faint ones first: later ones are drawn above them.
  for (const bool faint : {true, false})
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      const Series& series = chart.series[s];
      if (series.faint != faint) continue;
      text += fmt::format("<g class=\"c{}{}\"><path d=\"{}\"/>", s % kColors, faint ? " faint" : "",
                          path_of(chart, thinned(chart, series.points), x, y));
      text += circles_of(chart, series, x, y) + "</g>";
    }
  return text + "</svg>" + legend_of(chart) + "</figure>\n";
}

// The palette of Okabe and Ito, distinguishable with every kind of colour vision; yellow is
// darkened on white.
std::string_view chart_style() {
  return R"(.chart { margin: 0; min-width: 0; }
.chart svg { display: block; width: 100%; height: auto; overflow: visible; }
.chart text { font-size: 12px; fill: var(--soft); }
.chart .grid { stroke: var(--line); stroke-width: 1; }
.chart .marker { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 5 4; }
.chart path { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.chart .dot { fill: currentColor; }
.chart .hover { fill: transparent; }
.chart .hover:hover { fill: currentColor; }
.chart .faint { opacity: .45; }
.chart .faint path { stroke-width: 1; }
.c0 { color: #0072b2; } .c1 { color: #d55e00; } .c2 { color: #009e73; } .c3 { color: #cc79a7; }
.c4 { color: #56b4e9; } .c5 { color: #e69f00; } .c6 { color: #7f7f7f; } .c7 { color: #a08a00; }
@media (prefers-color-scheme: dark) { .c0 { color: #4aa8e0; } .c1 { color: #ff8a3c; } .c2 { color: #2fc79a; } .c7 { color: #f0e442; } }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: .2rem 0 0; padding: 0; font-size: .85rem; }
.legend span { display: inline-block; width: 1rem; height: .25rem; margin-right: .4rem; vertical-align: middle; background: currentColor; }
.nothing { color: var(--soft); }
)";
}

}  // namespace limpid::report
