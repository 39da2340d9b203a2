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
  EXPECT_FALSE(contains(page, "<td><t"));
  EXPECT_TRUE(contains(page, "&lt;b&gt;cat predicted as dog &amp; co"));
  EXPECT_TRUE(contains(page, "cat</td><td>1.0000</td><td>0.7500</td><td>0.8570</td>"));
}

// Whatever it is.
TEST(Report, WhatStandsInTheLogIsText) {
  const std::string markup = "<b>";
  train::Finding finding;
  finding.rule = finding.layer = finding.symptom = finding.cause = finding.fix = markup;
  train::RunLog log;
  log.run.version = log.run.task = log.run.data.name = markup;
  log.run.command = {markup};
  log.run.config = Json{{"name", markup}};
  log.run.environment = {markup, 1, markup, markup, markup};
  log.notes = {markup};
  log.samples = {{1, markup}};
  log.findings = {finding};
  log.findings[0].rule += "2";
  train::EndEvent end;
  end.reason = markup;
  end.test.metrics.set(markup, 1);
  log.end = end;
  Beside beside;
  beside.summary = Summary{};
  beside.summary->rows = {{markup, markup, {}}};
  EXPECT_FALSE(contains(report_html(log, {finding}, beside), markup));
}

// The chart of this title.
std::string chart_of(const std::string& page, const std::string& title) {
  const std::size_t begin = page.find("<figcaption>" + title);
  EXPECT_NE(begin, std::string::npos) << title;
  return page.substr(begin, page.find("</figure>", begin) - begin);
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

TEST(Report, CurvesOfStepsAreFaint) {
  train::RunLog log;
  log.steps = {{.step = 1, .loss = 2.5}};
  EXPECT_TRUE(contains(chart_of(report_html(log, {}), "Loss"), "<g class=\"c2 faint\">"));
}

TEST(Report, NormsAreOnALogarithmicAxis) {
  train::RunLog log;
  for (const auto& [step, norm] : {std::pair<std::int64_t, double>{1, 1}, {2, 100}}) {
    log.steps.push_back({.step = step, .gradient_norm = norm});
    train::LayerStatistics layer;
    layer.name = "layers.0";
    layer.parameters = {{"weight", 0, 0, 1, norm, norm}};
    layer.activations = {{.op = "residual", .mean = norm}};
    log.probes.push_back({step, {layer}});
  }
  const std::string page = report_html(log, {});
  for (const char* title : {"Gradient norm<", "Gradient norm by layer", "Update-to-weight ratio",
                            "Residual stream after each block"})
    EXPECT_TRUE(contains(chart_of(page, title), ">10</text>")) << title;
  // The marker of the ratio is at the lowest place of its chart.
  const std::string ratio = chart_of(page, "Update-to-weight ratio");
  EXPECT_TRUE(contains(ratio, "class=\"marker\" x1=\"58\" x2=\"468\" y1=\"240.0\""));
  EXPECT_TRUE(contains(ratio, ">0.001</text>"));
}

TEST(Report, EachChartOfLayersHasItsOwnNumbers) {
  train::RunLog log;
  train::LayerStatistics layer;
  layer.name = "layers.0";
  layer.activations = {{.op = "relu",
                        .mean = 0.125,
                        .std = 0.25,
                        .zero_share = 0.375,
                        .dead_share = 0.625,
                        .saturated_share = 0.5}};
  log.probes = {{1, {layer}}};
  const std::string page = report_html(log, {});
  for (const auto& [title, place] : {std::pair{"Activations: mean", "mean 0.125<"},
                                     {"Activations: standard deviation", "std 0.25<"},
                                     {"Activations: share of zeros", "share 0.375<"},
                                     {"Saturated activations", "share 0.5<"},
                                     {"Dead units", "share 0.625<"}})
    EXPECT_TRUE(contains(chart_of(page, title), place)) << title;
}

TEST(Report, SomeMetricsLayersAndClassesAreTooMany) {
  train::RunLog log;
  train::EpochEvent epoch;
  for (int i = 0; i < 65; ++i) epoch.validation.set("m" + std::to_string(i), 0.5);
  log.epochs = {epoch};
  log.probes = {{1, {}}};
  for (int i = 0; i < 257; ++i) {
    train::LayerStatistics layer;
    layer.name = "layer" + std::to_string(i);
    layer.parameters = {{"weight", 0, 0, 1, 1, 1}};
    log.probes[0].layers.push_back(layer);
  }
  train::EndEvent end;
  end.test.confusion.assign(40, std::vector<std::int64_t>(40, 1));
  log.end = end;
  const std::string most = report_html(log, {});
  for (const char* heading : {"Curves", "Layers", "Confusion matrix on the test set"})
    EXPECT_TRUE(contains(most, "<h2>" + std::string(heading) + "</h2>")) << heading;
  EXPECT_TRUE(contains(most, "m63: step"));
  EXPECT_FALSE(contains(most, "m64: step"));
  EXPECT_TRUE(contains(most, "layer255: step"));
  EXPECT_FALSE(contains(most, "layer256: step"));
  log.end->test.confusion.assign(41, std::vector<std::int64_t>(41, 1));
  EXPECT_FALSE(contains(report_html(log, {}), "Confusion matrix"));
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

// Beside another one, which has a line.
TEST(Report, ALayerOfZerosHasNoRatio) {
  train::RunLog log;
  train::LayerStatistics layer, zeros;
  layer.name = "layers.0";
  layer.parameters = {{"weight", 0, 0.1, 1, 1, 0.5}};
  zeros.name = "layers.1";
  zeros.parameters = {{"weight", 0, 0, 0, 1, 0.5}};
  log.probes = {{1, {layer, zeros}}};
  const std::string page = report_html(log, {});
  EXPECT_TRUE(contains(chart_of(page, "Gradient norm by layer"), "layers.1"));
  EXPECT_TRUE(contains(chart_of(page, "Update-to-weight ratio"), "layers.0"));
  EXPECT_FALSE(contains(chart_of(page, "Update-to-weight ratio"), "layers.1"));
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
                                      {60.0, "1 min 0 s"},
                                      {61.0, "1 min 1 s"},
                                      {119.6, "2 min 0 s"},
                                      {3599.7, "1 h 0 min"},
                                      {3599.0, "59 min 59 s"},
                                      {7500.0, "2 h 5 min"},
                                      {3.5e6, "972 h 13 min"},
                                      {3.6e6, "1e+03 h"}}) {
    end.seconds = seconds;
    log.end = end;
    const std::string page = report_html(log, {});
    EXPECT_TRUE(contains(page, "<dt>time</dt><dd>" + std::string(text) + "</dd>")) << text;
    EXPECT_TRUE(contains(page, "<dt>loss (test)</dt><dd>0.25</dd>"));
    EXPECT_FALSE(contains(page, "<dd>0.75</dd>"));
  }
}

