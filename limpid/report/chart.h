// Line charts as SVG: axes with round ticks, optionally logarithmic, a legend, and values as
// tooltips. Colours come from the page's style sheet (chart_style), so that charts support dark
// mode. Depends on html.h.
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
  std::vector<Point> points;  // sorted by x; non-finite y breaks the line
  bool faint = false;         // drawn first, in a pale colour: the raw values of a smoothed series
};

struct Chart {
  std::string title;
  std::string x_label, y_label;
  std::vector<Series> series = {};
  bool log_y = false;  // logarithmic y axis; points with y <= 0 break the line, too
  std::optional<double> y_marker = {};  // a dashed horizontal line at this y
  std::string y_marker_label = {};
};

// A <figure>. If no series has a point to show, it says so.
std::string to_html(const Chart& chart);

// The CSS of charts, for the page's <style>.
std::string_view chart_style();

// About `wanted` round numbers that cover [low, high]: multiples of 1, 2 or 5 times a power of ten.
// The first is <= low, the last >= high.
std::vector<double> round_ticks(double low, double high, int wanted);
// At most `wanted` + 1 powers of ten that cover [low, high]. Requires 0 < low <= high.
std::vector<double> power_ticks(double low, double high, int wanted);

}  // namespace limpid::report
