// ONNX through open_model and write_model.
#include "limpid/formats/onnx/model_format.h"

#include <gtest/gtest.h>

#include "limpid/core/key.h"
#include "limpid/formats/onnx/onnx.h"
#include "limpid/models/open_model.h"
#include "limpid/nn/mlp.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid::testing {
namespace {

Model small_model() {
  const nn::Mlp net{{3, 5, 2}};
  return {net.function(), net.init(Key(1)), net.config()};
}

const Tensor kExamples = Tensor::from<float>({2, 3}, {1, -2, 3, 0.5f, 4, -1});

TEST(ModelFormat, WhatIsWrittenOpensAgainWithTheSameAnswers) {
  const TemporaryFolder folder;
  const Model model = small_model();
  write_model(folder / "m.onnx", model, {.onnx = &onnx::model_format()});
  const Model back = open_model(folder / "m.onnx", {.onnx = &onnx::model_format()});
  EXPECT_TRUE(predict(back, kExamples).same_bits(predict(model, kExamples)));
}

TEST(ModelFormat, ABatchOfASizeIsTheLeadingDimension) {
  const TemporaryFolder folder;
  write_model(folder / "m.onnx", small_model(), {.onnx = &onnx::model_format(), .batch = 2});
  const onnx::Imported read = onnx::load_onnx(folder / "m.onnx");
  EXPECT_EQ(to_string(read.function.inputs().back().type), "f32[2, 3]");
  ASSERT_EQ(read.metadata.size(), 1u);
  EXPECT_EQ(read.metadata[0].second, small_model().config);
}

TEST(ModelFormat, DimensionsReachTheReader) {
  const TemporaryFolder folder;
  write_model(folder / "m.onnx", small_model(), {.onnx = &onnx::model_format()});
  const Model two =
      open_model(folder / "m.onnx", {.onnx = &onnx::model_format(), .dimensions = {{"N", 2}}});
  EXPECT_EQ(to_string(data_input(two).type), "f32[2, 3]");
}

TEST(ModelFormat, FilesThatAreNone) {
  const TemporaryFolder folder;
  const OpenOptions options{.onnx = &onnx::model_format()};
  expect_refused(ErrorCode::kIo, [&] { open_model(folder / "none.onnx", options); });
  write(folder / "m.onnx", bytes_of("no model"));
  expect_refused(ErrorCode::kFormat, [&] { open_model(folder / "m.onnx", options); });
}

}  // namespace
}  // namespace limpid::testing
