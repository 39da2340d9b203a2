#include "limpid/data/text/text_windows.h"

#include <fmt/format.h>

#include <numeric>
#include <set>
#include <vector>

#include "limpid/core/utf8.h"
#include "limpid/data/text/text.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"
#include "tests/source_folder.h"

namespace limpid {
namespace {

using Kind = TokenWindows::Kind;
using testing::bytes_of;

// 0, 1, ..., n - 1.
Tensor counting(std::int64_t n) {
  return Tensor::generate<std::int32_t>(
      {n}, [](std::span<std::int32_t> out) { std::iota(out.begin(), out.end(), 0); });
}

void expect_examples(const Dataset& data, std::int64_t first, const Tensor& inputs,
                     const Tensor& targets) {
  const std::int64_t count = inputs.shape()[0];
  EXPECT_TRUE(data.inputs_of(first, count).same_bits(inputs));
  EXPECT_TRUE(data.targets_of(first, count).same_bits(targets));
  const Dataset part = data.rows(first, count);
  ASSERT_EQ(part.size(), count);
  EXPECT_TRUE(part.inputs_of(0, count).same_bits(inputs));
  EXPECT_TRUE(part.targets_of(0, count).same_bits(targets));
  for (std::int64_t i = 0; i < count; ++i) EXPECT_EQ(part.counted(i), data.counted(first + i));
}

TEST(TextWindows, SlidingOnesAreAllRunsOfTokensAndWhatFollowsThem) {
  const Dataset data = windows_of(Tensor::from<std::int32_t>({5}, {3, 1, 4, 1, 5}), 3);
  EXPECT_EQ(data.task, Task::kNextToken);
  EXPECT_EQ(data.size(), 2);
  EXPECT_EQ(data.input_type(), (Type{Dtype::kI32, {3}}));
  EXPECT_EQ(data.target_type(), (Type{Dtype::kI32, {}}));
  EXPECT_EQ(data.windows->first_target(), 3);
  EXPECT_EQ(data.windows->offset(Key(1), 3), 0);
  expect_examples(data, 0, Tensor::from<std::int32_t>({2, 3}, {3, 1, 4, 1, 4, 1}),
                  Tensor::from<std::int32_t>({2}, {1, 5}));
  expect_examples(data, 1, Tensor::from<std::int32_t>({1, 3}, {1, 4, 1}),
                  Tensor::from<std::int32_t>({1}, {5}));
}

TEST(TextWindows, TiledOnesHaveEveryTokenButTheFirstAsATargetOnce) {
  for (std::int64_t n = 2; n < 14; ++n) {
    const Dataset data = windows_of(counting(n), 4, Kind::kTiled);
    EXPECT_EQ(data.target_type(), (Type{Dtype::kI32, {4}}));
    std::vector<std::int32_t> targets;
    for (std::int64_t i = 0; i < data.size(); ++i) {
      const Tensor x = data.inputs_of(i, 1);
      const Tensor y = data.targets_of(i, 1);
      for (std::int64_t t = 0; t < data.counted(i); ++t) {
        const auto at = static_cast<std::size_t>(t);
        EXPECT_EQ(x.values<std::int32_t>()[at] + 1, y.values<std::int32_t>()[at]);
        targets.push_back(y.values<std::int32_t>()[at]);
      }
    }
    ASSERT_EQ(static_cast<std::int64_t>(targets.size()), n - 1);
    for (std::size_t t = 0; t < targets.size(); ++t)
      EXPECT_EQ(targets[t], static_cast<std::int32_t>(t + 1));
  }
}

TEST(TextWindows, WhatTheLastTiledOneLacksIsFilledUp) {
  const Dataset data =
      windows_of(Tensor::from<std::int32_t>({6}, {5, 6, 7, 8, 9, 4}), 3, Kind::kTiled);
  expect_examples(data, 0, Tensor::from<std::int32_t>({2, 3}, {5, 6, 7, 8, 9, 4}),
                  Tensor::from<std::int32_t>({2, 3}, {6, 7, 8, 9, 4, 0}));
  EXPECT_EQ(data.counted(0), 3);
  EXPECT_EQ(data.counted(1), 2);
  expect_examples(data, 1, Tensor::from<std::int32_t>({1, 3}, {8, 9, 4}),
                  Tensor::from<std::int32_t>({1, 3}, {9, 4, 0}));
}

TEST(TextWindows, ShiftedOnesAreWholeAndBeginEverywhere) {
  for (std::int64_t n = 5; n < 30; ++n) {
    const TokenWindows windows{counting(n), 4, Kind::kShifted};
    const std::int64_t places = n < 8 ? n - 4 : 4;
    std::set<std::int64_t> offsets;  // of one round of passes
    for (std::int64_t pass = 0; pass < 3 * places; ++pass) {
      if (pass % places == 0) offsets.clear();
      const std::int64_t offset = windows.offset(Key(7), pass);
      EXPECT_TRUE(offset < places && offsets.insert(offset).second) << n << " " << pass;
      std::int32_t expected = static_cast<std::int32_t>(offset);
      for (std::int64_t i = 0; i < windows.size(); ++i) {
        std::vector<std::int32_t> x(4), y(4);
        windows.write_inputs(i, offset, x);
        windows.write_targets(i, offset, y);
        for (std::size_t t = 0; t < 4; ++t) {
          ASSERT_EQ(x[t], expected++);
          ASSERT_EQ(y[t], expected);
        }
        EXPECT_EQ(windows.counted(i), 4);
      }
      // Fewer than 2 context + 1 tokens are not targets in this pass.
      EXPECT_LT(n - 4 * windows.size(), 9);
    }
  }
}

TEST(TextWindows, ShiftedOnesBeginInAnotherOrderInEveryRound) {
  const TokenWindows windows{counting(30), 4, Kind::kShifted};
  std::set<std::vector<std::int64_t>> orders;
  for (std::int64_t round = 0; round < 8; ++round) {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < 4; ++i) order.push_back(windows.offset(Key(7), 4 * round + i));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 4u);
}

TEST(TextWindows, HaveNoneBehindTheLast) {
  for (const Kind kind : {Kind::kSliding, Kind::kTiled, Kind::kShifted})
    for (const std::int64_t n : {11, 13}) {
      const Dataset data = windows_of(counting(n), 4, kind);
      EXPECT_EQ(data.rows(data.size(), 0).size(), 0);
      EXPECT_EQ(data.rows(0, 1).size(), 1);
    }
}

TEST(TextWindows, NeedTokens) {
  const Tensor tokens = counting(3);
  expect_refused(ErrorCode::kShape, [&] { windows_of(tokens, 3); });
  expect_refused(ErrorCode::kShape, [&] { windows_of(tokens, 3, Kind::kShifted); });
  expect_refused(ErrorCode::kShape, [&] { windows_of(counting(1), 3, Kind::kTiled); });
  expect_refused(ErrorCode::kInvalidArgument, [&] { windows_of(tokens, 0); });
  expect_refused(ErrorCode::kShape, [] { windows_of(Tensor::zeros({Dtype::kF32, {3}}), 1); });
  const Dataset data = windows_of(tokens, 1);
  expect_refused(ErrorCode::kShape, [&] { data.rows(1, 2); });
  expect_refused(ErrorCode::kShape, [&] { data.rows(0, -1); });
  expect_refused(ErrorCode::kShape, [&] { data.inputs_of(-1, 1); });
  expect_refused(ErrorCode::kShape, [&] { data.targets_of(2, 1); });
  expect_refused(ErrorCode::kUnsupported, [&] { gather_rows(data, {}); });
}

TEST(TextWindows, TakeNoMemoryForOneAnother) {
  const Dataset data = windows_of(counting(100'000), 50'000);
  EXPECT_EQ(data.size(), 50'000);
  EXPECT_EQ(data.targets_of(49'999, 1).values<std::int32_t>()[0], 99'999);
}

TEST(TextWindows, ShareTheVocabularyOfTheWholeText) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "t.txt", bytes_of("abababababababababz "));  // 18 and 2
  const Split split = load_text_windows(folder / "t.txt", {.context = 1});
  EXPECT_EQ(split.train.size(), 17);
  EXPECT_EQ(split.validation.size(), 0);
  EXPECT_EQ(split.train.classes, 4);
  EXPECT_EQ(split.train.class_names, (std::vector<std::string>{" ", "a", "b", "z"}));
  for (const Dataset* part : {&split.train, &split.test}) EXPECT_EQ(part->name, "t.txt");
  EXPECT_EQ(split.train.tokenizer->kind(), "characters");
  expect_examples(split.test, 0, Tensor::from<std::int32_t>({1, 1}, {3}),
                  Tensor::from<std::int32_t>({1}, {0}));
  expect_refused(ErrorCode::kShape, [&] { load_text_windows(folder / "t.txt", {.context = 2}); });
  const Split every = load_text_windows(folder / "t.txt", {.context = 4, .every_token = true});
  EXPECT_EQ(every.train.windows->kind, Kind::kShifted);
  EXPECT_EQ(every.train.size(), 3);
  expect_examples(every.test, 0, Tensor::from<std::int32_t>({1, 4}, {3, 0, 0, 0}),
                  Tensor::from<std::int32_t>({1, 4}, {0, 0, 0, 0}));
  EXPECT_EQ(every.test.counted(0), 1);
}

// The model's characters are those of its own text; the line number counts in the file, not in the
// test set, which begins in line 19.
TEST(TextWindows, OfAnotherTextNameTheFileAndTheLine) {
  const testing::TemporaryFolder folder;
  const Tokenizer tokenizer{Vocabulary(std::string_view("ab\n"))};
  for (const int unknown : {19, 20}) {
    std::string text;
    for (int line = 1; line <= 20; ++line) text += line == unknown ? "ab\u00e9b\n" : "abab\n";
    testing::write(folder / "t.txt", bytes_of(text));
    expect_refused(ErrorCode::kNotFound,
                   [&] { load_test_windows(folder / "t.txt", tokenizer, {.context = 1}); });
  }
}

TEST(TextWindows, BytesNeedNoCharacters) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "t.bin", bytes_of("\xff\xfe\x01"
                                            "abcdefgh"));
  const WindowOptions options{.context = 1, .tokenizer = "bytes"};
  const Split split = load_text_windows(folder / "t.bin", options);
  EXPECT_EQ(split.train.classes, 256);
  EXPECT_TRUE(split.train.class_names.empty());
  expect_examples(split.train, 0, Tensor::from<std::int32_t>({2, 1}, {255, 254}),
                  Tensor::from<std::int32_t>({2}, {254, 1}));
  expect_examples(split.test, 0, Tensor::from<std::int32_t>({1, 1}, {'g'}),
                  Tensor::from<std::int32_t>({1}, {'h'}));
  const Dataset again = load_test_windows(folder / "t.bin", *split.train.tokenizer, options);
  expect_examples(again, 0, Tensor::from<std::int32_t>({1, 1}, {'g'}),
                  Tensor::from<std::int32_t>({1}, {'h'}));
  expect_refused(ErrorCode::kFormat, [&] { load_text_windows(folder / "t.bin", {}); });
  expect_refused(ErrorCode::kInvalidArgument, [] { tokenizer_for("words", "text"); });
  testing::write(folder / "none.bin", {});
  expect_refused(ErrorCode::kFormat, [&] { load_text_windows(folder / "none.bin", options); });
}

