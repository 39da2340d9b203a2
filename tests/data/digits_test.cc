#include "limpid/data/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <span>
#include <vector>

#include "limpid/data/picture.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

constexpr std::size_t kPixels = 784;

std::span<const float> image(const Dataset& data, std::size_t i) {
  return data.inputs.values<float>().subspan(i * kPixels, kPixels);
}

TEST(Digits, HaveTheSameBitsOnEveryMachine) {
  // Few images reach the edge of what is drawn around a piece of the pen's way; the 201st does.
  const Dataset data = digits(Key(0), 300);
  EXPECT_EQ(hash(data.inputs), 0xd45a95e05872c9f4u);
  EXPECT_EQ(hash(data.targets), 0xcc6b3dd033c54fc9u);
}

TEST(Digits, AreADatasetLikeMnist) {
  const Dataset data = digits(Key(1), 7);
  EXPECT_EQ(data.inputs.type(), (Type{Dtype::kF32, Shape{7, 784}}));
  EXPECT_EQ(data.targets.type(), (Type{Dtype::kI32, Shape{7}}));
  EXPECT_EQ(data.classes, 10);
  EXPECT_EQ(data.size(), 7);
  EXPECT_EQ(data.name, "digits");
  EXPECT_EQ(digits(Key(1), 0).inputs.shape(), (Shape{0, 784}));
  expect_refused(ErrorCode::kInvalidArgument, [] { digits(Key(1), -1); });
}

TEST(Digits, DependOnTheKeyAndTheirNumberAlone) {
  const Dataset few = digits(Key(5), 3);
  const Dataset many = digits(Key(5), 20);
  EXPECT_TRUE(few.inputs.same_bits(many.inputs.rows(0, 3)));
  EXPECT_TRUE(few.targets.same_bits(many.targets.rows(0, 3)));
  EXPECT_FALSE(few.inputs.same_bits(digits(Key(6), 3).inputs));
}

// A signal ends it there.
TEST(Digits, CallBetweenImages) {
  int calls = 0;
  const auto third_throws = [&] {
    if (++calls == 3) throw Error(ErrorCode::kInvalidArgument, "stopped");
  };
  expect_refused(ErrorCode::kInvalidArgument, [&] { digits(Key(5), 20, third_throws); });
  EXPECT_EQ(calls, 3);
  calls = 0;
  digits_split(4, 2, 3, [&] { ++calls; });
  EXPECT_EQ(calls, 5);
}

TEST(Digits, ComeInTwoPartsThatShareNothing) {
  const Split split = digits_split(4, 30, 20);
  EXPECT_EQ(split.train.size(), 30);
  EXPECT_EQ(split.test.size(), 20);
  EXPECT_TRUE(split.train.inputs.same_bits(digits(Key(4).fold_in(0), 30).inputs));
  EXPECT_TRUE(split.test.inputs.same_bits(digits(Key(4).fold_in(1), 20).inputs));
}

TEST(Digits, AreWhiteInkInTheMiddleOfBlack) {
  const Dataset data = digits(Key(8), 500);
  double all = 0;
  double rim = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    const std::span<const float> pixels = image(data, i);
    EXPECT_GT(*std::max_element(pixels.begin(), pixels.end()), 0.6f) << "image " << i;
    double x_moment = 0;
    double y_moment = 0;
    double ink = 0;
    for (std::size_t p = 0; p < kPixels; ++p) {
      const std::size_t x = p % 28;
      const std::size_t y = p / 28;
      ink += pixels[p];
      x_moment += pixels[p] * (static_cast<double>(x) + 0.5);
      y_moment += pixels[p] * (static_cast<double>(y) + 0.5);
      if (std::min(x, y) < 2 || std::max(x, y) >= 26) rim += pixels[p];
    }
    EXPECT_NEAR(x_moment / ink, 14, 2.5) << "image " << i;
    EXPECT_NEAR(y_moment / ink, 14, 2.5) << "image " << i;
    all += ink;
  }
  EXPECT_NEAR(all / (500 * kPixels), 0.131, 0.01);  // MNIST: 0.1307
  EXPECT_LT(rim / all, 0.01);
}

TEST(HalfBlocks, ShowTwoPixelsInACharacter) {
  EXPECT_EQ(half_blocks(std::array{1.0f, 0.0f, 0.5f, 0.49f, 0.0f, 1.0f, 1.0f, 0.0f}, 4),
            "\u2580\u2584\u2588 \n");
  EXPECT_EQ(half_blocks(std::array{0.0f, 1.0f, 1.0f}, 1), "\u2584\n\u2580\n");
  // What lies behind the last row is not of the picture.
  const std::array behind{1.0f, 0.0f, 1.0f, 1.0f};
  EXPECT_EQ(half_blocks(std::span(behind).first(3), 1), "\u2580\n\u2580\n");
  EXPECT_EQ(half_blocks({}, 3), "");
  expect_refused(ErrorCode::kInvalidArgument, [] { half_blocks(std::array{0.0f, 1.0f, 1.0f}, 2); });
  expect_refused(ErrorCode::kInvalidArgument, [] { half_blocks({}, 0); });
}

}  // namespace
}  // namespace limpid
