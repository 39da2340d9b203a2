#include "limpid/data/text/text.h"

#include "tests/formats/helpers.h"

namespace limpid {
namespace {

using testing::bytes_of;
using testing::expect_error;

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
  expect_error(ErrorCode::kFormat, "/t.txt': line 3: byte 2 is not UTF-8",
               [] { load("a\nb\nc\xff\n"); });
  expect_error(ErrorCode::kFormat, "line 1: byte 1 is not UTF-8", [] { load("\xc3"); });
  expect_error(ErrorCode::kFormat, "/t.txt': is empty", [] { load("\xef\xbb\xbf"); });
  expect_error(ErrorCode::kIo, "No such file", [] { load_text("/none.txt"); });
}

TEST(Text, IsOfAGibibyteAtMost) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "t.txt", bytes_of("a"));
  std::filesystem::resize_file(folder / "t.txt", kMaxTextBytes);  // sparse
  EXPECT_EQ(open_bytes(folder / "t.txt").text.size(), std::size_t{1} << 30);
  std::filesystem::resize_file(folder / "t.txt", kMaxTextBytes + 1);
  expect_error(ErrorCode::kUnsupported, "/t.txt'", [&] { open_bytes(folder / "t.txt"); });
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
  expect_error(ErrorCode::kNotFound, "line 2: the vocabulary has no U+00E9",
               [&] { vocabulary.encode("a\nb\xc3\xa9"); });
  expect_error(ErrorCode::kFormat, "line 1: byte 2 is not UTF-8",
               [&] { vocabulary.encode("a\xff"); });
  for (const std::int32_t number : {-1, 3})
    expect_error(ErrorCode::kInvalidArgument, "of 3 characters", [&] {
      vocabulary.decode({&number, 1});
    });
  const auto making = [](std::vector<std::string> characters) {
    return [characters] { Vocabulary vocabulary_of(characters); };
  };
  expect_error(ErrorCode::kFormat, "'ab' is not a character", making({"ab"}));
  expect_error(ErrorCode::kFormat, "'' is not a character", making({""}));
  expect_error(ErrorCode::kFormat, "expected distinct characters in ascending order, got 'a'",
               making({"b", "a"}));
  expect_error(ErrorCode::kFormat, "expected distinct characters in ascending order, got 'a'",
               making({"a", "a"}));
}

}  // namespace
}  // namespace limpid
