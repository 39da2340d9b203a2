#include "limpid/nn/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// How often each token comes up in 20,000 draws.
std::vector<double> shares(const std::vector<float>& logits, const Sampling& sampling) {
  constexpr int kDraws = 20'000;
  std::vector<double> share(logits.size());
  for (int i = 0; i < kDraws; ++i)
    share.at(static_cast<std::size_t>(
        sample(logits, sampling, Key(7).fold_in(static_cast<std::uint64_t>(i))))) += 1.0 / kDraws;
  return share;
}

const std::vector<float> kLogits = {std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};

void expect_shares(const std::vector<double>& got, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == 0)
      EXPECT_EQ(got[i], 0) << i;
    else
      EXPECT_NEAR(got[i], expected[i], 0.012) << i;  // more than three deviations
  }
}

TEST(Sampling, FollowsTheProbabilities) {
  expect_shares(shares(kLogits, {}), {0.1, 0.4, 0.2, 0.3});
  // Squared, of sum 0.3.
  expect_shares(shares(kLogits, {.temperature = 0.5}), {1 / 30., 16 / 30., 4 / 30., 9 / 30.});
}

TEST(Sampling, LeavesOutTheUnlikely) {
  expect_shares(shares(kLogits, {.top_k = 2}), {0, 4 / 7., 0, 3 / 7.});
  expect_shares(shares(kLogits, {.top_k = 9}), {0.1, 0.4, 0.2, 0.3});
  expect_shares(shares(kLogits, {.top_p = 0.75}), {0, 4 / 9., 2 / 9., 3 / 9.});
  expect_shares(shares(kLogits, {.top_p = 0.35}), {0, 1, 0, 0});
  // Of the two that are left 4/7 is enough.
  expect_shares(shares(kLogits, {.top_k = 2, .top_p = 0.55}), {0, 1, 0, 0});
  expect_shares(shares({0, -kInfinity, 0}, {}), {0.5, 0, 0.5});
  // 0.3 is more than 0.6 times 0.4, 0.2 is not.
  expect_shares(shares(kLogits, {.min_p = 0.6}), {0, 4 / 7., 0, 3 / 7.});
  expect_shares(shares(kLogits, {.min_p = 1}), {0, 1, 0, 0});
  // Exactly enough is enough; of equals the first ones stay.
  expect_shares(shares({0, 0, 0, 0}, {.top_p = 0.5}), {0.5, 0.5, 0, 0});
  expect_shares(shares({0, 0, 0, 0}, {.top_k = 2}), {0.5, 0.5, 0, 0});
}

TEST(Sampling, AtNoTemperatureTakesTheFirstOfTheLikeliest) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(sample(kLogits, {.temperature = 0}, Key(seed)), 1);
    EXPECT_EQ(sample(std::vector<float>{1, 2, 2}, {.temperature = 0}, Key(seed)), 1);
    EXPECT_EQ(sample(std::vector<float>{1, 2, 2}, {.top_k = 1}, Key(seed)), 1);
    EXPECT_EQ(sample(std::vector<float>{1e30f, -1e30f}, {.temperature = 1e-300}, Key(seed)), 0);
  }
}

TEST(Sampling, IsAFunctionOfItsKey) {
  std::vector<std::int32_t> draws;
  for (std::uint64_t i = 0; i < 8; ++i) draws.push_back(sample(kLogits, {}, Key(i)));
  EXPECT_EQ(draws, (std::vector<std::int32_t>{1, 2, 3, 2, 1, 2, 1, 0}));
}

// A random number exactly at the border of two tokens chooses the second one.
TEST(Sampling, GivesTheBorderToTheTokenBehindIt) {
  const Key half(515'707);
  ASSERT_EQ(half.uniform(0), 0.5f);
  EXPECT_EQ(sample(std::vector<float>{0, 0}, {}, half), 1);
}

// The order and the weights by their definition, one by one.
TEST(Sampling, OrdersAndWeighsManyTokens) {
  for (const std::size_t count : {1, 2, 27, 300, 50'257}) {
    const Key key(count);
    std::vector<float> logits(count);
    for (std::size_t i = 0; i < count; ++i) {
      const float x = (key.uniform(i) - 0.5f) * 20;
      // Ties, both zeros, subnormals, and tokens of probability 0.
      const float odd[] = {0.0f, -0.0f, std::round(x), 1e-42f * x, -kInfinity, x, x / 100, x};
      logits[i] = odd[i == 0 ? 5 : key.fold_in(1).below(8, i)];
    }
    const float most = *std::max_element(logits.begin(), logits.end());
    std::vector<std::int32_t> tokens(count);
    std::iota(tokens.begin(), tokens.end(), 0);
    const auto logit_of = [&](std::int32_t t) { return logits[static_cast<std::size_t>(t)]; };
    std::stable_sort(tokens.begin(), tokens.end(),
                     [&](std::int32_t a, std::int32_t b) { return logit_of(a) > logit_of(b); });
    const std::vector<Choice> all = choices(logits, {.temperature = 0.7});
    // The last ones weigh nothing.
    ASSERT_GE(all.size(), (count + 3) / 4);
    ASSERT_LE(all.size(), count);
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i].token, tokens[i]) << i << " of " << count;
      const double scaled =
          (static_cast<double>(logit_of(tokens[i])) - static_cast<double>(most)) / 0.7;
      ASSERT_EQ(all[i].weight,
                static_cast<double>(arithmetic::exp(static_cast<float>(std::max(scaled, -200.0)))))
          << i << " of " << count;
    }
  }
}

TEST(Sampling, RefusesWhatIsNoChoice) {
  const auto refused = [](const std::vector<float>& logits, const Sampling& sampling) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { sample(logits, sampling, Key(0)); });
  };
  refused({}, {});
  refused({-kInfinity, -kInfinity}, {});
  refused({0, std::nanf("")}, {});
  refused({0, kInfinity, 0}, {});
  const double nan = std::nan("");
  for (const double temperature : {-1.0, double(INFINITY), nan})
    refused({0}, {.temperature = temperature});
  refused({0}, {.top_k = -1});
  for (const double top_p : {0.0, 1.5, nan}) refused({0}, {.top_p = top_p});
  for (const double min_p : {-0.1, 1.5, nan}) refused({0}, {.min_p = min_p});
}

}  // namespace
}  // namespace limpid::nn