// Tokens are kept as the bytes of the file, in one byte or in two: they are those of encode().
TEST(TextWindows, TokensOfAnyWidthAreThoseOfTheText) {
  const testing::TemporaryFolder folder;
  const std::string ascii = "to be, or not to be: that is\n";
  std::string latin = ascii + "\u00e9\u00fc\n", many = latin;
  for (char32_t c = 0x4e00; c < 0x4e00 + 400; ++c) many += utf8_of(c);
  std::string large = "\xef\xbb\xbf";  // after the mark, several pieces of a MiB
  while (large.size() < (std::size_t{3} << 20)) large += latin;
  // One token more than a number of 8 and of 16 bits can tell apart.
  const auto of_characters = [](char32_t count) {
    std::string text;
    for (char32_t c = 0x20000; c < 0x20000 + count; ++c) text += utf8_of(c);
    return text;
  };
  for (const std::string& text :
       {ascii, latin, many, large, of_characters((1 << 8) + 1), of_characters((1 << 16) + 1)})
    for (const std::string tokenizer : {"characters", "bytes"}) {
      testing::write(folder / "a.txt", testing::bytes_of(text));
      const Split split =
          load_text_windows(folder / "a.txt", {.context = 1, .tokenizer = tokenizer});
      const std::string whole =
          tokenizer == "bytes" ? load_bytes(folder / "a.txt") : load_text(folder / "a.txt");
      const TextParts parts = tokenizer == "bytes" ? split_bytes(whole) : split_text(whole);
      const Tokenizer& known = *split.train.tokenizer;
      EXPECT_EQ(split.train.windows->tokens.has_deferred_rows(), known.size() <= 1 << 16);
      EXPECT_TRUE(split.train.windows->tokens.same_bits(known.encode(parts.train)));
      EXPECT_TRUE(split.test.windows->tokens.same_bits(known.encode(parts.test)));
    }
}

