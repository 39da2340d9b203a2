#include "limpid/inspect/maps.h"

#include <gtest/gtest.h>

#include <cmath>

#include "limpid/formats/png_writer.h"
#include "limpid/nn/cnn.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

Model small_cnn(std::int64_t channels = 1) {
  const nn::Cnn net{.picture = {channels, 8, 12},
                    .outputs = 3,
                    .preset = nn::CnnPreset::kSmall,
                    .filters = 2,
                    .norm = nn::CnnNorm::kNone};
  return {net.function(), net.init(Key(2)), net.config()};
}

Tensor picture_of(std::int64_t channels) {
  return Tensor::generate<float>({channels, 8, 12}, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = 0.5F + 0.5F * std::sin(static_cast<float>(i));
  });
}

// One output, the sum of weight * picture.
Model weighted(const Tensor& weight) {
  const Function f = trace(
      "weighted", {{"w", weight.type()}, {"x", weight.type()}}, [](std::span<const Value> in) {
        const Value all = in[0] * in[1];
        return std::vector<Value>{reshape(sum(reshape(all, {all.shape().elements()})), {1})};
      });
  return {f, {{"w", weight}}, ""};
}

TEST(FeatureMaps, AreTheLastPictureOfEachLayer) {
  const Model model = small_cnn();
  Params inputs = model.params;
  inputs.set("x", picture_of(1));
  const Observation run = observe(model.function, inputs);
  const MapsSheet sheet = feature_maps(run, model.params, 2);
  ASSERT_GT(sheet.rows.size(), 3u);
  EXPECT_EQ(sheet.rows[0].value, "%x");
  EXPECT_EQ(sheet.rows[0].shape, (Shape{1, 8, 12}));
  for (std::size_t i = 1; i < sheet.rows.size(); ++i) {
    const MapsSheet::Row& row = sheet.rows[i];
    EXPECT_FALSE(row.layer.empty());
    EXPECT_EQ(row.shown, std::min<std::int64_t>(2, row.shape[0]));
    for (std::size_t k = 1; k < i; ++k) EXPECT_NE(row.layer, sheet.rows[k].layer);
    // The statistics of the trace.
    bool found = false;
    for (const TraceRow& traced : trace_rows(run, model.params))
      if (traced.value == row.value) {
        found = true;
        EXPECT_EQ(traced.layer, row.layer);
        EXPECT_EQ(traced.statistics.min, row.low);
        EXPECT_EQ(traced.statistics.max, row.high);
      }
    EXPECT_TRUE(found) << row.value;
  }
  const Model mlp{nn::Mlp{{2, 3}}.function(), nn::Mlp{{2, 3}}.init(Key(1)), ""};
  Params numbers = mlp.params;
  numbers.set("x", Tensor::from<float>({2}, {1, 2}));
  const Observation flat = observe(mlp.function, numbers);
  expect_refused(ErrorCode::kInvalidArgument, [&] { feature_maps(flat, mlp.params); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { feature_maps(run, model.params, 0); });
}

// The sheet of a weight of two outputs: the second one is the mean of its inputs.
TEST(KernelMaps, AreTheMeanOverTheInputs) {
  const Tensor weight = Tensor::from<float>({2, 2, 1, 2}, {0, 1, 0, 1, 4, 0, 0, 2});
  const MapsSheet sheet = kernel_maps(
      {{"conv.weight", weight}, {"point.weight", Tensor::from<float>({1, 1, 1, 1}, {1})}});
  ASSERT_EQ(sheet.rows.size(), 1u);
  EXPECT_EQ(sheet.rows[0].value, "conv.weight");
  EXPECT_EQ(sheet.rows[0].shape, (Shape{2, 1, 2}));
  EXPECT_EQ(sheet.rows[0].high, 2);  // of 0 1 and 2 1
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(72 * 140 * 3), 96);
  const auto tile = [&](std::int64_t left, std::uint8_t first, std::uint8_t second) {
    for (std::int64_t y = 4; y < 68; ++y)
      for (std::int64_t x = 0; x < 64; ++x)
        for (std::int64_t c = 0; c < 3; ++c)
          pixels[static_cast<std::size_t>((y * 140 + left + x) * 3 + c)] = x < 32 ? first : second;
  };
  tile(4, 0, 128);
  tile(72, 255, 128);
  EXPECT_EQ(sheet.png, png_bytes(72, 140, 3, pixels));
  // Three inputs are colours.
  const MapsSheet coloured =
      kernel_maps({{"w", Tensor::from<float>({1, 3, 1, 2}, {-1, 1, -1, 0, 1, 1})}});
  EXPECT_EQ(coloured.rows[0].shown, 1);
  expect_refused(ErrorCode::kInvalidArgument, [] { kernel_maps({}); });
}

