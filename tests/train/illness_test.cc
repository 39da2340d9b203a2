// Rules of the doctor whose illnesses no run of tests/doctor has: a small run provokes one, the
// rule finds it, its remedy is applied, and the finding is gone. Healthy runs have no findings.
#include <gtest/gtest.h>

#include <algorithm>

#include "limpid/data/digits.h"
#include "limpid/ops/activation.h"
#include "tests/train/small_run.h"

namespace limpid::train {
namespace {

bool found(const std::vector<Finding>& findings, std::string_view rule) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& f) { return f.rule == rule; });
}

std::string text(const std::vector<Finding>& findings) {
  std::string all;
  for (const Finding& f : findings) all += f.rule + ": " + f.symptom + "\n";
  return all;
}

// "optimizer.lr=0.1; more data"
std::string text(const std::vector<Remedy>& remedies) {
  std::string all;
  for (const Remedy& remedy : remedies) {
    for (const Setting& s : remedy.settings) all += s.key + "=" + s.value.dump() + " ";
    all += remedy.words + "; ";
  }
  return all;
}

// Another finding may explain this one, so the remedies come from the rule itself.
std::vector<Remedy> remedies_of(const RunLog& log, std::string_view name) {
  for (const Rule& rule : rules())
    if (rule.name == name)
      if (const auto finding = rule.check(log, Thresholds())) return finding->remedies;
  return {};
}

void expect_ill(const SmallRun& run, std::string_view rule, const std::string& remedy) {
  const RunLog log = run.log();
  const std::vector<Finding> findings = diagnose(log);
  EXPECT_TRUE(found(findings, rule)) << rule << " is not among\n" << text(findings);
  const std::string remedies = text(remedies_of(log, rule));
  EXPECT_NE(remedies.find(remedy), std::string::npos) << remedies;
}
// Takes the learning rate that the rule recommends.
void expect_ill_and_take_rate(SmallRun& run, std::string_view rule) {
  expect_ill(run, rule, "optimizer.lr");
  for (const Remedy& remedy : remedies_of(run.log(), rule))
    for (const Setting& s : remedy.settings)
      if (s.key == "optimizer.lr") run.options.schedule.rate = s.value.as_number();
}
void expect_cured(const SmallRun& run, std::string_view rule) {
  const std::vector<Finding> findings = run.findings();
  EXPECT_FALSE(found(findings, rule)) << text(findings);
}

Split digits_for(std::int64_t train) {
  Split data = digits_split(0, train, train / 4);
  data.validation = data.test;
  data.test = {};
  return data;
}

// The tool's defaults, on little data.
SmallRun usual(std::vector<std::int64_t> sizes = {784, 64, 10}, std::int64_t train = 1000) {
  SmallRun run;
  run.data = digits_for(train);
  run.net = nn::mlp(std::move(sizes), relu, 0.2);
  return run;
}

void use(SmallRun& run, std::string_view activation, const std::string& init) {
  run.net.activation = nn::activation_from_name(activation);
  run.net.init_name = init;
}

// One column x and the target 3 x, transformed by `scale`, with a little noise.
SmallRun line(double rate, std::int64_t epochs, float scale = 1) {
  SmallRun run;
  run.task = Task::kRegression;
  const Tensor both = nn::normal(1)(Key(5), {128, 1});
  for (Dataset* part : {&run.data.train, &run.data.validation}) {
    Dataset& d = *part;
    d.task = Task::kRegression;
    d.name = "line";
    const Tensor x = both.rows(part == &run.data.train ? 0 : 64, 64);
    d.inputs = Tensor::generate<float>({64, 1}, [&](std::span<float> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = scale * x.values<float>()[i];
    });
    d.targets = Tensor::generate<float>({64, 1}, [&](std::span<float> out) {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = 3 * x.values<float>()[i] + (i % 2 ? 0.1f : -0.1f);
    });
  }
  run.net = nn::mlp({1, 1}, nn::activation_from_name("identity").apply);
  run.options.rule.optimizer = optim::Sgd{};
  run.options.schedule = {optim::Schedule::Kind::kConstant, rate};
  run.options.epochs = epochs;
  run.options.batch = 64;
  return run;
}

TEST(Healthy, TheUsualSettingsOnDigits) {
  for (std::int64_t train : {500, 3000}) {
    SmallRun run = usual({784, 256, 128, 10}, train);
    EXPECT_EQ(text(run.findings()), "") << train;
  }
  for (const char* optimizer : {"adam", "adamw", "adagrad"}) {
    SmallRun run = usual({784, 64, 10}, 2000);
    run.options.rule.optimizer = optim::optimizer_from_name(optimizer);
    run.options.schedule.rate = optim::usual_rate(run.options.rule.optimizer);
    EXPECT_EQ(text(run.findings()), "") << optimizer;
  }
  for (const char* activation : {"tanh", "gelu", "leaky_relu", "silu"}) {
    SmallRun run = usual({784, 128, 64, 10}, 2000);
    use(run, activation, "xavier");
    EXPECT_EQ(text(run.findings()), "") << activation;
  }
  EXPECT_EQ(text(usual({784, 10}, 2000).findings()), "");
}

TEST(Healthy, ALineIsLearnt) { EXPECT_EQ(text(line(0.1, 100).findings()), ""); }

