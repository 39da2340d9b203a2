// Charts: their ticks, and that no numbers are too odd to be drawn.
#include "limpid/report/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace limpid::report {
namespace {

using Ticks = std::vector<double>;

TEST(Ticks, AreRoundAndCoverTheValues) {
  EXPECT_EQ(round_ticks(0, 10, 5), (Ticks{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(0.3, 9.7, 5), (Ticks{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(-3, 4, 4), (Ticks{-4, -2, 0, 2, 4}));
  EXPECT_EQ(round_ticks(1000, 1234, 5), (Ticks{1000, 1050, 1100, 1150, 1200, 1250}));
  EXPECT_EQ(round_ticks(2, 2, 4).size(), 5u);
  EXPECT_EQ(power_ticks(0.002, 30, 5), (Ticks{0.001, 0.01, 0.1, 1, 10, 100}));
  EXPECT_EQ(power_ticks(1, 1, 5), (Ticks{1, 10}));
  EXPECT_EQ(power_ticks(1e-10, 1, 5).size(), 6u);
}

TEST(Ticks, OfOddNumbersAreFewAndInOrder) {
  const double odd[] = {0,        1,   -1,          1e-299, 1e299,  -1e299,   1e16,
                        1e16 + 2, 0.1, 0.1 + 1e-17, 5e-324, 1e-310, 123456789};
  for (double a : odd)
    for (double b : odd) {
      const Ticks ticks = round_ticks(std::min(a, b), std::max(a, b), 5);
      EXPECT_GE(ticks.size(), 2u);
      EXPECT_LE(ticks.size(), 8u) << a << " " << b;
      for (std::size_t i = 1; i < ticks.size(); ++i) EXPECT_LT(ticks[i - 1], ticks[i]);
    }
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Chart chart(std::vector<Point> points, bool log_y = false) {
  return {"title", "x", "y", {{"name", std::move(points)}}, log_y};
}

// The plot is from 58 to 468 and from 12, above, to 240.
TEST(Charts, LargerValuesAreHigherAndLaterOnesToTheRight) {
  EXPECT_EQ(count(to_html(chart({{0, 1}, {1, 2}})), "\"M58.0 240.0L468.0 12.0\""), 1u);
  EXPECT_EQ(count(to_html(chart({{0, 1}, {1, 10}, {2, 100}}, true)),
                  "\"M58.0 240.0L263.0 126.0L468.0 12.0\""),
            1u);
}

TEST(Charts, ALineIsBrokenWhereAValueIsMissing) {
  const double nan = std::nan("");
  EXPECT_EQ(count(to_html(chart({{0, 1}, {1, 2}, {2, nan}, {3, 4}, {4, 5}})), "M"), 2u);
  EXPECT_EQ(count(to_html(chart({{0, 1}, {1, 0}, {2, 3}}, true)), "class=\"dot\""), 2u);
  EXPECT_NE(to_html(chart({{0, nan}})).find("No values to show"), std::string::npos);
  EXPECT_NE(to_html(chart({})).find("No values to show"), std::string::npos);
}

TEST(Charts, AMarkerFarFromTheValuesIsWithinTheAxis) {
  Chart c = chart({{0, 1}, {1, 2}});
  EXPECT_EQ(to_html(c).find(">10</text>"), std::string::npos);
  c.y_marker = 10;
  EXPECT_NE(to_html(c).find(">10</text>"), std::string::npos);
}

TEST(Charts, TextIsEscaped) {
  Chart c = chart({{0, 1}, {1, 2}});
  c.title = c.x_label = c.y_label = c.series[0].name = "<script>";
  c.series.push_back(c.series[0]);
  EXPECT_EQ(to_html(c).find("<script"), std::string::npos);
}

TEST(Charts, APeakAmongManyPointsIsDrawn) {
  std::vector<Point> points;
  for (int i = 0; i < 100'000; ++i) points.push_back({double(i), i == 54'321 ? 1000.0 : 1.0});
  const std::string html = to_html(chart(points));
  EXPECT_LT(html.size(), 60'000u);
  // The top of the plot.
  EXPECT_NE(html.find(" 12.0L"), std::string::npos);
}

TEST(Charts, AGapAmongManyPointsIsNotClosed) {
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i) points.push_back({double(i), i == 500 ? std::nan("") : 1.0});
  EXPECT_EQ(count(to_html(chart(points)), "M"), 2u);
}

TEST(Charts, ALineOfManyPointsGoesToTheRight) {
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i) points.push_back({double(i), double(-i)});
  const std::string html = to_html(chart(points));
  std::size_t at = html.find("d=\"M") + 4;
  double last = 0;
  for (int i = 0; i < 400; ++i) {
    const double x = std::stod(html.substr(at));
    ASSERT_GE(x, last) << "point " << i;
    last = x;
    at = html.find('L', at) + 1;
  }
  EXPECT_EQ(last, 468);
}

TEST(Charts, NoNumberIsTooOdd) {
  const double limit = std::numeric_limits<double>::max();
  for (double y :
       {0.0, limit, -limit, 5e-324, 1e299, 1e-299, std::numeric_limits<double>::infinity()})
    for (bool log_y : {false, true})
      for (const std::vector<Point>& points :
           {std::vector<Point>{{0, y}}, {{0, 1}, {1, y}}, {{0, -y}, {1, y}}, {{y, 1}, {-y, 2}}}) {
        const std::string html = to_html(chart(points, log_y));
        EXPECT_EQ(html.find("nan"), std::string::npos) << html;
        EXPECT_EQ(html.find("inf"), std::string::npos) << html;
      }
}

}  // namespace
}  // namespace limpid::report
