// The log of a run: written, read back, cut, broken.
#include "limpid/train/log/run_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "limpid/core/error.h"

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

// Other programs read logs, and later versions of Limpid read the logs of earlier ones.
TEST(RunLog, EachNumberHasItsOwnName) {
  const auto json = [](const Event& event) { return Json::parse(to_json_line(event)); };
  const auto number = [](const Json& object, std::string_view name) {
    return object.at(name).as_number();
  };
  const Json height = json(data_facts()).at("features").at(0);
  EXPECT_EQ(number(height, "column"), 3);
  EXPECT_EQ(number(height, "min"), -1);
  EXPECT_EQ(number(height, "max"), 2);
  EXPECT_EQ(number(height, "mean"), 0.5);
  EXPECT_EQ(number(height, "std"), 0.75);
  const Json twice = json(data_facts()).at("duplicates").at(0);
  EXPECT_EQ(twice.at("part").as_string(), "validation");
  EXPECT_EQ(twice.at("other").as_string(), "train");
  EXPECT_EQ(number(twice, "rows"), 2);
  EXPECT_EQ(number(twice, "of"), 20);
  EXPECT_EQ(number(twice, "row"), 7);
  EXPECT_EQ(number(twice, "other_row"), 3);
  const Json layer = json(probe_event(0)).at("layers").at(0);
  const Json weight = layer.at("parameters").at(0);
  EXPECT_EQ(number(weight, "mean"), 0.5);
  EXPECT_EQ(number(weight, "std"), 0.25);
  EXPECT_EQ(number(weight, "norm"), 4);
  EXPECT_EQ(number(weight, "gradient_norm"), 2);
  EXPECT_EQ(number(weight, "update_norm"), 0.125);
  const Json relu = layer.at("activations").at(0);
  EXPECT_EQ(number(relu, "mean"), 0.1);
  EXPECT_EQ(number(relu, "std"), 0.2);
  EXPECT_EQ(number(relu, "zero_share"), 0.3);
  EXPECT_EQ(number(relu, "dead_share"), 0.4);
  EXPECT_EQ(number(relu, "saturated_share"), 0.5);
  const Json heads = layer.at("attention").at(0);
  EXPECT_EQ(number(heads, "entropy"), 0.5);
  EXPECT_EQ(number(heads, "lowest_head"), 0.25);
  EXPECT_EQ(number(heads, "highest_head"), 0.75);
  const Json step = json(StepEvent{2, 1, 2.5, 0.1, 3});
  EXPECT_EQ(number(step, "step"), 2);
  EXPECT_EQ(number(step, "epoch"), 1);
  EXPECT_EQ(number(step, "loss"), 2.5);
  EXPECT_EQ(number(step, "learning_rate"), 0.1);
  EXPECT_EQ(number(step, "gradient_norm"), 3);
  const Json epoch =
      json(EpochEvent{1, 2, 0.1, {{"loss", 2}}, {{"loss", 3}, {"accuracy", 0.5}}, 4, 1e4, true});
  EXPECT_EQ(number(epoch, "epoch"), 1);
  EXPECT_EQ(number(epoch, "step"), 2);
  EXPECT_EQ(number(epoch.at("train"), "loss"), 2);
  EXPECT_EQ(number(epoch.at("validation"), "loss"), 3);
  EXPECT_EQ(number(epoch, "gradient_norm"), 4);
  EXPECT_EQ(number(epoch, "samples_per_second"), 1e4);
  const Json test = json(end_event()).at("test");
  EXPECT_EQ(number(test, "loss"), 0.25);
  const Json no = test.at("per_class").at(0);
  EXPECT_EQ(number(no, "precision"), 1);
  EXPECT_EQ(number(no, "recall"), 0.75);
  EXPECT_EQ(number(no, "f1"), 0.8);
  for (const auto& [severity, text] : {std::pair{Severity::kInfo, "info"},
                                       {Severity::kWarning, "warning"},
                                       {Severity::kError, "error"}}) {
    Finding finding;
    finding.severity = severity;
    EXPECT_EQ(json(finding).at("severity").as_string(), text);
  }
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
  const std::string steps = to_json_line(StepEvent{2, 1, std::nan(""), 0.1, -kInfinity});
  EXPECT_EQ(steps,
            "{\"event\":\"step\",\"step\":2,\"epoch\":1,\"loss\":\"nan\",\"learning_rate\":0.1,"
            "\"gradient_norm\":\"-inf\"}\n");
}

