// The page of a run: what stands in the log is text, wherever it comes from.
#include "limpid/report/report.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

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
  EXPECT_TRUE(contains(page, "cat</td><td>1.0000</td><td>0.7500</td><td>0.8570</td>"));
}

TEST(Report, TheSizesOfTheDataAreThoseOfItsParts) {
  train::RunLog log;
  log.run.data = {"digits", 6000, 200, 100, 784, 10, {}};
  EXPECT_TRUE(contains(report_html(log, {}),
                       "<p>digits: 6,000 examples for training, 200 for validation, 100 for "
                       "testing; 784 features, 10 outputs.</p>"));
}

// The titles of a curve's places.
TEST(Report, EachCurveHasItsOwnNumbers) {
  train::RunLog log;
  log.run.data.validation = 20;
  log.steps = {{.step = 1, .epoch = 1, .loss = 2.5, .learning_rate = 0.125, .gradient_norm = 3}};
  train::EpochEvent epoch;
  epoch.step = 4;
  epoch.train.set("loss", 0.5);
  epoch.validation = {{"loss", 0.75}, {"rmse", 12}, {"mae", 11}, {"r2", 0.875}};
  log.epochs = {epoch};
  const std::string page = report_html(log, {});
  for (const char* place :
       {"training, by step: step 1, loss 2.5<", "training, by epoch: step 4, loss 0.5<",
        "validation: step 4, loss 0.75<", "learning rate: step 1, rate 0.125<",
        "gradient: step 1, L2 norm 3<", "rmse: step 4, rmse 12<", "mae: step 4, mae 11<",
        "r2: step 4, score 0.875<"})
    EXPECT_TRUE(contains(page, place)) << place;
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

// A layer with an activation shows what comes out of that, and its heads the lowest of them.
TEST(Report, ALayerIsWhatComesOutOfIt) {
  train::RunLog log;
  train::LayerStatistics layer;
  layer.name = "layers.0";
  layer.activations = {{.op = "linear", .mean = 0.25}, {.op = "relu", .mean = 0.75}};
  layer.attention = {{.entropy = 0.5, .lowest_head = 0.125, .highest_head = 0.875}};
  log.probes = {{1, {layer}}};
  const std::string page = report_html(log, {});
  EXPECT_TRUE(contains(page, "layers.0: step 1, mean 0.75<"));
  EXPECT_TRUE(contains(page, "layers.0: step 1, share 0.5<"));
  EXPECT_TRUE(contains(page, "layers.0: step 1, share 0.125<"));
  EXPECT_FALSE(contains(page, "0.25<"));
  EXPECT_FALSE(contains(page, "0.875<"));
  EXPECT_FALSE(contains(page, "Residual stream"));
}

TEST(Report, ABlockIsTheSizeOfItsStream) {
  train::RunLog log;
  train::LayerStatistics layer;
  layer.name = "blocks.0";
  layer.activations = {{.op = "linear", .mean = 7}, {.op = "residual", .mean = 0.6, .std = 0.8}};
  log.probes = {{1, {layer}}};
  EXPECT_TRUE(contains(report_html(log, {}), "blocks.0: step 1, RMS 1<"));
}

TEST(Report, OfManySamplesTheFirstAndTheLastAreShown) {
  train::RunLog log;
  for (std::int64_t step = 1; step <= 30; ++step) log.samples.push_back({step, "text"});
  const std::string page = report_html(log, {});
  for (const char* step : {"1", "30"})
    EXPECT_TRUE(contains(page, "<h3>After step " + std::string(step) + "</h3>")) << step;
}

TEST(Report, ItsTilesAreOfTheTestSetAndOfAWholeTime) {
  train::RunLog log;
  train::EpochEvent epoch;
  epoch.validation.set("loss", 0.75);
  log.epochs = {epoch};
  train::EndEvent end;
  end.test.metrics.set("loss", 0.25);
  for (const auto& [seconds, text] : {std::pair{59.5, "59.5 s"},
                                      {61.0, "1 min 1 s"},
                                      {3599.0, "59 min 59 s"},
                                      {7500.0, "2 h 5 min"},
                                      {3.6e6, "1e+03 h"}}) {
    end.seconds = seconds;
    log.end = end;
    const std::string page = report_html(log, {});
    EXPECT_TRUE(contains(page, "<dt>time</dt><dd>" + std::string(text) + "</dd>")) << text;
    EXPECT_TRUE(contains(page, "<dt>loss (test)</dt><dd>0.25</dd>"));
    EXPECT_FALSE(contains(page, "<dd>0.75</dd>"));
  }
}

TEST(Report, TheBestEpochIsNotTheLast) {
  train::RunLog log;
  train::EpochEvent epoch;
  epoch.epoch = 5;
  log.epochs = {epoch};
  train::EndEvent end;
  end.best_epoch = 2;
  log.end = end;
  const std::string page = report_html(log, {});
  EXPECT_TRUE(contains(page, "<dt>epochs</dt><dd>5</dd>"));
  EXPECT_TRUE(contains(page, "<dt>best epoch</dt><dd>2</dd>"));
}

TEST(Report, AFindingSaysWhatToTryOrWhatItFollowsFrom) {
  train::Finding first;
  first.rule = "one";
  first.fix = "less";
  train::Finding second;
  second.rule = "two";
  second.follows_from = "one";
  const std::string page = report_html({}, {first, second});
  EXPECT_TRUE(contains(page, "<dt>try</dt><dd>less</dd>"));
  EXPECT_TRUE(contains(page, "<dt>follows from</dt><dd>one</dd>"));
}

TEST(Report, CommandsThatMadeTheRunLongerFollowTheFirst) {
  train::RunLog log;
  log.run.command = {"limpid", "train"};
  log.resumes = {{.step = 5}, {.step = 10, .command = {"limpid", "train", "--resume", "run"}}};
  EXPECT_TRUE(contains(report_html(log, {}), "limpid train\nlimpid train --resume run<"));
}

TEST(Report, CellsAreAsDarkAsTheirShareOfTheRow) {
  train::RunLog log;
  train::EndEvent end;
  end.test.confusion = {{3, 1}, {1, 1}};
  log.end = end;
  const std::string page = report_html(log, {});
  EXPECT_TRUE(contains(page, "/ 0.470)\" title=\"0 predicted as 0: 3, 75.0 %\">3<"));
  EXPECT_TRUE(contains(page, "/ 0.340)\" title=\"1 predicted as 1: 1, 50.0 %\">1<"));
}

}  // namespace
}  // namespace limpid::report