TEST(TextWindows, TakeBytePairsFromAFolder) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "t.txt", bytes_of("the quick brown fox jumps over the lazy dog\n"));
  const std::string name = "bpe:" + (testing::source_folder() / "tests/data/byte_pair").string();
  const Split split = load_text_windows(folder / "t.txt", {.context = 1, .tokenizer = name});
  EXPECT_EQ(split.train.tokenizer->kind(), "byte_pair");
  EXPECT_EQ(split.train.classes, split.train.tokenizer->size());
  const auto tokens = split.train.windows->tokens.values<std::int32_t>();
  EXPECT_EQ(split.train.tokenizer->decode(tokens), "the quick brown fox jumps over the lazy");
  EXPECT_LT(tokens.size(), 39u);
  expect_refused(ErrorCode::kNotFound, [&] { tokenizer_for("bpe:" + folder.path().string(), ""); });
  expect_refused(ErrorCode::kInvalidArgument, [] { tokenizer_for("bpe:", ""); });
}

// Characters are read in pieces of a MiB. Words must not be: their tokens depend on what follows.
TEST(TextWindows, BytePairsOfALongTextAreThoseOfTheWhole) {
  const testing::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "the ";
  testing::write(folder / "t.txt", bytes_of(text));
  const std::string name = "bpe:" + (testing::source_folder() / "tests/data/byte_pair").string();
  const Split split = load_text_windows(folder / "t.txt", {.context = 1, .tokenizer = name});
  EXPECT_TRUE(split.train.windows->tokens.same_bits(
      split.train.tokenizer->encode(split_bytes(text).train)));
}

TEST(SplitBytes, TakesNineTenths) {
  for (std::size_t n = 0; n < 40; ++n) {
    const std::string text(n, 'a');
    const TextParts parts = split_bytes(text);
    EXPECT_EQ(parts.train.size(), n * 9 / 10);
    EXPECT_EQ(parts.train.size() + parts.test.size(), n);
  }
}

}  // namespace
}  // namespace limpid
