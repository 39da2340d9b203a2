#include "limpid/data/arrays.h"

#include <limits>
#include <numeric>

#include "limpid/core/half.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

Tensor floats(const Shape& shape, std::initializer_list<float> values) {
  return Tensor::from<float>(shape, values);
}
Tensor ints(const Shape& shape, std::initializer_list<std::int64_t> values) {
  return Tensor::from<std::int64_t>(shape, values);
}

Dataset of(const Tensor& x, const Tensor& y, std::optional<Task> task = {}) {
  return arrays_split({{"x", x}, {"y", y}}, "folder/a.npz", task).train;
}

void refused(ErrorCode code, const Params& arrays, std::optional<Task> task = {},
             int line = __builtin_LINE()) {
  expect_refused(
      code, [&] { arrays_split(arrays, "a.npz", task); }, line);
}

const Tensor kX = floats(Shape{2, 3}, {1, 2, 3, 4, 5, 6});

TEST(Arrays, BecomeFeaturesAndClasses) {
  const Dataset data = of(kX, ints(Shape{2}, {3, 0}));
  EXPECT_EQ(data.name, "a.npz");
  EXPECT_TRUE(data.inputs.same_bits(kX));
  EXPECT_EQ(data.task, Task::kClassification);
  EXPECT_EQ(data.classes, 4);
  EXPECT_TRUE(data.targets.same_bits(Tensor::from<std::int32_t>(Shape{2}, {3, 0})));
  EXPECT_EQ(of(kX, ints(Shape{2, 1}, {0, 0})).classes, 2);
}

TEST(Arrays, OfEveryDtypeBecomeF32) {
  const Shape shape{2, 1, 2};
  const Tensor expected = floats(Shape{2, 4 / 2}, {0, 1, 1, 0});
  const Tensor y = ints(Shape{2}, {0, 1});
  for (const Tensor& x :
       {floats(shape, {0, 1, 1, 0}), Tensor::from<double>(shape, {0, 1, 1, 0}),
        ints(shape, {0, 1, 1, 0}), Tensor::from<std::int32_t>(shape, {0, 1, 1, 0}),
        Tensor::from<std::uint8_t>(shape, {0, 1, 1, 0}),
        Tensor::from<bool>(shape, {false, true, true, false}),
        Tensor::from<F16>(shape, {to_f16(0.0f), to_f16(1.0f), to_f16(1.0f), to_f16(0.0f)})})
    EXPECT_TRUE(of(x, y).inputs.same_bits(expected)) << to_string(x.type());
  refused(ErrorCode::kDtype, {{"x", Tensor::zeros({Dtype::kBf16, shape})}, {"y", y}});
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(of(floats(Shape{1, 1}, {inf}), ints(Shape{1}, {0})).inputs.item<float>(), inf);
  constexpr float kLargest = std::numeric_limits<float>::max();
  const Tensor largest = Tensor::from<double>(Shape{1, 1}, {static_cast<double>(kLargest)});
  EXPECT_EQ(of(largest, ints(Shape{1}, {0})).inputs.item<float>(), kLargest);
}

// Of a file, which nobody changes: what is kept is the file's numbers.
TEST(Arrays, ThatAreConstantAreConvertedWhenTheyAreRead) {
  const Tensor y = floats(Shape{2}, {0, 1});
  const Tensor bytes = Tensor::from<std::uint8_t>(Shape{2, 3}, {0, 1, 2, 3, 4, 255});
  const Tensor f32 = floats(Shape{2, 3}, {0, 1, 2, 3, 4, 255});
  const auto inputs = [&](const Tensor& x, Arrays memory) {
    return arrays_split({{"x", x}, {"y", y}}, "a", {}, Targets::kRequired, memory).train.inputs;
  };
  EXPECT_TRUE(inputs(bytes, Arrays::kConstant).has_deferred_rows());
  EXPECT_TRUE(inputs(bytes, Arrays::kConstant).rows(1, 1).same_bits(f32.rows(1, 1)));
  EXPECT_FALSE(inputs(bytes, Arrays::kMayChange).has_deferred_rows());
  EXPECT_TRUE(inputs(bytes, Arrays::kMayChange).same_bits(f32));
  EXPECT_EQ(inputs(f32, Arrays::kConstant).identity(), f32.identity());
  EXPECT_NE(inputs(f32, Arrays::kMayChange).identity(), f32.identity());
}

// The numbers 0, 1, ..., each its place in the array.
template <class T>
Tensor places(const Shape& shape) {
  return Tensor::generate<T>(shape, [](std::span<T> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(i);
  });
}

