#include "limpid/data/text_windows.h"

#include "tests/formats/helpers.h"

namespace limpid {
namespace {

using testing::bytes_of;
using testing::expect_error;

TEST(TextWindows, AreAllRunsOfTokensAndWhatFollowsThem) {
  const Tensor tokens = Tensor::from<std::int32_t>({5}, {3, 1, 4, 1, 5});
  const Dataset data = windows_of(tokens, 3);
  EXPECT_EQ(data.task, Task::kNextToken);
  EXPECT_TRUE(data.inputs.same_bits(Tensor::from<std::int32_t>({2, 3}, {3, 1, 4, 1, 4, 1})));
  EXPECT_TRUE(data.targets.same_bits(Tensor::from<std::int32_t>({2}, {1, 5})));
}

TEST(TextWindows, NeedMoreTokensThanTheContext) {
  const Tensor tokens = Tensor::from<std::int32_t>({3}, {0, 0, 0});
  expect_error(ErrorCode::kShape, "3 tokens, more than the context of 3",
               [&] { windows_of(tokens, 3); });
  expect_error(ErrorCode::kInvalidArgument, "a context of 0", [&] { windows_of(tokens, 0); });
  const Tensor many = Tensor::zeros({Dtype::kI32, {100'000}});
  expect_error(ErrorCode::kUnsupported, "50000 of 50000 tokens, at most 2147483648 bytes",
               [&] { windows_of(many, 50'000); });
}

TEST(TextWindows, ShareTheVocabularyOfTheWholeText) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "t.txt", bytes_of("abababababababababz "));  // 18 and 2
  const Split split = load_text_windows(folder / "t.txt", 1);
  EXPECT_EQ(split.train.size(), 17);
  EXPECT_EQ(split.validation.size(), 0);
  EXPECT_EQ(split.train.classes, 4);
  EXPECT_EQ(split.train.class_names, (std::vector<std::string>{" ", "a", "b", "z"}));
  EXPECT_TRUE(split.test.inputs.same_bits(Tensor::from<std::int32_t>({1, 1}, {3})));
  EXPECT_TRUE(split.test.targets.same_bits(Tensor::from<std::int32_t>({1}, {0})));
  expect_error(ErrorCode::kShape, "/t.txt': windows: 2 tokens, more than the context of 2",
               [&] { load_text_windows(folder / "t.txt", 2); });
}

}  // namespace
}  // namespace limpid
