// The page of a run: what stands in the log is text, wherever it comes from.
#include "limpid/report/report.h"

#include <gtest/gtest.h>

#include <string>

namespace limpid::report {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Report, NamesOfClassesAreText) {
  train::RunLog log;
  log.run.data.class_names = {"<b>cat", "dog & co"};
  train::EndEvent end;
  end.test.confusion = {{3, 1}, {0, 2}};
  end.test.per_class = {{.precision = 1, .recall = 0.75, .f1 = 0.857}, {}};
  log.end = end;
  Beside beside;
  beside.mistakes = {{.label = 0, .answer = 1, .pixels = {0}, .width = 1}};
  const std::string page = report_html(log, {}, beside);
  EXPECT_FALSE(contains(page, "<b>cat"));
  EXPECT_TRUE(contains(page, "<th>&lt;b&gt;cat</th>"));
  EXPECT_TRUE(contains(page, "&lt;b&gt;cat predicted as dog &amp; co"));
}

TEST(Report, ItsCommandIsOneForAShell) {
  train::RunLog log;
  log.run.command = {"limpid", "train", "--data", "csv:it's a table.csv", ""};
  // Escaped: csv:it'\''s a table.csv in quotes, and an empty word.
  EXPECT_TRUE(
      contains(report_html(log, {}),
               "limpid train --data &#39;csv:it&#39;\\&#39;&#39;s a table.csv&#39; &#39;&#39;"));
}

TEST(Report, TheNormOfALayerIsOfAllItsParameters) {
  train::RunLog log;
  train::LayerStatistics layer;
  layer.name = "layers.0";
  layer.parameters = {{"weight", 0, 0.1, 8, 3, 0.6}, {"bias", 0, 0.1, 6, 4, 0.8}};
  log.probes = {{1, {layer}}};
  const std::string page = report_html(log, {});
  EXPECT_TRUE(contains(page, "layers.0: step 1, L2 norm 5<"));
  EXPECT_TRUE(contains(page, "layers.0: step 1, ratio 0.1<"));
}

}  // namespace
}  // namespace limpid::report
