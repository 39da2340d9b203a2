// Charts of lines as SVG, for a page: axes with round ticks, logarithmic where asked, a legend,
// values as titles under the pointer. Colours come from the page's style sheet (chart_style), so
// that charts are dark on a dark page. Leans on html.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace limpid::report {

struct Point {
  double x = 0, y = 0;
};

struct Series {
  std::string name;
  std::vector<Point> points;  // in the order of x; the line is broken where y is not finite
  bool faint = false;         // behind the others: what these have been smoothed from
};

struct Chart {
  std::string title;
  std::string x_label, y_label;
  std::vector<Series> series = {};
  bool log_y = false;                   // points that are not above 0 break the line, too
  std::optional<double> y_marker = {};  // a dashed line across, at this y
  std::string y_marker_label = {};
};

// A <figure>; where no series has a point to show, it says so.
std::string to_html(const Chart& chart);

// What the page's <style> needs for charts.
std::string_view chart_style();

// About `wanted` round numbers that cover [low, high]: multiples of 1, 2 or 5 times a power of ten,
// the first at or below low, the last at or above high.
std::vector<double> round_ticks(double low, double high, int wanted);
// Powers of ten around [low, high], 0 < low <= high; at most `wanted` + 1 of them.
std::vector<double> power_ticks(double low, double high, int wanted);

}  // namespace limpid::report