TEST(Report, ARunThatHasNotEndedHasItsTilesToo) {
  train::RunLog log;
  log.run.parameters = 1234;
  log.run.data.validation = 20;
  log.steps = {{.step = 7}};
  train::EpochEvent epoch;
  epoch.train.set("macro_f1", 0.25);
  train::EpochEvent early = epoch;
  early.validation.set("macro_f1", 0.5);
  epoch.validation.set("macro_f1", 0.75);
  early.epoch = 1;
  epoch.epoch = 2;
  log.epochs = {early, epoch};
  const std::string page = report_html(log, {});
  for (const char* tile :
       {"<dt>epochs</dt><dd>2</dd>", "<dt>macro f1 (validation)</dt><dd>0.75</dd>",
        "<dt>steps</dt><dd>7</dd>", "<dt>parameters</dt><dd>1,234</dd>",
        "<dt>ended</dt><dd>not yet, or killed</dd>"})
    EXPECT_TRUE(contains(page, tile)) << tile;
  train::EndEvent end;
  end.reason = "early stopping";
  log.end = end;
  const std::string ended = report_html(log, {});
  EXPECT_TRUE(contains(ended, "<dt>ended</dt><dd>early stopping</dd>"));
  EXPECT_TRUE(contains(ended, "<dt>macro f1 (validation)</dt><dd>0.75</dd>"));  // not tested
  log.run.data.validation = 0;
  log.run.data.test = 20;
  EXPECT_TRUE(contains(report_html(log, {}), "<dt>macro f1 (test)</dt><dd>0.75</dd>"));
  EXPECT_FALSE(contains(ended, "best epoch"));
}

TEST(Report, ItSaysHowTheRunWasMade) {
  train::RunLog log;
  log.run.data.name = "digits";
  log.run.version = "1.2";
  log.run.environment = {"avx2", 2, "a cpu", "a system", "a compiler"};
  log.resumes = {{.step = 5000}};
  const std::string page = report_html(log, {});
  EXPECT_TRUE(contains(page, "limpid 1.2; avx2, 2 threads; a cpu; a system; a compiler<"));
  EXPECT_TRUE(contains(page, "Resumed at step 5,000."));
  EXPECT_TRUE(contains(page, "<title>digits: a training run of limpid</title>"));
  log.run.environment.threads = 1;
  EXPECT_TRUE(contains(report_html(log, {}), "avx2, 1 thread;"));
}

TEST(Report, TheModelHasARowForEachOp) {
  Beside beside;
  beside.summary = Summary{};
  beside.summary->rows = {{"layers.0", "linear", {32, 4}, 12, 1024}, {"layers.0", "relu", {32, 4}}};
  beside.summary->parameters = 1200;
  beside.summary->multiply_adds = 4096;
  const std::string page = report_html({}, {}, beside);
  for (const char* row :
       {"<td>layers.0</td><td>linear</td><td>(32, 4)</td><td>12</td><td>1,024</td>",
        "<td>relu</td><td>(32, 4)</td><td></td><td></td>",
        "<td>total</td><td></td><td></td><td>1,200</td><td>4,096</td>"})
    EXPECT_TRUE(contains(page, row)) << row;
}

