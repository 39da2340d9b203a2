// Charts: their ticks, and that no numbers are too odd to be drawn.
#include "limpid/report/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "tests/refusals.h"

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

// The lines of a chart: the places of their points, whose y grows downwards.
std::vector<std::vector<Point>> lines_of(const std::string& html) {
  std::vector<std::vector<Point>> lines;
  for (std::size_t at = html.find(" d=\"M"); at != std::string::npos;
       at = html.find(" d=\"M", at)) {
    const std::size_t begin = at + 4, end = html.find('"', begin);
    std::string path = html.substr(begin, end - begin);
    std::replace(path.begin(), path.end(), 'L', ' ');
    for (std::size_t from = 0; from != std::string::npos;) {  // each M begins another line
      const std::size_t next = path.find('M', from + 1);
      std::istringstream numbers(path.substr(from + 1, next - from - 1));
      lines.emplace_back();
      for (Point p{}; numbers >> p.x >> p.y;) lines.back().push_back(p);
      from = next;
    }
    at = end;
  }
  return lines;
}
std::vector<Point> line_of(const Chart& c) {
  const auto lines = lines_of(to_html(c));
  EXPECT_EQ(lines.size(), 1u);
  return lines.at(0);
}

TEST(Charts, LargerValuesAreHigherAndLaterOnesToTheRight) {
  const auto line = line_of(chart({{0, 1}, {1, 2}}));
  ASSERT_EQ(line.size(), 2u);
  EXPECT_LT(line[0].x, line[1].x);
  EXPECT_GT(line[0].y, line[1].y);
  // On a logarithmic axis a factor is a distance; it has place for very small values.
  const auto powers = line_of(chart({{0, 1}, {1, 10}, {2, 100}}, true));
  ASSERT_EQ(powers.size(), 3u);
  EXPECT_NEAR(powers[0].y - powers[1].y, powers[1].y - powers[2].y, 0.2);
  for (const double low : {1e-5, 1e-200}) {
    const auto whole = line_of(chart({{0, low}, {1, 1}}, true));
    EXPECT_EQ(whole.at(0).y, line[0].y);
    EXPECT_EQ(whole.at(1).y, line[1].y);
  }
}

TEST(Charts, EachTickHasItsNumberAndEachAxisItsLabel) {
  Chart c = chart({{11'000, 1}, {12'000, 2}});
  c.x_label = "step";
  c.y_label = "loss";
  for (const char* part : {">11000<", ">12000<", ">1<", ">2<", ">step<", ">loss<", "\"title\""})
    EXPECT_EQ(count(to_html(c), part), 1u) << part;
  // Ticks of the values from 0.5 to 9.5 are 2, 4, 6 and 8, though 0 and 10 are beside them.
  const std::string html = to_html(chart({{0.5, 1}, {9.5, 2}}));
  for (const char* beside : {">0<", ">10<"}) EXPECT_EQ(count(html, beside), 0u) << beside;
}

// About eighty of a line; the last is one of them.
TEST(Charts, SomePlacesTellTheirValues) {
  std::vector<Point> points;
  for (int i = 0; i <= 160; ++i) points.push_back({1'234'500.0 + i, 0.5 * i});
  const std::string html = to_html(chart(points));
  EXPECT_EQ(count(html, "<title>name: x "), 55u);
  EXPECT_EQ(count(html, "<title>name: x 1234503, y 1.5<"), 1u);
  EXPECT_EQ(count(html, "<title>name: x 1234660, y 80<"), 1u);
  points.resize(80);
  EXPECT_EQ(count(to_html(chart(points)), "<title>name: x "), 80u) << "all of them";
}

TEST(Charts, LinesBeyondTheColoursBeginAnew) {
  Chart c = chart({{0, 1}, {1, 2}});
  EXPECT_EQ(count(to_html(c), "<li>"), 0u);
  c.series.resize(9, c.series[0]);
  c.series.push_back({"raw", {{0, 1}, {1, 2}}, true});
  const std::string html = to_html(c);
  EXPECT_EQ(count(html, "<li>"), 10u);
  EXPECT_EQ(count(html, "<g class=\"c0\">"), 2u);
  EXPECT_EQ(count(html, "c8"), 0u);
  // Faint ones are below the others.
  EXPECT_LT(html.find("<g class=\"c1 faint\">"), html.find("<g class=\"c0\">"));
}

