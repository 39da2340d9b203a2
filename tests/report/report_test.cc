// The page of a run: what stands in the log is text, wherever it comes from.
#include "limpid/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/refusals.h"

namespace limpid::report {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The words of a page, without its markup: a line for each heading, with what stands between tags.
std::string words_of(const std::string& page) {
  std::string words;
  for (std::size_t at = std::min(page.find("<body"), page.size()); at < page.size(); ++at) {
    const char c = page[at] == '\n' ? ' ' : page[at];
    if (c == '<') {
      const bool heading = page.compare(at, 3, "<h2") == 0;
      at = page.find('>', at);
      if (heading)
        words += '\n';
      else if (!words.empty() && words.back() != '|' && words.back() != '\n')
        words += '|';
    } else if (c != ' ' || (!words.empty() && words.back() != ' ' && words.back() != '|')) {
      words += c;
    }
  }
  return words;
}
std::string words_of(const train::RunLog& log, const std::vector<train::Finding>& findings = {},
                     const Beside& beside = {}) {
  return words_of(report_html(log, findings, beside));
}

void expect_words(const std::string& words, std::initializer_list<const char*> all) {
  for (const char* const some : all) EXPECT_TRUE(contains(words, some)) << some << "\n" << words;
}

// The chart of this title.
std::string chart_of(const std::string& page, const std::string& title) {
  const std::size_t begin = page.find("<figcaption>" + title);
  EXPECT_NE(begin, std::string::npos) << title;
  return page.substr(begin, page.find("</figure>", begin) - begin);
}

// One of everything.
struct Whole {
  train::RunLog log;
  Beside beside;

