#include "limpid/data/standardize.h"

#include <cmath>
#include <limits>

#include "limpid/core/key.h"
#include "limpid/data/batches.h"
#include "limpid/function/text.h"
#include "limpid/nn/mlp.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

Dataset table(const Shape& shape, std::initializer_list<float> inputs, Task task,
              std::initializer_list<float> targets) {
  Dataset data;
  data.inputs = Tensor::from<float>(shape, inputs);
  data.targets = Tensor::from<float>(Shape{shape[0], 1}, targets);
  data.task = task;
  data.name = "table";
  return data;
}

// Columns: 1 to 4; a constant that f64 sums do not reproduce; a large value.
Dataset small_table() {
  Dataset data = table({4, 3}, {1, 0.1f, -1000, 2, 0.1f, 1000, 3, 0.1f, 3000, 4, 0.1f, 1000},
                       Task::kRegression, {10, 20, 20, 30});
  data.feature_names = {"rank", "same", "large"};
  return data;
}

std::vector<float> column(const Tensor& tensor, std::size_t c) {
  std::vector<float> values;
  const auto width = static_cast<std::size_t>(tensor.shape()[1]);
  for (std::size_t i = c; i < tensor.values<float>().size(); i += width)
    values.push_back(tensor.values<float>()[i]);
  return values;
}

TEST(Scaling, HasANameEach) {
  EXPECT_EQ(name(Scaling::kNone), "none");
  EXPECT_EQ(name(Scaling::kZScore), "zscore");
  EXPECT_EQ(name(Scaling::kMinMax), "minmax");
}

TEST(Standardization, OfAZScoreIsMeanAndDeviation) {
  const Standardization fit = fit_standardization(small_table(), Scaling::kZScore);
  // Of 1, 2, 3, 4: the squares from 2.5 add up to 5.
  EXPECT_TRUE(fit.inputs->center.same_bits(Tensor::from<float>(Shape{3}, {2.5f, 0.1f, 1000})));
  EXPECT_TRUE(fit.inputs->scale.same_bits(
      Tensor::from<float>(Shape{3}, {std::sqrt(1.25f), 1, static_cast<float>(std::sqrt(2e6))})));
  EXPECT_TRUE(fit.targets->center.same_bits(Tensor::from<float>(Shape{1}, {20})));
  EXPECT_TRUE(fit.targets->scale.same_bits(
      Tensor::from<float>(Shape{1}, {static_cast<float>(std::sqrt(50.0))})));
}

// Two channels of 1 x 2 pixels: all numbers of a channel have one mean and one deviation.
TEST(Standardization, OfPicturesIsByChannel) {
  Dataset data = table({2, 4}, {1, 2, 0, 0, 3, 4, 0, 0}, Task::kRegression, {10, 30});
  expect_refused(ErrorCode::kInvalidArgument, [&] { fit_channels(data); });
  data.picture = PictureShape{2, 1, 2};
  const Standardization fit = fit_channels(data);
  EXPECT_TRUE(fit.inputs->center.same_bits(Tensor::from<float>(Shape{4}, {2.5f, 2.5f, 0, 0})));
  const float deviation = std::sqrt(1.25f);
  EXPECT_TRUE(
      fit.inputs->scale.same_bits(Tensor::from<float>(Shape{4}, {deviation, deviation, 1, 1})));
  EXPECT_TRUE(fit.targets->center.same_bits(Tensor::from<float>(Shape{1}, {20})));
  expect_refused(ErrorCode::kInvalidArgument, [&] { fit_channels(data.rows(0, 0)); });
}

// Two steps of two features: all numbers of a feature have one mean and one deviation.
TEST(Standardization, OfSequencesIsByFeature) {
  Dataset data = table({2, 4}, {1, 0, 2, 0, 3, 0, 4, 0}, Task::kRegression, {10, 30});
  expect_refused(ErrorCode::kInvalidArgument, [&] { fit_features(data, Scaling::kZScore); });
  data.sequence = SequenceShape{2, 2};
  const Standardization fit = fit_features(data, Scaling::kZScore);
  EXPECT_TRUE(fit.inputs->center.same_bits(Tensor::from<float>(Shape{4}, {2.5f, 0, 2.5f, 0})));
  const float deviation = std::sqrt(1.25f);
  EXPECT_TRUE(
      fit.inputs->scale.same_bits(Tensor::from<float>(Shape{4}, {deviation, 1, deviation, 1})));
  EXPECT_TRUE(fit.targets->center.same_bits(Tensor::from<float>(Shape{1}, {20})));
  const Standardization range = fit_features(data, Scaling::kMinMax);
  EXPECT_TRUE(range.inputs->scale.same_bits(Tensor::from<float>(Shape{4}, {3, 1, 3, 1})));
  EXPECT_FALSE(fit_features(data, Scaling::kNone).inputs);
  EXPECT_FALSE(fit_features(data, Scaling::kNone).targets);
}

