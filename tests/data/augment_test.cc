#include "limpid/data/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <thread>
#include <vector>

#include "limpid/data/digits.h"
#include "limpid/data/picture.h"
#include "limpid/data/synthetic.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

constexpr PictureShape kDigitShape{1, 28, 28};

// Numbers in [0, 1) that differ.
std::vector<float> drawn_picture(const PictureShape& shape, std::uint64_t seed = 1) {
  std::vector<float> picture;
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    picture.push_back(Key(seed).uniform(static_cast<std::uint64_t>(i)));
  return picture;
}

std::vector<float> augmented(const std::string& steps, const PictureShape& shape,
                             std::span<const float> picture, Key key) {
  Augmenter augmenter(parse_augmentation(steps), shape);
  std::vector<float> out(picture.size(), 9.0f);
  augmenter(key, picture, out);
  return out;
}

// The mean and the deviation of numbers, and their range.
struct Spread {
  double mean = 0, deviation = 0, least = 0, most = 0;
};
Spread spread_of(const std::vector<double>& numbers) {
  Spread s;
  double squares = 0;
  for (const double v : numbers) s.mean += v / static_cast<double>(numbers.size());
  for (const double v : numbers)
    squares += (v - s.mean) * (v - s.mean) / static_cast<double>(numbers.size());
  s.deviation = std::sqrt(squares);
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  s.least = *least;
  s.most = *most;
  return s;
}

// Uniform numbers in a range: within it, near both of its ends, with its mean and deviation.
void expect_uniform(const std::vector<double>& numbers, double low, double high, double tolerance) {
  const Spread s = spread_of(numbers);
  const double width = high - low;
  EXPECT_GE(s.least, low - tolerance);
  EXPECT_LE(s.most, high + tolerance);
  EXPECT_LE(s.least, low + 0.02 * width + tolerance);
  EXPECT_GE(s.most, high - 0.02 * width - tolerance);
  EXPECT_NEAR(s.mean, (low + high) / 2, 0.06 * width);
  EXPECT_NEAR(s.deviation, width / std::sqrt(12.0), 0.04 * width);
}

// A soft spot at a point from the middle of a picture of 64 x 64 pixels.
constexpr PictureShape kSpots{1, 64, 64};
std::vector<float> with_spots(const std::vector<std::pair<double, double>>& places) {
  std::vector<float> picture(64 * 64);
  for (std::size_t i = 0; i < picture.size(); ++i)
    for (const auto& [x, y] : places) {
      const double dx = static_cast<double>(i % 64) - 31.5 - x,
                   dy = static_cast<double>(i / 64) - 31.5 - y;
      picture[i] += static_cast<float>(std::exp(-(dx * dx + dy * dy) / 8));
    }
  return picture;
}

// The centre of the light in a half of the picture, from its middle.
std::pair<double, double> centre_of(std::span<const float> picture, std::size_t first = 0,
                                    std::size_t last = 64) {
  double x = 0, y = 0, sum = 0;
  for (std::size_t i = 0; i < picture.size(); ++i) {
    if (i % 64 < first || i % 64 >= last) continue;
    const auto light = static_cast<double>(picture[i]);
    x += light * (static_cast<double>(i % 64) - 31.5);
    y += light * (static_cast<double>(i / 64) - 31.5);
    sum += light;
  }
  return {x / sum, y / sum};
}

// ---- the list of steps

TEST(Augmentation, IsTextAndBack) {
  for (const std::string text :
       {"none", "shift=2,rotate=10,flip", "flip@1,flip_vertical@0.25", "rotate=7.5@0.5",
        "resized_crop=0.08,brightness=0.4,contrast=0.4,saturation=0.4,hue=0.1", "rand=9,rand=9",
        "trivial,erase=16", "posterize=3@1"}) {
    const Augmentation augmentation = parse_augmentation(text);
    EXPECT_EQ(to_text(augmentation), text);
    EXPECT_EQ(parse_augmentation(to_text(augmentation)), augmentation);
  }
  EXPECT_TRUE(parse_augmentation("none").empty());
  EXPECT_EQ(to_text(parse_augmentation("shift,rotate@1,flip@0.5")), "shift=2,rotate=10,flip");
  for (const AugmentPreset& preset : augment_presets()) {
    EXPECT_EQ(to_text(parse_augmentation(preset.name)), preset.steps);
    EXPECT_EQ(to_text(parse_augmentation(std::string(preset.name) + ",noise=0.1")),
              std::string(preset.steps) + ",noise=0.1");
  }
  for (std::size_t i = 0; i < augment_records().size(); ++i) {
    const AugmentRecord& record = augment_records()[i];
    EXPECT_EQ(static_cast<std::size_t>(record.kind), i);
    EXPECT_GE(record.usual, record.low) << name(record.kind);
    EXPECT_LE(record.usual, record.high) << name(record.kind);
  }
}

