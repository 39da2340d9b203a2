// The doctor's table and its behaviour; illness_test.cc provokes each illness in small runs.
#include "limpid/train/doctor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "limpid/core/error.h"

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
  EXPECT_NE(found[0].symptom.find("the loss is nan in step 2, after 1"), std::string::npos)
      << found[0].symptom;
  EXPECT_EQ(found[0].step, 200);
}

TEST(Doctor, ALossMayBeFiniteWhereItsGradientOrAParameterIsNot) {
  RunLog gradient = with_losses({1, 1e31});
  gradient.steps.back().gradient_norm = INFINITY;
  ASSERT_EQ(names(diagnose(gradient)), std::set<std::string>{"loss_not_finite"});
  EXPECT_EQ(diagnose(gradient)[0].symptom,
            "the gradient norm is inf in step 2, at a loss of 1e+31, after 1");

  RunLog parameter = with_losses({1, 0.9});
  EXPECT_TRUE(diagnose(parameter).empty());
  parameter.end = EndEvent{"non-finite loss", 0, {}, {}, 0};
  ASSERT_EQ(names(diagnose(parameter)), std::set<std::string>{"loss_not_finite"});
  EXPECT_EQ(diagnose(parameter)[0].symptom,
            "step 2 made a parameter that is not finite, at a loss of 0.9, after 1");
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
  const auto symptom = [&] {
    for (const Finding& f : diagnose(log))
      if (f.rule == "overfitting") return f.symptom;
    return std::string();
  };
  log.run.data.test = 10;
  EXPECT_EQ(symptom().find("since epoch 1 the test loss rose"), 0u) << symptom();
  log.run.data.validation = 10;
  EXPECT_EQ(symptom().find("since epoch 1 the validation loss rose"), 0u) << symptom();
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
  log.run.config = Json{{"early_stopping", Json{{"patience", 3}}}};
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
}

// Of a set with many rows, and of one of which more are doubled.
TEST(Doctor, DuplicatesAreWorstByTheirShare) {
  RunLog log;
  log.data = DataFacts();
  log.data->duplicates = {{"train", "train", 30, 1000, 9, 3}, {"test", "test", 8, 100, 7, 2}};
  const std::vector<Finding> found = diagnose(log);
  ASSERT_TRUE(names(found).contains("duplicate_rows"));
  EXPECT_EQ(found.front().symptom.find("8 of the 100 rows of the test set"), 0u)
      << found.front().symptom;
}

