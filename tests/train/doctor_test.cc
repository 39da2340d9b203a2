// The doctor's table and its behaviour; illness_test.cc and tests/doctor provoke each illness.
#include "limpid/train/diagnostics/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>

#include "limpid/core/error.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

RunLog with_losses(const std::vector<double>& losses) {
  RunLog log;
  log.run.task = "regression";
  std::int64_t step = 0;
  for (double loss : losses) log.steps.push_back({++step, 1, loss, 0.1, 1});
  return log;
}

std::set<std::string> names(const std::vector<Finding>& found) {
  std::set<std::string> all;
  for (const Finding& f : found) all.insert(f.rule);
  return all;
}

// The rules that always find errors, and those that always find remarks. Others give warnings.
constexpr std::string_view kErrors[] = {
    "data_not_finite",    "one_answer",      "sets_differ",
    "target_leakage",     "few_rows",        "loss_not_finite",
    "loss_exploding",     "loss_flat",       "no_better_than_chance",
    "frozen_weights",     "too_much_decay",  "too_much_dropout",
    "exploding_gradient", "zero_activations"};
constexpr std::string_view kRemarks[] = {"duplicate_rows", "constant_column"};
constexpr std::string_view kOfTwoKinds[] = {"dead_units", "poor_initialization"};

// What a rule finds by itself, with all its remedies.
std::optional<Finding> checked(const RunLog& log, std::string_view name) {
  const auto among = [&](std::span<const std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const Rule& rule : rules()) {
    if (rule.name != name) continue;
    std::optional<Finding> finding = rule.check(log, Thresholds());
    if (finding && !among(kOfTwoKinds)) {
      EXPECT_EQ(finding->severity, among(kErrors)    ? Severity::kError
                                   : among(kRemarks) ? Severity::kInfo
                                                     : Severity::kWarning)
          << name;
    }
    return finding;
  }
  throw Error(ErrorCode::kNotFound, "no such rule");
}

// "optimizer.lr=0.1; more data"
std::string remedies_text(const std::vector<Remedy>& remedies) {
  std::string text;
  for (const Remedy& remedy : remedies) {
    if (!text.empty()) text += "; ";
    text += remedy.words;
    for (const Setting& s : remedy.settings)
      text += (&s == &remedy.settings[0] ? "" : " ") + s.key + "=" + s.value.dump();
  }
  return text;
}

RunLog with_data(std::int64_t rows) {
  RunLog log;
  log.data = DataFacts();
  log.data->rows = rows;
  return log;
}

LayerStatistics layer_of(const std::string& name, double norm, double gradient, double update) {
  return {name, {{name + ".weight", 0, 1, norm, gradient, update}}, {}};
}

EpochEvent epoch_of(std::int64_t epoch, double training, double validation) {
  return {epoch, epoch, 0.1, {{"loss", training}}, {{"loss", validation}}, 1, 1, false};
}

TEST(Doctor, EveryRuleIsSaidInFullAndHasANameOfItsOwn) {
  std::set<std::string_view> rule_names, threshold_names;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(rule_names.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(rule.looks_for.empty() || rule.fix.empty());
    for (const Threshold& t : rule.thresholds)
      EXPECT_TRUE(threshold_names.insert(t.name).second) << t.name;
  }
}

TEST(Doctor, AnEmptyLogIsHealthy) { EXPECT_TRUE(diagnose(RunLog()).empty()); }

TEST(Doctor, ALogOfNothingButNansIsNoTrouble) {
  RunLog log = with_losses(std::vector<double>(200, std::nan("")));
  log.steps[0].loss = 1;
  const double nan = std::nan("");
  const LayerStatistics layer{
      "layers.0",
      {{"layers.0.weight", nan, nan, nan, nan, nan}},
      {{"input", nan, nan, nan, nan, nan}, {"linear", nan, nan, nan, nan, nan}}};
  log.probes = {{0, {layer}}, {1, {layer, layer}}, {2, {}}};
  log.epochs = {{1, 200, 0.1, {{"loss", nan}}, {{"loss", nan}}, nan, nan, false}};
  log.end = EndEvent();
  const std::vector<Finding> found = diagnose(log);
  ASSERT_TRUE(names(found).count("loss_not_finite"));
  expect_message(found[0].symptom);
  EXPECT_EQ(found[0].step, 200);
}

TEST(Doctor, ALossMayBeFiniteWhereItsGradientOrAParameterIsNot) {
  RunLog gradient = with_losses({1, 1e31});
  gradient.steps.back().gradient_norm = INFINITY;
  ASSERT_EQ(names(diagnose(gradient)), std::set<std::string>{"loss_not_finite"});
  expect_message(diagnose(gradient)[0].symptom);

  RunLog parameter = with_losses({1, 0.9});
  EXPECT_TRUE(diagnose(parameter).empty());
  parameter.end = EndEvent{"non-finite loss", 0, {}, {}, 0};
  ASSERT_EQ(names(diagnose(parameter)), std::set<std::string>{"loss_not_finite"});
  expect_message(diagnose(parameter)[0].symptom);
}

// The training loss falls while the other one rises.
RunLog overfitted() {
  std::vector<double> falling;
  for (int i = 0; i < 100; ++i) falling.push_back(1 / (1 + 0.04 * i));
  RunLog log = with_losses(falling);
  for (std::int64_t e = 1; e <= 5; ++e) {
    const auto x = static_cast<double>(e);
    log.epochs.push_back({e, 20 * e, 0.1, {{"loss", 1 / x}}, {{"loss", x / 10}}, 1, 1, false});
  }
  return log;
}

TEST(Doctor, SaysWhichPartALossIsOf) {
  RunLog log = overfitted();
  log.run.data.test = 10;
  expect_message(checked(log, "overfitting")->symptom);
  log.run.data.validation = 10;
  expect_message(checked(log, "overfitting")->symptom);
}

TEST(Doctor, RecommendsEarlyStoppingIfThereIsAValidationSet) {
  RunLog log = overfitted();
  const auto recommended = [&] {
    for (const Finding& f : diagnose(log))
      for (const Remedy& remedy : f.remedies)
        for (const Setting& setting : remedy.settings)
          if (setting.key == "early_stopping.patience") return true;
    return false;
  };
  log.run.data.test = 10;
  EXPECT_FALSE(recommended());
  log.run.data.validation = 10;
  EXPECT_TRUE(recommended());
  // The weights of the best epoch are kept then, whatever the loss does behind it.
  EXPECT_TRUE(names(diagnose(log)).contains("overfitting"));
  const Json patient{{"early_stopping", Json{{"patience", 3}}}};
  log.run.config = patient;
  EXPECT_FALSE(names(diagnose(log)).contains("overfitting"));
  // A resumed run may have changed it.
  log.resumes = {{.step = 1, .command = {"train"}, .config = Json::object()}, {.step = 2}};
  EXPECT_TRUE(names(diagnose(log)).contains("overfitting"));
  log.resumes.push_back({.step = 3, .command = {"train"}, .config = patient});
  EXPECT_FALSE(names(diagnose(log)).contains("overfitting"));
}

TEST(Doctor, RowsOfAWholeTruthTableDoNotLeak) {
  RunLog log;
  log.data = DataFacts();
  log.data->rows = 40;
  for (const std::int64_t rows : {4, 10}) {
    log.data->duplicates = {{"test", "train", rows, rows, 0, 0}};
    EXPECT_EQ(names(diagnose(log)).contains("leaked_rows"), rows == 10) << rows;
  }
}

TEST(Doctor, AClassWithoutExamplesIsRareAmongFewToo) {
  const auto found = [](std::vector<std::int64_t> counts) {
    RunLog log;
    log.data = DataFacts();
    log.data->rows = 12;
    log.data->class_counts = std::move(counts);
    return names(diagnose(log)).contains("class_imbalance");
  };
  EXPECT_FALSE(found({7, 1, 4}));
  EXPECT_TRUE(found({8, 0, 4}));
  EXPECT_TRUE(found({12, 1, 4}));
}

// Of a set with many rows, and of one of which more are doubled.
TEST(Doctor, DuplicatesAreWorstByTheirShare) {
  RunLog log;
  log.data = DataFacts();
  log.data->duplicates = {{"train", "train", 30, 1000, 9, 3}, {"test", "test", 8, 100, 7, 2}};
  const std::vector<Finding> found = diagnose(log);
  ASSERT_TRUE(names(found).contains("duplicate_rows"));
  expect_message(found.front().symptom);
}

