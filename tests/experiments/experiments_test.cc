// Experiments with small networks, all of them deterministic by key. What they give stands in
// docs/experiments.md, whose tables are compared with those printed here, and written by
//
//   LIMPID_REWRITE=1 experiments_test
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "apps/limpid/lab/approximation.h"
#include "apps/limpid/lab/init.h"
#include "apps/limpid/lab/perceptron.h"
#include "limpid/compile/executable.h"
#include "limpid/nn/linear.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/activation.h"
#include "tests/source_folder.h"

namespace limpid::lab {
namespace {

// ---- spread through fifty layers

const std::vector<Spread>& all_spreads() {
  static const std::vector<Spread> all = spreads();
  return all;
}

const std::vector<double>& spreads_of(const std::string& layer, const std::string& scheme) {
  for (const Spread& s : all_spreads())
    if (s.layer == layer && s.scheme == scheme) return s.stds;
  throw std::out_of_range(layer + ", " + scheme);
}

TEST(Spread, SmallWeightsDieOutLargeOnesExplodeHesStay) {
  EXPECT_LT(spreads_of("ReLU", "normal, std 0.01").back(), 1e-15);
  EXPECT_LT(spreads_of("ReLU", "LeCun normal").back(), 1e-4);
  EXPECT_FALSE(spreads_of("ReLU", "normal, std 1").back() < 1e20);
  for (const char* kept : {"He normal", "He uniform", "orthogonal, gain sqrt 2"})
    for (double std : spreads_of("ReLU", kept)) {
      EXPECT_GT(std, 0.2) << kept;
      EXPECT_LT(std, 5) << kept;
    }
}

TEST(Spread, ABranchScaledByDepthKeepsTheResidualStream) {
  EXPECT_GT(spreads_of("x + W relu(x)", "He normal").back(), 1e5);
  EXPECT_LT(spreads_of("x + W relu(x)", "He's std / sqrt(2 layers)").back(), 3);
}

// ---- the perceptron

const std::vector<Lesson>& lessons() {
  static const std::vector<Lesson> all = [] {
    std::vector<Lesson> lessons;
    for (const char* target : {"AND", "OR", "XOR"})
      lessons.push_back(learn(truth_table_from_name(target), 100));
    return lessons;
  }();
  return all;
}
const nn::PerceptronRun& learns_and() { return lessons()[0].run; }
const nn::PerceptronRun& learns_or() { return lessons()[1].run; }
const nn::PerceptronRun& never_learns_xor() { return lessons()[2].run; }

TEST(Perceptron, LearnsAndAndOr) {
  EXPECT_EQ(learns_and().mistakes.back(), 0);
  EXPECT_EQ(learns_or().mistakes.back(), 0);
  EXPECT_LE(learns_and().mistakes.size(), 10u);
  EXPECT_LE(learns_or().mistakes.size(), 10u);
}

// The weights after one epoch recur after a later one, so the epochs in between repeat for ever,
// and each of them has mistakes.
TEST(Perceptron, NeverLearnsXor) {
  const nn::PerceptronRun& run = never_learns_xor();
  ASSERT_EQ(run.mistakes.size(), 100u);
  for (std::int64_t mistakes : run.mistakes) EXPECT_GT(mistakes, 0);
  const std::optional<nn::Return> back = nn::first_return(run);
  ASSERT_TRUE(back);
  EXPECT_LT(back->epoch, 10u);
  EXPECT_LT(back->earlier, back->epoch);
  EXPECT_FALSE(nn::first_return(learns_or()));
}

TEST(Perceptron, FollowsRosenblattsRule) {
  // With zero weights the answer to (1, 1) is 0, since 0 is not positive; the target 1 adds x and
  // 1.
  const nn::PerceptronRun run = nn::train_perceptron(
      nn::Perceptron{2}, Tensor::from<float>({1, 2}, {1, 0.5f}), Tensor::from<float>({1}, {1}), 1);
  EXPECT_EQ(run.params[0].at("weight").values<float>()[0], 1);
  EXPECT_EQ(run.params[0].at("weight").values<float>()[1], 0.5f);
  EXPECT_EQ(run.params[0].at("bias").item<float>(), 1);
  EXPECT_EQ(run.mistakes[0], 1);
}

// ---- what one hidden layer can do

const std::vector<Approximation>& fits() {
  static const std::vector<Approximation> rows = approximations();
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

TEST(OneHiddenLayer, AnErrorThatIsNoNumberIsTheLargest) {
  EXPECT_EQ(largest_difference({1, 5, -2}, {2, 2, -2}), 3);
  EXPECT_TRUE(std::isnan(largest_difference({1, std::nan(""), 9}, {2, 2, 2})));
}

// Two ReLUs are enough, and exact: |x| = relu(x) + relu(-x).
TEST(OneHiddenLayer, IsAbsExactly) {
  const auto net = nn::sequential(nn::Linear{1, 2}, relu, nn::Linear{2, 1});
  const Tensor& x = fits()[3].x;
  const std::vector<Tensor> inputs{
      Tensor::from<float>({2, 1}, {1, -1}), Tensor::from<float>({2}, {0, 0}),
      Tensor::from<float>({1, 2}, {1, 1}), Tensor::from<float>({1}, {0}), x};
  const Tensor y = compile(nn::function_of(net, x.type()))(inputs)[0];
  EXPECT_TRUE(y.same_bits(fits()[3].y));
}

// ---- the page

std::string line_of(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += (cell.empty() ? "" : " " + cell) + " |";
  return text + "\n";
}

std::string markdown(const Table& table) {
  std::vector<std::string> titles;
  for (const Column& column : table.columns) titles.push_back(column.title);
  std::string text = line_of(titles) + "|";
  for (std::size_t i = 0; i < titles.size(); ++i) text += "---|";
  text += "\n";
  for (const auto& row : table.rows) text += line_of(row);
  return text;
}

// The page with these tables in the place of those that have their titles; all else is its own.
std::string page_with(std::string page, const std::vector<Table>& tables) {
  for (const Table& table : tables) {
    const std::string text = markdown(table);
    const std::size_t begin = page.find(text.substr(0, text.find('\n') + 1));
    if (begin == std::string::npos) throw std::out_of_range(text);
    std::size_t end = begin;
    while (page[end] == '|') end = page.find('\n', end) + 1;
    page.replace(begin, end - begin, text);
  }
  return page;
}

TEST(Page, HasTheseTables) {
  const std::filesystem::path path = testing::source_folder() / "docs/experiments.md";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string expected =
      page_with(text.str(), {to_table(all_spreads()), to_table(lessons()), to_table(fits())});
  EXPECT_EQ(text.str(), expected);
  if (std::getenv("LIMPID_REWRITE")) std::ofstream(path) << expected;
}

}  // namespace
}  // namespace limpid::lab