// A category may have an equals sign: "status" is the column, "0<=X<200" its category.
TEST(Doctor, AColumnToLeaveOutIsOfTheTable) {
  RunLog log;
  log.run.config = Json{{"data", "csv:credit.csv,target=good"}};
  log.data = DataFacts();
  log.data->rows = 100;
  log.data->giveaways = {{"status=0<=X<200", 3, 0, 1, 0.5, 0.5}};
  const std::vector<Finding> found = diagnose(log);
  ASSERT_EQ(names(found), std::set<std::string>{"target_among_inputs"});
  const Setting& setting = found.front().remedies.at(0).settings.at(0);
  EXPECT_EQ(setting.key, "data");
  EXPECT_EQ(setting.value, Json("csv:credit.csv,target=good,ignore=status"));
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
  EXPECT_EQ(diagnose(log)[0].symptom,
            "once the loss jumped far above the steps before, in step 121 from about 2.07 to 4, "
            "with a gradient norm of 25 where 1 was usual");
  leaps[150] = leaps[151] = leaps[155] = 4.5;
  EXPECT_EQ(diagnose(with_losses(leaps))[0].symptom.substr(0, 16), "2 times the loss");
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
  EXPECT_EQ(diagnose(log)[0].fix.find("--epochs 15, "), 0u) << diagnose(log)[0].fix;
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

TEST(Doctor, AGradientThatExplodesLaterIsNoFaultOfTheFirstWeights) {
  const auto found = [](double first) {
    RunLog log = with_losses({1, 1, 1});
    for (std::int64_t step = 0; step < 3; ++step)
      log.probes.push_back(
          {step,
           {{"layers.0", {{"layers.0.weight", 0, 1, 1, step == 0 ? first : 1000, 0.001}}, {}}}});
    return names(diagnose(log)).count("exploding_gradient");
  };
  EXPECT_EQ(found(1000), 1u);
  EXPECT_EQ(found(1), 0u);
}

TEST(Doctor, AFewValuesThatAreNotZeroAreALife) {
  const auto found = [](double zero_share) {
    RunLog log = with_losses({1, 0.9, 0.8});
    log.probes = {{2, {{"layers.0", {}, {{"gelu", 0, 0, zero_share, 0, 0}}}}}};
    return names(diagnose(log)).count("zero_activations");
  };
  EXPECT_EQ(found(1), 1u);
  EXPECT_EQ(found(0.999), 0u);
}

TEST(Doctor, WeightsThatMovedOnceAreNotFrozen) {
  const auto found = [](double first) {
    RunLog log = with_losses({1, 0.9, 0.8});
    for (std::int64_t step = 0; step < 3; ++step)
      log.probes.push_back(
          {step, {{"layers.0", {{"layers.0.weight", 0, 1, 1, 1, step == 0 ? first : 0}}, {}}}});
    return names(diagnose(log)).count("frozen_weights");
  };
  EXPECT_EQ(found(0), 1u);
  EXPECT_EQ(found(1e-3), 0u);
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

TEST(Doctor, DropoutIsNoIllnessBeforeTheThirdEpoch) {
  const auto found = [](std::int64_t epochs) {
    RunLog log = with_losses({1, 1, 1});
    log.run.config = Json{{"model", Json{{"dropout", 0.9}}}};
    for (std::int64_t e = 1; e <= epochs; ++e)
      log.epochs.push_back({e, e, 0.1, {{"loss", 0.9}}, {{"loss", 0.9}}, 1, 1, false});
    return names(diagnose(log)).count("too_much_dropout");
  };
  EXPECT_EQ(found(2), 0u);
  EXPECT_EQ(found(3), 1u);
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
  EXPECT_EQ(diagnose(log)[0].symptom,
            "the test perplexity is 8.166; an n-gram model of the same text has 7.389");
  log.end->test.metrics.set("perplexity", 7.389);
  EXPECT_TRUE(diagnose(log).empty());
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

TEST(Doctor, ExplodedThenFlatIsDivergence) {
  const std::vector<Finding> found = diagnose(diverged());
  ASSERT_EQ(names(found), (std::set<std::string>{"loss_exploding", "loss_flat"}));
  EXPECT_EQ(found[0].rule, "loss_exploding");
  EXPECT_EQ(found[0].symptom.find("the loss began at 2.4, rose to 1e+09 and is 2.38 now"), 0u)
      << found[0].symptom;
  EXPECT_EQ(found[0].fix, "--lr 0.001, or --clip-norm 1.0");
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
  EXPECT_EQ(diagnose(log)[0].fix, "--lr 0.001");
  const Json tried{{"optimizer", Json{{"lr", 0.00098}}}}, other{{"optimizer", Json{{"lr", 0.01}}}};
  EXPECT_EQ(diagnose(log, {}, std::vector{other})[0].fix, "--lr 0.001");
  EXPECT_EQ(diagnose(log, {}, std::vector{other, tried})[0].fix,
            "every known remedy is already in use or was tried in an earlier run");
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
  EXPECT_EQ(fix(0), "--lr 0.0022, or --clip-norm 1.0");
  EXPECT_EQ(fix(0.9), "--lr 0.00071, or --clip-norm 1.0");
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
  EXPECT_EQ(found[0].symptom, "the loss began at 1 and is 1 after 200 steps");
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
