// The log of a run: written, read back, cut, broken.
#include "limpid/train/log/run_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "limpid/core/error.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RunEvent run_event() {
  RunEvent e;
  e.version = "1.2.3";
  e.command = {"limpid", "train", "--lr", "0.1"};
  e.config = Json{{"data", "digits"}, {"layers", std::vector{784, 10}}};
  e.model = Json{{"model", "mlp"}};
  e.parameters = 7850;
  e.task = "classification";
  e.data = {"digits", 60, 20, 10, 784, 2, {"no", "yes"}};
  e.environment = {"avx2", 2, "a CPU", "a system", "a compiler"};
  return e;
}

DataFacts data_facts() {
  DataFacts e;
  e.rows = 60;
  e.mean = 0.25;
  e.features = {{"height", 3, -1, 2, 0.5, 0.75}};
  e.class_counts = {20, 40};
  e.duplicates = {{"validation", "train", 2, 20, 7, 3}};
  e.non_finite = 1;
  e.first_non_finite = {{"test", 4, 5, -kInfinity}};
  return e;
}

// With attention statistics only before the first step: other layers' lines have none.
ProbeEvent probe_event(std::int64_t step) {
  std::vector<AttentionStatistics> attention;
  if (step == 0) attention.push_back({0.5, 0.25, 0.75});
  return {step,
          {{"layers.0",
            {{"layers.0.weight", 0.5, 0.25, 4, 2, 0.125}},
            {{"relu", 0.1, 0.2, 0.3, 0.4, 0.5}},
            attention}}};
}

EndEvent end_event() {
  return {"finished",
          2,
          {{"loss", 0.5}},
          {{{"loss", 0.25}, {"accuracy", 0.75}}, {{3, 1}, {0, 4}}, {{1, 0.75, 0.8}, {0.8, 1, 0.9}}},
          12.5,
          2};
}

std::vector<Event> events() {
  return {run_event(),
          data_facts(),
          probe_event(0),
          StepEvent{1, 1, 2.5, 0.1, 3},
          StepEvent{2, 1, std::nan(""), 0.1, kInfinity},
          EpochEvent{1, 2, 0.1, {{"loss", 2}}, {{"loss", 3}, {"accuracy", 0.5}}, 3, 1e4, true},
          SampleEvent{2, "and so\n"},
          Finding{"loss_not_finite", Severity::kError, "layers.0", "symptom", "cause", "fix", 2},
          ResumeEvent{2, {"train", "--resume"}, Json{{"epochs", 3}}},
          probe_event(2),
          end_event()};
}

std::string text_of(const std::vector<Event>& events) {
  std::string text;
  for (const Event& e : events) text += to_json_line(e);
  return text;
}

TEST(RunLog, WhatIsReadWritesTheSameLines) {
  const RunLog log = parse_run_log(text_of(events()), "log");
  EXPECT_TRUE(log.notes.empty());
  ASSERT_EQ(log.steps.size(), 2u);
  EXPECT_TRUE(std::isnan(log.steps[1].loss));
  EXPECT_EQ(log.steps[1].gradient_norm, kInfinity);
  ASSERT_EQ(log.probes.size(), 2u);
  EXPECT_EQ(log.probes[0].layers[0].parameters[0].update_ratio(), 0.125 / 4);
  EXPECT_EQ(log.probes[0].layers[0].attention.at(0).lowest_head, 0.25);
  EXPECT_TRUE(log.probes[1].layers[0].attention.empty());
  EXPECT_EQ(to_json_line(log.probes[1]).find("attention"), std::string::npos);
  ASSERT_TRUE(log.data && log.end);
  EXPECT_EQ(log.data->first_non_finite[0].value, -kInfinity);
  EXPECT_EQ(log.end->test.metrics.at("accuracy"), 0.75);
  EXPECT_EQ(log.end->test.metrics.size(), 2u);

  const std::vector<Event> read{log.run,        *log.data,     log.probes[0],  log.steps[0],
                                log.steps[1],   log.epochs[0], log.samples[0], log.findings[0],
                                log.resumes[0], log.probes[1], *log.end};
  EXPECT_EQ(text_of(read), text_of(events()));
}

TEST(RunLog, AParameterOfZerosHasNoUpdateRatio) {
  EXPECT_EQ((ParameterStatistics{"w", 0, 0, 0, 1, 2}.update_ratio()), 0);
  EXPECT_EQ((ParameterStatistics{"w", 0, 0, 4, 1, 2}.update_ratio()), 0.5);
}