  Whole() {
    log.run.version = "1.2";
    log.run.environment = {"avx2", 2, "a cpu", "a system", "a compiler"};
    log.run.command = {"limpid", "train", "--data", "csv:it's a table.csv", ""};
    log.run.parameters = 1234;
    log.run.data = {"digits", 6000, 200, 100, 784, 10, {"cat", "dog"}};
    log.resumes = {{.step = 5000},
                   {.step = 5010, .command = {"limpid", "train", "--resume", "run"}}};
    log.steps = {{.step = 1, .epoch = 1, .loss = 2.5, .learning_rate = 0.125, .gradient_norm = 3}};
    train::EpochEvent epoch;
    epoch.epoch = 5;
    epoch.step = 4;
    epoch.train.set("loss", 0.5);
    epoch.validation = {{"loss", 0.75}, {"rmse", 12}, {"mae", 11}, {"r2", 0.875}};
    log.epochs = {epoch};
    train::LayerStatistics layer;
    layer.name = "layers.0";
    layer.parameters = {{"weight", 0, 0.1, 8, 3, 0.6}, {"bias", 0, 0.1, 6, 4, 0.8}};
    layer.activations = {{.op = "linear", .mean = 7},
                         {.op = "relu",
                          .mean = 0.125,
                          .std = 0.25,
                          .zero_share = 0.375,
                          .dead_share = 0.625,
                          .saturated_share = 0.5}};
    layer.attention = {{.entropy = 0.5, .lowest_head = 0.1875, .highest_head = 0.875}};
    train::LayerStatistics block;
    block.name = "blocks.0";
    block.activations = {{.op = "residual", .mean = 0.6, .std = 0.8}};
    log.probes = {{1, {layer, block}}};
    log.samples = {{4, "a text"}};
    train::EndEvent end;
    end.reason = "early stopping";
    end.best_epoch = 2;
    end.seconds = 59.5;
    end.test.metrics.set("loss", 0.25);
    end.test.confusion = {{3, 1}, {0, 2}};
    end.test.per_class = {{.precision = 1, .recall = 0.75, .f1 = 0.857}, {}};
    log.end = end;
    beside.mistakes = {
        {.row = 7, .label = 0, .answer = 1, .probability = 0.935, .pixels = {0}, .width = 1}};
    beside.summary = Summary{};
    beside.summary->rows = {{"layers.0", "linear", {32, 4}, 12, 1024},
                            {"layers.0", "relu", {32, 4}}};
    beside.summary->parameters = 1200;
    beside.summary->multiply_adds = 4096;
  }
};

// Its headings, tiles, tables and sentences.
TEST(Report, SaysAllThatTheLogHas) {
  Whole whole;
  train::Finding first, second;
  first.rule = "one";
  first.layer = "layers.3";
  first.fix = "less";
  first.severity = train::Severity::kError;
  second.rule = "two";
  second.follows_from = "one";
  train::Finding before = second;
  before.rule = "a rule of before";
  before.symptom = "it was ill";
  before.step = 1200;
  whole.log.findings = {before};
  const std::string page = report_html(whole.log, {first, second}, whole.beside);
  std::string without_charts;
  for (std::size_t at = page.find("<body"); at < page.size();) {
    const std::size_t chart = page.find("<svg", at);
    without_charts += page.substr(at, chart - at);
    at = chart == std::string::npos ? chart : page.find("</svg>", chart);
  }
  expect_message(words_of(without_charts));
}

// The titles of a curve's places.
TEST(Report, EachCurveHasItsOwnNumbers) {
  const Whole whole;
  const std::string page = report_html(whole.log, {}, whole.beside);
  for (const auto& [title, places] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"Loss", {"step 1, loss 2.5", "step 4, loss 0.5", "step 4, loss 0.75"}},
           {"Learning rate", {"step 1, rate 0.125"}},
           {"Gradient norm<", {"step 1, L2 norm 3"}},
           {"Gradient norm by layer", {"layers.0: step 1, L2 norm 5"}},
           {"Update-to-weight ratio", {"layers.0: step 1, ratio 0.1"}},
           {"Activations: mean", {"layers.0: step 1, mean 0.125"}},
           {"Activations: standard deviation", {"std 0.25"}},
           {"Activations: share of zeros", {"share 0.375"}},
           {"Saturated activations", {"share 0.5"}},
           {"Dead units", {"share 0.625"}},
           {"Residual stream after each block", {"blocks.0: step 1, RMS 1"}}})
    for (const std::string& place : places)
      EXPECT_TRUE(contains(chart_of(page, title), place + "<")) << title << " " << place;
  for (const char* place : {"rmse: step 4, rmse 12<", "mae: step 4, mae 11<",
                            "r2: step 4, score 0.875<", "share 0.1875<"})
    EXPECT_TRUE(contains(page, place)) << place;
  EXPECT_FALSE(contains(page, "mean 7<"));  // a layer with an activation is what comes out of that
  EXPECT_FALSE(contains(page, "share 0.875<"));  // and its heads the lowest of them
  EXPECT_TRUE(contains(chart_of(page, "Loss"), " faint\">"));
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
  // The marker of the ratio is on its axis.
  EXPECT_TRUE(contains(chart_of(page, "Update-to-weight ratio"), ">0.001</text>"));
}

