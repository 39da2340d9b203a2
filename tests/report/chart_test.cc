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
  EXPECT_EQ(round_ticks(0, 40, 5), (Ticks{0, 10, 20, 30, 40}));
  EXPECT_EQ(round_ticks(2, 2, 4).size(), 5u);
  EXPECT_EQ(round_ticks(0, 1, 1), (Ticks{0, 1}));
  EXPECT_EQ(power_ticks(0.002, 30, 5), (Ticks{0.001, 0.01, 0.1, 1, 10, 100}));
  EXPECT_EQ(power_ticks(1, 1, 5), (Ticks{1, 10}));
  EXPECT_EQ(power_ticks(1e-10, 1, 5).size(), 6u);
  // Ends that are ticks, though their quotients are rounded.
  EXPECT_EQ(round_ticks(0.6, 1.2, 3).size(), 4u);
  EXPECT_EQ(round_ticks(-1.2, -0.6, 3).size(), 4u);
  EXPECT_EQ(round_ticks(0.3, 0.9, 3).size(), 5u);
  // Many steps from 0.
  EXPECT_LE(round_ticks(1, 1 + 2e-9, 5).front(), 1);
  EXPECT_LE(round_ticks(-1 - 2e-9, -1, 5).front(), -1 - 2e-9);
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

TEST(Charts, EachTickHasItsNumberAndEachAxisItsLabel) {
  Chart c = chart({{11'000, 1}, {12'000, 2}});
  c.x_label = "step";
  c.y_label = "loss";
  const std::string html = to_html(c);
  for (const char* part :
       {"x=\"58.0\" y=\"256\" text-anchor=\"middle\">11000<",
        "x=\"468.0\" y=\"256\" text-anchor=\"middle\">12000<", "y=\"244.0\" text-anchor=\"end\">1<",
        "y=\"16.0\" text-anchor=\"end\">2<", "x=\"263\" y=\"274\" text-anchor=\"middle\">step<",
        "rotate(-90)\" text-anchor=\"middle\">loss<", "aria-label=\"title\""})
    EXPECT_EQ(count(html, part), 1u) << part << html;
}

// Ticks of the values from 0.5 to 9.5 are 2, 4, 6 and 8, though 0 and 10 are beside them.
TEST(Charts, TicksBelowThePlotAreWithinIt) {
  const std::string html = to_html(chart({{0.5, 1}, {9.5, 2}}));
  EXPECT_EQ(count(html, "y=\"256\" text-anchor=\"middle\">"), 4u) << html;
  for (const char* beside : {">0<", ">10<"}) EXPECT_EQ(count(html, beside), 0u) << beside;
}

// About eighty of a line; the last is one of them.
TEST(Charts, SomePlacesTellTheirValues) {
  std::vector<Point> points;
  for (int i = 0; i <= 160; ++i) points.push_back({1'234'500.0 + i, 0.5 * i});
  const std::string html = to_html(chart(points));
  EXPECT_EQ(count(html, "class=\"hover\""), 55u);
  EXPECT_EQ(count(html, "r=\"5\"><title>name: x 1234503, y 1.5<"), 1u);
  EXPECT_EQ(count(html, "<title>name: x 1234660, y 80<"), 1u);
  points.resize(80);
  EXPECT_EQ(count(to_html(chart(points)), "class=\"hover\""), 80u) << "all of them";
}

TEST(Charts, LinesBeyondTheColoursBeginAnew) {
  Chart c = chart({{0, 1}, {1, 2}});
  EXPECT_EQ(count(to_html(c), "legend"), 0u);
  c.series.resize(9, c.series[0]);
  const std::string html = to_html(c);
  EXPECT_EQ(count(html, "<g class=\"c0\">"), 2u);
  EXPECT_EQ(count(html, "<li><span class=\"c0\"></span>name</li>"), 2u);
  EXPECT_EQ(count(html, "c8"), 0u);
}

TEST(Charts, FaintLinesAreBelowTheOthers) {
  Chart c = chart({{0, 1}, {1, 2}});
  c.series.push_back({"raw", {{0, 1}, {1, 2}}, true});
  const std::string html = to_html(c);
  EXPECT_LT(html.find("<g class=\"c1 faint\">"), html.find("<g class=\"c0\">"));
  EXPECT_EQ(count(html, "<li><span class=\"c1 faint\"></span>raw</li>"), 1u);
}

TEST(Charts, ALineIsBrokenWhereAValueIsMissing) {
  const double nan = std::nan("");
  EXPECT_EQ(count(to_html(chart({{0, 1}, {1, 2}, {2, nan}, {3, 4}, {4, 5}})), "M"), 2u);
  EXPECT_EQ(count(to_html(chart({{0, 1}, {1, 0}, {2, 3}}, true)), "class=\"dot\" cx="), 2u);
  // What has a neighbour is no dot.
  const std::string dots = to_html(chart({{0, 1}, {1, 2}, {2, nan}, {3, 4}, {4, nan}}));
  EXPECT_EQ(count(dots, "class=\"dot\""), 1u);
  EXPECT_EQ(count(dots, "r=\"2.5\"><title>name: x 3, y 4<"), 1u);
  EXPECT_EQ(count(to_html(chart({{0, 1e-5}, {1, 1}}, true)), "\"M58.0 240.0L468.0 12.0\""), 1u);
  EXPECT_NE(to_html(chart({{0, nan}})).find("No values to show"), std::string::npos);
  EXPECT_NE(to_html(chart({})).find("No values to show"), std::string::npos);
}

TEST(Charts, AMarkerFarFromTheValuesIsWithinTheAxis) {
  Chart c = chart({{0, 1}, {1, 2}});
  EXPECT_EQ(to_html(c).find(">10</text>"), std::string::npos);
  c.y_marker = 10;
  EXPECT_NE(to_html(c).find(">10</text>"), std::string::npos);
}

TEST(Charts, AMarkerIsAtItsValue) {
  Chart c = chart({{0, 1}, {1, 2}});
  c.y_marker = 1.5;
  c.y_marker_label = "half";
  EXPECT_EQ(count(to_html(c),
                  "<line class=\"marker\" x1=\"58\" x2=\"468\" y1=\"126.0\" "
                  "y2=\"126.0\"><title>half</title>"),
            1u);
}

// No place on the axis stands for it.
TEST(Charts, AMarkerOfZeroIsNotOnALogarithmicAxis) {
  Chart c = chart({{0, 1}, {1, 10}}, true);
  for (const double marker : {0.0, -1.0, std::nan("")}) {
    c.y_marker = marker;
    const std::string html = to_html(c);
    EXPECT_EQ(html.find("class=\"marker\""), std::string::npos) << html;
    EXPECT_EQ(count(html, "\"M58.0 240.0L468.0 12.0\""), 1u) << html;
  }
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

// No more points than the plot has places for.
TEST(Charts, ALineOfFewPointsHasThemAll) {
  std::vector<Point> points;
  for (int i = 0; i < 300; ++i) points.push_back({double(i), double(i % 3)});
  points[100].y = std::nan("");
  const std::string html = to_html(chart(points));
  EXPECT_EQ(count(html, "M"), 2u);
  EXPECT_EQ(count(html, "L"), 297u);
}

TEST(Charts, ALogarithmicAxisHasPlaceForVerySmallValues) {
  EXPECT_EQ(count(to_html(chart({{0, 1e-200}, {1, 1}}, true)), "\"M58.0 240.0L468.0 12.0\""), 1u);
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
