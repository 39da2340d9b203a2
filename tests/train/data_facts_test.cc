// What is said about data before training.
#include "limpid/train/diagnostics/data_facts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "limpid/data/digits.h"

namespace limpid::train {
namespace {

Dataset dataset(std::int64_t width, const std::vector<float>& values,
                const std::vector<std::int32_t>& labels) {
  const auto rows = static_cast<std::int64_t>(labels.size());
  Dataset data;
  data.inputs = Tensor::from<float>({rows, width}, values);
  data.targets = Tensor::from<std::int32_t>({rows}, labels);
  data.classes = 2;
  data.name = "test";
  return data;
}

TEST(DataFacts, ColumnsClassesAndScales) {
  Split data;
  data.train = dataset(3, {1, 10, 7, 2, 30, 7, 3, 50, 7, 6, 10, 7}, {0, 1, 1, 1});
  data.train.feature_names = {"a", "b", "c"};
  const DataFacts facts = data_facts(data);
  EXPECT_EQ(facts.rows, 4);
  EXPECT_EQ(facts.class_counts, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(facts.constant_features, 1);
  ASSERT_EQ(facts.features.size(), 3u);
  EXPECT_EQ(facts.features[1].name, "b");
  EXPECT_EQ(facts.features[0].mean, 3);
  EXPECT_DOUBLE_EQ(facts.features[0].std, std::sqrt(3.5));
  EXPECT_EQ(facts.features[1].max, 50);
  EXPECT_EQ(facts.features[2].std, 0);
  EXPECT_EQ(facts.min, 1);
  EXPECT_EQ(facts.max, 50);
  EXPECT_TRUE(facts.duplicates.empty());
  EXPECT_EQ(facts.non_finite, 0);
}

TEST(DataFacts, AStandardDeviationFarFromZeroIsExact) {
  Split data;
  data.train = dataset(1, {1e6f, 1e6f + 1, 1e6f + 2}, {0, 1, 0});
  EXPECT_NEAR(data_facts(data).features[0].std, std::sqrt(2.0 / 3), 1e-12);
}

TEST(DataFacts, DoublesInsideAndBetweenParts) {
  Split data;
  data.train = dataset(2, {1, 2, 3, 4, 1, 2, 5, 6}, {0, 1, 1, 0});
  data.validation = dataset(2, {7, 8, 3, 4}, {0, 0});
  data.test = dataset(2, {7, 8, 1, 2, 9, 9, 9, 9}, {0, 1, 0, 1});
  const DataFacts facts = data_facts(data);
  ASSERT_EQ(facts.duplicates.size(), 5u);
  const auto expect = [&](std::size_t i, const char* part, const char* other, std::int64_t rows,
                          std::int64_t of, std::int64_t row, std::int64_t other_row) {
    const Duplicates& d = facts.duplicates[i];
    EXPECT_EQ(d.part, part);
    EXPECT_EQ(d.other, other);
    EXPECT_EQ(d.rows, rows);
    EXPECT_EQ(d.of, of);
    EXPECT_EQ(d.row, row);
    EXPECT_EQ(d.other_row, other_row);
  };
  expect(0, "train", "train", 1, 4, 2, 0);
  expect(1, "validation", "train", 1, 2, 1, 1);
  expect(2, "test", "validation", 1, 4, 0, 0);
  expect(3, "test", "train", 1, 4, 1, 0);
  expect(4, "test", "test", 1, 4, 3, 2);
}

TEST(DataFacts, ValuesThatAreNoNumbersHaveAPlace) {
  Split data;
  data.train = dataset(2, {1, 2, 3, NAN}, {0, 1});
  data.test = dataset(2, {-INFINITY, 2}, {0});
  const DataFacts facts = data_facts(data);
  EXPECT_EQ(facts.non_finite, 2);
  ASSERT_EQ(facts.first_non_finite.size(), 2u);
  EXPECT_EQ(facts.first_non_finite[0].part, "train");
  EXPECT_EQ(facts.first_non_finite[0].row, 1);
  EXPECT_EQ(facts.first_non_finite[0].column, 1);
  EXPECT_TRUE(std::isnan(facts.first_non_finite[0].value));
  EXPECT_EQ(facts.first_non_finite[1].part, "test");
  EXPECT_EQ(facts.first_non_finite[1].value, -INFINITY);
  EXPECT_EQ(facts.features[1].mean, 2);
}

TEST(DataFacts, AColumnWithoutANumberIsConstantAndNotListed) {
  Split data;
  data.train = dataset(2, {NAN, 1, INFINITY, 2, NAN, 2}, {0, 1, 1});
  DataFacts facts = data_facts(data);
  EXPECT_EQ(facts.constant_features, 1);
  ASSERT_EQ(facts.features.size(), 1U);
  EXPECT_EQ(facts.features[0].column, 1);
  EXPECT_EQ(facts.min, 1);
  EXPECT_EQ(facts.max, 2);
  data.train = dataset(1, {NAN, NAN}, {0, 1});
  facts = data_facts(data);
  EXPECT_EQ(facts.constant_features, 1);
  EXPECT_TRUE(facts.features.empty());
  for (const double number : {facts.min, facts.max, facts.mean, facts.std}) EXPECT_EQ(number, 0);
}

TEST(DataFacts, OfManyValuesThatAreNoNumbersTheFirstAreListed) {
  Split data;
  data.train = dataset(1, std::vector<float>(10, NAN), std::vector<std::int32_t>(10));
  const DataFacts facts = data_facts(data);
  EXPECT_EQ(facts.non_finite, 10);
  ASSERT_EQ(facts.first_non_finite.size(), kListedNonFinite);
  EXPECT_EQ(facts.first_non_finite.back().row, static_cast<std::int64_t>(kListedNonFinite) - 1);
}

TEST(DataFacts, OfManyColumnsTheLargestAreListed) {
  const DataFacts facts = data_facts(digits_split(0, 200, 50));
  EXPECT_EQ(facts.features.size(), kListedFeatures);
  EXPECT_GT(facts.constant_features, 0);
  EXPECT_EQ(facts.min, 0);
  EXPECT_EQ(facts.max, 1);
  EXPECT_TRUE(facts.duplicates.empty());
}

TEST(DataFacts, TheLargestColumnsAreThoseFarFromZero) {
  constexpr std::int64_t kWidth = 70;
  std::vector<float> values;
  for (int row = 0; row < 2; ++row)
    for (std::int64_t c = 0; c < kWidth; ++c) values.push_back(static_cast<float>(c % 7));
  values[40] = values[kWidth + 40] = -100;  // a mean below all others
  values[50] = -90;                         // a deviation above all others
  values[kWidth + 50] = 90;
  Split data;
  data.train = dataset(kWidth, values, {0, 1});
  const DataFacts facts = data_facts(data);
  ASSERT_EQ(facts.features.size(), kListedFeatures);
  EXPECT_EQ(facts.features[0].column, 40);
  EXPECT_EQ(facts.features[1].column, 50);
}

TEST(DataFacts, AsManyColumnsAsAreListedKeepTheirOrder) {
  std::vector<float> values;
  for (int row = 0; row < 2; ++row)
    for (std::size_t c = 0; c < kListedFeatures; ++c)
      values.push_back(static_cast<float>(c) + static_cast<float>(row));
  Split data;
  data.train = dataset(static_cast<std::int64_t>(kListedFeatures), values, {0, 1});
  const DataFacts facts = data_facts(data);
  ASSERT_EQ(facts.features.size(), kListedFeatures);
  EXPECT_EQ(facts.features.front().column, 0);
  EXPECT_EQ(facts.features.back().column, static_cast<std::int64_t>(kListedFeatures) - 1);
}

// The columns that tell the target, which is a class or numbers.
using Row = std::function<std::vector<float>(std::int32_t)>;
std::vector<std::int64_t> telling(std::int32_t rows, const Row& features, const Row& target,
                                  std::int32_t classes = 0) {
  std::vector<float> values, targets;
  for (std::int32_t i = 0; i < rows; ++i) {
    for (const float x : features(i)) values.push_back(x);
    for (const float y : target(i)) targets.push_back(y);
  }
  Split data;
  data.train = dataset(static_cast<std::int64_t>(features(0).size()), values,
                       std::vector<std::int32_t>(static_cast<std::size_t>(rows)));
  data.train.classes = classes;
  if (classes > 0) {
    data.train.targets = Tensor::from<std::int32_t>(
        {rows}, std::vector<std::int32_t>(targets.begin(), targets.end()));
  } else {
    data.train.task = Task::kRegression;
    data.train.targets =
        Tensor::from<float>({rows, static_cast<std::int64_t>(target(0).size())}, targets);
  }
  std::vector<std::int64_t> columns;
  for (const auto& giveaway : data_facts(data).target_leakage) columns.push_back(giveaway.column);
  return columns;
}

// If it has one value for each class, or lies on a line with the numbers. If there is only one
// column, that is the task; with few rows of a class it may be chance.
TEST(DataFacts, AColumnMayTellTheTarget) {
  using Columns = std::vector<std::int64_t>;
  const Columns none, second{1};
  const auto number = [](std::int32_t i) { return static_cast<float>(i); };
  // A square, which tells nothing, and a number for each of so many classes.
  const auto beside = [&](std::int32_t classes) {
    return [=](std::int32_t i) { return std::vector{number(i * i), 5 + 2 * number(i % classes)}; };
  };
  const auto one_of = [&](std::int32_t classes) {
    return [=](std::int32_t i) { return std::vector{number(i % classes)}; };
  };
  EXPECT_EQ(telling(20, beside(2), one_of(2), 2), second);
  EXPECT_EQ(telling(30, beside(3), one_of(3), 3), second);
  EXPECT_EQ(telling(29, beside(3), one_of(3), 3), none);
  const auto falling = [&](std::int32_t i) { return std::vector{3 - 4 * number(i % 2)}; };
  EXPECT_EQ(telling(20, beside(2), falling), second);
  EXPECT_EQ(telling(18, beside(2), falling), none);
  EXPECT_EQ(telling(20, falling, falling), none);
  const auto two = [&](std::int32_t i) { return std::vector{number(i * i), number(i)}; };
  EXPECT_EQ(telling(30, two, two), none) << "each of several targets may have a column of its own";
  // A line with noise of a hundredth of its deviation is a good predictor, not the target.
  for (const float noise : {0.0f, 0.3f})
    EXPECT_EQ(telling(30, two,
                      [&](std::int32_t i) {
                        return std::vector{3 * number(i) + (i % 2 != 0 ? noise : -noise)};
                      }),
              noise == 0 ? second : none);
  // One that separates two of three classes, and one that has no number in a row.
  EXPECT_EQ(telling(
                30,
                [&](std::int32_t i) {
                  return std::vector{i % 3 == 2 ? 1.0f : 0.0f, i == 7 ? NAN : number(i % 3)};
                },
                one_of(3), 3),
            none);
  // A constant one beside one that does.
  EXPECT_EQ(telling(
                20,
                [&](std::int32_t i) {
                  return std::vector{8.0f, number(i % 2), number(i)};
                },
                one_of(2), 2),
            second);
}

// Of all numbers together, and of each target.
TEST(DataFacts, NumbersAndTargetsHaveAMeanAndADeviation) {
  Split data;
  data.train = dataset(2, {1, 10, 3, 10}, {0, 1});
  DataFacts facts = data_facts(data);
  EXPECT_EQ(facts.mean, 6);
  EXPECT_DOUBLE_EQ(facts.std, std::sqrt(16.5));
  EXPECT_TRUE(facts.targets.empty());
  data.train.task = Task::kRegression;
  data.train.targets = Tensor::from<float>({2, 2}, {-1, 4, 5, 4});
  data.train.target_names = {"price", "size"};
  facts = data_facts(data);
  ASSERT_EQ(facts.targets.size(), 2U);
  EXPECT_EQ(facts.targets[0].name, "price");
  EXPECT_EQ(facts.targets[0].min, -1);
  EXPECT_EQ(facts.targets[0].max, 5);
  EXPECT_EQ(facts.targets[0].mean, 2);
  EXPECT_EQ(facts.targets[0].std, 3);
  EXPECT_EQ(facts.targets[1].name, "size");
  EXPECT_EQ(facts.targets[1].column, 1);
  EXPECT_EQ(facts.targets[1].std, 0);
}

// One column of two that almost tells the class, by an interval or with some mistakes.
TEST(DataFacts, AColumnMayAlmostTellTheTarget) {
  const auto shares = [](int mistakes_in_100, bool both) {
    std::vector<float> values;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < 400; ++i) {
      const int label = i * 7 % 3 == 1;
      const int shown = i % 100 < mistakes_in_100 ? 1 - label : label;
      // Class 1 is an interval in the middle.
      const float told = static_cast<float>(i % 11) + (shown ? 20.0f : i % 2 ? 0.0f : 40.0f);
      values.push_back(both ? told : static_cast<float>(i * 31 % 101));
      values.push_back(told);
      labels.push_back(label);
    }
    Split data;
    data.train = dataset(2, values, labels);
    return data_facts(data).telling;
  };
  ASSERT_EQ(shares(2, false).size(), 1u);
  EXPECT_EQ(shares(2, false)[0].column.column, 1);
  EXPECT_NEAR(shares(2, false)[0].share, 0.94, 0.02);
  EXPECT_LT(shares(2, false)[0].next, 0.3);
  EXPECT_TRUE(shares(10, false).empty());
  EXPECT_TRUE(shares(2, true).empty()) << "two good measurements are none";
}

TEST(DataFacts, AColumnMayAlmostTellANumber) {
  const auto telling = [](float noise) {
    std::vector<float> values, targets;
    for (int i = 0; i < 400; ++i) {
      const float y = static_cast<float>(i * 37 % 101);
      values.push_back(static_cast<float>(i * 53 % 97));
      values.push_back(y * y + noise * static_cast<float>(i * 29 % 13 - 6));
      targets.push_back(y);
    }
    Split data;
    data.train = dataset(2, values, std::vector<std::int32_t>(400));
    data.train.classes = 0;
    data.train.task = Task::kRegression;
    data.train.targets = Tensor::from<float>({400, 1}, targets);
    return data_facts(data).telling;
  };
  ASSERT_EQ(telling(20).size(), 1u);
  EXPECT_EQ(telling(20)[0].column.column, 1);
  EXPECT_TRUE(telling(2000).empty());
}

TEST(DataFacts, AValueMayBeFarFromAllOthers) {
  const auto far = [](const std::vector<float>& column) {
    Split data;
    data.train = dataset(1, column, std::vector<std::int32_t>(column.size()));
    EXPECT_TRUE(data_facts(data).far_values.empty()) << "a pixel, perhaps";
    data.train.feature_names = {"age"};
    return data_facts(data).far_values;
  };
  const auto found = far({3, -9999, 5, 4, -9999, 6, 3});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].value, -9999);
  EXPECT_EQ(found[0].rows, 2);
  EXPECT_EQ(found[0].low, 3);
  EXPECT_EQ(found[0].high, 6);
  ASSERT_EQ(far({3, 5, 4, 6, 21}).size(), 1u);
  EXPECT_EQ(far({3, 5, 4, 6, 21})[0].value, 21);
  EXPECT_TRUE(far({3, 5, 4, 6, 20}).empty()) << "a gap of fewer than five ranges";
  EXPECT_TRUE(far({0, 1, 0, 0, 1}).empty()) << "a one-hot column";
  EXPECT_TRUE(far({0, 0, 0, 5, 6}).empty()) << "most of the rows";

