#include "limpid/data/split.h"

#include <algorithm>
#include <numeric>

#include "limpid/compile/thread_pool.h"
#include "limpid/data/batches.h"
#include "limpid/data/digits.h"
#include "limpid/data/text/text_windows.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

// N rows whose only feature is their number, of a regression on its half and its double.
Dataset numbered(std::int32_t n) {
  Dataset data;
  data.inputs = Tensor::generate<float>(
      Shape{n, 1}, [](std::span<float> out) { std::iota(out.begin(), out.end(), 0.0f); });
  data.targets = Tensor::generate<float>(Shape{n, 2}, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(i / 2) * (i % 2 == 0 ? 0.5f : 2.0f);
  });
  data.name = "numbers";
  data.task = Task::kRegression;
  data.feature_names = {"number"};
  data.target_names = {"half", "double"};
  return data;
}

std::vector<std::int32_t> rows_of(const Dataset& part) {
  const auto values = part.inputs.values<float>();
  return {values.begin(), values.end()};
}

std::vector<std::int32_t> in_order(std::vector<std::int32_t> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(Task, HasANameEach) {
  for (const Task task : {Task::kClassification, Task::kMultiLabel, Task::kRegression})
    EXPECT_EQ(find_name<Task>(name(task)), task);
  EXPECT_EQ(name(Task::kMultiLabel), "multilabel");
  EXPECT_EQ(find_name<Task>("ranking"), std::nullopt);
}

TEST(Dataset, SaysHowManyOutputsANetworkNeeds) {
  EXPECT_EQ(numbered(3).outputs(), 2);
  EXPECT_EQ(digits(Key(0), 2).outputs(), 10);
}

TEST(SplitRows, FollowsTheStatedRule) {
  const Split split = split_rows(numbered(10), {60, 20, 20}, Key(4));
  const std::vector<std::int32_t> order = permutation(Key(4), 10);
  EXPECT_EQ(rows_of(split.train), in_order({order.begin(), order.begin() + 6}));
  EXPECT_EQ(rows_of(split.validation), in_order({order.begin() + 6, order.begin() + 8}));
  EXPECT_EQ(rows_of(split.test), in_order({order.begin() + 8, order.end()}));
  EXPECT_NE(rows_of(split_rows(numbered(10), {60, 20, 20}, Key(5)).train), rows_of(split.train));
}

TEST(SplitRows, GivesTheSameOnEveryMachine) {
  const Split split = split_rows(numbered(10), {60, 20, 20}, Key(0));
  EXPECT_EQ(rows_of(split.train), (std::vector<std::int32_t>{0, 1, 2, 6, 8, 9}));
  EXPECT_EQ(rows_of(split.validation), (std::vector<std::int32_t>{4, 5}));
  EXPECT_EQ(rows_of(split.test), (std::vector<std::int32_t>{3, 7}));
}

TEST(SplitRows, KeepsTargetsWithTheirInputsAndWhatTheyAreCalled) {
  const Split split = split_rows(numbered(50), {}, Key(1));
  for (const Dataset* part : {&split.train, &split.validation, &split.test}) {
    EXPECT_EQ(part->name, "numbers");
    EXPECT_EQ(part->task, Task::kRegression);
    EXPECT_EQ(part->feature_names, (std::vector<std::string>{"number"}));
    EXPECT_EQ(part->target_names, (std::vector<std::string>{"half", "double"}));
    ASSERT_EQ(part->targets.shape(), (Shape{part->size(), 2}));
    const std::vector<std::int32_t> rows = rows_of(*part);
    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(part->targets.values<float>()[2 * i + 1], static_cast<float>(2 * rows[i]));
  }
}

TEST(SplitRows, CountsAreExact) {
  struct Case {
    std::int32_t rows;
    SplitRatio shares;
    std::int64_t train, validation, test;
  };
  const Case cases[] = {
      {150, {80, 10, 10}, 120, 15, 15}, {159, {80, 10, 10}, 129, 15, 15},
      {150, {8, 1, 1}, 120, 15, 15},    {3, {80, 10, 10}, 1, 1, 1},
      {4, {1, 0, 0}, 4, 0, 0},          {5, {90, 0, 10}, 4, 0, 1},
      {1, {7, 0, 0}, 1, 0, 0},          {7, {1'000'000, 1'000'000, 1'000'000}, 3, 2, 2},
  };
  for (const Case& c : cases) {
    const Split split = split_rows(numbered(c.rows), c.shares, Key(2));
    EXPECT_EQ(split.train.size(), c.train) << c.rows;
    EXPECT_EQ(split.validation.size(), c.validation) << c.rows;
    EXPECT_EQ(split.test.size(), c.test) << c.rows;
    std::vector<std::int32_t> all = rows_of(split.train);
    for (const Dataset* part : {&split.validation, &split.test})
      for (const std::int32_t row : rows_of(*part)) all.push_back(row);
    EXPECT_EQ(in_order(all), rows_of(numbered(c.rows)));
  }
}

TEST(SplitRows, RefusesWhatLeavesNothingToTrainOn) {
  const auto splitting = [](std::int32_t n, SplitRatio shares) {
    return [=] { split_rows(numbered(n), shares, Key(0)); };
  };
  expect_refused(ErrorCode::kInvalidArgument, splitting(2, {}));
  expect_refused(ErrorCode::kInvalidArgument, splitting(0, {1, 0, 0}));
  expect_refused(ErrorCode::kInvalidArgument, splitting(9, {0, 50, 50}));
  expect_refused(ErrorCode::kInvalidArgument, splitting(9, {1, -1, 0}));
  expect_refused(ErrorCode::kInvalidArgument, splitting(9, {1'000'001, 0, 0}));
}

// Every row is in the test set of one fold, and in no other set of it.
TEST(SplitRows, FoldsDivideTheRows) {
  const std::vector<std::int32_t> order = permutation(Key(4), 23);
  std::vector<std::int32_t> tested;
  for (std::int64_t fold = 1; fold <= 5; ++fold) {
    const SplitRatio shares = parse_split_ratio("fold:" + std::to_string(fold) + "/5");
    const Split split = split_rows(numbered(23), shares, Key(4));
    const std::vector<std::int32_t> test = rows_of(split.test);
    EXPECT_EQ(test, in_order({order.begin() + (fold - 1) * 23 / 5, order.begin() + fold * 23 / 5}));
    std::vector<std::int32_t> all = test;
    for (const Dataset* part : {&split.train, &split.validation})
      for (const std::int32_t row : rows_of(*part)) all.push_back(row);
    EXPECT_EQ(in_order(all), in_order(order));
    EXPECT_EQ(split.validation.size(), 1);
    tested.insert(tested.end(), test.begin(), test.end());
  }
  EXPECT_EQ(in_order(tested), in_order(order));
  expect_refused(ErrorCode::kInvalidArgument,
                 [] { split_rows(numbered(4), parse_split_ratio("fold:1/5"), Key(4)); });
  for (const char* none : {"fold:0/5", "fold:6/5", "fold:1/1", "fold:1/0", "fold:1/1001"})
    expect_refused(ErrorCode::kInvalidArgument, [&] { parse_split_ratio(none); });
  for (const char* none : {"fold:", "fold:1", "fold:1/2/3", "fold:a/2", "fold 1/2"})
    expect_refused(ErrorCode::kParse, [&] { parse_split_ratio(none); });
}

TEST(WithValidation, TakesItFromTheTrainingPartAlone) {
  const Split data{.train = numbered(20), .validation = numbered(0), .test = numbered(7)};
  const Split split = with_validation(data, {90, 10, 0}, Key(3));
  EXPECT_EQ(split.train.size(), 18);
  EXPECT_EQ(split.validation.size(), 2);
  EXPECT_TRUE(split.test.inputs.same_bits(data.test.inputs));
  EXPECT_EQ(rows_of(split.train), rows_of(split_rows(data.train, {90, 10, 0}, Key(3)).train));
}

TEST(WithValidation, ChangesNothingWithoutAShare) {
  const Split data = digits_split(0, 5, 3);
  EXPECT_EQ(data.validation.size(), 0);
  const Split split = with_validation(data, {100, 0, 0}, Key(3));
  EXPECT_TRUE(split.train.inputs.same_bits(data.train.inputs));
  EXPECT_EQ(split.validation.size(), 0);
  EXPECT_TRUE(split.test.inputs.same_bits(data.test.inputs));
}

TEST(WithValidation, RefusesToTakeWhatIsThere) {
  const Split data{.train = numbered(20), .validation = numbered(2), .test = numbered(7)};
  expect_refused(ErrorCode::kInvalidArgument, [&] { with_validation(data, {90, 10, 0}, Key(3)); });
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { with_validation(digits_split(0, 9, 1), {}, Key(3)); });
}