TEST(Charts, ALineIsBrokenWhereAValueIsMissing) {
  const double nan = std::nan("");
  const auto lines = [](const std::vector<Point>& points, bool log_y = false) {
    return lines_of(to_html(chart(points, log_y))).size();
  };
  EXPECT_EQ(lines({{0, 1}, {1, 2}, {2, nan}, {3, 4}, {4, 5}}), 2u);
  EXPECT_EQ(count(to_html(chart({{0, 1}, {1, 0}, {2, 3}}, true)), "class=\"dot\""), 2u);
  // What has a neighbour is no dot.
  const std::string dots = to_html(chart({{0, 1}, {1, 2}, {2, nan}, {3, 4}, {4, nan}}));
  EXPECT_EQ(count(dots, "class=\"dot\""), 1u);
  for (const std::vector<Point>& none : {std::vector<Point>{}, {{0, nan}}}) {
    expect_message(to_html(chart(none)));
  }
  // Among many points, too.
  std::vector<Point> many;
  for (int i = 0; i < 1000; ++i) many.push_back({double(i), i == 500 ? nan : 1.0});
  EXPECT_EQ(lines(many), 2u);
}

TEST(Charts, AMarkerIsAtItsValueWithinTheAxis) {
  Chart c = chart({{0, 1}, {1, 2}});
  EXPECT_EQ(count(to_html(c), ">10</text>"), 0u);
  c.y_marker = 10;
  EXPECT_EQ(count(to_html(c), ">10</text>"), 1u);
  c.y_marker = 1.5;
  c.y_marker_label = "half";
  const std::string html = to_html(c);
  EXPECT_EQ(count(html, "<title>half</title>"), 1u);
  const auto line = line_of(c);
  const std::size_t at = html.find(" y1=\"", html.find("class=\"marker\""));
  EXPECT_EQ(std::stod(html.substr(at + 5)), (line[0].y + line[1].y) / 2);
  // No place on a logarithmic axis stands for 0.
  Chart powers = chart({{0, 1}, {1, 10}}, true);
  for (const double marker : {0.0, -1.0, std::nan("")}) {
    powers.y_marker = marker;
    EXPECT_EQ(count(to_html(powers), "class=\"marker\""), 0u);
    EXPECT_EQ(line_of(powers)[0].y, line[0].y);
  }
}

TEST(Charts, TextIsEscaped) {
  Chart c = chart({{0, 1}, {1, 2}});
  c.title = c.x_label = c.y_label = c.series[0].name = "<script>";
  c.series.push_back(c.series[0]);
  EXPECT_EQ(to_html(c).find("<script"), std::string::npos);
}

TEST(Charts, ALineOfManyPointsGoesToTheRightAndHasItsPeak) {
  std::vector<Point> points;
  for (int i = 0; i < 100'000; ++i) points.push_back({double(i), i == 54'321 ? 1000.0 : 1.0});
  EXPECT_LT(to_html(chart(points)).size(), 60'000u);
  const auto line = line_of(chart(points));
  EXPECT_TRUE(std::is_sorted(line.begin(), line.end(),
                             [](const Point& a, const Point& b) { return a.x < b.x; }));
  EXPECT_EQ(std::min_element(line.begin(), line.end(),
                             [](const Point& a, const Point& b) { return a.y < b.y; })
                ->y,
            line_of(chart({{0, 1}, {1, 1000}}))[1].y);
  EXPECT_EQ(line.back().x, line_of(chart({{0, 1}, {1, 2}}))[1].x);
  // No more points than the plot has places for.
  points.resize(300);
  EXPECT_EQ(line_of(chart(points)).size(), 300u);
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