TEST(Doctor, ThresholdsDecide) {
  std::vector<double> falling;
  for (int i = 0; i < 200; ++i) falling.push_back(1 - 0.0005 * i);
  EXPECT_TRUE(diagnose(with_losses(falling)).empty());
  Thresholds strict;
  strict.set("flat_drop", 0.2);
  EXPECT_EQ(names(diagnose(with_losses(falling), strict)), std::set<std::string>{"loss_flat"});
  strict.set("flat_steps", 1000);
  EXPECT_TRUE(diagnose(with_losses(falling), strict).empty());
  EXPECT_THROW(strict.set("flat", 1), Error);
  EXPECT_THROW(strict.set("flat_drop", INFINITY), Error);
  expect_refused(ErrorCode::kInvalidArgument, [&] { strict.set("flat_drop", -0.5); });
  strict.set("flat_steps", 0);
  EXPECT_EQ(names(diagnose(with_losses(falling), strict)), std::set<std::string>{"loss_flat"});
}

// Training's own findings are kept, but rules with other thresholds are evaluated again.
TEST(Doctor, EarlierFindingsAreThoseThatAreOver) {
  std::vector<double> falling;
  for (int i = 0; i < 200; ++i) falling.push_back(1 - 0.0005 * i);
  RunLog log = with_losses(falling);
  for (const char* rule : {"loss_spikes", "loss_flat"}) log.findings.emplace_back().rule = rule;
  const auto earlier = [&](const Thresholds& t) {
    return names(earlier_findings(log, diagnose(log, t), t));
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(earlier({}), (Names{"loss_flat", "loss_spikes"}));
  Thresholds other;
  other.set("spike_rise", 0.6);
  EXPECT_EQ(earlier(other), Names{"loss_flat"});
  other.set("flat_drop", 0.2);  // found again
  EXPECT_EQ(earlier(other), Names{});
}

TEST(Doctor, LeapsAreSpikesWhereTheyAreRare) {
  std::vector<double> losses;
  for (int i = 0; i < 200; ++i) losses.push_back(3 - 0.01 * i + (i % 2 ? 0.02 : 0));
  EXPECT_TRUE(diagnose(with_losses(losses)).empty());
  std::vector<double> leaps = losses;
  leaps[120] = 4;
  RunLog log = with_losses(leaps);
  log.steps[120].gradient_norm = 25;
  ASSERT_EQ(names(diagnose(log)), std::set<std::string>{"loss_spikes"});
  expect_message(diagnose(log)[0].symptom);
  leaps[150] = leaps[151] = leaps[156] = 4.5;  // steps up to five apart are one leap
  expect_message(diagnose(with_losses(leaps))[0].symptom);
  // If every tenth batch does it, it is not an exception.
  for (std::size_t i = 0; i < leaps.size(); i += 10) leaps[i] = 4;
  EXPECT_FALSE(names(diagnose(with_losses(leaps))).count("loss_spikes"));
}

TEST(Doctor, AnInterruptedRunHasNotEndedTooEarly) {
  std::vector<double> losses;
  for (int i = 0; i < 200; ++i) losses.push_back(3 - 0.005 * i);
  RunLog log = with_losses(losses);
  log.epochs = {{1, 200, 0.1, {{"loss", 2.2}}, {{"loss", 2.1}}, 1, 1, false}};
  log.end = EndEvent();
  log.end->reason = kInterrupted;
  EXPECT_EQ(names(diagnose(log)), std::set<std::string>{});
  log.end->reason = "finished";
  EXPECT_EQ(names(diagnose(log)), std::set<std::string>{"underfitting"});
  log.run.config = Json{{"epochs", 5}};
  expect_message(diagnose(log)[0].fix);
}

// After a divergence the squares of weights may overflow f64.
TEST(Doctor, NoGradientIsSmallBesideInfiniteWeights) {
  RunLog log = with_losses({1, 0.9, 0.8});
  const auto layer = [](const std::string& name) {
    return LayerStatistics{name, {{name + ".weight", 0, 1, 1e200, 1, 1}}, {}};
  };
  log.probes = {{1, {layer("layers.0"), layer("layers.1")}}};
  EXPECT_EQ(names(diagnose(log)), std::set<std::string>{});
}

// Weights that moved once are not frozen, and a gradient that explodes later is no fault of the
// first weights.
TEST(Doctor, TheFirstProbeCountsToo) {
  const auto found = [](const char* rule, double first, double gradient, double update) {
    RunLog log = with_losses({1, 0.9, 0.8});
    const bool moves = first == 1e-3;
    for (std::int64_t step = 0; step < 3; ++step)
      log.probes.push_back({step,
                            {layer_of("layers.0", 1, step == 0 && !moves ? first : gradient,
                                      step == 0 && moves ? first : update)}});
    return names(diagnose(log)).contains(rule);
  };
  EXPECT_TRUE(found("exploding_gradient", 1000, 1000, 0.001));
  EXPECT_FALSE(found("exploding_gradient", 1, 1000, 0.001));
  EXPECT_TRUE(found("frozen_weights", 1, 1, 0));
  EXPECT_FALSE(found("frozen_weights", 1e-3, 1, 0));
}

TEST(Doctor, TheWorstBlockIsNamed) {
  const auto block = [](const std::string& name, double entropy, double stream) {
    return LayerStatistics{
        name, {}, {{"residual", 0, stream, 0, 0, 0}}, {{entropy, entropy, entropy}}};
  };
  RunLog log = with_losses({1, 0.9, 0.8});
  log.probes = {{2,
                 {block("layers.0", 0.5, 1), block("layers.1", 0.01, 20),
                  block("layers.2", 0.001, 2000), block("layers.3", 0.015, 40'000)}}};
  const std::vector<Finding> found = diagnose(log);
  ASSERT_EQ(names(found), (std::set<std::string>{"attention_collapse", "residual_growth"}));
  for (const Finding& f : found) EXPECT_EQ(f.layer, "layers.2") << f.rule;
}

// A run of so many steps ends within an epoch, and goes on there if it becomes longer.
TEST(Doctor, APartOfAnEpochIsNone) {
  const auto found = [](const std::vector<std::int64_t>& steps, std::int64_t rows = 95,
                        double batch = 5) {
    RunLog log = with_data(100);
    log.run.task = "regression";
    log.run.data.train = rows;
    log.run.config = Json{{"data", "npz:a.npz"},
                          {"loss", Json{{"name", "mse"}}},
                          {"batch", batch},
                          {"accumulate", 2}};
    for (const std::int64_t step : steps) {
      log.epochs.push_back(epoch_of(1, 0.5, 0.96));
      log.epochs.back().step = step;
    }
    return checked(log, "no_better_than_chance").has_value();
  };
  // An epoch has ten steps, of up to ten rows.
  EXPECT_TRUE(found({10, 20, 30}));
  EXPECT_FALSE(found({10, 20, 29}));
  EXPECT_FALSE(found({10, 13, 20}));
  EXPECT_TRUE(found({10, 13, 20, 30}));
  // It is not known how long one is.
  EXPECT_TRUE(found({10, 20, 29}, 0));
  EXPECT_TRUE(found({10, 20, 29}, 95, 0));
  EXPECT_TRUE(found({10, 20, 29}, 95, 1e300));
}

// Dead units pass no gradient, so frozen layers before them are not a separate illness.
TEST(Doctor, WeightsThatDeadUnitsFreezeFollowFromThem) {
  RunLog log = with_losses({1, 0.9, 0.8});
  const LayerStatistics first{
      "layers.0", {{"layers.0.weight", 0, 1, 1, 0, 0}}, {{"relu", 0, 0, 1, 1, 0}}};
  const LayerStatistics second{"layers.1", {{"layers.1.weight", 0, 1, 1, 1e-3, 1e-3}}, {}};
  log.probes = {{1, {first, second}}, {2, {first, second}}};
  const std::vector<Finding> found = diagnose(log);
  ASSERT_EQ(names(found),
            (std::set<std::string>{"dead_units", "frozen_weights", "zero_activations"}));
  EXPECT_EQ(found[0].rule, "dead_units");
  for (std::size_t i = 1; i < found.size(); ++i) EXPECT_EQ(found[i].follows_from, "dead_units");
}

TEST(Doctor, ALanguageModelIsMeasuredByItsBaseline) {
  std::vector<double> losses;
  for (int i = 0; i < 200; ++i) losses.push_back(3 - 0.005 * i);
  RunLog log = with_losses(losses);
  log.run.task = "next_token";
  log.epochs = {{1, 200, 0.1, {{"loss", 2.2}}, {{"loss", 2.1}}, 1, 1, false}};
  log.end = EndEvent();
  log.end->test.metrics = {{"loss", 2.1}, {"perplexity", 8.166}, {"ngram_perplexity", 7.389}};
  ASSERT_EQ(names(diagnose(log)), std::set<std::string>{"underfitting"});
  expect_message(diagnose(log)[0].symptom);
  log.end->test.metrics.set("perplexity", 7.389);
  EXPECT_TRUE(diagnose(log).empty());
}

// The last probe counts.
TEST(Doctor, ABlockIsWhatItIsInTheEnd) {
  const auto block = [](const std::string& name, double entropy, double stream) {
    return LayerStatistics{
        name, {}, {{"residual", 0, stream, 0, 0, 0}}, {{entropy, 0, 1}, {1, 0, 1}}};
  };
  RunLog log = with_losses({1, 0.9, 0.8});
  log.run.config = Json{{"optimizer", Json{{"lr", 0.1}}}};
  const std::vector healthy{block("layers.0", 0.5, 4), block("layers.1", 0.5, 40)};
  log.probes = {{1, healthy}, {2, {block("layers.0", 0.5, 4), block("layers.1", 0.0199, 44)}}};
  expect_message(checked(log, "attention_collapse")->symptom);
  EXPECT_EQ(remedies_text(checked(log, "attention_collapse")->remedies),
            "optimizer.lr=0.03; a longer --warmup; more --weight-decay");
  expect_message(checked(log, "residual_growth")->symptom);
  EXPECT_EQ(remedies_text(checked(log, "residual_growth")->remedies),
            "optimizer.lr=0.03; more --weight-decay; fewer --layers");
  log.probes.push_back({3, healthy});
  EXPECT_FALSE(checked(log, "attention_collapse"));
  EXPECT_FALSE(checked(log, "residual_growth"));
  log.probes.back().layers = {block("layers.0", 0.02, 0.25), block("layers.1", 0.5, 2.5)};
  EXPECT_FALSE(checked(log, "attention_collapse"));
  EXPECT_FALSE(checked(log, "residual_growth"));
}

// ---- the data

TEST(Doctor, TheOnlyAnswerIsNamed) {
  RunLog log = with_data(2);
  log.data->class_counts = {0, 2, 0};
  expect_message(checked(log, "one_answer")->symptom);
  log.run.data.class_names = {"no", "yes"};
  expect_message(checked(log, "one_answer")->symptom);
  log.data->class_counts = {1, 1};
  EXPECT_FALSE(checked(log, "one_answer"));
  log.data->class_counts.clear();
  log.data->targets = {{"price", 0, 2.5, 2.5, 2.5, 0}};
  expect_message(checked(log, "one_answer")->symptom);
  log.data->rows = 1;
  EXPECT_FALSE(checked(log, "one_answer"));
  log.data->rows = 2;
  log.data->targets[0].max = 3;
  EXPECT_FALSE(checked(log, "one_answer"));
  log.data->targets = {{"price", 0, 2.5, 2.5, 2.5, 0}, {"size", 1, 2, 3, 2.5, 0.5}};
  EXPECT_FALSE(checked(log, "one_answer"));
}

TEST(Doctor, AColumnThatIsOfNoTableIsLeftOutByHand) {
  RunLog log = with_data(100);
  log.run.config = Json{{"data", "npz:pets.npz"}};
  log.data->target_leakage = {{"age", 3, 0, 1, 0.5, 0.5}, {"born", 4, 0, 1, 0.5, 0.5}};
  expect_message(checked(log, "target_leakage")->symptom);
  EXPECT_EQ(remedies_text(checked(log, "target_leakage")->remedies), "leave out 'age'");
  log.run.config = Json{{"data", "csv:pets.csv,target=kind"}};
  EXPECT_EQ(remedies_text(checked(log, "target_leakage")->remedies),
            R"(data="csv:pets.csv,target=kind,ignore=age")");
  log.run.config = Json{{"data", "csv:pets.csv,target=kind,ignore=id"}};
  EXPECT_EQ(remedies_text(checked(log, "target_leakage")->remedies),
            R"(data="csv:pets.csv,target=kind,ignore=id,ignore=age")");
  // A category may have an equals sign: "status" is the column, "0<=X<200" its category.
  log.data->target_leakage[0].name = "status=0<=X<200";
  EXPECT_EQ(remedies_text(checked(log, "target_leakage")->remedies),
            R"(data="csv:pets.csv,target=kind,ignore=id,ignore=status")");
  log.data->target_leakage[0].name = "";
  EXPECT_EQ(remedies_text(checked(log, "target_leakage")->remedies), "leave out column 3");
}

TEST(Doctor, TargetsAreLargeByTheirRootMeanSquare) {
  RunLog log = with_data(100);
  log.run.config = Json{{"data", "npz:pets.npz,standardize=none,seed=3"}};
  log.data->targets = {{"price", 0, 0, 0, 30, 40}};
  EXPECT_FALSE(checked(log, "targets_not_normalized"));
  log.data->targets[0].std = 41;
  const auto found = checked(log, "targets_not_normalized");
  ASSERT_TRUE(found);
  expect_message(found->symptom);
  EXPECT_EQ(remedies_text(found->remedies), R"(data="npz:pets.npz,seed=3,standardize=zscore")");
  log.run.config = Json{{"data", "npz:pets.npz"}};
  EXPECT_FALSE(checked(log, "targets_not_normalized"));
}

TEST(Doctor, AConstantIsAsGoodAsTheShareOfEachClassMakesIt) {
  const auto find = [](const std::vector<double>& training, const std::vector<double>& validation) {
    RunLog log = with_data(100);
    log.run.task = "classification";
    log.data->class_counts = {75, 0, 25};
    for (std::size_t e = 0; e < training.size(); ++e)
      log.epochs.push_back(epoch_of(static_cast<std::int64_t>(e) + 1, training[e], validation[e]));
    return checked(log, "no_better_than_chance");
  };
  // -3/4 log(3/4) - 1/4 log(1/4) is 0.5623.
  const auto found = find({0.7, 0.5, 0.4}, {0.7, 0.54, 0.9});
  ASSERT_TRUE(found);
  expect_message(found->symptom);
  EXPECT_FALSE(find({0.7, 0.5, 0.4}, {0.7, 0.53, 0.9})) << "5 % better";
  EXPECT_FALSE(find({0.7, 0.4, 0.51}, {0.7, 0.54, 0.9})) << "learnt by less than a tenth";
  EXPECT_FALSE(find({0.7, 0.4}, {0.7, 0.54})) << "two epochs";
}

TEST(Doctor, FewRowsAreMemorised) {
  const auto found = [](std::int64_t rows, double training, double validation) {
    RunLog log = with_losses({1, 1, 1});
    log.data = DataFacts();
    log.data->rows = rows;
    log.epochs = {epoch_of(1, training, validation)};
    return checked(log, "few_rows").has_value();
  };
  EXPECT_TRUE(found(49, 0.05, 0.31));
  EXPECT_FALSE(found(50, 0.05, 0.31));
  EXPECT_FALSE(found(49, 0.2, 0.9)) << "not learnt by heart";
  EXPECT_FALSE(found(49, 0.15, 0.44)) << "almost as good on other rows";
  EXPECT_FALSE(found(49, 0.05, 0.29)) << "learnt";
}

TEST(Doctor, InputsAreOfNoSizeBetweenTheirThresholds) {
  const auto log_of = [](double mean, double std, std::int64_t step = 0) {
    RunLog log;
    log.probes = {{step, {{"layers.0", {}, {{"input", mean, std, 0, 0, 0}}}}}};
    return log;
  };
  const auto found = [](const RunLog& log) { return checked(log, "inputs_not_normalized"); };
  EXPECT_FALSE(found(log_of(3, 4)));
  EXPECT_TRUE(found(log_of(3, 4.1)));
  EXPECT_FALSE(found(log_of(0, 0.02)));
  EXPECT_TRUE(found(log_of(0, 0.019)));
  EXPECT_FALSE(found(log_of(0, 0)));
  EXPECT_FALSE(found(log_of(3, 4.1, 1))) << "no longer the first weights";
  RunLog log = log_of(3, 4.1);
  expect_message(found(log)->symptom);
  log.data = DataFacts();
  log.data->features = {{"a", 0, -1, 1, 0, 1}, {"", 7, -900, 100, -300, 400}, {"b", 2, 0, 9, 8, 1}};
  expect_message(found(log)->symptom);
  log.run.task = "next_token";
  EXPECT_FALSE(found(log));
}

TEST(Doctor, ValuesThatAreNoNumbersAreTold) {
  RunLog log = with_data(100);
  EXPECT_FALSE(checked(log, "data_not_finite"));
  log.data->non_finite = 1;
  log.data->first_non_finite = {{"test", 4, 5, -INFINITY}, {"test", 6, 7, INFINITY}};
  expect_message(checked(log, "data_not_finite")->symptom);
}

TEST(Doctor, AClassIsRareByATenthOfTheMostFrequent) {
  RunLog log = with_data(121);
  log.data->class_counts = {11, 100, 10};
  EXPECT_FALSE(checked(log, "class_imbalance"));
  log.data->class_counts = {10, 101, 10};
  expect_message(checked(log, "class_imbalance")->symptom);
}

TEST(Doctor, RowsRepeatWithinASetAndLeakBetweenTwo) {
  RunLog log = with_data(100);
  const auto found = [&](const char* rule, const Duplicates& duplicates) {
    log.data->duplicates = {duplicates};
    return checked(log, rule);
  };
  EXPECT_FALSE(found("duplicate_rows", {"train", "train", 4, 100, 9, 3}));
  expect_message(found("duplicate_rows", {"train", "train", 5, 100, 9, 3})->symptom);
  EXPECT_FALSE(found("leaked_rows", {"train", "train", 5, 100, 9, 3}));
  EXPECT_FALSE(found("duplicate_rows", {"test", "train", 5, 100, 9, 3}));
  EXPECT_FALSE(found("leaked_rows", {"test", "train", 1, 101, 9, 3}));
  expect_message(found("leaked_rows", {"test", "train", 1, 100, 9, 3})->symptom);
}

TEST(Doctor, AColumnIsConstantUnlessThatIsUsual) {
  const auto found = [](const FeatureFacts& column, std::int64_t rows = 100) {
    RunLog log = with_data(rows);
    log.data->features = {{"varies", 0, 1, 2, 1.5, 0.5}, column};
    const auto finding = checked(log, "constant_column");
    return finding ? finding->symptom : "";
  };
  EXPECT_EQ(found({"a", 1, 3, 3, 3, 0}), "'a' is 3 in all 100 rows");
  EXPECT_EQ(found({"a", 1, 0, 0, 0, 0}), "'a' is 0 in all 100 rows");
  EXPECT_EQ(found({"", 1, 3, 3, 3, 0}), "column 1 is 3 in all 100 rows");
  EXPECT_EQ(found({"", 1, 0, 0, 0, 0}), "") << "a pixel at the border";
  EXPECT_EQ(found({"a=b", 1, 0, 0, 0, 0}), "") << "a category that only the test set has";
  EXPECT_EQ(found({"a", 1, 3, 3, 3, 0}, 1), "");
}

// ---- layers

TEST(Doctor, AGradientVanishesRelativeToTheWeights) {
  const auto found = [](double norm, double gradient, double update) {
    RunLog log = with_losses({1, 0.9, 0.8});
    log.probes = {
        {1, {layer_of("layers.0", norm, gradient, update), layer_of("layers.1", 1, 1, 1)}}};
    return checked(log, "vanishing_gradient");
  };
  ASSERT_TRUE(found(4, 4e-3, 4e-3));
  EXPECT_EQ(found(4, 4e-3, 4e-3)->layer, "layers.0");
  EXPECT_FALSE(found(4, 4.1e-3, 4e-3));
  // An optimiser that scales steps moves it all the same.
  EXPECT_TRUE(found(4, 4e-3, 0.008));
  EXPECT_FALSE(found(4, 4e-3, 0.0081));
}

TEST(Doctor, AGradientIsRevivedByWhatTheModelHas) {
  const auto remedies = [](const Json& model) {
    RunLog log = with_losses({1, 0.9, 0.8});
    log.run.config = Json{{"model", model}};
    log.probes = {{1, {layer_of("layers.0", 1, 1e-4, 1e-4), layer_of("layers.1", 1, 1, 1)}}};
    return remedies_text(checked(log, "vanishing_gradient")->remedies);
  };
  const std::string relu = R"(model.activation="relu" model.init="he")";
  EXPECT_EQ(remedies(Json{{"name", "gpt"}}), "fewer --layers");
  EXPECT_EQ(remedies(Json{{"name", "charlm"}}), relu + "; fewer --layers");
  EXPECT_EQ(remedies(Json{{"name", "mlp"}}), R"(model.norm="batch"; )" + relu + "; fewer --layers");
  // Half of the signal passes each of three layers.
  EXPECT_EQ(remedies(Json{{"name", "charlm"}, {"layers", std::vector{5, 4, 2}}, {"dropout", 0.5}}),
            relu + " model.dropout=0.0; fewer --layers");
  EXPECT_EQ(remedies(Json{{"name", "charlm"}, {"layers", std::vector{5, 2}}, {"dropout", 0.5}}),
            relu + "; fewer --layers");
}

TEST(Doctor, WeightsBeginAsTheirActivationNeedsThem) {
  const auto remedies = [](const char* activation) {
    RunLog log = with_losses({1, 0.9, 0.8});
    log.run.config = Json{{"model", Json{{"activation", activation}}},
                          {"data", "moons,standardize=zscore"},
                          {"clip", Json{{"norm", 1.0}}}};
    log.probes = {{0, {layer_of("layers.0", 1, 101, 1)}}};
    return remedies_text(checked(log, "exploding_gradient")->remedies);
  };
  for (const char* bounded : {"tanh", "sigmoid", "hard_tanh"})
    EXPECT_EQ(remedies(bounded).find(R"(model.init="xavier"; )"), 0u) << remedies(bounded);
  for (const char* other : {"relu", "gelu", "none of them"})
    EXPECT_EQ(remedies(other).find(R"(model.init="he"; )"), 0u) << remedies(other);
  EXPECT_EQ(remedies("relu").find("clip"), std::string::npos) << "it is clipped so";
}

TEST(Doctor, ValuesAreAllZeroInTheEnd) {
  const auto find = [](const char* op, double first, double last) {
    RunLog log = with_losses({1, 0.9, 0.8});
    for (const double share : {first, last})
      log.probes.push_back({share == last ? 7 : 6, {{"layers.0", {}, {{op, 0, 0, share, 0, 0}}}}});
    return checked(log, "zero_activations");
  };
  EXPECT_FALSE(find("relu", 1, 0.999));
  expect_message(find("relu", 0.5, 1)->symptom);
  expect_message(find("relu", 0.5, 1)->cause);
  expect_message(find("input", 0.5, 1)->cause);
  EXPECT_EQ(remedies_text(find("input", 0.5, 1)->remedies), "inspect the data");
}

TEST(Doctor, AGradientExplodesAboveAHundredTimesItsWeights) {
  RunLog log = with_losses({1, 0.9, 0.8});
  log.probes = {{0, {layer_of("layers.0", 2, 200, 1)}}};
  EXPECT_FALSE(checked(log, "exploding_gradient"));
  log.probes = {{0, {layer_of("layers.0", 2, 201, 1)}}};
  EXPECT_TRUE(checked(log, "exploding_gradient"));
  // By the median of the probes.
  log.probes.push_back({1, {layer_of("layers.0", 2, 1, 1)}});
  log.probes.push_back({2, {layer_of("layers.0", 2, 1, 1)}});
  EXPECT_FALSE(checked(log, "exploding_gradient"));
}

// By the median of the probes of the layer where it is worst.
TEST(Doctor, UnitsAreDeadOrSaturatedByTheirShare) {
  const auto find = [](const char* rule, const char* op, const std::vector<double>& shares) {
    RunLog log = with_losses({1, 0.9, 0.8});
    for (const double share : shares)
      log.probes.push_back(
          {0,
           {{"layers.0", {}, {{op, 0, 1, 0, 0.1, 0.1}}},
            {"layers.1", {}, {{op, 0, 1, 0, share, share}, {op, 0, 1, 0, 0, 0}}}}});
    return checked(log, rule);
  };
  EXPECT_FALSE(find("dead_units", "relu", {0.49}));
  EXPECT_EQ(find("dead_units", "relu", {0.5})->layer, "layers.1");
  EXPECT_EQ(find("dead_units", "relu", {0.9})->severity, Severity::kWarning);
  EXPECT_EQ(find("dead_units", "relu", {0.91})->severity, Severity::kError);
  expect_message(find("dead_units", "relu", {1, 0.4, 0.6})->symptom);
  for (const char* alive : {"step", "leaky_relu", "linear"})
    EXPECT_FALSE(find("dead_units", alive, {1})) << alive;
  EXPECT_FALSE(find("saturated_units", "tanh", {0.49}));
  EXPECT_TRUE(find("saturated_units", "tanh", {0.5}));
  expect_message(find("saturated_units", "tanh", {0.8})->symptom);
  for (const char* open : {"relu", "gelu", "linear"})
    EXPECT_FALSE(find("saturated_units", open, {1})) << open;
}

TEST(Doctor, StepsAreLongOrShortBesideTheWeights) {
  const auto log_of = [](double update, std::size_t probes = 2) {
    RunLog log = with_losses({1, 0.9, 0.8});
    for (std::size_t p = 0; p < probes; ++p)
      log.probes.push_back({0, {layer_of("layers.0", 10, 1, update)}});
    return log;
  };
  EXPECT_FALSE(checked(log_of(1), "update_ratio"));
  expect_message(checked(log_of(1.1), "update_ratio")->cause);
  EXPECT_FALSE(checked(log_of(1.1, 1), "update_ratio")) << "one probe";
  RunLog twice = log_of(1.1);  // gradients of another norm than 1
  for (StepEvent& step : twice.steps) step.gradient_norm = 4;
  twice.run.config = Json{{"clip", Json{{"norm", 0.039}}}};
  for (ProbeEvent& probe : twice.probes) probe.layers = {layer_of("layers.0", 10, 1, 9e-5)};
  EXPECT_EQ(remedies_text(checked(twice, "update_ratio")->remedies).find("clip.norm=1.0; "), 0U);
  EXPECT_FALSE(checked(log_of(1e-4), "update_ratio"));
  RunLog log = log_of(9e-5);
  expect_message(checked(log, "update_ratio")->cause);
  EXPECT_FALSE(checked(log_of(0), "update_ratio")) << "frozen";
  RunLog once = log_of(9e-5, 3);
  once.probes[1].layers[0] = layer_of("layers.0", 10, 1, 2e-4);
  EXPECT_FALSE(checked(once, "update_ratio")) << "one step that was long enough";
  // Gradients of a norm of 1 that are clipped to less than a hundredth.
  log.run.config = Json{{"clip", Json{{"norm", 0.009}}}};
  EXPECT_EQ(
      remedies_text(checked(log, "update_ratio")->remedies).find("clip.norm=1.0; optimizer.lr="),
      0u);
  log.run.config = Json{{"clip", Json{{"norm", 0.01}}}};
  EXPECT_EQ(remedies_text(checked(log, "update_ratio")->remedies).find("optimizer.lr="), 0u);
  // Short steps are right once there is little left to learn.
  log.epochs = {epoch_of(1, 0.5, 0.5)};
  EXPECT_TRUE(checked(log, "update_ratio"));
  log.epochs = {epoch_of(1, 0.5, 0.5), epoch_of(2, 0.49, 0.5)};
  EXPECT_FALSE(checked(log, "update_ratio"));
  for (StepEvent& step : log.steps) step.loss = 2;
  log.epochs = {epoch_of(1, 0.99, 0.5)};
  EXPECT_FALSE(checked(log, "update_ratio"));
}

TEST(Doctor, ARateOfZeroIsReplacedByAUsualOne) {
  RunLog log = with_losses({1, 1, 1});
  for (StepEvent& step : log.steps) step.learning_rate = 0;
  const LayerStatistics layer = layer_of("layers.0", 1, 0.5, 0);
  log.probes = {{0, {layer}}, {1, {layer}}};
  const auto found = checked(log, "frozen_weights");
  ASSERT_TRUE(found);
  expect_message(found->symptom);
  EXPECT_EQ(remedies_text(found->remedies), "optimizer.lr=0.01");
}

TEST(Doctor, TheFirstWeightsDifferAndKeepTheSignal) {
  const auto find = [](double std,
                       ParameterStatistics weight = {"layers.0.weight", 0, 1, 3, 1, 1}) {
    RunLog log;
    log.probes = {
        {0, {{"layers.0", {weight}, {{"input", 3, 4, 0, 0, 0}, {"linear", 9, std, 0, 0, 0}}}}}};
    return checked(log, "poor_initialization");
  };
  EXPECT_FALSE(find(5));
  EXPECT_FALSE(find(0.1));
  expect_message(find(0.099)->cause);
  EXPECT_FALSE(find(250));
  expect_message(find(251)->cause);
  for (const double overflowed : {HUGE_VAL, std::nan("")}) EXPECT_TRUE(find(overflowed));
  EXPECT_EQ(find(5, {"layers.0.weight", 0.5, 0, 1, 1, 1})->symptom,
            "all numbers of layers.0.weight are 0.5");
  EXPECT_TRUE(find(5, {"layers.0.weight", 0, 0, 0, 1, 1}));
  EXPECT_EQ(find(5, {"layers.0.weight", 0, 0, 0, 1, 1})->severity, Severity::kError);
  for (const double std : {0.099, 251.0}) EXPECT_EQ(find(std)->severity, Severity::kWarning) << std;
  EXPECT_FALSE(find(5, {"layers.0.weight", -0.5, 0, 0.5, 1, 1})) << "it has one number";
  EXPECT_FALSE(find(5, {"layers.0.bias", 0.5, 0, 1, 1, 1}));
}

// ---- the curve of the loss

// It fell to two thirds, and stays there.
RunLog underfitted() {
  std::vector<double> losses(200, 2);
  std::fill_n(losses.begin(), 10, 3);
  RunLog log = with_losses(losses);
  log.epochs = {epoch_of(1, 2.2, 2.1)};
  log.end = EndEvent();
  log.end->reason = "finished";
  return log;
}

TEST(Doctor, WhatIsHighOnAllRowsIsUnderfitted) {
  RunLog log = underfitted();
  expect_message(checked(log, "underfitting")->symptom);
  for (const double other : {1.4, 4.1}) {
    log.epochs = {epoch_of(1, 2.2, other)};
    EXPECT_FALSE(checked(log, "underfitting")) << other;
  }
  log.epochs = {{1, 200, 0.1, {{"loss", 2.2}}, {}, 1, 1, false}};
  expect_message(checked(log, "underfitting")->symptom);
  EXPECT_EQ(remedies_text(checked(log, "underfitting")->remedies),
            "wider --layers; model.dropout=0.0; optimizer.weight_decay=0.0");
  RunLog exploded = log;
  for (std::size_t i = 150; i < 200; ++i) exploded.steps[i].loss = 4.6;
  EXPECT_FALSE(checked(exploded, "underfitting")) << "half above its start";
  log.epochs.clear();
  EXPECT_FALSE(checked(log, "underfitting"));
}

TEST(Doctor, ANetworkBecomesWiderByItsKind) {
  const auto remedy = [](const Json& model) {
    RunLog log = underfitted();
    log.run.config = Json{{"model", model}};
    return remedies_text({checked(log, "underfitting")->remedies.at(0)});
  };
  const auto mlp = [&](const std::vector<std::int64_t>& layers) {
    return remedy(Json{{"name", "mlp"}, {"layers", layers}});
  };
  EXPECT_EQ(mlp({5, 3}), "model.layers=[5,64,3]");
  EXPECT_EQ(mlp({5, 4, 16, 300, 2000, 3}), "model.layers=[5,64,128,1024,2000,3]");
  EXPECT_EQ(mlp({5, 16'777'216, 3}), "model.layers=[5,16777216,3]");
  for (const std::vector<std::int64_t>& odd :
       std::vector<std::vector<std::int64_t>>{{5, 16'777'217, 3}, {5, 0, 3}, {5}})
    EXPECT_EQ(mlp(odd), "wider --layers");
  EXPECT_EQ(remedy(Json{{"name", "gpt"}, {"layers", std::vector{4, 4}}}), "wider --layers");
  EXPECT_EQ(remedy(Json{{"name", "mlp"}, {"layers", 3}}), "wider --layers");
}

TEST(Doctor, ARunThatStillFallsIsLonger) {
  // Over the last four of its sixteen windows, beside the four before.
  const auto cause = [](double before, double last) {
    std::vector<double> losses(160, 3);
    std::fill(losses.begin() + 80, losses.end(), before);
    std::fill(losses.begin() + 120, losses.end(), last);
    RunLog log = with_losses(losses);
    log.epochs = {epoch_of(1, 2.2, 1.9), epoch_of(2, 2.2, 2.1)};
    log.end = EndEvent();
    return checked(log, "underfitting")->cause.substr(0, 28);
  };
  EXPECT_EQ(cause(2.1, 2), "training ended too early, or");
  EXPECT_EQ(cause(2.04, 2), "the network is too small or ");
  EXPECT_EQ(cause(2, 2.1), "the network is too small or ");
}

TEST(Doctor, ALongerRunIsLongerByItsOwnMeasure) {
  RunLog log = with_losses({1});
  log.run.task = "next_token";
  log.steps = underfitted().steps;
  log.epochs = {epoch_of(1, 2.2, 2.1)};
  log.end = EndEvent();
  log.end->test.metrics = {{"perplexity", 9}, {"ngram_perplexity", 8}};
  const auto remedies = [&] { return remedies_text(checked(log, "underfitting")->remedies); };
  const std::string then = "; a longer --context; a wider network";
  EXPECT_EQ(remedies(), "more --epochs" + then);
  log.run.config = Json{{"epochs", 5}};
  EXPECT_EQ(remedies(), "epochs=15" + then);
  log.run.config = Json{{"steps", 70}};
  EXPECT_EQ(remedies(), "steps=210" + then);
  log.run.config = Json{{"steps", 1e300}};
  EXPECT_EQ(remedies(), "more --epochs" + then);
  log.end->test.metrics = {{"perplexity", 9}};
  EXPECT_FALSE(checked(log, "underfitting"));
  log.end->test.metrics = {{"ngram_perplexity", 8}};
  EXPECT_FALSE(checked(log, "underfitting"));
}

// With a median before of 1 and distances from it of 0.01; a jump of half of the first loss at
// least.
TEST(Doctor, ALeapIsAboveTheStepsBefore) {
  const auto find = [](double first, std::size_t at, double leap) {
    std::vector<double> losses;
    for (std::size_t i = 0; i < 100; ++i) losses.push_back(1 + (i % 2 != 0 ? 0.01 : -0.01));
    std::fill_n(losses.begin(), 3, first);
    losses[at] = leap;
    RunLog log = with_losses(losses);
    for (StepEvent& step : log.steps) step.learning_rate = step.step == 21 ? 0.7 : 0.1;
    return checked(log, "loss_spikes");
  };
  EXPECT_TRUE(find(1, 99, 1.53));
  EXPECT_FALSE(find(1, 99, 1.47));
  EXPECT_TRUE(find(4, 99, 3.02));
  EXPECT_FALSE(find(4, 99, 2.9));
  EXPECT_FALSE(find(1, 19, 9)) << "too few steps before";
  EXPECT_FALSE(find(1, 99, HUGE_VAL)) << "loss_not_finite tells of it";
  expect_message(find(1, 20, 9)->cause);
}

TEST(Doctor, ALeapStandsOutOfTheSpread) {
  // Ten deviations are 10 * 1.4826 * 0.2, by the larger of two medians.
  const auto found = [](double leap) -> std::string {
    std::vector<double> losses;
    for (std::size_t i = 0; i < 100; ++i) losses.push_back(1 + (i % 2 != 0 ? 0.1 : -0.1));
    losses[80] = losses[60] = leap;
    losses[61] = leap + 1;
    const auto finding = checked(with_losses(losses), "loss_spikes");
    return finding ? finding->symptom.substr(0, 75) : "";
  };
  EXPECT_EQ(found(4),
            "once the loss jumped far above the steps before, in step 62 from about 1.1 ");
  EXPECT_EQ(found(4.2),
            "2 times the loss jumped far above the steps before, in step 62 from about 1");
}

TEST(Doctor, ALossExplodesFromItsStartOrItsBest) {
  // The losses of the four quarters of a hundred steps.
  const auto find = [](const std::vector<double>& quarters) {
    std::vector<double> losses;
    for (const double loss : quarters) losses.insert(losses.end(), 25, loss);
    return checked(with_losses(losses), "loss_exploding");
  };
  EXPECT_FALSE(find({2, 2, 2, 3}));
  EXPECT_TRUE(find({2, 2, 2, 3.1})) << "half above its start";
  expect_message(find({2, 1, 1, 1.6})->symptom);
  EXPECT_FALSE(find({2, 1, 1, 1.45})) << "less than half above its best";
  EXPECT_FALSE(find({4, 1, 1, 2.4})) << "half of what it gained is kept";
  EXPECT_TRUE(find({4, 1, 1, 2.6}));
  EXPECT_FALSE(find({2, 1.98, 1.98, 2.9})) << "it never fell";
  expect_message(find({2, 2, 2, 3.1})->symptom);
  EXPECT_FALSE(find({0, 0, 0, 9}));
  // Four windows of five steps at least.
  EXPECT_FALSE(checked(
      with_losses(std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9}),
      "loss_exploding"));
  EXPECT_TRUE(checked(
      with_losses(std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}),
      "loss_exploding"));
}

TEST(Doctor, AnExplosionMayEndFlat) {
  const auto find = [](double first, double peak, double last) {
    std::vector<double> losses(100, last);
    losses[0] = first;
    losses[1] = peak;
    return checked(with_losses(losses), "loss_exploding");
  };
  expect_message(find(2, 20.1, 1.1)->symptom);
  EXPECT_FALSE(find(2, 19.9, 1.1));
  EXPECT_FALSE(find(2, 20.1, 0.9)) << "half of it is gone";
}

TEST(Doctor, ALossThatIsNoNumberCameAfterOthers) {
  RunLog log = with_losses({3, 2, std::nan("")});
  log.steps[1].gradient_norm = 7;
  log.steps[2].learning_rate = 0.3;
  expect_message(checked(log, "loss_not_finite")->cause);
  log = with_losses({std::nan("")});
  expect_message(checked(log, "loss_not_finite")->symptom);
  expect_message(checked(log, "loss_not_finite")->cause);
}

TEST(Doctor, ALossOscillatesByEpochs) {
  RunLog log = with_losses({1, 1, 1});
  for (const double loss : {1.0, 0.9, 0.8, 0.7, 0.5, 0.6, 0.5}) {
    log.epochs.push_back(epoch_of(static_cast<std::int64_t>(log.epochs.size()) + 1, loss, loss));
    EXPECT_FALSE(checked(log, "loss_oscillating")) << loss;
  }
  log.epochs.push_back(epoch_of(8, 0.6, 0.6));
  expect_message(checked(log, "loss_oscillating")->symptom);
  RunLog once = log;
  for (std::int64_t e = 9; e <= 10; ++e) once.epochs.push_back(epoch_of(e, 0.5, 0.5));
  EXPECT_FALSE(checked(once, "loss_oscillating")) << "one of the last 4";
  for (StepEvent& step : log.steps) step.loss = 6;
  EXPECT_FALSE(checked(log, "loss_oscillating")) << "it is a tenth of the first";
}

// By how far the weights move in a step, and in all of them.
TEST(Doctor, AFlatLossIsOfTheStepsOrOfTheData) {
  const auto cause = [](double update, std::size_t steps) {
    RunLog log = with_losses(std::vector<double>(steps, 1));
    for (const double factor : {1.0, 1.0, 1000.0})
      log.probes.push_back({1, {layer_of("layers.0", 1, 1, factor * update)}});
    return checked(log, "loss_flat")->cause.substr(0, 21);
  };
  EXPECT_EQ(cause(0.0009, 100), "the updates are tiny:");
  EXPECT_EQ(cause(0.0009, 200), "the updates are of us");
  EXPECT_EQ(cause(0.0011, 100), "the updates are of us");
  EXPECT_EQ(cause(0.09, 100), "the updates are of us");
  EXPECT_EQ(cause(0.11, 100), "the updates are large");
}

// With standardised targets, the mean has a loss of 1.
TEST(Doctor, AConstantOfStandardisedTargetsHasALossOfOne) {
  const auto find = [](const char* loss, const char* data, double validation) {
    RunLog log = with_data(100);
    log.run.task = "regression";
    log.run.config = Json{{"data", data}, {"loss", Json{{"name", loss}}}};
    for (std::int64_t e = 1; e <= 3; ++e) log.epochs.push_back(epoch_of(e, 0.5, validation));
    return checked(log, "no_better_than_chance");
  };
  EXPECT_EQ(find("mse", "npz:a.npz", 0.96)->symptom,
            "the validation loss was 0.96 at best, while a constant prediction has 1; the training "
            "loss fell to 0.5");
  EXPECT_FALSE(find("mse", "npz:a.npz", 0.94));
  EXPECT_FALSE(find("mae", "npz:a.npz", 0.96));
  EXPECT_FALSE(find("mse", "npz:a.npz,standardize=none", 0.96));
}

// The first weights may be worse than guessing.
TEST(Doctor, ALossIsFlatWhereItIsThatOfChance) {
  const auto find = [](double first, double later, std::size_t steps = 100) {
    std::vector<double> losses(steps, later);
    std::fill_n(losses.begin(), 3, first);
    RunLog log = with_losses(losses);
    log.run.task = "classification";
    log.run.data.outputs = 10;
    return checked(log, "loss_flat");
  };
  expect_message(find(3, 2.5)->symptom);
  EXPECT_FALSE(find(3, 2.5, 99));
  EXPECT_FALSE(find(3, 2.2)) << "better than chance";
  EXPECT_FALSE(find(1.1, 1.1)) << "it began far better";
  EXPECT_FALSE(find(3, 5)) << "it rose";
}

// ---- regularisation

TEST(Doctor, DecayShrinksWeightsToATenth) {
  const auto find = [](const char* optimizer, double decay, double last) {
    RunLog log = with_losses({1, 1, 1});
    log.run.config = Json{{"optimizer", Json{{"name", optimizer}, {"weight_decay", decay}}}};
    for (std::int64_t e = 1; e <= 3; ++e) log.epochs.push_back(epoch_of(e, 0.9, 0.9));
    // Norms of 10 and of 5 `last`. The last layer alone shrinks to an eighth of that.
    log.probes = {{0, {layer_of("layers.0", 6, 1, 1), layer_of("layers.1", 8, 1, 1)}},
                  {1, {layer_of("layers.0", 5 * last, 1, 1), layer_of("layers.1", 0, 1, 1)}}};
    return checked(log, "too_much_decay");
  };
  EXPECT_FALSE(find("sgd", 0.5, 0.21));
  ASSERT_TRUE(find("sgd", 0.5, 0.19));
  EXPECT_FALSE(find("sgd", 0, 0.19));
  EXPECT_EQ(find("sgd", 0.5, 0.19)->remedies.at(1).settings.at(0).value, Json(0.0));
  const auto recommended = [&](const char* optimizer, double decay) {
    return find(optimizer, decay, 0.19)->remedies.at(0).settings.at(0).value;
  };
  EXPECT_EQ(recommended("sgd", 0.5), Json(0.0001));
  EXPECT_EQ(recommended("adamw", 0.5), Json(0.005));
  EXPECT_EQ(recommended("adamw", 5), Json(0.01));
}

TEST(Doctor, DropoutIsHighFromSevenTenthsOn) {
  const auto find = [](double dropout, double loss = 0.9, std::int64_t epochs = 3) {
    RunLog log = with_losses({1, 1, 1});
    log.run.config = Json{{"model", Json{{"dropout", dropout}}}};
    for (std::int64_t e = 1; e <= epochs; ++e) log.epochs.push_back(epoch_of(e, loss, loss));
    return checked(log, "too_much_dropout");
  };
  EXPECT_FALSE(find(0.9, 0.9, 2)) << "two epochs";
  EXPECT_FALSE(find(0.69));
  EXPECT_FALSE(find(0.75, 0.5)) << "it learns all the same";
  EXPECT_EQ(remedies_text(find(0.7)->remedies), "model.dropout=0.2; model.dropout=0.0");
  expect_message(find(0.75)->cause);
}

// A single epoch may be chance.
TEST(Doctor, ARiseLastsTwoEpochs) {
  RunLog log = overfitted();
  log.run.config = Json{{"epochs", 5}};
  EXPECT_EQ(remedies_text(checked(log, "overfitting")->remedies),
            "epochs=1; model.dropout=0.5; optimizer.weight_decay=0.001; more data");
  log.run.data.validation = 1;
  log.run.config = Json{{"steps", 100}};
  EXPECT_EQ(
      remedies_text(checked(log, "overfitting")->remedies),
      "early_stopping.patience=3; model.dropout=0.5; optimizer.weight_decay=0.001; more data");
  // The best epoch is the first of the lowest; a rise is beside the first loss of training, too.
  RunLog later = log;
  for (std::size_t e = 0; e < 2; ++e) later.epochs[e].validation.set("loss", 0.1);
  later.epochs[2].validation.set("loss", 0.05);
  later.epochs[2].train.set("loss", 0.5);
  EXPECT_EQ(checked(later, "overfitting")->symptom.find("since epoch 3 "), 0U);
  RunLog small = log;
  for (EpochEvent& e : small.epochs) e.validation.set("loss", 0.1 * e.validation.at("loss"));
  EXPECT_FALSE(checked(small, "overfitting"));
  RunLog high = log;
  for (StepEvent& step : high.steps) step.loss *= 10;
  EXPECT_FALSE(checked(high, "overfitting")) << "the rise is small beside the first loss";
  RunLog back = log;
  back.epochs[3].validation.set("loss", 0.1);
  EXPECT_FALSE(checked(back, "overfitting"));
  RunLog other = log;  // the training loss has not fallen since
  other.epochs[0].train.set("loss", 0.2);
  EXPECT_FALSE(checked(other, "overfitting"));
  log.epochs.resize(3);
  EXPECT_TRUE(checked(log, "overfitting"));
  log.epochs.resize(2);
  EXPECT_FALSE(checked(log, "overfitting"));
}

// ---- one cause first

// A run that diverged: its learning rate is too large.
RunLog diverged() {
  std::vector<double> losses(100, 2.38);
  losses[0] = 2.4;
  losses[1] = 1e9;
  RunLog log = with_losses(losses);
  log.run.config = Json{{"data", "csv:pets.csv,target=kind,standardize=none"},
                        {"optimizer", Json{{"name", "adam"}, {"lr", 0.1}}}};
  return log;
}

TEST(Doctor, FarValuesShiftsAndTellingColumns) {
  RunLog log = with_losses({1, 0.9, 0.8});
  log.run.config = Json{{"data", "csv:pets.csv,target=kind"}};
  log.data = DataFacts();
  log.data->rows = 100;
  log.data->far_values = {{"age", 3, false, -9999, 7, 0, 30}};
  expect_message(checked(log, "far_value")->symptom);
  EXPECT_EQ(remedies_text(checked(log, "far_value")->remedies),
            "data=\"csv:pets.csv,target=kind,missing-values=-9999,missing=impute\"; correct or "
            "remove the value "
            "-9999");
  log.data->far_values.push_back({"price", 0, true, 1e7, 1, 0, 30});
  expect_message(checked(log, "far_value")->symptom);
  const FeatureFacts there{"age", 3, 0, 30, 12, 4}, here{"age", 3, 0, 3000, 1200, 400};
  log.data->shifts = {{"test", here, there}};
  expect_message(checked(log, "sets_differ")->symptom);
  log.data->telling = {{there, 0.96, 0.2}};
  expect_message(checked(log, "likely_leakage")->symptom);
}

TEST(Doctor, ExplodedThenFlatIsDivergence) {
  const std::vector<Finding> found = diagnose(diverged());
  ASSERT_EQ(names(found), (std::set<std::string>{"loss_exploding", "loss_flat"}));
  EXPECT_EQ(found[0].rule, "loss_exploding");
  expect_message(found[0].symptom);
  expect_message(found[0].fix);
  EXPECT_EQ(found[1].follows_from, "loss_exploding");
  EXPECT_TRUE(found[1].remedies.empty());
}

TEST(Doctor, AnEarlierCauseExplainsAndIsAsGraveAsWhatItExplains) {
  RunLog log = diverged();
  log.data = DataFacts();
  log.data->rows = 100;
  log.data->targets = {{"price", 0, 0, 2e4, 1e4, 5e3}};
  log.data->duplicates = {{"train", "train", 50, 100, 1, 0}};
  const std::vector<Finding> found = diagnose(log);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].rule, "targets_not_normalized");
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_EQ(found[0].fix, "--data csv:pets.csv,target=kind,standardize=zscore");
  EXPECT_EQ(found[1].follows_from, "targets_not_normalized");
  EXPECT_EQ(found[2].follows_from, "targets_not_normalized");
  // A finding that explains no others stands alone, however early its cause.
  EXPECT_EQ(found[3].rule, "duplicate_rows");
  EXPECT_EQ(found[3].follows_from, "");
}

TEST(Doctor, WhatIsInForceOrWasTriedIsNotRecommended) {
  RunLog log = diverged();
  log.run.config["clip"]["norm"] = 0.5;
  expect_message(diagnose(log)[0].fix);
  const auto run = [&](double rate) {
    return EarlierRun{Json{{"optimizer", Json{{"lr", rate}}}}, {diagnose(log)[0].rule}};
  };
  const EarlierRun tried = run(0.00098), other = run(0.01);
  EXPECT_EQ(diagnose(log, {}, std::vector{other})[0].fix, "--lr 0.001");
  const EarlierRun twice = run(0.002);
  // A run that it kept well, or that had another illness, says nothing against it.
  EXPECT_EQ(diagnose(log, {}, std::vector{EarlierRun{tried.config, {"few_rows"}}})[0].fix,
            "--lr 0.001");
  EXPECT_EQ(diagnose(log, {}, std::vector{twice})[0].fix, "--lr 0.001");
  EXPECT_EQ(diagnose(log, {}, std::vector{other, tried})[0].fix,
            "every known remedy is already in use or was tried in an earlier run");
}

// Of settings that go together, those that the run has already are left out.
TEST(Doctor, OfARemedyOnlyWhatIsNewIsRecommended) {
  RunLog log = with_losses({1, 0.9, 0.8});
  log.probes = {{1, {layer_of("layers.0", 1, 1e-4, 1e-4), layer_of("layers.1", 1, 1, 1)}}};
  const auto fix = [&](const char* activation, const char* init) {
    log.run.config =
        Json{{"model", Json{{"name", "charlm"}, {"activation", activation}, {"init", init}}}};
    const auto found = diagnose(log);
    return found.empty() ? "" : found[0].fix;
  };
  EXPECT_EQ(fix("tanh", "xavier"), "--activation relu --init he, or fewer --layers");
  EXPECT_EQ(fix("tanh", "he"), "--activation relu, or fewer --layers");
  EXPECT_EQ(fix("relu", "xavier"), "--init he, or fewer --layers");
  EXPECT_EQ(fix("relu", "he"), "fewer --layers");
}

// What the log calls its data may be of a later version.
TEST(Doctor, AnOptionOfDataThatIsNotKnownIsInWords) {
  RunLog log = with_data(100);
  log.data->targets = {{"price", 0, 0, 0, 30, 41}};
  for (const Json& config : {Json::object(), Json{{"data", "tarot:7"}}, Json{{"data", 3}}}) {
    log.run.config = config;
    EXPECT_EQ(remedies_text(checked(log, "targets_not_normalized")->remedies),
              "standardize=zscore in --data");
  }
}

// Momentum adds the steps up: what it may be is so much less.
TEST(Doctor, RecommendsALowerRateWhereThereIsMomentum) {
  const auto fix = [](double momentum) {
    RunLog log = diverged();
    log.run.config["optimizer"] = Json{{"name", "sgd"}, {"lr", 0.1}, {"momentum", momentum}};
    log.probes = {{0, {{"layers.0", {{"layers.0.weight", 0, 1, 1, 1, 20}}, {}}}}};
    for (const Finding& f : diagnose(log))
      if (f.rule == "loss_exploding") return f.fix;
    return std::string();
  };
  // The root of the usual 0.05 times 0.1 * 0.02 / 20, and a tenth of that.
  EXPECT_EQ(fix(0), "--lr 0.0022");
  EXPECT_EQ(fix(0.9), "--lr 0.00071");
  EXPECT_EQ(fix(1), "--lr 0.0022") << "steps add up without an end";
}

// The log of a run that was killed in its first step has no rate, and one of 0 would train nothing.
TEST(Doctor, RecommendsNoRateOfZero) {
  RunLog log;
  log.probes = {{0, {{"layers.0", {}, {{"relu", 0, 0, 1, 1, 0}}}}}};
  EXPECT_EQ(remedies_text(checked(log, "zero_activations")->remedies),
            R"(model.init="he"; a lower --lr)");
  log.steps = {{1, 1, 1.0, 1e-3, 1}};
  EXPECT_EQ(remedies_text(checked(log, "zero_activations")->remedies),
            R"(model.init="he"; optimizer.lr=0.0001)");
}

// A layer that begins at 0 has no size that a step could be compared with.
TEST(Doctor, ALayerOfZerosSaysNothingOfTheRate) {
  RunLog log = diverged();
  log.run.config["optimizer"] = Json{{"name", "sgd"}, {"lr", 0.1}};
  const LayerStatistics layer = layer_of("layers.0", 1, 1, 20);
  log.probes = {{0, {layer}}};
  const std::string expected = "optimizer.lr=0.0022";
  EXPECT_EQ(remedies_text(checked(log, "loss_exploding")->remedies), expected);
  log.probes = {{0, {layer, layer_of("layers.1", 0, 1, 20)}}};
  EXPECT_EQ(remedies_text(checked(log, "loss_exploding")->remedies), expected);
}

// A usual rate would not do where the steps are a million times too small.
TEST(Doctor, RecommendsAHigherRateWhereNothingMoves) {
  std::vector<double> losses(200, 1);
  losses[0] = 1.2;  // of a batch: a loss begins with the mean of three
  losses[2] = 0.8;
  RunLog log = with_losses(losses);
  log.run.config = Json{{"optimizer", Json{{"name", "adam"}, {"lr", 0.1}}}};
  log.probes = {{0, {{"layers.0", {{"layers.0.weight", 0, 1, 1, 1, 1e-6}}, {}}}}};
  const std::vector<Finding> found = diagnose(log);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].rule, "loss_flat");
  expect_message(found[0].symptom);
  EXPECT_EQ(found[0].fix, "--lr 1.4");  // the root of the usual 0.001 times 0.1 * 0.02 / 1e-6
}

