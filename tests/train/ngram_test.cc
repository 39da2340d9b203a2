#include "limpid/train/diagnostics/ngram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "limpid/core/error.h"
#include "limpid/data/text/text_windows.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

// a b a c a b, of three tokens.
const Tensor kText = Tensor::from<std::int32_t>({6}, {0, 1, 0, 2, 0, 1});

TEST(NGram, InterpolatesByHowManyFollow) {
  const NGram ngram(kText, 3, 2);
  // Alone: (count + 3 / 3) / (6 + 3), as all three follow nothing.
  EXPECT_DOUBLE_EQ(ngram.probability({}, 0), 4 / 9.);
  EXPECT_DOUBLE_EQ(ngram.probability({}, 1), 3 / 9.);
  EXPECT_DOUBLE_EQ(ngram.probability({}, 2), 2 / 9.);
  // After a, which occurs three times, b comes twice and c once.
  const std::vector<std::int32_t> a = {0};
  EXPECT_DOUBLE_EQ(ngram.probability(a, 0), (0 + 2 * 4 / 9.) / 5);
  EXPECT_DOUBLE_EQ(ngram.probability(a, 1), (2 + 2 * 3 / 9.) / 5);
  EXPECT_DOUBLE_EQ(ngram.probability(a, 2), (1 + 2 * 2 / 9.) / 5);
  // Of more tokens the last one counts.
  EXPECT_EQ(ngram.probability(std::vector<std::int32_t>{2, 0}, 1), ngram.probability(a, 1));
}

TEST(NGram, GivesProbabilities) {
  const NGram ngram(kText, 4, 3);
  for (const std::vector<std::int32_t>& before :
       {std::vector<std::int32_t>{}, {0}, {3}, {0, 1}, {1, 1}, {3, 0}, {2, 2, 1, 0}}) {
    double sum = 0;
    for (std::int32_t token = 0; token < 4; ++token) {
      EXPECT_GT(ngram.probability(before, token), 0);
      sum += ngram.probability(before, token);
    }
    EXPECT_NEAR(sum, 1, 1e-15);
  }
}

TEST(NGram, LosesByWhatIsSkipped) {
  const NGram ngram(kText, 3, 1);
  EXPECT_DOUBLE_EQ(ngram.loss(Tensor::from<std::int32_t>({3}, {2, 2, 0}), 1),
                   -(std::log(2 / 9.) + std::log(4 / 9.)) / 2);
  EXPECT_THROW(ngram.loss(kText, 6), Error);
  EXPECT_THROW(ngram.loss(kText, -1), Error);
}

TEST(NGram, TakesWhatFitsInto64Bits) {
  EXPECT_EQ(NGram::order_for(65), 5);
  EXPECT_EQ(NGram::order_for(256, 100), 8);
  EXPECT_EQ(NGram::order_for(257, 100), 7);
  EXPECT_EQ(NGram::order_for(1 << 20), 3);
  EXPECT_EQ(NGram::order_for(1, 100), 64);
  EXPECT_THROW(NGram(kText, 3, 0), Error);
  EXPECT_THROW(NGram(kText, 1 << 20, 4), Error);
  EXPECT_THROW(NGram(kText, 0, 1), Error);
}

TEST(NGram, NamesATokenOutOfItsVocabulary) {
  for (const std::int32_t token : {2, -1})
    expect_refused(ErrorCode::kInvalidArgument, [&] {
      NGram(Tensor::from<std::int32_t>({2}, {0, token}), 2, 1);
    });
}

// Tokens are read in blocks of 65,536.
TEST(NGram, CountsAcrossBlocks) {
  std::vector<std::int32_t> tokens;
  for (std::int32_t i = 0; i < 140'000; ++i) tokens.push_back(i % 7 * (i % 3) % 5);
  const Tensor all = Tensor::from(Shape{140'000}, tokens);
  const NGram ngram(all, 5, 3);
  double sum = 0;
  for (std::size_t i = 2; i < tokens.size(); ++i)
    sum -= std::log(ngram.probability(std::span(tokens).first(i), tokens[i]));
  EXPECT_NEAR(ngram.loss(all, 2), sum / static_cast<double>(tokens.size() - 2), 1e-12);
  std::map<std::vector<std::int32_t>, double> counts;  // of three tokens, and of their contexts
  std::map<std::vector<std::int32_t>, std::set<std::int32_t>> followers;
  for (std::size_t i = 2; i < tokens.size(); ++i) {
    const std::vector<std::int32_t> context(tokens.begin() + static_cast<std::ptrdiff_t>(i) - 2,
                                            tokens.begin() + static_cast<std::ptrdiff_t>(i));
    ++counts[context];
    followers[context].insert(tokens[i]);
    ++counts[{context[0], context[1], tokens[i]}];
  }
  for (const auto& [context, next] : followers)
    for (const std::int32_t token : next) {
      const auto n = static_cast<double>(next.size());
      const double shorter = ngram.probability(std::span(context).last(1), token);
      EXPECT_NEAR(ngram.probability(context, token),
                  (counts[{context[0], context[1], token}] + n * shorter) / (counts[context] + n),
                  1e-12);
    }
}

// A text may be larger than memory.
TEST(NGram, CountsTheFirstTokensOfALongText) {
  std::int64_t last = 0;
  const Tensor tokens =
      Tensor::deferred_rows({Dtype::kI32, {std::int64_t{1} << 24}},
                            [&](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
                              last = std::max(last, first + count);
                              std::fill(out.begin(), out.end(), std::byte{0});
                            });
  EXPECT_NEAR(NGram(tokens, 2, 2).probability({}, 0), 1, 1e-6);
  EXPECT_EQ(last, std::int64_t{1} << 20);
}

TEST(NGram, IsNoBaselineOfNumbers) {
  Split numbers;
  numbers.train.name = "moons";
  expect_refused(ErrorCode::kInvalidArgument, [&] { ngram_metrics(numbers); });
}

TEST(NGram, IsTheBaselineOfWindows) {
  std::vector<std::int32_t> train, test;
  for (int i = 0; i < 40; ++i) train.push_back(i % 3);
  for (int i = 0; i < 10; ++i) test.push_back(i % 4 == 3 ? 0 : i % 3);
  const auto tensor = [](const std::vector<std::int32_t>& tokens) {
    return Tensor::from(Shape{static_cast<std::int64_t>(tokens.size())}, tokens);
  };
  const auto windows = [&](const std::vector<std::int32_t>& tokens) {
    Dataset data = windows_of(tensor(tokens), 4);
    data.classes = 3;
    return data;
  };
  const Numbers metrics = ngram_metrics({windows(train), {}, windows(test)});
  const double loss = NGram(tensor(train), 3, 5).loss(tensor(test), 4);
  EXPECT_DOUBLE_EQ(metrics.at("ngram_perplexity"), std::exp(loss));
  EXPECT_DOUBLE_EQ(metrics.at("ngram_bits_per_token"), loss / std::log(2.0));
}

}  // namespace
}  // namespace limpid::train
