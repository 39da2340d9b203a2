// Experiments with small networks, all of them deterministic by key. What they give stands in
// docs/experiments.md, which is compared with what is printed here, and written by
//
//   LIMPID_REWRITE=1 experiments_test
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numbers>
#include <sstream>

#include "limpid/nn/init.h"
#include "limpid/nn/perceptron.h"
#include "tests/experiments/fit.h"

namespace limpid::experiments {
namespace {

// ---- spread through fifty layers

constexpr std::int64_t kLayers = 50;
constexpr std::int64_t kWidth = 256;
constexpr std::int64_t kShown[] = {1, 2, 5, 10, 20, 30, 40, 50};

double std_of(const Tensor& t) {
  double mean = 0;
  double squares = 0;
  const auto values = t.values<float>();
  for (float v : values) mean += static_cast<double>(v);
  mean /= static_cast<double>(values.size());
  for (float v : values) {
    const double d = static_cast<double>(v) - mean;
    squares += d * d;
  }
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// The standard deviation behind each layer; weight l is drawn by `init` from a key of its own.
using LayerCode = std::function<Value(Value x, Value weight)>;
std::vector<double> spreads(const LayerCode& code, const nn::Init& init) {
  Tensor x = nn::normal(1)(Key(0), {64, kWidth});
  const Executable layer = compile(
      trace("layer", {{"x", x.type()}, {"w", {Dtype::kF32, {kWidth, kWidth}}}},
            [&](std::span<const Value> in) { return std::vector<Value>{code(in[0], in[1])}; }));
  std::vector<double> stds;
  for (std::uint64_t l = 0; l < kLayers; ++l) {
    x = layer(std::vector<Tensor>{x, init(Key(1).fold_in(l), {kWidth, kWidth})})[0];
    stds.push_back(std_of(x));
  }
  return stds;
}

Value relu_layer(Value x, Value w) { return relu(linear(x, w)); }
Value tanh_layer(Value x, Value w) { return tanh(linear(x, w)); }
Value gelu_layer(Value x, Value w) { return gelu(linear(x, w)); }
Value residual_layer(Value x, Value w) { return x + linear(relu(x), w); }

struct Scheme {
  std::string name;
  LayerCode layer;
  nn::Init init;
};

const std::vector<Scheme>& schemes() {
  const double root2 = std::numbers::sqrt2;
  const double tanh_gain = nn::activation_from_name("tanh").gain;
  const double gelu_gain = nn::activation_from_name("gelu").gain;
  static const std::vector<Scheme> all{
      {"ReLU, normal, std 0.01", relu_layer, nn::normal(0.01)},
      {"ReLU, truncated normal, std 0.02", relu_layer, nn::truncated_normal(0.02)},
      {"ReLU, normal, std 1", relu_layer, nn::normal(1)},
      {"ReLU, LeCun normal", relu_layer, nn::lecun_normal()},
      {"ReLU, Xavier normal", relu_layer, nn::xavier_normal()},
      {"ReLU, He normal", relu_layer, nn::kaiming_normal(root2)},
      {"ReLU, He uniform", relu_layer, nn::kaiming_uniform(root2)},
      {"ReLU, orthogonal, gain sqrt 2", relu_layer, nn::orthogonal(root2)},
      {"GELU, He normal, GELU's gain", gelu_layer, nn::kaiming_normal(gelu_gain)},
      {"tanh, normal, std 1", tanh_layer, nn::normal(1)},
      {"tanh, LeCun normal", tanh_layer, nn::lecun_normal()},
      {"tanh, Xavier uniform", tanh_layer, nn::xavier_uniform()},
      {"tanh, Xavier normal, tanh's gain", tanh_layer, nn::xavier_normal(tanh_gain)},
      {"x + W relu(x), He normal", residual_layer, nn::kaiming_normal(root2)},
      {"x + W relu(x), He's std / sqrt(2 layers)", residual_layer,
       nn::depth_scaled_normal(kLayers, root2 / std::sqrt(static_cast<double>(kWidth)))},
  };
  return all;
}

const std::vector<double>& spreads_of(const std::string& name) {
  static std::map<std::string, std::vector<double>> known;
  for (const Scheme& s : schemes())
    if (s.name == name && known[name].empty()) known[name] = spreads(s.layer, s.init);
  return known.at(name);
}

std::string short_number(double x) { return std::isfinite(x) ? fmt::format("{:.2g}", x) : "over"; }

std::string spread_table() {
  std::string text = "| layer |";
  for (std::int64_t l : kShown) text += fmt::format(" {} |", l);
  text += "\n|---|";
  for (std::size_t i = 0; i < std::size(kShown); ++i) text += "---|";
  text += "\n";
  for (const Scheme& s : schemes()) {
    text += fmt::format("| {} |", s.name);
    for (std::int64_t l : kShown)
      text +=
          fmt::format(" {} |", short_number(spreads_of(s.name)[static_cast<std::size_t>(l - 1)]));
    text += "\n";
  }
  return text;
}

TEST(Spread, SmallWeightsDieOutLargeOnesExplodeHesStay) {
  EXPECT_LT(spreads_of("ReLU, normal, std 0.01").back(), 1e-15);
  EXPECT_LT(spreads_of("ReLU, LeCun normal").back(), 1e-4);
  EXPECT_FALSE(spreads_of("ReLU, normal, std 1").back() < 1e20);
  for (const char* kept : {"ReLU, He normal", "ReLU, He uniform", "ReLU, orthogonal, gain sqrt 2"})
    for (double std : spreads_of(kept)) {
      EXPECT_GT(std, 0.2) << kept;
      EXPECT_LT(std, 5) << kept;
    }
}

TEST(Spread, ABranchScaledByDepthKeepsTheResidualStream) {
  EXPECT_GT(spreads_of("x + W relu(x), He normal").back(), 1e5);
  EXPECT_LT(spreads_of("x + W relu(x), He's std / sqrt(2 layers)").back(), 3);
}

// ---- the perceptron

const Tensor& corners() {
  static const Tensor x = Tensor::from<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  return x;
}

nn::PerceptronRun perceptron(std::initializer_list<float> targets, std::int64_t epochs) {
  return nn::train_perceptron(nn::Perceptron{2}, corners(), Tensor::from<float>({4}, targets),
                              epochs);
}
const nn::PerceptronRun& learns_and() {
  static const nn::PerceptronRun run = perceptron({0, 0, 0, 1}, 100);
  return run;
}
const nn::PerceptronRun& learns_or() {
  static const nn::PerceptronRun run = perceptron({0, 1, 1, 1}, 100);
  return run;
}
const nn::PerceptronRun& never_learns_xor() {
  static const nn::PerceptronRun run = perceptron({0, 1, 1, 0}, 100);
  return run;
}

TEST(Perceptron, LearnsAndAndOr) {
  EXPECT_EQ(learns_and().mistakes.back(), 0);
  EXPECT_EQ(learns_or().mistakes.back(), 0);
  EXPECT_LE(learns_and().mistakes.size(), 10u);
  EXPECT_LE(learns_or().mistakes.size(), 10u);
}

// The weights of one epoch come back in a later one, so that what lies between goes on for ever; it
// is never without a mistake.
TEST(Perceptron, NeverLearnsXor) {
  const nn::PerceptronRun& run = never_learns_xor();
  ASSERT_EQ(run.mistakes.size(), 100u);
  for (std::int64_t mistakes : run.mistakes) EXPECT_GT(mistakes, 0);
  const std::optional<nn::Return> back = nn::first_return(run);
  ASSERT_TRUE(back);
  EXPECT_LT(back->epoch, 10u);
  EXPECT_FALSE(nn::first_return(learns_or()));
}

TEST(Perceptron, FollowsRosenblattsRule) {
  // From zero the answer to (1, 1) is 0, for 0 is not positive; the target 1 adds x and 1.
  const nn::PerceptronRun run = nn::train_perceptron(
      nn::Perceptron{2}, Tensor::from<float>({1, 2}, {1, 0.5f}), Tensor::from<float>({1}, {1}), 1);
  EXPECT_EQ(run.params[0].at("weight").values<float>()[0], 1);
  EXPECT_EQ(run.params[0].at("weight").values<float>()[1], 0.5f);
  EXPECT_EQ(run.params[0].at("bias").item<float>(), 1);
  EXPECT_EQ(run.mistakes[0], 1);
}

std::string mistakes_row(const std::string& name, const nn::PerceptronRun& run) {
  std::string text = fmt::format("| {} |", name);
  for (std::size_t e = 0; e < 8; ++e)
    text += e < run.mistakes.size() ? fmt::format(" {} |", run.mistakes[e]) : " |";
  return text + fmt::format(" {} |\n", run.mistakes.size() < 100
                                           ? fmt::format("learnt in {}", run.mistakes.size())
                                           : "not learnt in 100");
}

// ---- what one hidden layer can do

// n points of [low, high] in equal steps.
Tensor grid(std::int64_t n, double low, double high) {
  return Tensor::generate<float>({n, 1}, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(low + (high - low) * static_cast<double>(i) /
                                            static_cast<double>(n - 1));
  });
}
Tensor mapped(const Tensor& x, double (*f)(double)) {
  return Tensor::generate<float>(x.shape(), [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(f(static_cast<double>(x.values<float>()[i])));
  });
}
double largest_error(const Fitted& fitted, const Tensor& y) {
  double largest = 0;
  for (std::size_t i = 0; i < y.values<float>().size(); ++i)
    largest = std::max(largest, static_cast<double>(std::fabs(
                                    fitted.predictions.values<float>()[i] - y.values<float>()[i])));
  return largest;
}

auto hidden_layer(std::int64_t in, std::int64_t units, Value (*activation)(Value)) {
  return nn::sequential(nn::Linear{in, units}, activation, nn::Linear{units, 1});
}

struct Row {
  std::string task;
  std::int64_t units;
  std::string activation;
  std::int64_t steps;
  double loss, error;
};

Value squared(Value prediction, Value target) { return mse_loss(prediction, target); }

Row fit_function(const std::string& name, double (*f)(double), double reach, std::int64_t units,
                 const std::string& activation, std::int64_t steps, Key key) {
  const Tensor x = grid(101, -reach, reach);
  const Task task{x, mapped(x, f), squared};
  const auto net = hidden_layer(1, units, nn::activation_from_name(activation).apply);
  const optim::Schedule schedule{optim::Schedule::Kind::kCosine, 0.02, steps};
  const Fitted fitted = fit(net, task, optim::Adam{}, schedule, key);
  return {name, units, activation, steps, fitted.loss, largest_error(fitted, task.y)};
}

Row fit_xor(std::int64_t units) {
  const Task task{corners(), Tensor::from<float>({4, 1}, {0, 1, 1, 0}),
                  [](Value z, Value t) { return binary_cross_entropy(z, t); }};
  const auto net = hidden_layer(2, units, tanh);
  const optim::Schedule schedule{optim::Schedule::Kind::kConstant, 0.05, 500};
  const Fitted fitted = fit(net, task, optim::Adam{}, schedule, Key(1));
  double error = 0;  // of the probabilities
  for (std::size_t i = 0; i < 4; ++i) {
    const double p =
        1 / (1 + std::exp(-static_cast<double>(fitted.predictions.values<float>()[i])));
    error = std::max(error, std::fabs(p - static_cast<double>(task.y.values<float>()[i])));
  }
  return {"XOR", units, "tanh", 500, fitted.loss, error};
}

double sine(double x) { return std::sin(x); }

const std::vector<Row>& fits() {
  static const std::vector<Row> rows{
      fit_xor(1),
      fit_xor(4),
      fit_function("abs(x) on [-1, 1]", std::fabs, 1, 1, "relu", 2000, Key(3)),
      fit_function("abs(x) on [-1, 1]", std::fabs, 1, 4, "relu", 2000, Key(3)),
      fit_function("sin(x) on [-2 pi, 2 pi]", sine, 2 * std::numbers::pi, 2, "tanh", 4000, Key(2)),
      fit_function("sin(x) on [-2 pi, 2 pi]", sine, 2 * std::numbers::pi, 32, "tanh", 4000, Key(2)),
  };
  return rows;
}

TEST(OneHiddenLayer, FitsXor) {
  EXPECT_GT(fits()[0].error, 0.4);  // one unit cannot
  EXPECT_LT(fits()[1].error, 0.02);
}
TEST(OneHiddenLayer, FitsAbsWithFourRelus) {
  EXPECT_GT(fits()[2].error, 0.2);  // one unit cannot
  EXPECT_LT(fits()[3].error, 0.02);
}
TEST(OneHiddenLayer, FitsASineWithEnoughUnits) {
  EXPECT_GT(fits()[4].error, 0.5);
  EXPECT_LT(fits()[5].error, 0.05);
}

// Two ReLUs are enough, and exact: |x| = relu(x) + relu(-x).
TEST(OneHiddenLayer, IsAbsExactly) {
  const auto net = hidden_layer(1, 2, relu);
  const Tensor x = grid(101, -1, 1);
  const std::vector<Tensor> inputs{
      Tensor::from<float>({2, 1}, {1, -1}), Tensor::from<float>({2}, {0, 0}),
      Tensor::from<float>({1, 2}, {1, 1}), Tensor::from<float>({1}, {0}), x};
  const Tensor y = compile(nn::function_of(net, x.type()))(inputs)[0];
  EXPECT_TRUE(y.same_bits(mapped(x, std::fabs)));
}

// ---- the page

std::string page() {
  std::string text =
      "# Experiments\n\n"
      "Small experiments, the same to the last bit wherever they run. This page is what "
      "`LIMPID_REWRITE=1 experiments_test`\nwrites; the test fails where a figure changes "
      "(tests/experiments).\n\n"
      "## The spread of values through fifty layers\n\n"
      "64 standard normal rows go through 50 layers of 256 units without biases. Standard "
      "deviation "
      "of all values behind\nlayer 1, 2, 5, ..., by the way in which weights are first drawn "
      "(`limpid/nn/init.h`); \"over\" is beyond f32.\n\n";
  text += spread_table();
  text +=
      "\nWeights that are too small let the signal die out, too large ones let it explode; He's "
      "scheme, made for ReLU, keeps it.\nFor GELU no gain does: it bends most near 0, so that a "
      "spread "
      "above 1 grows and one below shrinks.\nA residual stream grows with every branch added to "
      "it, "
      "unless the branches are scaled by the depth, as GPT-2's are.\n\n"
      "## The perceptron\n\n"
      "Rosenblatt's rule from zero weights, rate 1, the four corners of the square in order "
      "(`limpid/nn/perceptron.h`): mistakes\nby epoch.\n\n"
      "| target | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | |\n|---|---|---|---|---|---|---|---|---|---|\n";
  text += mistakes_row("AND", learns_and());
  text += mistakes_row("OR", learns_or());
  text += mistakes_row("XOR", never_learns_xor());
  text +=
      "\nNo line parts XOR's corners. The weights of an epoch come back in a later one, so that it "
      "goes on like this for ever.\n\n"
      "## What one hidden layer can do\n\n"
      "Adam, all points in every step: the 4 corners with binary cross-entropy (rate 0.05), 101 "
      "points of each function with\nsquared error (rate 0.02, falling along a cosine). The error "
      "is the largest over the points, of probabilities for XOR.\n\n"
      "| task | hidden units | steps | loss | largest error |\n|---|---|---|---|---|\n";
  for (const Row& r : fits())
    text += fmt::format("| {} | {} {} | {} | {:.2g} | {:.2g} |\n", r.task, r.units, r.activation,
                        r.steps, r.loss, r.error);
  return text;
}

TEST(Page, IsWhatIsWritten) {
  const std::string expected = page();
  if (std::getenv("LIMPID_REWRITE")) std::ofstream(LIMPID_EXPERIMENTS) << expected;
  std::ifstream file(LIMPID_EXPERIMENTS);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), expected);
}

}  // namespace
}  // namespace limpid::experiments