// For a run of 4690 steps that logs every fourth, whichever events exist.
TEST(RunLog, KnowsTheStepsDone) {
  RunLog log;
  EXPECT_EQ(log.steps_done(), 0);
  log.add(StepEvent{4688, 10, 0.1, 0, 1});
  EXPECT_EQ(log.steps_done(), 4688);
  RunLog epoch = log, probe = log, sample = log, resumed = log;
  epoch.add(EpochEvent{10, 4690, 0, {}, {}, 1, 1, false});
  probe.add(probe_event(4689));  // it belongs to the next step
  sample.add(SampleEvent{4690, "text"});
  resumed.add(ResumeEvent{4690});
  for (const RunLog& other : {epoch, probe, sample, resumed}) EXPECT_EQ(other.steps_done(), 4690);
  // Resuming from a checkpoint does not add steps.
  EXPECT_EQ(resumed.last_step(), 4688);
  RunLog twice = resumed;
  twice.add(ResumeEvent{4692});
  EXPECT_EQ(twice.steps_done(), 4692);
  EndEvent end = end_event();
  end.step.reset();
  log.add(end);
  EXPECT_EQ(log.steps_done(), 4688) << "an end of older versions says nothing";
  end.step = 4690;
  log.add(end);
  EXPECT_EQ(log.steps_done(), 4690);
  // A step whose loss is not finite does not count.
  end.step = 4687;
  log.add(end);
  EXPECT_EQ(log.steps_done(), 4687);
  EXPECT_EQ(log.last_step(), 4688);
  // Not even if it was the first one.
  RunLog first;
  first.add(StepEvent{1, 1, std::nan(""), 0, 1});
  end.step = 0;
  first.add(end);
  EXPECT_EQ(first.steps_done(), 0);
}

TEST(RunLog, AnEndWithoutItsStepIsRead) {
  EndEvent end = end_event();
  end.step.reset();
  const std::string line = to_json_line(end);
  ASSERT_EQ(line.find("\"step\""), std::string::npos);
  const RunLog log = parse_run_log(to_json_line(run_event()) + line, "log");
  ASSERT_TRUE(log.end);
  EXPECT_FALSE(log.end->step);
  EXPECT_EQ(log.end->best_epoch, 2);
}

TEST(RunLog, AnEventIsOneLine) {
  Finding finding;
  finding.symptom = "two\nlines, \xff and \x01";
  const std::string line = to_json_line(finding);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(line.find('\xff'), std::string::npos);
}

// Other programs read the lines, by the names of the members (docs/json.md), and later versions of
// Limpid read the logs of earlier ones.
TEST(RunLog, LinesHaveTheirNames) {
  Finding finding{"overfitting", Severity::kWarning, "layers.0", "symptom", "cause", "fix", 2};
  finding.remedies = {{"more data", {}}, {"", {{"epochs", 32}, {"data.count", 4}}}};
  finding.follows_from = "data_not_finite";
  DataFacts facts = data_facts();
  facts.targets = {{"price", 0, 1, 3, 2, 0.5}};
  facts.target_leakage = {{"id", 4, 5, 9, 7, 1.5}};
  facts.telling = {{{"age", 2, 0, 9, 4, 2}, 0.96, 0.25}};
  facts.far_values = {{"age", 2, true, -9999, 3, 0, 9}};
  facts.shifts = {{"test", {"age", 2, 0, 90, 40, 20}, {"age", 2, 0, 9, 4, 2}}};
  StepEvent hashed{1, 1, 2.5, 0.1, -kInfinity};
  hashed.shards = {"0123456789abcdef", "fedcba9876543210"};
  std::vector<Event> written = events();
  written.insert(written.end(), {finding, facts, hashed});
  for (const Event& event : written) expect_message(to_json_line(event));
}

// Of a regression, of a column that tells the target, and of a step that is hashed.
TEST(RunLog, WhatFewRunsHaveIsReadToo) {
  DataFacts facts = data_facts();
  facts.targets = {{"price", 0, 1, 3, 2, 0.5}};
  facts.target_leakage = {{"id", 4, 5, 9, 7, 1.5}};
  facts.telling = {{{"age", 2, 0, 9, 4, 2}, 0.96, 0.25}};
  facts.far_values = {{"age", 2, true, -9999, 3, 0, 9}};
  facts.shifts = {{"test", {"age", 2, 0, 90, 40, 20}, {"age", 2, 0, 9, 4, 2}}};
  StepEvent step{1, 1, 2.5, 0.1, 3};
  step.shards = {"0123456789abcdef", "fedcba9876543210"};
  const std::string lines = to_json_line(run_event()) + to_json_line(facts) + to_json_line(step);
  const RunLog log = parse_run_log(lines, "log");
  EXPECT_EQ(to_json_line(log.run) + to_json_line(*log.data) + to_json_line(log.steps.at(0)), lines);
}

