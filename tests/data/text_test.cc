#include "limpid/data/text/text.h"

#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using testing::bytes_of;

std::string load(std::string_view content) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "t.txt", bytes_of(content));
  return load_text(folder / "t.txt");
}

TEST(Text, IsReadAsItIs) {
  EXPECT_EQ(load("a\r\nb\xc3\xa9\n\n"), "a\r\nb\xc3\xa9\n\n");
  EXPECT_EQ(load("\xef\xbb\xbfx"), "x");
}

TEST(Text, NamesTheByteThatIsNone) {
  expect_refused(ErrorCode::kFormat, [] { load("a\nb\nc\xff\n"); });
  expect_refused(ErrorCode::kFormat, [] { load("\xc3"); });
  expect_refused(ErrorCode::kFormat, [] { load("\xef\xbb\xbf"); });
  expect_refused(ErrorCode::kIo, [] { load_text("/none.txt"); });
}

TEST(Text, IsOfAGibibyteAtMost) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "t.txt", bytes_of("a"));
  std::filesystem::resize_file(folder / "t.txt", kMaxTextBytes);  // sparse
  EXPECT_EQ(open_bytes(folder / "t.txt").text.size(), std::size_t{1} << 30);
  std::filesystem::resize_file(folder / "t.txt", kMaxTextBytes + 1);
  expect_refused(ErrorCode::kUnsupported, [&] { open_bytes(folder / "t.txt"); });
}

TEST(Text, HasLines) {
  using Lines = std::vector<std::string_view>;
  EXPECT_EQ(lines_of("a\nb\r\n\nc"), (Lines{"a", "b", "", "c"}));
  EXPECT_EQ(lines_of("a\n"), (Lines{"a"}));
  EXPECT_EQ(lines_of("a\r"), (Lines{"a\r"}));
  EXPECT_EQ(lines_of("\n"), (Lines{""}));
  EXPECT_EQ(lines_of(""), Lines{});
}

TEST(Text, IsSplitBehindNineTenthsOfItsCharacters) {
  const auto expect = [](std::string_view train, std::string_view test) {
    const std::string text = std::string(train) + std::string(test);
    const TextParts parts = split_text(text);
    EXPECT_EQ(parts.train, train);
    EXPECT_EQ(parts.test, test);
  };
  expect("012345678", "9");
  expect("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", "\xc3\xa9");
  expect("012345678", "9a");
  expect("", "0");
  expect("", "");
}

TEST(Text, OfShakespeareIsAsItIsKnown) {
  const std::optional<std::filesystem::path> folder = testing::data_folder("tinyshakespeare");
  if (!folder) GTEST_SKIP() << "skipped: no data";
  const std::string text = load_text(*folder / "input.txt");
  const Vocabulary vocabulary(text);
  EXPECT_EQ(vocabulary.size(), 65);  // as nanoGPT counts them
  EXPECT_EQ(vocabulary.encode(text).elements(), 1'115'394);
  EXPECT_EQ(split_text(text).test.size(), 111'540u);
}

TEST(Vocabulary, NumbersCharactersByCodePoint) {
  const std::string text =
      "ba\n\xf0\x9f\x98\x80\xc3\xa9\xe2\x82\xac"
      "b";
  const Vocabulary vocabulary(text);
  EXPECT_EQ(
      vocabulary.characters(),
      (std::vector<std::string>{"\n", "a", "b", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}));
  const Tensor numbers = vocabulary.encode(text);
  EXPECT_TRUE(numbers.same_bits(Tensor::from<std::int32_t>(Shape{7}, {2, 1, 0, 5, 3, 4, 2})));
  EXPECT_EQ(vocabulary.decode(numbers.values<std::int32_t>()), text);
  EXPECT_EQ(Vocabulary(vocabulary.characters()).characters(), vocabulary.characters());
  EXPECT_EQ(vocabulary.size(), 6);
}

TEST(Vocabulary, RefusesWhatItDoesNotHave) {
  const Vocabulary vocabulary(std::string_view("ab\n"));
  expect_refused(ErrorCode::kNotFound, [&] { vocabulary.encode("a\nb\xc3\xa9"); });
  expect_refused(ErrorCode::kFormat, [&] { vocabulary.encode("a\xff"); });
  for (const std::int32_t number : {-1, 3})
    expect_refused(ErrorCode::kInvalidArgument, [&] { vocabulary.decode({&number, 1}); });
  const auto making = [](std::vector<std::string> characters) {
    return [characters] { Vocabulary vocabulary_of(characters); };
  };
  expect_refused(ErrorCode::kFormat, making({"ab"}));
  expect_refused(ErrorCode::kFormat, making({""}));
  expect_refused(ErrorCode::kFormat, making({"b", "a"}));
  expect_refused(ErrorCode::kFormat, making({"a", "a"}));
}

}  // namespace
}  // namespace limpid
