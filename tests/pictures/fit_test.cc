// Pictures brought to a shape: against PyTorch, and by hand.
#include "limpid/data/pictures/fit_picture.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "limpid/core/params.h"
#include "limpid/formats/safetensors.h"
#include "tests/refusals.h"
#include "tests/source_folder.h"

namespace limpid {
namespace {

// A picture of these samples, row by row.
template <class T>
DecodedPicture picture_of(std::int64_t height, std::int64_t width, std::int64_t channels,
                          const std::vector<T>& samples) {
  DecodedPicture picture{.height = height,
                         .width = width,
                         .channels = channels,
                         .white = std::numeric_limits<T>::max(),
                         .samples = std::vector<std::byte>(samples.size() * sizeof(T)),
                         .down = width * channels,
                         .right = channels};
  std::memcpy(picture.samples.data(), samples.data(), picture.samples.size());
  return picture;
}

std::vector<float> fitted(const DecodedPicture& picture, const PictureShape& shape) {
  std::vector<float> out(static_cast<std::size_t>(shape.elements()));
  fit_picture(picture, shape, out);
  return out;
}

TEST(FitPicture, IsPyTorchsAntialiasedInterpolationAndTheCentre) {
  const Params cases =
      load_safetensors(testing::source_folder() / "tests/pictures/resize.safetensors").tensors;
  int count = 0;
  for (; cases.find(fmt::format("{}.x", count)); ++count) {
    const Tensor& x = cases.at(fmt::format("{}.x", count));
    const Tensor& y = cases.at(fmt::format("{}.y", count));
    const std::int64_t channels = x.shape()[0], height = x.shape()[1], width = x.shape()[2];
    std::vector<std::uint8_t> samples;  // from channel by channel to pixel by pixel
    for (std::int64_t i = 0; i < height * width; ++i)
      for (std::int64_t c = 0; c < channels; ++c)
        samples.push_back(static_cast<std::uint8_t>(
            x.values<float>()[static_cast<std::size_t>(c * height * width + i)]));
    const std::vector<float> got =
        fitted(picture_of(height, width, channels, samples),
               {.channels = channels, .height = y.shape()[1], .width = y.shape()[2], .white = 255});
    // PyTorch computes the centres of pixels, up to 50 here, and the weights in f32: a weight is
    // off by some roundings of 50, and a number by 255 times as much.
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], y.values<float>()[i], 5e-4f) << count << ", " << i;
  }
  EXPECT_EQ(count, 10);
}

TEST(FitPicture, OfTheSameSizeIsDividedByWhite) {
  const auto grey = picture_of<std::uint8_t>(2, 2, 1, {0, 51, 102, 255});
  EXPECT_EQ(fitted(grey, {1, 2, 2}), (std::vector{0.0f, 51.0f / 255.0f, 102.0f / 255.0f, 1.0f}));
  EXPECT_EQ(fitted(grey, {1, 2, 2, 255}), (std::vector{0.0f, 51.0f, 102.0f, 255.0f}));
  const auto wide = picture_of<std::uint16_t>(1, 2, 1, {1, 65535});
  EXPECT_EQ(fitted(wide, {1, 1, 2}), (std::vector{1.0f / 65535.0f, 1.0f}));
  EXPECT_EQ(fitted(wide, {1, 1, 2, 255}), (std::vector{1.0f / 257.0f, 255.0f}));
}

TEST(FitPicture, ChannelsComeOneAfterTheOther) {
  const auto colours = picture_of<std::uint8_t>(1, 2, 3, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(fitted(colours, {3, 1, 2, 255}), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  const auto grey = picture_of<std::uint8_t>(1, 2, 1, {7, 8});
  EXPECT_EQ(fitted(grey, {3, 1, 2, 255}), (std::vector<float>{7, 8, 7, 8, 7, 8}));
}

// PIL's convert("L").
TEST(FitPicture, ColoursBecomeTheirLuma) {
  const auto colours = picture_of<std::uint8_t>(
      1, 5, 3, {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255, 10, 200, 30});
  EXPECT_EQ(fitted(colours, {1, 1, 5, 255}), (std::vector<float>{76, 150, 29, 255, 124}));
  const auto wide = picture_of<std::uint16_t>(1, 1, 3, {65535, 65535, 65535});
  EXPECT_EQ(fitted(wide, {1, 1, 1}), std::vector{1.0f});
  for (int v = 0; v < 256; ++v) {
    const auto sample = static_cast<std::uint8_t>(v);
    EXPECT_EQ(fitted(picture_of<std::uint8_t>(1, 1, 3, {sample, sample, sample}), {1, 1, 1, 255}),
              std::vector{static_cast<float>(v)});
  }
}

TEST(FitPicture, TheCentreIsCutOut) {
  const auto row = picture_of<std::uint8_t>(1, 5, 1, {10, 20, 30, 40, 50});
  EXPECT_EQ(fitted(row, {1, 1, 3, 255}), (std::vector<float>{20, 30, 40}));
  EXPECT_EQ(fitted(row, {1, 1, 2, 255}), (std::vector<float>{20, 30}));
  const auto column = picture_of<std::uint8_t>(5, 1, 1, {10, 20, 30, 40, 50});
  EXPECT_EQ(fitted(column, {1, 2, 1, 255}), (std::vector<float>{20, 30}));
}

// A turned picture is that of the turned samples.
TEST(FitPicture, FollowsTheStepsOfThePicture) {
  std::vector<std::uint8_t> samples, turned(15);
  for (std::uint8_t i = 0; i < 15; ++i) samples.push_back(static_cast<std::uint8_t>(i * 13));
  for (std::size_t y = 0; y < 3; ++y)
    for (std::size_t x = 0; x < 5; ++x) turned[x * 3 + 2 - y] = samples[y * 5 + x];
  DecodedPicture picture = picture_of(3, 5, 1, samples);
  picture.height = 5;
  picture.width = 3;
  picture.first = 10;
  picture.right = -5;
  picture.down = 1;
  EXPECT_EQ(fitted(picture, {1, 2, 2}), fitted(picture_of(5, 3, 1, turned), {1, 2, 2}));
}

TEST(FitPicture, ExtremeAspects) {
  const auto line = picture_of(1, 4000, 1, std::vector<std::uint8_t>(4000, 9));
  EXPECT_EQ(fitted(line, {1, 64, 64, 255}), std::vector(64 * 64, 9.0f));
  const auto one = picture_of<std::uint8_t>(1, 1, 1, {3});
  EXPECT_EQ(fitted(one, {1, kMaxFittedSide, 1, 255}),
            std::vector(static_cast<std::size_t>(kMaxFittedSide), 3.0f));
}

TEST(FitPicture, OtherShapesAreRefused) {
  const auto one = picture_of<std::uint8_t>(1, 1, 1, {3});
  for (const PictureShape& shape :
       {PictureShape{2, 1, 1}, PictureShape{1, 0, 1}, PictureShape{1, 1, kMaxFittedSide + 1},
        PictureShape{1, 1, 1, 0}, PictureShape{1, 1, 1, -1}}) {
    EXPECT_FALSE(can_fit(shape));
    expect_refused(ErrorCode::kInvalidArgument, [&] { fitted(one, shape); });
  }
  std::vector<float> two(2);
  expect_refused(ErrorCode::kInvalidArgument, [&] { fit_picture(one, {1, 1, 1}, two); });
}

}  // namespace
}  // namespace limpid