TEST(Attribution, OfALinearModelIsItsWeights) {
  const Tensor weight = Tensor::generate<float>({2, 8, 12}, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::cos(static_cast<float>(7 * i));
  });
  const Tensor picture = picture_of(2);
  const Attribution found = attribute(weighted(weight), picture);
  EXPECT_EQ(found.output, 0);
  for (std::size_t i = 0; i < 96; ++i)
    EXPECT_EQ(
        found.saliency.values<float>()[i],
        std::max(std::abs(weight.values<float>()[i]), std::abs(weight.values<float>()[96 + i])));
}

// Only what a square covers changes: the fall at a pixel that the model reads alone.
TEST(Attribution, OcclusionIsTheFallUnderASquare) {
  std::vector<float> weight(96, 0.0F), pixels(96, 0.25F);
  weight[5 * 12 + 7] = 2;
  pixels[5 * 12 + 7] = 0.75F;
  const Tensor picture = Tensor::from<float>({1, 8, 12}, pixels);
  const Attribution found = attribute(weighted(Tensor::from<float>({1, 8, 12}, weight)), picture);
  EXPECT_EQ(found.value, 1.5);
  const double mean = (95 * 0.25 + 0.75) / 96;
  // Squares of 2 pixels in steps of 1.
  for (std::int64_t y = 0; y < 8; ++y)
    for (std::int64_t x = 0; x < 12; ++x) {
      int all = 0, seen = 0;
      for (std::int64_t top = y - 1; top <= y; ++top)
        for (std::int64_t left = x - 1; left <= x; ++left) {
          if (top < 0 || left < 0 || top > 6 || left > 10) continue;
          ++all;
          if (top <= 5 && top + 1 >= 5 && left <= 7 && left + 1 >= 7) ++seen;
        }
      EXPECT_NEAR(found.occlusion.values<float>()[static_cast<std::size_t>(y * 12 + x)],
                  2 * (0.75 - mean) * seen / all, 1e-6);
    }
}

TEST(Attribution, IsOfTheOutputThatIsAsked) {
  const Model model = small_cnn(3);
  const Tensor picture = picture_of(3);
  const Tensor logits = predict(model, picture.reshape({1, 3, 8, 12}));
  const auto values = logits.values<float>();
  const auto largest = std::max_element(values.begin(), values.end()) - values.begin();
  EXPECT_EQ(attribute(model, picture).output, largest);
  for (std::int64_t k = 0; k < 3; ++k) {
    const Attribution found = attribute(model, picture, k);
    EXPECT_EQ(found.value, double{values[static_cast<std::size_t>(k)]});
    EXPECT_EQ(found.saliency.shape(), (Shape{8, 12}));
    EXPECT_FALSE(attribution_sheet(found, picture).empty());
  }
  expect_refused(ErrorCode::kInvalidArgument, [&] { attribute(model, picture, 3); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { attribute(model, picture, -1); });
  expect_refused(ErrorCode::kShape, [&] { attribute(model, picture_of(1)); });
}

}  // namespace
}  // namespace limpid