TEST(RunLog, ALogCutAnywhereBehindItsFirstLineIsRead) {
  const std::string text = text_of(events());
  const std::size_t first = to_json_line(run_event()).size();
  for (std::size_t size = first; size < text.size(); ++size) {
    const RunLog log = parse_run_log(text.substr(0, size), "log");
    // A complete line without its '\n' is read, too.
    const bool whole = text[size - 1] == '\n' || text[size] == '\n';
    EXPECT_EQ(log.notes.size(), whole ? 0u : 1u) << size;
  }
  for (std::size_t size = 0; size + 1 < first; ++size)
    EXPECT_THROW(parse_run_log(text.substr(0, size), "log"), Error) << size;
}

TEST(RunLog, HostileLinesAreErrors) {
  const std::string run = to_json_line(run_event());
  const std::string step = to_json_line(StepEvent{1, 1, 2.5, 0.1, 3});
  const std::string deep(200'000, '[');
  std::string wide = "{\"event\":\"epoch\"";
  for (int i = 0; i < 5000; ++i) wide += ",\"" + std::to_string(i) + "\":0";
  const auto expect_error = [](const std::string& text) {
    expect_refused(ErrorCode::kFormat, [&] { parse_run_log(text, "the log"); });
  };
  expect_error("");
  expect_error("nonsense\n" + step);
  expect_error(step);
  expect_error(run + run + step);
  for (const std::string& line : {std::string(), std::string("[1]"), std::string("{\"event\":3}"),
                                  std::string("{\"event\":\"step\"}"), deep, wide + "}"})
    expect_error(run + line + "\n" + step);
  const EpochEvent epoch{1, 2, 0.1, {{"loss", 2}}, {}, 3, 1e4, true};
  const struct {
    Event event;
    std::string old, now;
  } changed[] = {
      {StepEvent{1, 1, 2.5, 0.1, 3}, "2.5", "\"x\""},
      {StepEvent{1, 1, 2.5, 0.1, 3}, "2.5", "null"},
      {StepEvent{1, 1, 2.5, 0.1, 3}, "2.5", deep},
      {StepEvent{1, 1, 2.5, 0.1, 3}, "\"step\":1", "\"step\":1.5"},
      {StepEvent{1, 1, 2.5, 0.1, 3}, "\"step\":1", "\"step\":18446744073709551615"},
      {epoch, "\"best\":true", "\"best\":1"},
      {epoch, "\"train\":{\"loss\":2.0}", "\"train\":2"},
      {epoch, "\"loss\":2.0", "\"loss\":[]"},
      {Finding(), "\"warning\"", "\"bad\""},
      {SampleEvent{2, "text"}, "\"text\":\"text\"", "\"text\":[]"},
      {probe_event(0), "\"norm\":4.0", "\"norm\":true"},
      {data_facts(), "\"class_counts\":[20,40]", "\"class_counts\":[20,{}]"},
      {data_facts(), "\"class_counts\":[20,40]", "\"class_counts\":20"},
      {data_facts(), "\"duplicates\":[{", "\"duplicates\":[7,{"},
  };
  for (const auto& [event, old, now] : changed) {
    std::string line = to_json_line(event);
    ASSERT_NE(line.find(old), std::string::npos) << line;
    expect_error(run + line.replace(line.find(old), old.size(), now) + step);
  }
}

TEST(RunLog, EventsOfUnknownKindsArePassedOver) {
  const RunLog log = parse_run_log(to_json_line(run_event()) + "{\"event\":\"song\"}\n" +
                                       to_json_line(StepEvent{1, 1, 2.5, 0.1, 3}),
                                   "log");
  EXPECT_EQ(log.steps.size(), 1u);
  ASSERT_EQ(log.notes.size(), 1u);
  EXPECT_NE(log.notes[0].find("line 2"), std::string::npos);
}

TEST(RunLog, GoesOnBehindACheckpoint) {
  std::vector<Event> all = events();
  const std::string kept = log_until(text_of(all), 1, "log");
  // The probe of step 0 describes the first step's update; all later ones are removed.
  EXPECT_EQ(kept, text_of({all[0], all[1], all[2], all[3]}));
  const std::string cut = text_of(all).substr(0, text_of(all).size() - 3);
  EXPECT_EQ(log_until(cut, 2, "log"),
            text_of({all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8]}));
}

}  // namespace
}  // namespace limpid::train
