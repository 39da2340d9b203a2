#include "limpid/data/batches.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "limpid/data/batch_range.h"
#include "limpid/data/text/text_windows.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

std::vector<std::int32_t> sorted(std::vector<std::int32_t> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<std::int32_t> first_n(std::int32_t n) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST(Permutation, IsOne) {
  for (const std::int32_t n : {0, 1, 2, 3, 10, 1000, 60'000}) {
    const std::vector<std::int32_t> rows = permutation(Key(3), n);
    EXPECT_EQ(sorted(rows), first_n(n));
    if (n >= 10) {
      EXPECT_NE(rows, first_n(n));
    }
  }
}

TEST(Permutation, FollowsTheStatedSteps) {
  const Key key(5);
  std::vector<std::int32_t> rows = first_n(6);
  std::swap(rows[5], rows[key.below(6, 0)]);
  std::swap(rows[4], rows[key.below(5, 1)]);
  std::swap(rows[3], rows[key.below(4, 2)]);
  std::swap(rows[2], rows[key.below(3, 3)]);
  std::swap(rows[1], rows[key.below(2, 4)]);
  EXPECT_EQ(permutation(key, 6), rows);
}

TEST(Permutation, GivesTheSameOnEveryMachine) {
  EXPECT_EQ(permutation(Key(0), 8), (std::vector<std::int32_t>{0, 2, 1, 5, 7, 4, 6, 3}));
}

TEST(Permutation, GivesEveryOrderAlike) {
  std::array<int, 6> seen{};
  constexpr int kRounds = 12'000;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    const std::vector<std::int32_t> rows = permutation(Key(1).fold_in(i), 3);
    ++seen[static_cast<std::size_t>(rows[0] * 2 + (rows[1] > rows[2] ? 1 : 0))];
  }
  // 2,000 expected, with a standard deviation of 41.
  for (const int count : seen) EXPECT_NEAR(count, kRounds / 6, 200);
}

TEST(Permutation, RefusesWhatHasNoOrder) {
  expect_refused(ErrorCode::kInvalidArgument, [] { permutation(Key(0), -1); });
  expect_refused(ErrorCode::kInvalidArgument, [] { permutation(Key(0), std::int64_t{1} << 31); });
}

TEST(GatherRows, CopiesRowsOfEveryDtype) {
  const Tensor floats = Tensor::from<float>(Shape{3, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_TRUE(gather_rows(floats, std::array{2, 0, 2, 1})
                  .same_bits(Tensor::from<float>(Shape{4, 2}, {4, 5, 0, 1, 4, 5, 2, 3})));
  const Tensor labels = Tensor::from<std::int32_t>(Shape{3}, {7, 8, 9});
  EXPECT_TRUE(
      gather_rows(labels, std::array{1}).same_bits(Tensor::from<std::int32_t>(Shape{1}, {8})));
  EXPECT_EQ(gather_rows(floats, {}).shape(), (Shape{0, 2}));
  EXPECT_EQ(gather_rows(Tensor::zeros({Dtype::kU8, Shape{3, 0}}), std::array{1, 1}).shape(),
            (Shape{2, 0}));
}

TEST(GatherRows, FillsMemoryOfTheCallers) {
  const Tensor source = Tensor::from<std::uint8_t>(Shape{2, 2}, {1, 2, 3, 4});
  std::array<std::byte, 4> out{};
  gather_rows(source, std::array{1, 0}, out);
  EXPECT_EQ(out, (std::array{std::byte{3}, std::byte{4}, std::byte{1}, std::byte{2}}));
  expect_refused(ErrorCode::kInvalidArgument, [&] { gather_rows(source, std::array{1}, out); });
}

TEST(GatherRows, RefusesRowsThatAreNotThere) {
  const Tensor source = Tensor::zeros({Dtype::kF32, Shape{2, 2}});
  expect_refused(ErrorCode::kInvalidArgument, [&] { gather_rows(source, std::array{0, 2}); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { gather_rows(source, std::array{-1}); });
  expect_refused(ErrorCode::kShape, [&] { gather_rows(Tensor::scalar(1.0f), std::array{0}); });
}

std::vector<std::int32_t> joined(const Batches& batches) {
  std::vector<std::int32_t> rows;
  for (std::int64_t i = 0; i < batches.size(); ++i)
    rows.insert(rows.end(), batches[i].begin(), batches[i].end());
  return rows;
}

TEST(Batches, CoverTheEpochOnce) {
  const Batches batches(10, {.size = 4}, Key(1), 0);
  EXPECT_EQ(batches.size(), 3);
  EXPECT_EQ(batches[0].size(), 4u);
  EXPECT_EQ(batches[2].size(), 2u);
  EXPECT_EQ(sorted(joined(batches)), first_n(10));
}

TEST(Batches, DropThePartialOneIfAsked) {
  const Batches batches(10, {.size = 4, .keep_partial = false}, Key(1), 0);
  EXPECT_EQ(batches.size(), 2);
  EXPECT_EQ(joined(batches).size(), 8u);
  EXPECT_EQ(Batches(8, {.size = 4, .keep_partial = false}, Key(1), 0).size(), 2);
  EXPECT_EQ(Batches(8, {.size = 4}, Key(1), 0).size(), 2);
  EXPECT_EQ(Batches(0, {.size = 4}, Key(1), 0).size(), 0);
}

TEST(Batches, OrderDependsOnKeyAndEpochAlone) {
  const Key key(9);
  EXPECT_EQ(joined(Batches(100, {}, key, 3)), permutation(key.fold_in(3), 100));
  EXPECT_NE(joined(Batches(100, {}, key, 3)), joined(Batches(100, {}, key, 4)));
  EXPECT_NE(joined(Batches(100, {}, key, 3)), joined(Batches(100, {}, Key(8), 3)));
  EXPECT_EQ(joined(Batches(100, {.shuffle = false}, key, 3)), first_n(100));
}

TEST(Batches, RefuseWhatMakesNoSense) {
  const auto making = [](std::int64_t examples, std::int64_t size, std::int64_t epoch) {
    return [=] { Batches(examples, {.size = size}, Key(0), epoch); };
  };
  expect_refused(ErrorCode::kInvalidArgument, making(4, 0, 0));
  expect_refused(ErrorCode::kInvalidArgument, making(4, 1, -1));
  expect_refused(ErrorCode::kInvalidArgument, making(-4, 1, 0));
  const Batches batches(4, {.size = 2}, Key(0), 0);
  expect_refused(ErrorCode::kInvalidArgument, [&] { batches[2]; });
  expect_refused(ErrorCode::kInvalidArgument, [&] { batches[-1]; });
}

TEST(BatchRange, HasTheRowsOfTheBatches) {
  Dataset data;
  data.inputs = Tensor::generate<float>(
      Shape{10, 1}, [](std::span<float> out) { std::iota(out.begin(), out.end(), 0.0f); });
  data.targets = Tensor::from(Shape{10}, first_n(10));
  const Batches rows(10, {.size = 4}, Key(2), 5);
  const BatchRange range = batches(data, {.size = 4}, Key(2), 5);
  ASSERT_EQ(range.size(), 3);
  std::int64_t i = 0;
  for (const auto& [x, y] : range) {
    EXPECT_TRUE(x.same_bits(gather_rows(data.inputs, rows[i])));
    EXPECT_TRUE(y.same_bits(gather_rows(data.targets, rows[i])));
    EXPECT_TRUE(range[i].inputs.same_bits(x) && range[i].targets.same_bits(y));
    ++i;
  }
  EXPECT_EQ(i, 3);
  expect_refused(ErrorCode::kInvalidArgument, [&] { range[3]; });
  expect_refused(ErrorCode::kInvalidArgument, [&] { range[-1]; });
}

TEST(BatchRange, IsNotOfTheWindowsOfAText) {
  const Dataset text = windows_of(Tensor::from(Shape{10}, first_n(10)), 3);
  expect_refused(ErrorCode::kUnsupported, [&] { batches(text, {.size = 4}, Key(2), 0); });
}

}  // namespace
}  // namespace limpid