// Other programs read the lines, by the names of the members (docs/json.md).
TEST(RunLog, LinesHaveTheirNames) {
  Finding finding{"overfitting", Severity::kWarning, "layers.0", "symptom", "cause", "fix", 2};
  finding.remedies = {{"more data", {}}, {"", {{"epochs", 32}, {"data.count", 4}}}};
  finding.follows_from = "data_not_finite";
  const Event written[] = {finding,
                           run_event(),
                           data_facts(),
                           probe_event(0),
                           StepEvent{1, 1, 2.5, 0.1, 3},
                           EpochEvent{1, 2, 0.1, {{"loss", 2}}, {{"loss", 3}}, 3, 1e4, true},
                           SampleEvent{2, "and so\n"},
                           ResumeEvent{2, {"train", "--resume"}, Json{{"epochs", 3}}},
                           end_event()};
  const std::string_view lines[] = {
      R"({"event":"finding","rule":"overfitting","severity":"warning","layer":"layers.0",)"
      R"("symptom":"symptom","cause":"cause","fix":"fix","step":2,)"
      R"("remedies":[{"words":"more data"},{"settings":[{"key":"epochs","value":32},)"
      R"({"key":"data.count","value":4}]}],"follows_from":"data_not_finite"})",
      R"({"event":"run","version":"1.2.3","command":["limpid","train","--lr","0.1"],)"
      R"("config":{"data":"digits","layers":[784,10]},"model":{"model":"mlp"},)"
      R"("parameters":7850,"task":"classification","data":{"name":"digits","train":60,)"
      R"("validation":20,"test":10,"features":784,"outputs":2,"class_names":["no","yes"]},)"
      R"("environment":{"isa":"avx2","threads":2,"cpu":"a CPU","system":"a system",)"
      R"("compiler":"a compiler"}})",
      R"({"event":"data","rows":60,"min":0.0,"max":0.0,"mean":0.25,"std":0.0,)"
      R"("constant_features":0,"features":[{"name":"height","column":3,"min":-1.0,"max":2.0,)"
      R"("mean":0.5,"std":0.75}],"class_counts":[20,40],"duplicates":[{"part":"validation",)"
      R"("other":"train","rows":2,"of":20,"row":7,"other_row":3}],"non_finite":1,)"
      R"("first_non_finite":[{"part":"test","row":4,"column":5,"value":"-inf"}]})",
      R"({"event":"probe","step":0,"layers":[{"name":"layers.0",)"
      R"("parameters":[{"name":"layers.0.weight","mean":0.5,"std":0.25,"norm":4.0,)"
      R"("gradient_norm":2.0,"update_norm":0.125}],"activations":[{"op":"relu","mean":0.1,)"
      R"("std":0.2,"zero_share":0.3,"dead_share":0.4,"saturated_share":0.5}],)"
      R"("attention":[{"entropy":0.5,"lowest_head":0.25,"highest_head":0.75}]}]})",
      R"({"event":"step","step":1,"epoch":1,"loss":2.5,"learning_rate":0.1,)"
      R"("gradient_norm":3.0})",
      R"({"event":"epoch","epoch":1,"step":2,"learning_rate":0.1,"train":{"loss":2.0},)"
      R"("validation":{"loss":3.0},"gradient_norm":3.0,)"
      R"("samples_per_second":10000.0,"best":true})",
      R"({"event":"sample","step":2,"text":"and so\n"})",
      R"({"event":"resume","step":2,"command":["train","--resume"],"config":{"epochs":3}})",
      R"({"event":"end","reason":"finished","step":2,"best_epoch":2,)"
      R"("validation":{"loss":0.5},"test":{"loss":0.25,"accuracy":0.75,"confusion":[[3,1],[0,)"
      R"(4]],"per_class":[{"precision":1.0,"recall":0.75,"f1":0.8},{"precision":0.8,)"
      R"("recall":1.0,"f1":0.9}]},"seconds":12.5})"};
  for (std::size_t i = 0; i < std::size(lines); ++i)
    EXPECT_EQ(to_json_line(written[i]), std::string(lines[i]) + "\n");
}