TEST(SplitRatio, AreReadFromText) {
  EXPECT_EQ(parse_split_ratio("80/10/10"), (SplitRatio{80, 10, 10}));
  EXPECT_EQ(parse_split_ratio("9/1"), (SplitRatio{9, 1, 0}));
  EXPECT_EQ(parse_split_ratio("1/0/0"), (SplitRatio{1, 0, 0}));
  for (const char* text : {"", "80", "80/", "80/10/", "80/10/10/", "1/1/1/1", "/10", "80/ten",
                           "0.8/0.2", " 80/20", "80/20 ", "99999999999999999999/1"})
    expect_refused(ErrorCode::kParse, [&] { parse_split_ratio(text); });
  expect_refused(ErrorCode::kInvalidArgument, [] { parse_split_ratio("0/1"); });
  expect_refused(ErrorCode::kInvalidArgument, [] { parse_split_ratio("5/-1"); });
}

// A resumed run must have the data that it began with, be it arrays or the tokens of a text.
TEST(HashOfParts, IsOfEveryNumber) {
  std::vector<std::int32_t> tokens(40, 1);
  const auto text = [&] {
    return windows_of(Tensor::from(Shape{40}, tokens), 4, TokenWindows::Kind::kShifted);
  };
  const Split split{.train = text(), .validation = {}, .test = text()};
  const std::uint64_t whole = hash_of_parts(split);
  EXPECT_EQ(hash_of_parts({.train = text(), .validation = {}, .test = text()}), whole);
  ThreadPool two({.threads = 2});
  EXPECT_EQ(hash_of_parts(split, &two), whole);
  tokens[39] = 2;
  Split other = split;
  other.test = text();
  EXPECT_NE(hash_of_parts(other), whole);
  other.test = split.test;
  other.train = text();
  EXPECT_NE(hash_of_parts(other), whole);
  other = split;
  other.validation = text();
  EXPECT_NE(hash_of_parts(other), whole);
  // Another tensor of inputs, or of targets, is enough to change it.
  const Split numbers{.train = numbered(5), .validation = {}, .test = numbered(5)};
  Split relabelled = numbers;
  relabelled.test.targets = Tensor::zeros(numbers.test.targets.type());
  EXPECT_NE(hash_of_parts(relabelled), hash_of_parts(numbers));
  Split moved = numbers;
  moved.test.inputs = Tensor::zeros(numbers.test.inputs.type());
  EXPECT_NE(hash_of_parts(moved), hash_of_parts(numbers));
}

}  // namespace
}  // namespace limpid