Dataset pictures(const Tensor& x, ArrayLayout layout = ArrayLayout::kAuto,
                 Arrays memory = Arrays::kMayChange) {
  return arrays_split({{"x", x}, {"y", ints(Shape{2}, {0, 1})}}, "a", {}, Targets::kRequired,
                      memory, layout)
      .train;
}

TEST(Arrays, OfPicturesKeepTheirShape) {
  const auto shape = [](const Shape& of, ArrayLayout layout = ArrayLayout::kAuto) {
    return pictures(places<double>(of), layout).picture;
  };
  EXPECT_EQ(shape({2, 8, 9}), (PictureShape{1, 8, 9, 0}));
  EXPECT_EQ(shape({2, 5, 7, 3}), (PictureShape{3, 5, 7, 0}));
  EXPECT_EQ(shape({2, 4, 5, 7}), (PictureShape{4, 5, 7, 0}));
  EXPECT_EQ(shape({2, 1, 5, 7}), (PictureShape{1, 5, 7, 0}));
  EXPECT_EQ(shape({2, 5, 7, 6}, ArrayLayout::kNhwc), (PictureShape{6, 5, 7, 0}));
  EXPECT_EQ(shape({2, 3, 5, 3}, ArrayLayout::kNhwc), (PictureShape{3, 3, 5, 0}));
  EXPECT_EQ(shape({2, 3, 5, 3}, ArrayLayout::kNchw), (PictureShape{3, 5, 3, 0}));
  for (const Shape& none : {Shape{2, 8}, Shape{2, 7, 9}, Shape{2, 5, 7, 6}, Shape{2, 2, 2, 2, 3}})
    EXPECT_FALSE(shape(none)) << to_string(none);
  EXPECT_FALSE(shape({2, 3, 5, 3}, ArrayLayout::kFeatures));
  expect_refused(ErrorCode::kFormat, [&] { shape({2, 3, 5, 3}); });
  expect_refused(ErrorCode::kShape, [&] { shape({2, 8, 9}, ArrayLayout::kNhwc); });
}

TEST(Arrays, ChannelsThatAreLastBecomeTheFirst) {
  const std::vector<float> turned{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11};
  for (const Arrays memory : {Arrays::kMayChange, Arrays::kConstant})
    for (const Tensor& x : {places<float>({2, 2, 2, 3}), places<std::uint8_t>({2, 2, 2, 3})}) {
      const Tensor rows = pictures(x, ArrayLayout::kNhwc, memory).inputs;
      EXPECT_TRUE(rows.rows(0, 1).same_bits(Tensor::from<float>(Shape{1, 12}, turned)));
      EXPECT_EQ(rows.rows(1, 1).values<float>()[1], 15.0f);
      EXPECT_TRUE(pictures(x, ArrayLayout::kNchw, memory).inputs.same_bits(places<float>({2, 12})));
    }
}

TEST(Arrays, OfThreeAxesAreSequences) {
  const Dataset steps = pictures(places<double>({2, 5, 3}));
  EXPECT_EQ(steps.as_sequence(), (SequenceShape{5, 3}));
  EXPECT_TRUE(steps.fits({Dtype::kF32, {5, 3}}));
  EXPECT_TRUE(steps.fits({Dtype::kF32, {15}}));
  EXPECT_FALSE(steps.fits({Dtype::kF32, {3, 5}}));
  EXPECT_FALSE(steps.fits({Dtype::kI32, {5, 3}}));
  EXPECT_EQ(steps.rows(1, 1).as_sequence(), (SequenceShape{5, 3}));
  EXPECT_FALSE(pictures(places<double>({2, 15})).as_sequence());
  // The rows of a picture of one channel are steps, too.
  EXPECT_EQ(pictures(places<double>({2, 1, 9, 8})).as_sequence(), (SequenceShape{9, 8}));
  EXPECT_FALSE(pictures(places<double>({2, 3, 9, 8})).as_sequence());
}

TEST(Arrays, OfPicturesKnowTheNumberOfWhiteIfItIsPlain) {
  const auto white = [](const Tensor& x) { return pictures(x).picture->white; };
  const Shape shape{2, 8, 8};
  EXPECT_EQ(white(places<std::uint8_t>(shape)), 255);
  EXPECT_EQ(white(places<std::int64_t>(shape)), 255);
  EXPECT_EQ(white(places<std::int64_t>({2, 8, 17})), 0);
  EXPECT_EQ(white(places<std::int8_t>({2, 8, 9})), 0);
  EXPECT_EQ(white(places<float>(shape)), 0);
  EXPECT_EQ(white(Tensor::zeros({Dtype::kU8, shape})), 0);
  EXPECT_EQ(white(Tensor::zeros({Dtype::kBool, shape})), 1);
  EXPECT_EQ(white(Tensor::zeros({Dtype::kF64, shape})), 1);
}