// Of a regression, of a column that tells the target, and of a step that is hashed.
TEST(RunLog, WhatFewRunsHaveHasItsNamesToo) {
  DataFacts facts = data_facts();
  facts.targets = {{"price", 0, 1, 3, 2, 0.5}};
  facts.target_leakage = {{"id", 4, 5, 9, 7, 1.5}};
  const Json json = Json::parse(to_json_line(facts));
  for (const auto& [key, name, column] :
       {std::tuple{"targets", "price", 0}, {"target_leakage", "id", 4}}) {
    const Json& first = json.at(key).at(0);
    EXPECT_EQ(first.at("name").as_string(), name);
    EXPECT_EQ(first.at("column").as_number(), column);
  }
  StepEvent step{1, 1, 2.5, 0.1, 3};
  step.shards = {"0123456789abcdef", "fedcba9876543210"};
  const std::string lines = to_json_line(run_event()) + to_json_line(facts) + to_json_line(step);
  EXPECT_NE(lines.find(R"("shards":["0123456789abcdef","fedcba9876543210"])"), std::string::npos);
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

void expect_error(const std::string& text, const std::string& part) {
  try {
    parse_run_log(text, "the log");
    FAIL() << "read: " << text.substr(0, 200);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kFormat);
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
  }
}

TEST(RunLog, HostileLinesAreErrors) {
  const std::string run = to_json_line(run_event());
  const std::string step = to_json_line(StepEvent{1, 1, 2.5, 0.1, 3});
  expect_error("", "is empty");
  expect_error("nonsense\n" + step, "line 1: the line is not JSON");
  expect_error(step, "line 1: expected the event 'run' first");
  expect_error(run + run + step, "line 2: expected the event 'run'");
  expect_error(run + "\n" + step, "line 2");
  expect_error(run + "[1]\n" + step, "line 2: the line is not an event");
  expect_error(run + "{\"event\":3}\n" + step, "line 2: the line is not an event");
  expect_error(run + "{\"event\":\"step\"}\n" + step, "'step' is missing");
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string line = step;
    line.replace(line.find(old), old.size(), now);
    return run + line + step;
  };
  expect_error(with("2.5", "\"x\""), "'loss': expected a number");
  expect_error(with("2.5", "null"), "'loss': expected a number");
  expect_error(with("\"step\":1", "\"step\":1.5"), "'step': expected a whole number");
  expect_error(with("\"step\":1", "\"step\":18446744073709551615"),
               "'step': expected a number below 2^63");
  const auto expect_event_error = [&](const Event& event, const std::string& old,
                                      const std::string& now, const std::string& part) {
    std::string line = to_json_line(event);
    ASSERT_NE(line.find(old), std::string::npos) << line;
    expect_error(run + line.replace(line.find(old), old.size(), now) + step, part);
  };
  const EpochEvent epoch{1, 2, 0.1, {{"loss", 2}}, {}, 3, 1e4, true};
  expect_event_error(epoch, "\"best\":true", "\"best\":1",
                     "'best': expected true or false, got '1'");
  expect_event_error(epoch, "\"train\":{\"loss\":2.0}", "\"train\":2",
                     "'train': expected an object, got '2'");
  expect_event_error(Finding(), "\"warning\"", "\"bad\"",
                     "'severity': expected one of info, warning, error, got ");
  expect_event_error(SampleEvent{2, "text"}, "\"text\":\"text\"", "\"text\":[]",
                     "'text': expected text, got ");
  expect_event_error(probe_event(0), "\"norm\":4.0", "\"norm\":true",
                     "'layers[0].parameters[0].norm': expected a number, got 'true'");
  expect_event_error(data_facts(), "\"class_counts\":[20,40]", "\"class_counts\":[20,{}]",
                     "'class_counts[1]': expected a whole number, got '{}'");
  expect_event_error(data_facts(), "\"class_counts\":[20,40]", "\"class_counts\":20",
                     "'class_counts': expected a list, got '20'");
  expect_event_error(data_facts(),
                     R"("duplicates":[{"part":"validation","other":"train","rows":2,"of":20,)"
                     R"("row":7,"other_row":3}])",
                     R"("duplicates":[7])", "'duplicates[0]': expected an object, got '7'");
  expect_event_error(epoch, "\"loss\":2.0", "\"loss\":[]", "'train.loss': expected a number");
  const std::string deep(200'000, '[');
  expect_error(with("2.5", deep), "nested too deeply");
  expect_error(run + deep + "\n" + step, "nested too deeply");
  std::string wide = "{\"event\":\"epoch\"";
  for (int i = 0; i < 5000; ++i) wide += ",\"" + std::to_string(i) + "\":0";
  expect_error(run + wide + "}\n" + step, "members");
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
