// The answers of the comparison: right ones are accepted, and answers as wrong as a bug makes them
// are not.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "bench/task.h"

namespace bench {
namespace {

using Kind = Case::Kind;
using Answer = std::vector<float>;

Case one_case(Kind kind, const std::string& what, int batch) {
  return {kind, what, batch, 1, "", ""};
}

Answer rounded(const std::vector<long double>& right) { return {right.begin(), right.end()}; }

// With a smaller batch than those of the comparison: the reference is plain loops.
const Case kSgd = one_case(Kind::kTraining, "sgd", 4);
const Case kAdamW = one_case(Kind::kTraining, "adamw", 4);

// The parameters after steps of kSgd or kAdamW that differ in something.
Answer trained(const Case& c, int steps, float rate, float momentum) {
  const std::vector<float> x = rows_of_input(c.batch * kTrainingBatches, 784);
  const std::vector<std::int32_t> labels = digits_labels(c.batch * kTrainingBatches);
  const std::vector<double> all =
      reference_training(network_of(kDigits), {c.batch, x, labels, c.what, rate, momentum}, steps);
  return {all.begin(), all.end()};
}

TEST(Answers, RightOnesAreAccepted) {
  for (const Case& c :
       {one_case(Kind::kForward, "tanh:3-4-2", 1), one_case(Kind::kForward, "gelu:20-30-5", 3),
        one_case(Kind::kNarrow, "bf16", 1), one_case(Kind::kNarrow, "i8", 2),
        one_case(Kind::kGated, "16-24", 2), one_case(Kind::kFunction, "softmax", 8),
        one_case(Kind::kFunction, "layer_norm", 300), kSgd, kAdamW}) {
    const std::vector<long double> right = c.right_answer();
    EXPECT_LT(c.error(rounded(right), right), 0.02) << c.name();
  }
}

TEST(Answers, ParametersThatWereNeverUpdatedAreRefused) {
  for (const Case& c : {kSgd, kAdamW})
    EXPECT_GT(c.error(flat(network_of(kDigits)), c.right_answer()), 1) << c.what;
}

TEST(Answers, StepsThatDifferAreRefused) {
  for (const Case& c : {kSgd, kAdamW}) {
    const std::vector<long double> right = c.right_answer();
    EXPECT_LT(c.error(trained(c, 3, kRate, kMomentum), right), 0.02) << c.what;
    EXPECT_GT(c.error(trained(c, 2, kRate, kMomentum), right), 1) << c.what;
    EXPECT_GT(c.error(trained(c, 3, 1.01f * kRate, kMomentum), right), 1) << c.what;
  }
  EXPECT_GT(kSgd.error(trained(kSgd, 3, kRate, 0), kSgd.right_answer()), 1);
}

TEST(Answers, AdamWWithoutItsWeightDecayIsRefused) {
  const std::vector<long double> right = kAdamW.right_answer();
  const Answer before = flat(network_of(kDigits));
  Answer answer = rounded(right);
  for (std::size_t i = 0; i < answer.size(); ++i) answer[i] += 3 * kRate * 0.01f * before[i];
  EXPECT_GT(kAdamW.error(answer, right), 1);
}

// Where a gradient is almost zero its sign is decided by rounding, and AdamW's first steps have the
// size of the rate.
TEST(Answers, AFewParametersThatAdamWMovedTheOtherWayAreAccepted) {
  const std::vector<long double> right = kAdamW.right_answer();
  Answer answer = rounded(right);
  for (std::size_t i = 0; i < 5; ++i) answer[1000 * i] += 1.9f * 3 * kRate;
  EXPECT_LT(kAdamW.error(answer, right), 1);
  answer[17] += 2.1f * 3 * kRate;  // farther than three steps there and three back
  EXPECT_GT(kAdamW.error(answer, right), 1);
}

TEST(Answers, OneThatIsOffIsRefused) {
  for (const Case& c : {one_case(Kind::kForward, "relu:20-30-5", 2), kSgd,
                        one_case(Kind::kFunction, "gelu", 16), one_case(Kind::kNarrow, "f32", 1)}) {
    const std::vector<long double> right = c.right_answer();
    for (const std::size_t place : {std::size_t{0}, right.size() - 1}) {
      Answer answer = rounded(right);
      answer[place] += 2e-4f;
      EXPECT_GT(c.error(answer, right), 1) << c.name();
      answer[place] -= 1.5e-4f;
      EXPECT_LT(c.error(answer, right), 1) << c.name();
    }
  }
}

TEST(Answers, WhatIsNotANumberIsRefused) {
  for (const Case& c : {one_case(Kind::kForward, "relu:20-30-5", 2), kAdamW}) {
    const std::vector<long double> right = c.right_answer();
    for (const std::size_t place : {std::size_t{0}, right.size() / 2, right.size() - 1})
      for (const float odd : {NAN, INFINITY}) {
        Answer answer = rounded(right);
        answer[place] = odd;
        EXPECT_FALSE(c.error(answer, right) < 1) << c.name() << " " << place;
      }
  }
}

TEST(Answers, FewerNumbersThanExpectedAreRefused) {
  const Case c = one_case(Kind::kForward, "relu:20-30-5", 2);
  const std::vector<long double> right = c.right_answer();
  Answer answer = rounded(right);
  answer.push_back(7);  // of a row that is not compared
  EXPECT_LT(c.error(answer, right), 1);
  answer.resize(right.size() - 1);
  EXPECT_GT(c.error(answer, right), 1);
}

TEST(Answers, NarrowWeightsMayRoundAsTheyMust) {
  for (const auto& [dtype, allowed] : {std::pair{"bf16", 0.02f}, std::pair{"i8", 0.1f}}) {
    const Case c = one_case(Kind::kNarrow, dtype, 1);
    const std::vector<long double> right = c.right_answer();
    Answer answer = rounded(right);
    answer[3] += 0.9f * allowed;
    EXPECT_LT(c.error(answer, right), 1) << dtype;
    answer[3] += 0.2f * allowed;
    EXPECT_GT(c.error(answer, right), 1) << dtype;
  }
}

TEST(Reference, InputsOfReluThatRoundingMovesAcrossZeroAreRefused) {
  Network network = network_of("relu:2-2-2");
  network.biases[0] = {0, 0.5f};
  network.weights[0] = {0, 0, 0.25f, 0.25f};
  const std::vector<float> x = {0.5f, 0.5f};
  const std::vector<std::int32_t> labels = {1};
  EXPECT_THROW(reference_training(network, {1, x, labels, "sgd", kRate, kMomentum}, 1),
               std::logic_error);
  network.biases[0] = {0.5f, 0.5f};
  EXPECT_NO_THROW(reference_training(network, {1, x, labels, "sgd", kRate, kMomentum}, 1));
}

// One linear layer, two classes: by hand, softmax is 1 / (1 + e^-z).
TEST(Reference, TrainingOfOneLayerIsTheFormula) {
  const Network network{"relu", {1, 2}, {{0.5f, -0.25f}}, {{0.125f, 0.0f}}};
  const std::vector<float> x = {2.0f, -1.0f};
  const std::vector<std::int32_t> labels = {0, 1};
  const double second[] = {1 / (1 + std::exp(1.125 + 0.5)),  // of the class 1, logits 1.125, -0.5
                           1 / (1 + std::exp(-0.375 - 0.25))};  // -0.375, 0.25
  // Of class 1: its probability, less one where it is the label.
  const double g_weight = (second[0] * 2 + (second[1] - 1) * -1) / 2;
  const double g_bias = (second[0] + second[1] - 1) / 2;
  const std::vector<double> p = reference_training(network, {2, x, labels, "sgd", 0.5f, 0.75f}, 1);
  EXPECT_NEAR(p[0], 0.5 + 0.5 * g_weight, 1e-12);
  EXPECT_NEAR(p[1], -0.25 - 0.5 * g_weight, 1e-12);
  EXPECT_NEAR(p[2], 0.125 + 0.5 * g_bias, 1e-12);
  EXPECT_NEAR(p[3], -0.5 * g_bias, 1e-12);
  // The first step of AdamW: the decay, and the sign of the gradient times the rate.
  const std::vector<double> a = reference_training(network, {2, x, labels, "adamw", 0.5f, 0}, 1);
  EXPECT_NEAR(a[0], 0.5 * (1 - 0.5 * 0.01) + 0.5 * (g_weight > 0 ? 1 : -1), 1e-6);
  EXPECT_NEAR(a[2], 0.125 * (1 - 0.5 * 0.01) + 0.5 * (g_bias > 0 ? 1 : -1), 1e-6);
}

TEST(Reference, FunctionsOfOne) {
  const std::vector<float> x = {1.0f, -2.0f};
  const auto first = [&](const char* name) {
    return static_cast<double>(reference_function({name, 1, 2, x})[0]);
  };
  EXPECT_DOUBLE_EQ(first("relu"), 1);
  EXPECT_DOUBLE_EQ(first("gelu"), 0.84134474606854293);
  EXPECT_NEAR(first("gelu_tanh"), 0.84119199060827676, 1e-9);
  EXPECT_DOUBLE_EQ(first("silu"), 0.73105857863000488);
  EXPECT_DOUBLE_EQ(first("sigmoid"), 0.73105857863000488);
  EXPECT_DOUBLE_EQ(first("tanh"), 0.76159415595576489);
  EXPECT_DOUBLE_EQ(first("softmax"), 0.95257412682243322);  // 1 / (1 + e^-3)
  EXPECT_NEAR(first("layer_norm"), 1.5 / std::sqrt(2.25 + 1e-5), 1e-15);
  EXPECT_NEAR(first("rms_norm"), 1 / std::sqrt(2.5 + 1e-5), 1e-15);
  EXPECT_EQ(reference_function({"relu", 1, 2, x})[1], 0);
}

TEST(Reference, AGatedBlockIsItsFormula) {
  const Gated gated{1, 2, {1, 2}, {3, 0.5f}, {1, -1}};
  const std::vector<float> x = {0.5f};
  const auto silu = [](double v) { return v / (1 + std::exp(-v)); };
  EXPECT_NEAR(reference_gated(gated, 1, x)[0], silu(0.5) * 1.5 - silu(1) * 0.25, 1e-7);
}

TEST(Reference, ErrorsAreInUnitsOfTheLastPlace) {
  EXPECT_EQ(error_in_ulp(std::nextafter(1.5f, 2.0f), 1.5L), 1);
  EXPECT_EQ(error_in_ulp(1.5f, 1.5L + 0x1p-25L), 0.25);
  EXPECT_EQ(error_in_ulp(-3.0f, -3.0L - 0x1p-22L), 1);
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(error_in_ulp(0.0f, least), 1);
  EXPECT_EQ(error_in_ulp(3 * least, least), 2);
}

TEST(Task, NumbersAreWithinTheirBoundsAndTheSameInEachProcess) {
  const Network network = network_of(kDigits);
  EXPECT_EQ(network.activation, "relu");
  EXPECT_EQ(network.sizes, (std::vector<int>{784, 256, 128, 10}));
  EXPECT_EQ(flat(network).size(), 235146u);
  float largest = 0;
  for (const float w : network.weights[0]) largest = std::max(largest, std::abs(w));
  EXPECT_LE(largest, std::sqrt(6.0f / 784));
  EXPECT_GT(largest, 0.99f * std::sqrt(6.0f / 784));
  for (const float b : network.biases[1]) EXPECT_LE(std::abs(b), 0.1f);
  EXPECT_EQ(flat(network), flat(network_of(kDigits)));
  for (const std::int32_t label : digits_labels(100)) EXPECT_TRUE(label >= 0 && label < 10);
  for (const float x : rows_of_input(3, 5)) EXPECT_TRUE(x >= -1 && x < 1);
  EXPECT_NE(network.weights[0][0], network.weights[1][0]);
}

TEST(Task, CodesTimesTheirScaleAreTheWeights) {
  const Network network = network_of("relu:30-20-10");
  const Codes codes = codes_of(network, 1);
  ASSERT_EQ(codes.scales.size(), 10u);
  float largest = 0;
  for (std::size_t i = 0; i < codes.values.size(); ++i) {
    const float scale = codes.scales[i / 20];
    EXPECT_EQ(codes.values[i], std::nearbyint(codes.values[i]));
    EXPECT_LE(std::abs(codes.values[i] * scale - network.weights[1][i]), 0.501f * scale);
    largest = std::max(largest, std::abs(codes.values[i]));
  }
  EXPECT_EQ(largest, 127);
}

TEST(Cases, TheirNamesDifferAndThreadsAreInOrder) {
  std::set<std::string> names, rows;
  int threads = 1;
  for (const Case& c : all_cases({1, 2})) {
    EXPECT_TRUE(names.insert(c.name()).second) << c.name();
    EXPECT_TRUE(rows.insert(c.table + std::to_string(c.threads) + c.row).second) << c.row;
    EXPECT_GE(c.threads, threads);
    threads = c.threads;
  }
  EXPECT_EQ(threads, 2);
}

TEST(Cases, TheLeastWorkCountsEachWeightOnce) {
  const double weights = 784 * 256 + 256 * 128 + 128 * 10, ends = 784 + 10;
  const Work forward = one_case(Kind::kForward, kDigits, 8).work();
  EXPECT_EQ(forward.flops, 2 * 8 * weights);
  EXPECT_EQ(forward.read, 4 * weights + 4 * 8 * ends);
  EXPECT_EQ(forward.copied, 0);
  const Work bf16 = one_case(Kind::kNarrow, "bf16", 8).work();
  EXPECT_EQ(bf16.flops, 2 * 8 * weights);
  EXPECT_EQ(bf16.read, 2 * weights + 4 * 8 * ends);
  const Work i8 = one_case(Kind::kNarrow, "i8", 8).work();
  EXPECT_EQ(i8.flops, 2 * 8 * weights / 4);
  EXPECT_EQ(i8.read, weights + 4 * 8 * ends);
  const Work gated = one_case(Kind::kGated, "16-24", 2).work();
  EXPECT_EQ(gated.flops, 2 * 2 * 3 * 16 * 24);
  EXPECT_EQ(gated.read, 4 * 3 * 16 * 24 + 4 * 2 * 32);
  EXPECT_EQ(one_case(Kind::kFunction, "relu", 256).work().copied, 2 * 256 * 256 * 4);
  const Work sgd = one_case(Kind::kTraining, "sgd", 32).work();
  EXPECT_EQ(sgd.flops, 2 * 32 * (3 * weights - 784 * 256));  // no gradient of the images
  EXPECT_EQ(sgd.copied, 4 * 2 * 2 * 235146.0);
  EXPECT_EQ(one_case(Kind::kTraining, "adamw", 32).work().copied, 4 * 2 * 3 * 235146.0);
}

}  // namespace
}  // namespace bench