TEST(Arrays, TheTaskFollowsFromTheTargets) {
  const auto task = [](const Tensor& y) { return of(kX, y).task; };
  EXPECT_EQ(task(Tensor::from<bool>(Shape{2}, {true, false})), Task::kClassification);
  EXPECT_EQ(task(floats(Shape{2}, {1, 0})), Task::kRegression);
  EXPECT_EQ(task(floats(Shape{2, 2}, {1, 0, 0, 1})), Task::kRegression);
  EXPECT_EQ(task(ints(Shape{2, 2}, {1, 0, 0, 1})), Task::kMultiLabel);
  EXPECT_EQ(task(ints(Shape{2, 2}, {1, 0, 0, 2})), Task::kRegression);
  const Dataset asked = of(kX, floats(Shape{2}, {1, 0}), Task::kClassification);
  EXPECT_EQ(asked.classes, 2);
  EXPECT_TRUE(
      of(kX, floats(Shape{2}, {0.5f, 3})).targets.same_bits(floats(Shape{2, 1}, {0.5f, 3})));
}

TEST(Arrays, LabelsAreOfEveryIntegerDtype) {
  for (const Tensor& y :
       {Tensor::from<std::int8_t>(Shape{2}, {0, 2}), Tensor::from<std::uint8_t>(Shape{2}, {0, 2}),
        Tensor::from<std::int32_t>(Shape{2}, {0, 2}), ints(Shape{2}, {0, 2})}) {
    const Dataset data = of(kX, y);
    EXPECT_EQ(data.task, Task::kClassification) << to_string(y.type());
    EXPECT_EQ(data.classes, 3) << to_string(y.type());
  }
  const Tensor x = Tensor::from<std::int8_t>(Shape{2, 1}, {-128, 127});
  EXPECT_TRUE(of(x, ints(Shape{2}, {0, 1})).inputs.same_bits(floats(Shape{2, 1}, {-128, 127})));
}

TEST(Arrays, MayBringTheirTestPart) {
  const Split split = arrays_split({{"x_test", floats(Shape{1, 3}, {7, 8, 9})},
                                    {"x_train", kX},
                                    {"y_train", ints(Shape{2}, {2, 0})},
                                    {"y_test", ints(Shape{1}, {1})}},
                                   "a.npz");
  EXPECT_EQ(split.train.size(), 2);
  EXPECT_EQ(split.validation.size(), 0);
  EXPECT_TRUE(split.test.inputs.same_bits(floats(Shape{1, 3}, {7, 8, 9})));
  EXPECT_TRUE(split.test.targets.same_bits(Tensor::from<std::int32_t>(Shape{1}, {1})));
  EXPECT_EQ(split.test.classes, 3);
}

TEST(Arrays, MayComeWithoutTargets) {
  const Split split =
      arrays_split({{"x", kX}}, "a.npz", Task::kClassification, Targets::kIfPresent);
  EXPECT_EQ(split.train.task, Task::kClassification);
  EXPECT_EQ(split.train.targets.type(), (Type{Dtype::kF32, Shape{2, 0}}));
  EXPECT_EQ(split.test.size(), 0);
}

TEST(Arrays, MayBringATestPartWithoutTargets) {
  for (const auto task : {std::optional<Task>(), std::optional(Task::kClassification)}) {
    const Split split = arrays_split({{"x_train", kX},
                                      {"y_train", ints(Shape{2}, {2, 0})},
                                      {"x_test", floats(Shape{1, 3}, {7, 8, 9})}},
                                     "a.npz", task, Targets::kIfPresent);
    EXPECT_EQ(split.test.inputs.shape(), (Shape{1, 3}));
    EXPECT_EQ(split.test.targets.type(), (Type{Dtype::kF32, Shape{1, 0}}));
  }
  // Or the test part alone has targets.
  const Split split = arrays_split({{"x_train", kX},
                                    {"x_test", floats(Shape{1, 3}, {7, 8, 9})},
                                    {"y_test", ints(Shape{1}, {1})}},
                                   "a.npz", {}, Targets::kIfPresent);
  EXPECT_EQ(split.train.targets.shape(), (Shape{2, 0}));
  EXPECT_TRUE(split.test.targets.same_bits(floats(Shape{1, 1}, {1})));
}