TEST(Illness, LossFlat) {
  SmallRun tiny = line(1e-5, 120);
  expect_ill_and_take_rate(tiny, "loss_flat");
  expect_cured(tiny, "loss_flat");
  SmallRun slow = usual({784, 64, 10}, 500);
  slow.options.rule.optimizer = optim::Sgd{};
  slow.options.schedule = {optim::Schedule::Kind::kConstant, 1e-4};
  slow.options.epochs = 30;
  expect_ill_and_take_rate(slow, "loss_flat");
  expect_cured(slow, "loss_flat");
}

TEST(Illness, LossSpikes) {
  SmallRun healthy = usual({784, 32, 10}, 1600);
  healthy.options.batch = 16;
  healthy.options.epochs = 3;
  expect_cured(healthy, "loss_spikes");
  SmallRun run = healthy;  // one example is twenty times too bright
  const Tensor& pixels = healthy.data.train.inputs;
  run.data.train.inputs = Tensor::generate<float>(pixels.shape(), [&](std::span<float> out) {
    std::copy(pixels.values<float>().begin(), pixels.values<float>().end(), out.begin());
    for (float& x : out.first(784)) x *= 20;
  });
  expect_ill(run, "loss_spikes", "clip.norm=1");
}

TEST(Illness, LossOscillating) {
  SmallRun run = usual({784, 32, 10}, 100);
  use(run, "tanh", "xavier");
  run.net.dropout = 0;
  run.options.rule.optimizer = optim::Sgd{.momentum = 0.9};
  run.options.batch = 20;
  run.options.schedule = {optim::Schedule::Kind::kConstant, 1};
  run.options.epochs = 40;
  expect_ill_and_take_rate(run, "loss_oscillating");
  expect_cured(run, "loss_oscillating");
}

TEST(Illness, Overfitting) {
  SmallRun run = usual({784, 256, 10}, 200);
  run.net.dropout = 0;
  run.options.epochs = 60;
  // Random labels can only be memorised.
  run.data.train.targets = Tensor::generate<std::int32_t>({200}, [](std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::int32_t>(Key(9).below(10, static_cast<std::int64_t>(i)));
  });
  expect_ill(run, "overfitting", "early_stopping.patience=3");
  run.options.early_stopping = EarlyStopping{.patience = 3};
  expect_cured(run, "overfitting");
}

TEST(Illness, ExplodingGradient) {
  SmallRun run = line(1e-7, 30, 1000);
  expect_ill(run, "exploding_gradient", "standardize=zscore");
  run.standardize = true;
  expect_cured(run, "exploding_gradient");
}

TEST(Illness, DeadUnits) {
  SmallRun run = usual({784, 64, 10}, 2000);
  run.options.schedule.rate = 3;
  expect_ill(run, "dead_units", R"(model.activation="leaky_relu")");
  SmallRun cured = run;
  expect_ill_and_take_rate(cured, "dead_units");
  expect_cured(cured, "dead_units");
  use(run, "leaky_relu", "he");
  expect_cured(run, "dead_units");
}

TEST(Illness, SaturatedUnits) {
  SmallRun run = usual({784, 128, 64, 10}, 1000);
  use(run, "tanh", "xavier");
  run.options.rule.optimizer = optim::RmsProp{};
  run.options.schedule.rate = 0.03;
  expect_ill_and_take_rate(run, "saturated_units");
  expect_cured(run, "saturated_units");
}

TEST(Illness, ZeroActivationsFrozenWeightsPoorInitialization) {
  SmallRun run = usual({784, 64, 10}, 500);
  use(run, "relu", "zeros");
  for (const char* rule : {"zero_activations", "frozen_weights", "poor_initialization"})
    expect_ill(run, rule, R"(model.init="he")");
  use(run, "relu", "he");
  for (const char* rule : {"zero_activations", "frozen_weights", "poor_initialization"})
    expect_cured(run, rule);
}

// `rows` of the training part, in this order.
void take(SmallRun& run, const std::vector<std::int32_t>& rows) {
  run.data.train = gather_rows(run.data.train, rows);
}

TEST(Illness, ClassImbalance) {
  SmallRun run = usual({784, 64, 10}, 1000);
  const auto labels = run.data.train.targets.values<std::int32_t>();
  std::vector<std::int32_t> rows, balanced;
  std::int64_t threes = 0;
  for (std::int32_t i = 0; i < 1000; ++i) {
    const bool rare = labels[static_cast<std::size_t>(i)] == 3;
    if (rare && ++threes > 4) continue;
    rows.push_back(i);
    for (int copies = rare ? 25 : 1; copies > 0; --copies) balanced.push_back(i);
  }
  SmallRun cured = run;
  take(run, rows);
  expect_ill(run, "class_imbalance", "or repeat them");
  take(cured, balanced);
  expect_cured(cured, "class_imbalance");
}

TEST(Illness, DuplicateRows) {
  SmallRun run = usual({784, 64, 10}, 500);
  run.options.epochs = 1;
  SmallRun cured = run;
  std::vector<std::int32_t> rows;
  for (std::int32_t i = 0; i < 500; ++i) rows.push_back(i % 400);
  take(run, rows);
  expect_ill(run, "duplicate_rows", "keep one copy of each row");
  expect_cured(cured, "duplicate_rows");
}

}  // namespace
}  // namespace limpid::train
