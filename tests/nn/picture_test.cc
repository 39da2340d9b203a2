// Layers on pictures: their shapes, and what they refuse. PyTorch's numbers are compared with in
// tests/golden.
#include "limpid/nn/picture.h"

#include <gtest/gtest.h>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/nn/dropout.h"
#include "limpid/nn/norm.h"
#include "limpid/nn/pool.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

template <class L>
Shape shape_after(const L& layer, const Shape& x) {
  const Function f = function_of(layer, {Dtype::kF32, x});
  return f.type(f.outputs()[0].value).shape;
}

TEST(PictureLayers, GiveTheShapesOfPyTorch) {
  const Shape x{2, 4, 9, 7};
  EXPECT_EQ(shape_after(MaxPool2d{.kernel_size = {3}}, x), (Shape{2, 4, 3, 2}));
  EXPECT_EQ(shape_after(MaxPool2d{.kernel_size = {3}, .stride = {2}, .padding = {1}}, x),
            (Shape{2, 4, 5, 4}));
  EXPECT_EQ(shape_after(MaxPool2d{.kernel_size = {2, 3}, .dilation = {3}, .ceil_mode = true}, x),
            (Shape{2, 4, 4, 1}));
  EXPECT_EQ(shape_after(AvgPool2d{.kernel_size = {2}, .stride = {1, 2}}, x), (Shape{2, 4, 8, 3}));
  EXPECT_EQ(shape_after(LPPool2d{.kernel_size = {2}}, x), (Shape{2, 4, 4, 3}));
  EXPECT_EQ(shape_after(AdaptiveAvgPool2d{{1}}, x), (Shape{2, 4, 1, 1}));
  EXPECT_EQ(shape_after(AdaptiveMaxPool2d{{5, 3}}, x), (Shape{2, 4, 5, 3}));
  EXPECT_EQ(shape_after(MaxPool1d{.kernel_size = {2}}, {2, 4, 9}), (Shape{2, 4, 4}));
  EXPECT_EQ(shape_after(AvgPool3d{.kernel_size = {2}}, {1, 2, 4, 4, 5}), (Shape{1, 2, 2, 2, 2}));
  EXPECT_EQ(shape_after(Flatten{}, x), (Shape{2, 252}));
  EXPECT_EQ(shape_after(Flatten{.start_dim = -3, .end_dim = 2}, x), (Shape{2, 36, 7}));
  EXPECT_EQ(shape_after(Upsample{.scale_factor = 1.5}, x), (Shape{2, 4, 13, 10}));
  EXPECT_EQ(shape_after(Upsample{.size = {5}, .mode = "bilinear"}, x), (Shape{2, 4, 5, 5}));
  EXPECT_EQ(shape_after(PixelShuffle{2}, x), (Shape{2, 1, 18, 14}));
  EXPECT_EQ(shape_after(PixelUnshuffle{3}, {2, 4, 9, 6}), (Shape{2, 36, 3, 2}));
  EXPECT_EQ(shape_after(LocalResponseNorm{}, x), x);
  EXPECT_EQ(shape_after(InstanceNorm{.features = 4, .affine = true}, x), x);
}

TEST(PictureLayers, DropoutDropsWholeChannels) {
  const Shape shape{3, 50, 2, 2};
  const Function f = trace("dropped", {{"key", {Dtype::kI64, {}}}}, [&](std::span<const Value> in) {
    const Value x = broadcast(constant(in[0].builder(), 1, Dtype::kF32), shape);
    return std::vector<Value>{Dropout2d{0.25}({}, x, in[0]), Dropout2d{}({}, x)};
  });
  const std::vector<Tensor> y = interpret(f, std::vector<Tensor>{Tensor::scalar(std::int64_t{5})});
  const auto out = y[0].values<float>();
  int dropped = 0;
  for (std::size_t c = 0; c < 150; ++c) {
    for (std::size_t i = 1; i < 4; ++i) ASSERT_EQ(out[4 * c + i], out[4 * c]);
    if (out[4 * c] == 0)
      ++dropped;
    else
      ASSERT_EQ(out[4 * c], 1 / 0.75f);
  }
  EXPECT_GT(dropped, 20);
  EXPECT_LT(dropped, 55);
  for (const float v : y[1].values<float>()) ASSERT_EQ(v, 1);
}

TEST(PictureLayers, InstanceNormHasParametersIfItIsAffine) {
  EXPECT_EQ(InstanceNorm{.features = 4}.init(Key(0)).size(), 0u);
  EXPECT_EQ((InstanceNorm{.features = 4, .affine = true}.init(Key(0)).size()), 2u);
}

TEST(PictureLayers, Refusals) {
  constexpr ErrorCode kShape = ErrorCode::kShape, kNumber = ErrorCode::kInvalidArgument;
  const auto refused = [](ErrorCode code, const auto& layer, const Shape& x = {2, 4, 9, 7}) {
    expect_refused(code, [&] { function_of(layer, {Dtype::kF32, x}); });
  };
  refused(kShape, MaxPool2d{.kernel_size = {2}}, {4, 9, 7});
  refused(kShape, AvgPool2d{.kernel_size = {2, 2, 2}});
  refused(kShape, AdaptiveAvgPool2d{{}});
  refused(kShape, Flatten{.start_dim = 2, .end_dim = 1});
  refused(kShape, Flatten{.end_dim = 4});
  refused(kNumber, Upsample{});
  refused(kNumber, Upsample{.size = {3}, .scale_factor = 2});
  refused(kNumber, Upsample{.size = {3}, .mode = "linear"});
  refused(kNumber, Upsample{.size = {3}, .align_corners = true});
  refused(kShape, Upsample{.size = {3, 3, 3}});
  refused(kShape, Upsample{.scale_factor = -1});
  refused(kShape, Upsample{.scale_factor = 0.01});
  refused(kShape, PixelShuffle{3});
  refused(kShape, PixelShuffle{0});
  refused(kShape, PixelUnshuffle{2});
  refused(kShape, LocalResponseNorm{.size = 0});
  refused(kShape, InstanceNorm{.features = 3});
  refused(kShape, PixelShuffle{1}, {4, 4});
}

}  // namespace
}  // namespace limpid::nn