// Whatever it is.
TEST(Report, WhatStandsInTheLogIsText) {
  const std::string markup = "<b>";
  train::Finding finding;
  finding.rule = finding.layer = finding.symptom = finding.cause = finding.fix = markup;
  Whole whole;
  train::RunLog& log = whole.log;
  log.run.version = log.run.task = log.run.data.name = markup;
  log.run.command = {markup};
  log.run.config = Json{{"name", markup}};
  log.run.environment = {markup, 1, markup, markup, markup};
  log.run.data.class_names = {markup, "dog & co"};
  log.notes = {markup};
  log.samples = {{1, markup}};
  log.findings = {finding};
  log.findings[0].rule += "2";
  log.end->reason = markup;
  log.end->test.metrics.set(markup, 1);
  whole.beside.summary->rows = {{markup, markup, {}}};
  const std::string page = report_html(log, {finding}, whole.beside);
  EXPECT_FALSE(contains(page, markup));
  EXPECT_TRUE(contains(page, "<th>&lt;b&gt;</th>"));
  EXPECT_TRUE(contains(page, "&lt;b&gt; predicted as dog &amp; co"));
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
  EXPECT_TRUE(contains(most, "m63: step"));
  EXPECT_FALSE(contains(most, "m64: step"));
  EXPECT_TRUE(contains(most, "layer255: step"));
  EXPECT_FALSE(contains(most, "layer256: step"));
  EXPECT_TRUE(contains(most, "class=\"confusion\""));
  log.end->test.confusion.assign(41, std::vector<std::int64_t>(41, 1));
  EXPECT_FALSE(contains(report_html(log, {}), "class=\"confusion\""));
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

// Each third or so, and the first and the last.
TEST(Report, ManySamplesAreThinned) {
  train::RunLog log;
  for (std::int64_t step = 1; step <= 30; ++step) log.samples.push_back({step, "text"});
  const std::string page = report_html(log, {});
  std::size_t shown = 0;
  for (std::size_t at = 0; (at = page.find("<pre>text", at)) != std::string::npos; ++at) ++shown;
  EXPECT_EQ(shown, 12u);
  expect_words(words_of(page), {"step 1|", "step 30|"});
}

TEST(Report, ATimeIsInWholeUnits) {
  Whole whole;
  for (const auto& [seconds, text] : {std::pair{59.5, "59.5 s"},
                                      {60.0, "1 min 0 s"},
                                      {61.0, "1 min 1 s"},
                                      {119.6, "2 min 0 s"},
                                      {3599.7, "1 h 0 min"},
                                      {3599.0, "59 min 59 s"},
                                      {7500.0, "2 h 5 min"},
                                      {3.5e6, "972 h 13 min"},
                                      {3.6e6, "1e+03 h"}}) {
    whole.log.end->seconds = seconds;
    EXPECT_TRUE(contains(words_of(whole.log), "|" + std::string(text) + "|")) << text;
  }
}

TEST(Report, ARunThatHasNotEndedHasItsTilesToo) {
  train::RunLog log;
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
  expect_words(words_of(log), {"|epochs|2|", "|macro f1 (validation)|0.75|", "|steps|7|"});
  EXPECT_FALSE(contains(words_of(log), "best epoch"));
  log.end = train::EndEvent{};
  expect_words(words_of(log), {"|macro f1 (validation)|0.75|"});  // it was not tested
  log.run.data.validation = 0;
  log.run.data.test = 20;
  expect_words(words_of(log), {"|macro f1 (test)|0.75|"});
}

TEST(Report, CellsAreAsDarkAsTheirShareOfTheRow) {
  train::RunLog log;
  train::EndEvent end;
  end.test.confusion = {{3, 1}, {0, 0}};
  log.end = end;
  const std::string page = report_html(log, {});
  const auto darkness = [&](const std::string& title) {
    const std::size_t at = page.find("title=\"" + title);
    return std::stod(page.substr(page.rfind("/ ", at) + 2));
  };
  EXPECT_GT(darkness("0 predicted as 0: 3, 75.0 %"), darkness("0 predicted as 1: 1, 25.0 %"));
  EXPECT_EQ(darkness("1 predicted as 1: 0, 0.0 %"), 0);  // a class without examples
}

// A heading over nothing would be read as a mistake of the page.
TEST(Report, WhatTheLogLacksHasNoHeading) {
  train::RunLog log;
  log.end = train::EndEvent{};
  const std::string page = report_html(log, {});
  EXPECT_TRUE(contains(page, "<html lang=\"en\">"));  // for screen readers
  expect_message(words_of(page));
  // Errors are in the units of their target: without shares there is no chart of shares.
  log.run.data.validation = 20;
  train::EpochEvent epoch;
  epoch.validation = {{"rmse", 12}};
  log.epochs = {epoch};
  EXPECT_FALSE(contains(report_html(log, {}), "Metrics on the"));
  log.epochs[0].validation.set("macro_f1", 0.5);
  expect_words(words_of(log), {"Metrics on the validation set", "macro f1: step"});
}

}  // namespace
}  // namespace limpid::report