TEST(Report, AMistakeSaysHowSureTheModelWas) {
  train::RunLog log;
  log.end = train::EndEvent{};
  Beside beside;
  beside.mistakes = {
      {.row = 7, .label = 2, .answer = 3, .probability = 0.935, .pixels = {0}, .width = 1}};
  const std::string page = report_html(log, {}, beside);
  EXPECT_TRUE(contains(page, "alt=\"example 7\"><figcaption>2 predicted as 3<"));
  EXPECT_TRUE(contains(page, "at 93.5 %, row 7<"));
  EXPECT_TRUE(contains(page, "<h2>Most confident errors</h2>"));
}

TEST(Report, OneSampleIsShown) {
  train::RunLog log;
  log.samples = {{4, "a text"}};
  EXPECT_TRUE(contains(report_html(log, {}),
                       "<h2>Text samples</h2>\n<h3>After step 4</h3>\n<pre>a text</pre>"));
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

TEST(Report, AFindingSaysWhereItIsAndWhetherItStillHolds) {
  train::RunLog log;
  EXPECT_TRUE(contains(report_html(log, {}), "rules found anything wrong"));
  train::Finding before;
  before.rule = "a rule of before";
  before.symptom = "it was ill";
  before.step = 1200;
  log.findings = {before};
  const std::string well = report_html(log, {});
  EXPECT_TRUE(contains(well, "At step 1,200, no longer at the end: a rule of before: it was ill<"));
  EXPECT_FALSE(contains(well, "rules found anything wrong"));
  before.severity = train::Severity::kError;
  before.layer = "layers.3";
  const std::string ill = report_html(log, {before});
  EXPECT_TRUE(contains(
      ill, "class=\"finding error\"><h3><span>error</span> a rule of before in layers.3<"));
  EXPECT_FALSE(contains(ill, "no longer"));
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
  // A class without examples.
  log.end->test.confusion = {{0, 0}, {1, 1}};
  EXPECT_TRUE(contains(report_html(log, {}), "/ 0.000)\" title=\"0 predicted as 0: 0, 0.0 %\">0<"));
}

// A heading over nothing would be read as a mistake of the page.
TEST(Report, WhatTheLogLacksHasNoHeading) {
  train::RunLog log;
  log.end = train::EndEvent{};
  const std::string page = report_html(log, {});
  for (const char* heading : {"Curves", "Layers", "Text samples", "Confusion matrix",
                              "Most confident errors", "Scores by class"})
    EXPECT_FALSE(contains(page, "<h2>" + std::string(heading))) << heading;
  for (const char* heading : {"What the doctor found", "Model and data", "Reproduce"})
    EXPECT_TRUE(contains(page, "<h2>" + std::string(heading) + "</h2>")) << heading;
  log.end->test.confusion = {{1}};
  log.end->test.per_class = {{.precision = 1, .recall = 1, .f1 = 1}};
  EXPECT_TRUE(contains(page, "<html lang=\"en\">"));  // for screen readers
  EXPECT_TRUE(contains(page, ".legend {"));           // and what charts look like
  const std::string classes = report_html(log, {});
  EXPECT_TRUE(contains(classes, "<h2>Scores by class</h2>"));
  EXPECT_TRUE(contains(classes,
                       "<table class=\"confusion\"><thead><tr><th>label \\ prediction</th>"
                       "<th>0</th></tr></thead>"));
  EXPECT_TRUE(
      contains(classes, "<tr><th>class</th><th>precision</th><th>recall</th><th>F1</th></tr>"));
}

// Errors are in the units of their target: without shares there is no chart of shares.
TEST(Report, ChartsOfMetricsAreThoseThatThereAre) {
  train::RunLog log;
  log.run.data.validation = 20;
  train::EpochEvent epoch;
  epoch.validation = {{"rmse", 12}};
  log.epochs = {epoch};
  EXPECT_FALSE(contains(report_html(log, {}), "Metrics on the"));
  log.epochs[0].validation.set("macro_f1", 0.5);
  const std::string page = report_html(log, {});
  EXPECT_TRUE(contains(page, "<figcaption>Metrics on the validation set</figcaption>"));
  EXPECT_TRUE(contains(page, "<figcaption>rmse on the validation set</figcaption>"));
  EXPECT_TRUE(contains(page, "<title>macro f1: step"));
}

// Of 30 samples, each third or so.
TEST(Report, ManySamplesAreThinned) {
  train::RunLog log;
  for (std::int64_t step = 1; step <= 30; ++step) log.samples.push_back({step, "text"});
  const std::string page = report_html(log, {});
  std::size_t shown = 0;
  for (std::size_t at = 0; (at = page.find("<h3>After step", at)) != std::string::npos; ++at)
    ++shown;
  EXPECT_EQ(shown, 12u);
}

}  // namespace
}  // namespace limpid::report