TEST(ArraysFault, SaysWhatIsMissing) {
  const Tensor y = ints(Shape{2}, {0, 1});
  refused(ErrorCode::kNotFound, {{"x", kX}, {"label", y}});
  refused(ErrorCode::kNotFound, {{"x_train", kX}, {"y_train", y}});
  refused(ErrorCode::kNotFound, {{"x_test", kX}, {"y_test", y}});
  refused(ErrorCode::kNotFound, {});
  Params many;
  for (int i = 0; i < 12; ++i) many.set("a" + std::to_string(i), y);
  refused(ErrorCode::kNotFound, many);
  many.set("a12", y);
  refused(ErrorCode::kNotFound, many);
}

TEST(ArraysFault, NamesTheRow) {
  refused(ErrorCode::kFormat, {{"x", kX}, {"y", ints(Shape{2}, {0, -1})}});
  refused(ErrorCode::kFormat, {{"x", kX}, {"y", ints(Shape{2}, {65'536, 1})}});
  refused(ErrorCode::kFormat, {{"x", kX}, {"y", floats(Shape{2}, {0, 0.5f})}},
          Task::kClassification);
  refused(ErrorCode::kFormat, {{"x", Tensor::from<double>(Shape{2, 2}, {1, 2, 3, 1e300})},
                               {"y", ints(Shape{2}, {0, 1})}});
  refused(ErrorCode::kFormat, {{"x_train", kX},
                               {"y_train", ints(Shape{2}, {0, 1})},
                               {"x_test", kX},
                               {"y_test", ints(Shape{2}, {2, 1})}});
  for (const float other : {2.0f, 0.5f, -1.0f})
    refused(ErrorCode::kFormat, {{"x", kX}, {"y", floats(Shape{2}, {0, other})}},
            Task::kMultiLabel);
}

// One number in a file of a kilobyte costs no gigabytes.
TEST(ArraysFault, TakesNoMoreClassesThanThereIsEvidenceFor) {
  refused(ErrorCode::kFormat, {{"x", kX}, {"y", ints(Shape{2}, {0, 16'385})}});
  refused(ErrorCode::kFormat, {{"x", kX}, {"y", ints(Shape{2}, {8000, 8000})}});
  EXPECT_EQ(of(kX, ints(Shape{2}, {0, 999})).classes, 1000);
  // As many as this are believed when enough of them occur.
  const std::int64_t rows = 2000;
  const Tensor labels = Tensor::generate<std::int64_t>({rows}, [](std::span<std::int64_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int64_t>(10 * i);
  });
  EXPECT_EQ(of(Tensor::zeros({Dtype::kF32, {rows, 1}}), labels).classes, 19'991);
  // Of the training part: the rows of the test may be few.
  EXPECT_NO_THROW(arrays_split({{"x_train", Tensor::zeros({Dtype::kF32, {rows, 1}})},
                                {"y_train", labels},
                                {"x_test", Tensor::zeros({Dtype::kF32, {1, 1}})},
                                {"y_test", ints(Shape{1}, {19'990})}},
                               "a.npz"));
  // Sixteen times as many as there are different labels, here 63, and no more.
  const auto up_to = [](std::int64_t largest) {
    std::vector<std::int64_t> all(63);
    std::iota(all.begin(), all.end(), 0);
    all.back() = largest;
    return Tensor::from({63}, all);
  };
  const Tensor x = Tensor::zeros({Dtype::kF32, {63, 1}});
  EXPECT_EQ(of(x, up_to(1007)).classes, 1008);
  refused(ErrorCode::kFormat, {{"x", x}, {"y", up_to(1008)}});
}

TEST(ArraysFault, RefusesShapesThatDoNotFit) {
  const Tensor y = ints(Shape{2}, {0, 1});
  refused(ErrorCode::kShape, {{"x", kX}, {"y", ints(Shape{3}, {0, 1, 1})}});
  refused(ErrorCode::kShape, {{"x", kX}, {"y", ints(Shape{2, 1, 1}, {0, 1})}});
  refused(ErrorCode::kShape, {{"x", kX}, {"y", ints(Shape{2, 2}, {0, 1, 1, 1})}},
          Task::kClassification);
  refused(ErrorCode::kShape, {{"x", Tensor::scalar(1.0f)}, {"y", y}});
  refused(ErrorCode::kFormat, {{"x", Tensor::zeros({Dtype::kF32, Shape{0, 3}})}, {"y", y}});
  refused(ErrorCode::kShape, {{"x_train", kX},
                              {"y_train", y},
                              {"x_test", floats(Shape{2, 2}, {1, 2, 3, 4})},
                              {"y_test", y}});
  refused(ErrorCode::kShape, {{"x_train", kX},
                              {"y_train", floats(Shape{2, 2}, {1, 2, 3, 4})},
                              {"x_test", kX},
                              {"y_test", floats(Shape{2, 1}, {1, 2})}});
}

}  // namespace
}  // namespace limpid