TEST(Doctor, NoTwoFindingsMoveTheSameKey) {
  // The validation loss rises because the few rows are memorised, and some steps have loss spikes.
  std::vector<double> losses(200, 1);
  for (std::size_t i = 0; i < losses.size(); ++i)
    losses[i] = 3 - 0.01 * static_cast<double>(i) + (i % 2 ? 0.02 : 0);
  losses[120] = 8;
  RunLog log = with_losses(losses);
  const auto spikes = diagnose(log);
  ASSERT_EQ(spikes[0].rule, "loss_spikes");
  ASSERT_EQ(spikes[0].fix, "--clip-norm 1.0, --lr 0.03, or a longer --warmup");
  const LayerStatistics narrow{"layers.0", {}, {}, {{0.001, 0, 0}}};
  log.probes = {{0, {narrow}}};
  const auto found = diagnose(log);
  ASSERT_EQ(found.size(), 2u);
  std::set<std::string> moved;
  for (const Finding& f : found)
    for (const Remedy& remedy : f.remedies)
      for (const Setting& s : remedy.settings) EXPECT_TRUE(moved.insert(s.key).second) << s.key;
}

TEST(Doctor, RulesStandInTheOrderInWhichTheyExplain) {
  for (std::size_t later = 0; later < rules().size(); ++later)
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const Rule &a = rules()[earlier], &b = rules()[later];
      const Cause first = std::min(a.cause, a.explains.value_or(a.cause));
      EXPECT_LE(first, std::min(b.cause, b.explains.value_or(b.cause))) << a.name << ' ' << b.name;
    }
}

TEST(Doctor, TheGravestComesFirstAndNothingIsSaidTwice) {
  RunLog log = with_losses({1, 0.5, INFINITY});
  log.data = DataFacts();
  log.data->rows = 100;
  log.data->class_counts = {99, 1};
  const std::vector<Finding> found = diagnose(log);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_EQ(found[1].rule, "class_imbalance");
  EXPECT_EQ(new_findings(found, {found[1]}).size(), 1u);
  EXPECT_TRUE(new_findings(found, found).empty());
}

}  // namespace
}  // namespace limpid::train