TEST(Augmentation, RefusesOtherTexts) {
  for (const char* text :
       {"", "shft=2", "shift=2,", "shift=", "shift=-1", "shift=nan", "shift=1e9", "crop=1.5",
        "flip=2", "rotate=5@", "rotate=5@1.5", "digits=2", "none,flip", "shift = 2"})
    expect_refused(ErrorCode::kParse, [&] { parse_augmentation(text); });
  std::string many = "flip";
  for (std::size_t i = 0; i < kMostAugmentSteps; ++i) many += ",flip";
  expect_refused(ErrorCode::kParse, [&] { parse_augmentation(many); });
}

TEST(Augmentation, IsForPictures) {
  const auto check = [](const std::string& steps, const Dataset& data) {
    expect_refused(ErrorCode::kInvalidArgument,
                   [&] { check_augmentation(parse_augmentation(steps), data); });
  };
  check("flip", synthetic("moons", Key(1), {}));
  Dataset data = digits(Key(1), 3);
  check("saturation", data);
  check_augmentation(parse_augmentation("digits,brightness,erase"), data);
  std::vector<float> pixels(data.inputs.values<float>().begin(), data.inputs.values<float>().end());
  pixels[2 * 784] = -0.5f;
  data.inputs = Tensor::from({3, 784}, pixels);
  check_augmentation(parse_augmentation("digits,erase"), data);
  check("digits,brightness", data);
  expect_refused(ErrorCode::kInvalidArgument, [] { Augmenter({}, {1, 0, 28}); });
  expect_refused(ErrorCode::kInvalidArgument, [] { Augmenter({}, {1, 28, 20'000}); });
  Augmenter augmenter({}, kDigitShape);
  std::vector<float> few(783), all(784);
  expect_refused(ErrorCode::kShape, [&] { augmenter(Key(1), few, all); });
  expect_refused(ErrorCode::kShape, [&] { augmenter(Key(1), all, few); });
}

// ---- the key alone

TEST(Augment, DependsOnThePictureAndTheKeyAlone) {
  for (const std::string steps : {"digits,noise", "objects,perspective", "rand,rand", "trivial",
                                  "elastic@0.5,perspective@0.5,blur@0.5"}) {
    const Augmentation augmentation = parse_augmentation(steps);
    const Tensor pictures = digits(Key(3), 40).inputs.reshape({40, 28, 28});
    const Tensor all = augment(augmentation, pictures, Key(5));
    // Alone, with nothing before it; and in another order, by two threads.
    for (std::int64_t i = 0; i < 40; i += 7) {
      const auto row = static_cast<std::uint64_t>(i);
      EXPECT_EQ(
          augmented(steps, kDigitShape, pictures.rows(i, 1).values<float>(), Key(5).fold_in(row)),
          std::vector<float>(all.rows(i, 1).values<float>().begin(),
                             all.rows(i, 1).values<float>().end()))
          << steps << " " << i;
    }
    std::vector<float> out(40 * 784);
    const auto part = [&](std::size_t first, std::size_t last) {
      Augmenter augmenter(augmentation, kDigitShape);
      for (std::size_t i = last; i-- > first;)
        augmenter(Key(5).fold_in(i), pictures.values<float>().subspan(i * 784, 784),
                  std::span(out).subspan(i * 784, 784));
    };
    std::thread other(part, 0, 17);
    part(17, 40);
    other.join();
    EXPECT_TRUE(Tensor::from({40, 28, 28}, out).same_bits(all)) << steps;
    EXPECT_FALSE(augment(augmentation, pictures, Key(6)).same_bits(all)) << steps;
  }
}

TEST(Augment, TakesPicturesInArrays) {
  const Tensor pictures = digits(Key(3), 4).inputs.reshape({4, 1, 28, 28});
  const Augmentation augmentation = parse_augmentation("digits");
  const Tensor drawn = augment(augmentation, pictures, Key(1));
  EXPECT_EQ(drawn.type(), pictures.type());
  EXPECT_TRUE(augment(augmentation, pictures.reshape({4, 28, 28}), Key(1))
                  .same_bits(drawn.reshape({4, 28, 28})));
  EXPECT_EQ(augment(augmentation, pictures.rows(0, 0), Key(1)).shape(), (Shape{0, 1, 28, 28}));
  expect_refused(ErrorCode::kShape, [&] {
    augment(augmentation, pictures.reshape({4, 784}), Key(1));
  });
  expect_refused(ErrorCode::kDtype, [&] {
    augment(augmentation, Tensor::zeros({Dtype::kI32, {4, 28, 28}}), Key(1));
  });
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    augment(parse_augmentation("contrast"), Tensor::from<float>({1, 1, 2}, {0.5f, std::nanf("")}),
            Key(1));
  });
  int calls = 0;
  augment(augmentation, pictures, Key(1), [&] { ++calls; });
  EXPECT_EQ(calls, 4);
}

// ---- steps that change nothing, or move whole pixels

TEST(Augment, StepsOfNoAmountKeepTheBits) {
  for (const PictureShape shape : {PictureShape{3, 9, 14}, {1, 28, 28}, {3, 1, 1}, {2, 5, 40}}) {
    const std::vector<float> picture = drawn_picture(shape);
    for (const std::string steps :
         {"none", "shift=0", "rotate=0", "scale=0", "shear=0", "crop=0", "elastic=0",
          "flip@1,flip@1", "flip_vertical@1,flip_vertical@1", "rotate=90@0", "brightness=0",
          "contrast=0", "sharpness=0", "blur=0", "noise=0", "erase=0",
          "shift=0,rotate=0,scale=0,shear=0,elastic=0,brightness=0"})
      EXPECT_EQ(augmented(steps, shape, picture, Key(4)), picture) << steps;
    if (shape.channels == 3) {
      EXPECT_EQ(augmented("saturation=0,hue=0", shape, picture, Key(4)), picture);
    }
  }
}

TEST(Augment, FlipsAndCropsMoveWholePixels) {
  for (const PictureShape shape : {PictureShape{3, 9, 14}, {1, 7, 5}}) {
    const std::vector<float> picture = drawn_picture(shape);
    const auto at = [&](std::int64_t c, std::int64_t y, std::int64_t x) {
      const bool inside = y >= 0 && y < shape.height && x >= 0 && x < shape.width;
      return inside ? picture[static_cast<std::size_t>((c * shape.height + y) * shape.width + x)]
                    : 0.0f;
    };
    const auto expected = [&](auto place) {
      std::vector<float> all;
      for (std::int64_t c = 0; c < shape.channels; ++c)
        for (std::int64_t y = 0; y < shape.height; ++y)
          for (std::int64_t x = 0; x < shape.width; ++x) {
            const auto [from_y, from_x] = place(y, x);
            all.push_back(at(c, from_y, from_x));
          }
      return all;
    };
    EXPECT_EQ(augmented("flip@1", shape, picture, Key(1)),
              expected([&](auto y, auto x) { return std::pair(y, shape.width - 1 - x); }));
    EXPECT_EQ(augmented("flip_vertical@1", shape, picture, Key(1)),
              expected([&](auto y, auto x) { return std::pair(shape.height - 1 - y, x); }));
    // Each of the 49 places, about as often, and no other one.
    std::map<std::pair<std::int64_t, std::int64_t>, int> counts;
    for (std::uint64_t k = 0; k < 2000; ++k) {
      const std::vector<float> got = augmented("crop=3", shape, picture, Key(k));
      for (std::int64_t dy = -3; dy <= 3; ++dy)
        for (std::int64_t dx = -3; dx <= 3; ++dx)
          counts[{dy, dx}] +=
              got == expected([&](auto y, auto x) { return std::pair(y + dy, x + dx); });
    }
    int all = 0;
    for (const auto& [place, count] : counts) {
      EXPECT_GT(count, 15) << place.first << " " << place.second;
      all += count;
    }
    EXPECT_EQ(all, 2000);
  }
}

// ---- what is drawn

TEST(Augment, GeometryIsDrawnFromItsRange) {
  std::vector<double> x, y, angles, factors, slants_x, slants_y;
  const std::vector<float> one = with_spots({{0, 0}}), two = with_spots({{-12, 0}, {12, 0}}),
                           upright = with_spots({{0, -12}, {0, 12}});
  Augmenter shift(parse_augmentation("shift=5"), kSpots),
      rotate(parse_augmentation("rotate=30"), kSpots),
      scale(parse_augmentation("scale=0.3"), kSpots), shear(parse_augmentation("shear=20"), kSpots);
  std::vector<float> out(64 * 64);
  for (std::uint64_t k = 0; k < 600; ++k) {
    shift(Key(k), one, out);
    x.push_back(centre_of(out).first);
    y.push_back(centre_of(out).second);
    const auto ends = [&](Augmenter& augmenter) {
      augmenter(Key(k), two, out);
      const auto left = centre_of(out, 0, 32), right = centre_of(out, 32, 64);
      return std::pair(right.first - left.first, right.second - left.second);
    };
    const auto [across, down] = ends(rotate);
    EXPECT_NEAR(std::hypot(across, down), 24, 0.2);
    angles.push_back(std::atan2(down, across) * 180 / 3.14159265358979);
    factors.push_back(ends(scale).first / 24);
    slants_y.push_back(ends(shear).second);
    shear(Key(k), upright, out);
    // Of the upper half, whose light is above the lower one's.
    double top = 0, light = 0;
    for (std::size_t i = 0; i < 32 * 64; ++i) {
      top += static_cast<double>(out[i]) * (static_cast<double>(i % 64) - 31.5);
      light += static_cast<double>(out[i]);
    }
    slants_x.push_back(top / light);
  }
  expect_uniform(x, -5, 5, 0.05);
  expect_uniform(y, -5, 5, 0.05);
  expect_uniform(angles, -30, 30, 0.5);
  expect_uniform(factors, 0.7, 1.3, 0.03);
  // Tangents of uniform angles are nearly uniform.
  const double slant = std::tan(20 * 3.14159265358979 / 180);
  for (const auto& [slants, side] : {std::pair(slants_y, 24.0), {slants_x, 12.0}}) {
    const Spread s = spread_of(slants);
    EXPECT_NEAR(s.most, slant * side, 0.1 * side);
    EXPECT_NEAR(s.least, -slant * side, 0.1 * side);
    EXPECT_NEAR(s.mean, 0, 0.03 * side);
  }
}

TEST(Augment, StepsOfAListMultiply) {
  // A rotation about the middle keeps the middle; what is shifted before is rotated.
  const std::vector<float> one = with_spots({{0, 0}});
  std::vector<float> out(64 * 64);
  Augmenter both(parse_augmentation("shift=8,rotate=180"), kSpots),
      shift(parse_augmentation("shift=8"), kSpots);
  double differences = 0;
  for (std::uint64_t k = 0; k < 50; ++k) {
    shift(Key(k), one, out);
    const auto [x, y] = centre_of(out);
    both(Key(k), one, out);
    const auto [rx, ry] = centre_of(out);
    EXPECT_NEAR(std::hypot(rx, ry), std::hypot(x, y), 0.05);
    differences += std::hypot(rx - x, ry - y);
  }
  EXPECT_GT(differences, 50);
}

// The displacements, computed again in f64 from the key's words by the formula of
// docs/arithmetic.md.
TEST(Augment, ElasticIsTheDocumentedSpline) {
  constexpr PictureShape kShape{1, 20, 30};
  const std::vector<float> picture = drawn_picture(kShape);
  const double amount = 3, spacing = 5;
  const Key key = Key(12).fold_in(0);
  constexpr std::size_t kRows = 7, kColumns = 9;  // floor(19 / 5) + 4, floor(29 / 5) + 4
  const auto point = [&](std::size_t axis, std::size_t r, std::size_t c) {
    const std::size_t word = 1 + axis * kRows * kColumns + r * kColumns + c;
    return amount * (2 * static_cast<double>(key.uniform(word)) - 1);
  };
  const auto spline = [](double t) {
    const double a = std::fabs(t);
    return a < 1   ? (4 - 6 * a * a + 3 * a * a * a) / 6
           : a < 2 ? (2 - a) * (2 - a) * (2 - a) / 6
                   : 0.0;
  };
  const auto moved = [&](std::size_t axis, std::size_t y, std::size_t x) {
    double sum = 0;
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t c = 0; c < kColumns; ++c)
        sum += spline(static_cast<double>(y) / spacing - (static_cast<double>(r) - 1)) *
               spline(static_cast<double>(x) / spacing - (static_cast<double>(c) - 1)) *
               point(axis, r, c);
    return sum;
  };
  const auto at = [&](std::int64_t y, std::int64_t x) {
    return y >= 0 && y < 20 && x >= 0 && x < 30
               ? static_cast<double>(picture[static_cast<std::size_t>(y * 30 + x)])
               : 0.0;
  };
  const std::vector<float> got = augmented("elastic=3", kShape, picture, Key(12));
  double most = 0;
  for (std::size_t y = 0; y < 20; ++y)
    for (std::size_t x = 0; x < 30; ++x) {
      const double dx = moved(0, y, x), dy = moved(1, y, x);
      EXPECT_LE(std::max(std::fabs(dx), std::fabs(dy)), amount);
      most = std::max({most, std::fabs(dx), std::fabs(dy)});
      const double u = static_cast<double>(x) + dx, v = static_cast<double>(y) + dy;
      const double fu = u - std::floor(u), fv = v - std::floor(v);
      const auto i = static_cast<std::int64_t>(std::floor(v)),
                 j = static_cast<std::int64_t>(std::floor(u));
      const double wanted = (1 - fv) * ((1 - fu) * at(i, j) + fu * at(i, j + 1)) +
                            fv * ((1 - fu) * at(i + 1, j) + fu * at(i + 1, j + 1));
      EXPECT_NEAR(static_cast<double>(got[y * 30 + x]), wanted, 1e-4) << y << " " << x;
    }
  EXPECT_GT(most, 0.5);
}

// The middle of a result is where the diagonals between its corners meet, and a projective map
// keeps lines: it shows where the diagonals between the moved corners meet.
TEST(Augment, PerspectiveMovesCornersWithinItsRange) {
  constexpr PictureShape kShape{2, 33, 65};
  constexpr std::size_t kMiddle = 16 * 65 + 32, kPlane = 33 * 65;
  std::vector<float> places;  // each pixel's x, then each pixel's y
  for (std::size_t axis = 0; axis < 2; ++axis)
    for (std::size_t i = 0; i < kPlane; ++i)
      places.push_back(static_cast<float>(axis == 0 ? i % 65 : i / 65));
  Augmenter augmenter(parse_augmentation("perspective=0.4"), kShape);
  std::vector<float> out(places.size());
  std::vector<double> moves;
  for (std::uint64_t k = 0; k < 400; ++k) {
    augmenter(Key(k), places, out);
    std::array<double, 4> x{-32.5, 32.5, 32.5, -32.5}, y{-16.5, -16.5, 16.5, 16.5};
    for (std::size_t i = 0; i < 4; ++i) {
      const auto drawn = [&](std::size_t word) {
        return 2 * static_cast<double>(Key(k).fold_in(0).uniform(word)) - 1;
      };
      x[i] += 0.4 * 32.5 * drawn(1 + 2 * i);
      y[i] += 0.4 * 16.5 * drawn(2 + 2 * i);
    }
    const double ax = x[2] - x[0], ay = y[2] - y[0], bx = x[3] - x[1], by = y[3] - y[1];
    const double t = ((x[1] - x[0]) * by - (y[1] - y[0]) * bx) / (ax * by - ay * bx);
    EXPECT_NEAR(static_cast<double>(out[kMiddle]) - 32, x[0] + t * ax, 1e-3) << k;
    EXPECT_NEAR(static_cast<double>(out[kPlane + kMiddle]) - 16, y[0] + t * ay, 1e-3) << k;
    moves.push_back(x[0] + t * ax);
  }
  EXPECT_GT(spread_of(moves).deviation, 1);
}

TEST(Augment, ResizedCropsAreParts) {
  // Ramps: their slopes are the shares of the sides, and all of the result is inside.
  constexpr PictureShape kShape{2, 40, 40};
  std::vector<float> ramps;
  for (std::size_t axis = 0; axis < 2; ++axis)
    for (std::size_t i = 0; i < 1600; ++i)
      ramps.push_back(1.0f + static_cast<float>(axis == 0 ? i % 40 : i / 40));
  Augmenter augmenter(parse_augmentation("resized_crop=0.3"), kShape);
  std::vector<float> out(ramps.size());
  std::vector<double> areas;
  for (std::uint64_t k = 0; k < 500; ++k) {
    augmenter(Key(k), ramps, out);
    const auto slope = [](float from, float to) { return static_cast<double>(to - from) / 20; };
    const double across = slope(out[20 * 40 + 10], out[20 * 40 + 30]),
                 down = slope(out[1600 + 10 * 40 + 20], out[1600 + 30 * 40 + 20]);
    areas.push_back(across * down);
    EXPECT_LE(across, 1 + 1e-5);
    EXPECT_LE(down, 1 + 1e-5);
    EXPECT_GT(across / down, 0.74);
    EXPECT_LT(across / down, 1.34);
    EXPECT_GT(*std::min_element(out.begin(), out.end()), 0.49f);
  }
  const Spread s = spread_of(areas);
  EXPECT_GT(s.least, 0.29);
  EXPECT_LT(s.least, 0.32);
  EXPECT_GT(s.most, 0.95);
  EXPECT_NEAR(s.mean, 0.64, 0.03);
}

TEST(Augment, TonesAreDrawnFromTheirRange) {
  constexpr PictureShape kShape{3, 2, 2};
  // Red, green, blue; their grey is 0.299 r + 0.587 g + 0.114 b.
  const std::vector<float> picture{0.4f, 0.5f, 0.45f, 0.5f, 0.5f, 0.45f,
                                   0.5f, 0.4f, 0.5f,  0.5f, 0.4f, 0.45f};
  double mean = 0;
  std::array<double, 4> grey{};
  for (std::size_t i = 0; i < 4; ++i) {
    grey[i] = 0.299 * static_cast<double>(picture[i]) +
              0.587 * static_cast<double>(picture[4 + i]) +
              0.114 * static_cast<double>(picture[8 + i]);
    mean += grey[i] / 4;
  }
  std::vector<double> bright, contrasts, saturations;
  const auto factor = [](float after, double before, double from) {
    return (static_cast<double>(after) - from) / (before - from);
  };
  for (std::uint64_t k = 0; k < 800; ++k) {
    const auto b = augmented("brightness=0.3", kShape, picture, Key(k));
    bright.push_back(factor(b[0], 0.4, 0));
    EXPECT_NEAR(factor(b[9], 0.5, 0), bright.back(), 1e-5);
    const auto c = augmented("contrast=0.6", kShape, picture, Key(k));
    contrasts.push_back(factor(c[0], 0.4, mean));
    EXPECT_NEAR(factor(c[9], 0.5, mean), contrasts.back(), 1e-4);
    const auto s = augmented("saturation=0.9", kShape, picture, Key(k));
    saturations.push_back(factor(s[0], 0.4, grey[0]));
    EXPECT_NEAR(factor(s[8], 0.5, grey[0]), saturations.back(), 1e-4);
  }
  expect_uniform(bright, 0.7, 1.3, 1e-5);
  expect_uniform(contrasts, 0.4, 1.6, 1e-4);
  expect_uniform(saturations, 0.1, 1.9, 1e-4);
  // Results stay in [0, 1].
  const std::vector<float> white(12, 1.0f);
  for (std::uint64_t k = 0; k < 50; ++k)
    for (const float v : augmented("brightness=1,noise=1,contrast=1", kShape, white, Key(k))) {
      EXPECT_GE(v, 0.0f);
      EXPECT_LE(v, 1.0f);
    }
}

TEST(Augment, FixedTonesAreThoseOfPillow) {
  constexpr PictureShape kRow{1, 1, 4};
  const auto levels = [](std::initializer_list<int> all) {
    std::vector<float> v;
    for (const int level : all) v.push_back(static_cast<float>(level) / 255.0f);
    return v;
  };
  const std::vector<float> row = levels({0x13, 0x7f, 0x80, 0xff});
  EXPECT_EQ(augmented("posterize=1@1", kRow, row, Key(1)), levels({0, 0, 0x80, 0x80}));
  EXPECT_EQ(augmented("posterize=4@1", kRow, row, Key(1)), levels({0x10, 0x70, 0x80, 0xf0}));
  EXPECT_EQ(augmented("posterize=8@1", kRow, row, Key(1)), row);
  EXPECT_EQ(augmented("solarize=0.5@1", kRow, std::vector{0.25f, 0.5f, 0.75f, 1.0f}, Key(1)),
            (std::vector{0.25f, 0.5f, 0.25f, 0.0f}));
  EXPECT_EQ(augmented("autocontrast@1", kRow, std::vector{0.25f, 0.375f, 0.5f, 0.25f}, Key(1)),
            (std::vector{0.0f, 0.5f, 1.0f, 0.0f}));
  EXPECT_EQ(augmented("autocontrast@1", kRow, std::vector(4, 0.3f), Key(1)), std::vector(4, 0.3f));
  // ImageOps.equalize: 600 pixels of level 10, 400 of 20, 520 of 200: steps of (1520 - 520) // 255
  // = 3; (1 + 0) // 3 = 0, (1 + 600) // 3 = 200, and the last above 255.
  constexpr PictureShape kMany{1, 1, 1520};
  std::vector<float> many, expected;
  for (int i = 0; i < 1520; ++i) {
    many.push_back(static_cast<float>(i < 600 ? 10 : i < 1000 ? 20 : 200) / 255.0f);
    expected.push_back(static_cast<float>(i < 600 ? 0 : i < 1000 ? 200 : 255) / 255.0f);
  }
  EXPECT_EQ(augmented("equalize@1", kMany, many, Key(1)), expected);
}

TEST(Augment, BlursAndSharpensAroundTheSameMean) {
  constexpr PictureShape kShape{1, 41, 41};
  std::vector<float> point(41 * 41);
  point[20 * 41 + 20] = 1.0f;
  std::vector<double> deviations;
  for (std::uint64_t k = 0; k < 300; ++k) {
    const std::vector<float> blurred = augmented("blur=3", kShape, point, Key(k));
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < blurred.size(); ++i) {
      const double x = static_cast<double>(i % 41) - 20, v = static_cast<double>(blurred[i]);
      sum += v;
      squares += v * x * x;
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    deviations.push_back(std::sqrt(squares));
  }
  expect_uniform(deviations, 0, 3, 0.05);
  // A plain picture stays plain to its border.
  for (const float v : augmented("blur=3", kShape, std::vector(41 * 41, 0.5f), Key(1)))
    EXPECT_NEAR(v, 0.5f, 1e-6f);
  // Pillow's kernel: 5 in the middle, 1 around it, of 13.
  constexpr PictureShape kNine{1, 3, 3};
  std::vector<float> nine(9, 0.25f);
  nine[4] = 0.5f;
  const double smooth = (8 * 0.25 + 5 * 0.5) / 13;
  std::vector<double> factors;
  for (std::uint64_t k = 0; k < 300; ++k) {
    const std::vector<float> sharp = augmented("sharpness=0.5", kNine, nine, Key(k));
    factors.push_back((static_cast<double>(sharp[4]) - smooth) / (0.5 - smooth));
    for (const std::size_t border : {0, 1, 2, 3, 5, 6, 7, 8}) EXPECT_EQ(sharp[border], 0.25f);
  }
  expect_uniform(factors, 0.5, 1.5, 1e-5);
}

TEST(Augment, NoiseIsNearlyNormal) {
  constexpr PictureShape kShape{1, 200, 200};
  const std::vector<float> noisy =
      augmented("noise=0.1", kShape, std::vector(40'000, 0.5f), Key(1));
  std::vector<double> numbers;
  int within_one = 0, beyond_two = 0;
  for (const float v : noisy) {
    numbers.push_back((static_cast<double>(v) - 0.5) / 0.1);
    within_one += std::fabs(numbers.back()) < 1;
    beyond_two += std::fabs(numbers.back()) > 2;
  }
  const Spread s = spread_of(numbers);
  EXPECT_NEAR(s.mean, 0, 0.02);
  EXPECT_NEAR(s.deviation, 1, 0.02);
  EXPECT_NEAR(within_one / 40'000.0, 0.683, 0.015);
  EXPECT_NEAR(beyond_two / 40'000.0, 0.0455, 0.006);
}

TEST(Augment, ErasesASquareAnywhere) {
  const std::vector<float> white(784, 1.0f);
  std::vector<int> black(784);
  for (std::uint64_t k = 0; k < 4000; ++k) {
    const std::vector<float> got = augmented("erase=6", kDigitShape, white, Key(k));
    std::size_t left = 28, right = 0, top = 28, bottom = 0, count = 0;
    for (std::size_t i = 0; i < 784; ++i) {
      if (got[i] != 0.0f) continue;
      ++black[i];
      ++count;
      left = std::min(left, i % 28);
      right = std::max(right, i % 28 + 1);
      top = std::min(top, i / 28);
      bottom = std::max(bottom, i / 28 + 1);
    }
    EXPECT_EQ(count, (right - left) * (bottom - top));
    EXPECT_LE(right - left, 6u);
    EXPECT_LE(bottom - top, 6u);
    EXPECT_GE(count, 9u);
  }
  // In the middle as often as 36 of 784 squares reach it.
  EXPECT_NEAR(black[14 * 28 + 14] / 4000.0, 36.0 / 784, 0.012);
}

TEST(Augment, StepsTakePlaceWithTheirProbability) {
  const std::vector<float> picture = drawn_picture(kDigitShape);
  for (const auto& [steps, share] : {std::pair("flip", 0.5),
                                     {"flip@0.1", 0.1},
                                     {"erase=28@0.8", 0.8},
                                     {"flip@0", 0.0},
                                     {"flip@1", 1.0}}) {
    int changed = 0;
    for (std::uint64_t k = 0; k < 1000; ++k)
      changed += augmented(steps, kDigitShape, picture, Key(k)) != picture;
    EXPECT_NEAR(changed / 1000.0, share, share == 0.0 || share == 1.0 ? 0 : 0.05) << steps;
  }
}

TEST(Augment, RandAndTrivialHaveManyOperations) {
  const std::vector<float> grey = drawn_picture(kDigitShape), colours = drawn_picture({3, 28, 28});
  for (const std::string steps : {"rand=0", "rand=30", "trivial"}) {
    int kept = 0;
    for (std::uint64_t k = 0; k < 700; ++k) {
      const std::vector<float> one = augmented(steps, kDigitShape, grey, Key(k)),
                               three = augmented(steps, {3, 28, 28}, colours, Key(k));
      kept += three == colours;
      for (const std::vector<float>* result : {&one, &three})
        for (const float v : *result) ASSERT_TRUE(v >= 0.0f && v <= 1.0f) << steps << " " << k;
    }
    // Of 14 operations, identity; at magnitude 0 all but autocontrast, equalize and posterize.
    if (steps == "rand=0")
      EXPECT_GT(kept, 500);
    else
      EXPECT_LT(kept, 140);
  }
}

// ---- rows that are mixed

// Each picture has one value, that of its row, and a class of its own.
Dataset plain_rows(std::int64_t count) {
  Dataset data;
  data.classes = count;
  data.picture = PictureShape{2, 9, 11};
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  for (std::int64_t row = 0; row < count; ++row) {
    pixels.insert(pixels.end(), 198, static_cast<float>(row));
    labels.push_back(static_cast<std::int32_t>(row));
  }
  data.inputs = Tensor::from({count, 198}, pixels);
  data.targets = Tensor::from({count}, labels);
  return data;
}

TEST(RowAugmenter, MixesTwoRowsOfTheData) {
  constexpr std::int64_t kRows = 12;
  const Dataset data = plain_rows(kRows);
  for (const auto& [steps, variance] :
       {std::pair("mixup=1", 1.0 / 12), {"mixup=0.2", 0.25 / 1.4}, {"cutmix=1", 0.0}}) {
    RowAugmenter augmenter(parse_augmentation(std::string(steps) + "@1"), data, kRows + 1);
    std::vector<float> x(198), y(kRows + 1);
    std::vector<double> shares;
    std::vector<int> others(kRows);
    for (std::uint64_t epoch = 0; epoch < 400; ++epoch)
      for (std::int64_t row = 0; row < kRows; ++row) {
        augmenter(Key(3).fold_in(epoch), row, x, y);
        std::int64_t other = row;
        double sum = 0, mean = 0;
        for (std::int64_t c = 0; c <= kRows; ++c) {
          const float p = y[static_cast<std::size_t>(c)];
          sum += static_cast<double>(p);
          if (c != row && p > 0.0f) other = c;
        }
        EXPECT_NEAR(sum, 1, 1e-6);
        ++others[static_cast<std::size_t>(other)];
        const double own = other == row ? 1 : static_cast<double>(y[static_cast<std::size_t>(row)]);
        if (other != row) shares.push_back(own);
        for (const float v : x) {
          mean += static_cast<double>(v) / 198;
          if (steps == std::string("cutmix=1")) {
            EXPECT_TRUE(v == static_cast<float>(row) || v == static_cast<float>(other));
          }
        }
        EXPECT_NEAR(mean, own * static_cast<double>(row) + (1 - own) * static_cast<double>(other),
                    1e-4);
        if (steps != std::string("cutmix=1")) {
          EXPECT_NEAR(static_cast<double>(x[0]), static_cast<double>(x[197]), 1e-5);
        }
      }
    // A partner is any row, its share that of the distribution. (A cut of less than a pixel, or an
    // own row, shows no partner.)
    const Spread s = spread_of(shares);
    if (variance > 0) {
      EXPECT_NEAR(s.mean, 0.5, 0.02) << steps;
      EXPECT_NEAR(s.deviation * s.deviation, variance, 0.01) << steps;
      for (const int count : others) EXPECT_NEAR(count, 400, 90) << steps;
    } else {
      EXPECT_GT(s.most, 0.9);
      EXPECT_LT(s.least, 0.2);
    }
  }
}

TEST(RowAugmenter, DependsOnTheEpochsKeyAndTheRowAlone) {
  const Dataset data = digits(Key(1), 30);
  const Augmentation augmentation = parse_augmentation("digits,mixup=0.5,cutmix=1");
  RowAugmenter used(augmentation, data, 10);
  std::vector<float> x(784), y(10), again_x(784), again_y(10), plain(784);
  Augmenter augmenter(augmentation, kDigitShape);
  int differing = 0;
  for (std::int64_t row = 29; row >= 0; --row) {
    used(Key(4), row, x, y);
    RowAugmenter(augmentation, data, 10)(Key(4), row, again_x, again_y);
    EXPECT_EQ(x, again_x);
    EXPECT_EQ(y, again_y);
    const auto r = static_cast<std::uint64_t>(row);
    augmenter(Key(4).fold_in(r), data.inputs.rows(row, 1).values<float>(), plain);
    differing += x != plain;
  }
  EXPECT_GT(differing, 20);
}

TEST(RowAugmenter, RefusesTargetsThatAreNoClasses) {
  Dataset data = digits(Key(1), 3);
  const Augmentation mixing = parse_augmentation("mixup");
  EXPECT_TRUE(mixes(mixing));
  EXPECT_FALSE(mixes(parse_augmentation("digits")));
  expect_refused(ErrorCode::kInvalidArgument, [&] { RowAugmenter(mixing, data, 9); });
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    augment(mixing, data.inputs.reshape({3, 28, 28}), Key(1));
  });
  RowAugmenter augmenter(mixing, data, 10);
  std::vector<float> x(784), y(9);
  expect_refused(ErrorCode::kShape, [&] { augmenter(Key(1), 0, x, y); });
  data.task = Task::kRegression;
  data.targets = Tensor::zeros({Dtype::kF32, {3, 1}});
  expect_refused(ErrorCode::kInvalidArgument, [&] { check_augmentation(mixing, data); });
}

// ---- how it is shown

TEST(PictureSheet, ShowsWholePictures) {
  const std::vector<float> pictures(3 * 784, 0.5f);
  EXPECT_GT(picture_sheet(pictures, kDigitShape, 2).size(), 100u);
  const std::vector<float> colours(2 * 3 * 4 * 5, 2.0f);
  EXPECT_GT(picture_sheet(colours, {3, 4, 5}, 8).size(), 60u);
  EXPECT_GT(picture_sheet(colours, {2, 4, 5}, 8).size(), 60u);
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { picture_sheet(std::span(pictures).first(783), kDigitShape, 2); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { picture_sheet(pictures, kDigitShape, 0); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { picture_sheet({}, kDigitShape, 1); });
  expect_refused(ErrorCode::kInvalidArgument, [] {
    picture_sheet(std::vector<float>(1000), {1, 1, 1}, 1000);
  });
}

}  // namespace
}  // namespace limpid