// Of a large set every second picture is read, here those of 0.
TEST(Standardization, OfManyPicturesIsOfSomeSpreadEvenly) {
  constexpr std::int64_t kRows = 2 * 16384;
  Dataset data;
  data.inputs = Tensor::generate<float>(Shape{kRows, 1}, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i % 2);
  });
  data.targets = Tensor::zeros({Dtype::kI32, {kRows}});
  data.classes = 2;
  data.picture = PictureShape{1, 1, 1};
  EXPECT_EQ(fit_channels(data).inputs->center.item<float>(), 0);
}

TEST(Standardization, OfMinAndMaxFillsTheUnitInterval) {
  const Split data{.train = small_table(), .validation = small_table(), .test = small_table()};
  const Standardization fit = fit_standardization(data.train, Scaling::kMinMax);
  const Tensor inputs = standardize(data, fit).test.inputs;
  EXPECT_EQ(column(inputs, 0), (std::vector<float>{0, 1.0f / 3.0f, 2.0f / 3.0f, 1}));
  EXPECT_EQ(column(inputs, 1), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(column(inputs, 2), (std::vector<float>{0, 0.5f, 1, 0.5f}));
}

TEST(Standardization, IsOfTheTrainingPartAndForAllParts) {
  const Dataset all = small_table();
  const std::int32_t first_two[] = {0, 1}, third[] = {2};
  const Split data{.train = gather_rows(all, first_two),
                   .validation = gather_rows(all, {}),
                   .test = gather_rows(all, third)};
  const Standardization fit = fit_standardization(data.train, Scaling::kZScore);
  const Split standard = standardize(data, fit);
  EXPECT_EQ(column(standard.train.inputs, 0), (std::vector<float>{-1, 1}));
  EXPECT_EQ(column(standard.test.inputs, 0), (std::vector<float>{3}));
  EXPECT_EQ(column(standard.test.inputs, 2), (std::vector<float>{3}));
  EXPECT_EQ(column(standard.test.targets, 0), (std::vector<float>{1}));
  EXPECT_EQ(standard.validation.inputs.shape(), (Shape{0, 3}));
}

TEST(Standardization, LeavesTargetsThatAreNoNumbersAlone) {
  const Dataset labels = table({2, 1}, {1, 2}, Task::kMultiLabel, {0, 1});
  const Standardization fit = fit_standardization(labels, Scaling::kZScore);
  EXPECT_TRUE(fit.inputs);
  EXPECT_FALSE(fit.targets);
  const Standardization none = fit_standardization(small_table(), Scaling::kNone);
  EXPECT_FALSE(none.inputs || none.targets);
}

TEST(Standardization, NamesTheNumberThatIsNone) {
  const float nan = std::nanf("");
  const float inf = std::numeric_limits<float>::infinity();
  Dataset data = table({2, 2}, {1, 2, 3, nan}, Task::kMultiLabel, {0, 1});
  const auto fitting = [](const Dataset& broken, Scaling scaling = Scaling::kZScore) {
    return [=] { fit_standardization(broken, scaling); };
  };
  expect_refused(ErrorCode::kInvalidArgument, fitting(data));
  data.feature_names = {"a", "b"};
  expect_refused(ErrorCode::kInvalidArgument, fitting(data));
  expect_refused(ErrorCode::kInvalidArgument,
                 fitting(table({2, 2}, {1, nan, inf, 2}, Task::kMultiLabel, {0, 1})));
  expect_refused(ErrorCode::kInvalidArgument,
                 fitting(table({3, 1}, {1, inf, nan}, Task::kMultiLabel, {0, 1, 0})));
  expect_refused(ErrorCode::kInvalidArgument,
                 fitting(table({2, 1}, {1, 2}, Task::kRegression, {inf, 1})));
  Dataset price = table({2, 1}, {1, 2}, Task::kRegression, {1, nan});
  price.feature_names = {"size"};
  price.target_names = {"price"};
  expect_refused(ErrorCode::kInvalidArgument, fitting(price));
  expect_refused(
      ErrorCode::kInvalidArgument,
      fitting(table({2, 1}, {-3e38f, 3e38f}, Task::kMultiLabel, {0, 1}), Scaling::kMinMax));
  // The range itself is a number of f32, but not the difference of some raw number and a centre.
  expect_refused(
      ErrorCode::kInvalidArgument,
      fitting(table({2, 1}, {-1.2e38f, 1.2e38f}, Task::kMultiLabel, {0, 1}), Scaling::kMinMax));
  expect_refused(ErrorCode::kInvalidArgument,
                 fitting(table({2, 1}, {0, 1e-44f}, Task::kMultiLabel, {0, 1})));
  expect_refused(ErrorCode::kInvalidArgument, fitting(gather_rows(small_table(), {})));
}

TEST(Standardization, RefusesDifferencesBeyondF32) {
  // 99 rows of -3e38 and one of 3e38: the deviation is in range, the difference from the mean not.
  Dataset data;
  data.inputs = Tensor::generate<float>(Shape{100, 1}, [](std::span<float> out) {
    std::fill(out.begin(), out.end(), -3e38F);
    out[40] = 3e38F;
  });
  data.targets = Tensor::zeros({Dtype::kF32, {100, 1}});
  expect_refused(ErrorCode::kInvalidArgument, [&] { fit_standardization(data, Scaling::kZScore); });
  Dataset text = small_table();
  text.windows =
      TokenWindows{Tensor::from<std::int32_t>({4}, {1, 2, 3, 4}), 2, TokenWindows::Kind::kTiled};
  expect_refused(ErrorCode::kInvalidArgument, [&] { fit_standardization(text, Scaling::kZScore); });
}

TEST(Standardization, RefusesOtherColumns) {
  const Standardization fit = fit_standardization(small_table(), Scaling::kZScore);
  const Split other{.train = table({1, 2}, {1, 2}, Task::kRegression, {1})};
  expect_refused(ErrorCode::kShape, [&] { standardize(other, fit); });
}

Model small_model(std::int64_t features) {
  const nn::Mlp net{{features, 5, 1}};
  return {net.function(), net.init(Key(1)), net.config()};
}

// The wrapped model's answers on the table are these, in the scale of its targets.
void expect_scaled(const Model& bare, const Standardization& fit, const Tensor& expected) {
  const Tensor raw = predict(with_standardization(bare, fit), small_table().inputs);
  for (std::size_t i = 0; i < 4; ++i) {
    const float scaled = expected.values<float>()[i] * fit.targets->scale.item<float>();
    EXPECT_EQ(raw.values<float>()[i], scaled + fit.targets->center.item<float>());
  }
}

// The wrapped model on raw numbers equals the bare one on standardised numbers, bit for bit.
TEST(WithStandardization, OnRawNumbersIsTheBareModelOnStandardisedOnes) {
  const Dataset all = small_table();
  const Standardization fit = fit_standardization(all, Scaling::kZScore);
  const Standardization of_inputs{fit.inputs, {}};
  const Model bare = small_model(3);
  const Tensor standard =
      standardize({.train = all, .validation = all, .test = all}, fit).test.inputs;
  const Tensor expected = predict(bare, standard);
  EXPECT_TRUE(predict(with_standardization(bare, of_inputs), all.inputs).same_bits(expected));
  expect_scaled(bare, fit, expected);
}

TEST(WithStandardization, OfTargetsAloneLeavesTheInputs) {
  const Dataset all = small_table();
  const Standardization fit{{}, fit_standardization(all, Scaling::kZScore).targets};
  const Split standard = standardize({.train = all, .validation = all, .test = all}, fit);
  EXPECT_TRUE(standard.train.inputs.same_bits(all.inputs));
  EXPECT_FALSE(standard.train.targets.same_bits(all.targets));
  const Model bare = small_model(3);
  expect_scaled(bare, fit, predict(bare, all.inputs));
}

TEST(WithStandardization, GivesAModelThatAFileHolds) {
  const testing::TemporaryFolder folder;
  const Standardization fit = fit_standardization(small_table(), Scaling::kMinMax);
  const Model wrapped = with_standardization(small_model(3), fit);
  EXPECT_EQ(wrapped.params.names(),
            (std::vector<std::string>{"layers.0.weight", "layers.0.bias", "layers.1.weight",
                                      "layers.1.bias", "standardize.input.center",
                                      "standardize.input.scale", "standardize.output.center",
                                      "standardize.output.scale"}));
  save_model(folder / "m", wrapped);
  const Model back = load_model(folder / "m");
  EXPECT_EQ(data_input(back).name, "x");
  EXPECT_EQ(back.function.outputs().front().name, "logits");
  EXPECT_EQ(back.config, small_model(3).config);
  EXPECT_TRUE(
      predict(back, small_table().inputs).same_bits(predict(wrapped, small_table().inputs)));
}

TEST(WithStandardization, IsNothingForNothingAndIsNotDoneTwice) {
  const Model bare = small_model(3);
  EXPECT_EQ(with_standardization(bare, {}).function, bare.function);
  const Standardization fit = fit_standardization(small_table(), Scaling::kZScore);
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { with_standardization(with_standardization(bare, fit), fit); });
  expect_refused(ErrorCode::kShape, [&] { with_standardization(small_model(4), fit); });
}

}  // namespace
}  // namespace limpid