  Split data;
  data.train = dataset(1, {1, 2, 3, 4}, {0, 0, 0, 0});
  data.train.classes = 0;
  data.train.task = Task::kRegression;
  data.train.targets = Tensor::from<float>({4, 1}, {1, 2, 1e7f, 3});
  const auto target = data_facts(data).far_values;
  ASSERT_EQ(target.size(), 1u);
  EXPECT_TRUE(target[0].target);
}

TEST(DataFacts, ASetMayDifferFromTheTrainingSet) {
  const auto column = [](float scale, int rows) {
    std::vector<float> values;
    for (int i = 0; i < rows; ++i) {
      values.push_back(static_cast<float>(i % 5));
      values.push_back(scale * (20 + static_cast<float>(i % 4)));
    }
    return dataset(2, values, std::vector<std::int32_t>(static_cast<std::size_t>(rows)));
  };
  Split data;
  data.train = column(1, 40);
  data.validation = column(1, 20);
  data.test = column(1.8f, 20);
  const auto shifts = data_facts(data).shifts;
  ASSERT_EQ(shifts.size(), 1u);
  EXPECT_EQ(shifts[0].part, "test");
  EXPECT_EQ(shifts[0].here.column, 1);
  EXPECT_GT(shifts[0].here.mean, shifts[0].train.mean);
  data.test = column(1.8f, 19);
  EXPECT_TRUE(data_facts(data).shifts.empty()) << "too few rows";
}

}  // namespace
}  // namespace limpid::train
