// What a plan keeps in memory: it grows with the work no faster than it must.
#include <gtest/gtest.h>

#include "limpid/limpid.h"

namespace limpid {
namespace {

std::size_t workspace_of(const Function& f) { return compile(f).workspace_bytes(); }

// The gradient of an LSTM over x[:, t], written as a loop.
Function unrolled_lstm(std::int64_t steps) {
  constexpr std::int64_t kBatch = 8, kInputs = 24, kUnits = 16;
  const auto loss =
      trace("lstm",
            {{"x", {Dtype::kF32, {kBatch, steps, kInputs}}},
             {"wx", {Dtype::kF32, {4 * kUnits, kInputs}}},
             {"wh", {Dtype::kF32, {4 * kUnits, kUnits}}}},
            [&](std::span<const Value> in) {
              Builder& b = in[0].builder();
              Value h = constant(b, Tensor::zeros({Dtype::kF32, {kBatch, kUnits}})), c = h;
              for (std::int64_t t = 0; t < steps; ++t) {
                const Value x = reshape(slice(in[0], 1, t, t + 1), {kBatch, kInputs});
                const Value gates = linear(x, in[1]) + linear(h, in[2]);
                const auto gate = [&](std::int64_t k) {
                  return slice(gates, 1, k * kUnits, (k + 1) * kUnits);
                };
                c = sigmoid(gate(1)) * c + sigmoid(gate(0)) * tanh(gate(2));
                h = sigmoid(gate(3)) * tanh(c);
              }
              return std::vector<Value>{sum(h * h)};
            });
  return grad(loss, {"x", "wx", "wh"});
}

TEST(Memory, OfAnUnrolledLoopIsLinearInItsSteps) {
  const std::size_t few = workspace_of(unrolled_lstm(20)), many = workspace_of(unrolled_lstm(80));
  EXPECT_LT(many, 4.4 * static_cast<double>(few));
  // Of a step: its input, six gates and states, and what their gradients need.
  EXPECT_LT(static_cast<double>(many) / 80, 8 * 4 * (2 * 24 + 12 * 16));
}

TEST(Memory, GradientsOfPartsAreOneBuffer) {
  const auto gradient_of = [](std::int64_t parts) {
    const auto f =
        trace("parts", {{"w", {Dtype::kF32, {parts, 32, 32}}}, {"x", {Dtype::kF32, {4, 32}}}},
              [&](std::span<const Value> in) {
                Value x = in[1];
                for (std::int64_t i = 0; i < parts; ++i)
                  x = tanh(matmul(x, reshape(slice(in[0], 0, i, i + 1), {32, 32})));
                return std::vector<Value>{sum(x)};
              });
    return workspace_of(grad(f, {"w"}));
  };
  const std::size_t of_w = 64 * 32 * 32 * 4;
  EXPECT_LT(gradient_of(64), 2.5 * of_w);
}

TEST(Memory, ALayerOfTanhKeepsOneTensor) {
  const auto step = [](Value (*activation)(Value)) {
    const auto f = trace("layers", {{"x", {Dtype::kF32, {64, 64}}}, {"w", {Dtype::kF32, {64, 64}}}},
                         [&](std::span<const Value> in) {
                           Value x = in[0];
                           for (int i = 0; i < 20; ++i) x = activation(linear(x, in[1]));
                           return std::vector<Value>{sum(x)};
                         });
    return workspace_of(grad(f, {"w"}));
  };
  EXPECT_LT(step(tanh), 1.1 * static_cast<double>(step(relu)));
  EXPECT_LT(step(sigmoid), 1.1 * static_cast<double>(step(relu)));
}

// The bits are the same.
TEST(Memory, RecomputedLayersAreNotKept) {
  const auto loss =
      trace("layers", {{"x", {Dtype::kF32, {64, 64}}}, {"w", {Dtype::kF32, {64, 64}}}},
            [](std::span<const Value> in) {
              Value x = in[0];
              for (int i = 0; i < 36; ++i) {
                const Builder::Scope scope(x.builder(), "layers." + std::to_string(i));
                x = gelu(linear(x, in[1])) + x;
              }
              return std::vector<Value>{sum(x)};
            });
  const Function kept = grad(loss, {"w"}), again = grad(loss, {"w"}, {every(6)});
  EXPECT_LT(workspace_of(again), workspace_of(kept) / 2);
  const std::vector<Tensor> inputs{nn::normal(1.0)(Key(1), {64, 64}),
                                   nn::normal(0.1)(Key(2), {64, 64})};
  EXPECT_TRUE(compile(again)(inputs)[0].same_bits(compile(kept)(inputs)[0]));
}

// Of many small steps in sequence, each of whose results is read again from the last on.
TEST(Memory, RegistersOfALongProgramAreFew) {
  const auto f = trace("steps", {{"x", {Dtype::kF32, {4}}}}, [](std::span<const Value> in) {
    Value x = in[0];
    for (int i = 0; i < 2000; ++i) x = sin(x) * x;
    return std::vector<Value>{sum(x)};
  });
  const Executable executable = compile(grad(f, {"x"}));
  EXPECT_LT(Workspace(executable).bytes(), 2000 * 4 * 64);
}

// Sums of a few parts that overlap, of parts with gaps, and of elements: as the padded parts' sum.
TEST(Memory, GradientsOfPartsAreThoseOfPaddedOnes) {
  const auto f = trace("parts", {{"x", {Dtype::kF32, {6, 5}}}}, [](std::span<const Value> in) {
    const Value x = in[0];
    Value y = sum(slice(x, 0, 0, 2)) * 2.0 + sum(slice(x, 0, 1, 4) * 3.0);
    for (std::int64_t i = 0; i < 6; i += 2)
      for (std::int64_t j = 1; j < 5; ++j)
        y = y + sum(slice(x, {i, j}, {i + 1, j + 1}, {1, 1})) * static_cast<double>(10 * i + j);
    return std::vector<Value>{y + sum(slice(x, {0, 0}, {6, 5}, {2, 2}))};
  });
  const Tensor got = compile(grad(f, {"x"}))(std::vector{Tensor::zeros({Dtype::kF32, {6, 5}})})[0];
  const auto values = got.values<float>();
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 5; ++j) {
      const bool element = i % 2 == 0 && j > 0;
      const float expected = (i < 2 ? 2.0f : 0.0f) + (i >= 1 && i < 4 ? 3.0f : 0.0f) +
                             (element ? static_cast<float>(10 * i + j) : 0.0f) +
                             (i % 2 == 0 && j % 2 == 0 ? 1.0f : 0.0f);
      EXPECT_EQ(values[static_cast<std::size_t>(5 * i + j)], expected) << i << " " << j;
    }
}

// Shared by threads, block by block, and combined as the interpreter does.
TEST(Memory, LongRowsAreSharedByBlocks) {
  const auto f =
      trace("long", {{"x", {Dtype::kF32, {3, 40'000}}}, {"y", {Dtype::kF32, {40'000, 3}}}},
            [](std::span<const Value> in) {
              return std::vector<Value>{sum(in[0] * in[0], 1) * 2.0, max(in[0], 1), sum(in[1], 0),
                                        min(in[1], 0), sum(in[1])};
            });
  const std::vector<Tensor> inputs{nn::normal(1.0)(Key(1), {3, 40'000}),
                                   nn::normal(1.0)(Key(2), {40'000, 3})};
  const std::vector<Tensor> expected = interpret(f, inputs);
  const Executable executable = compile(f, {.isa = {}, .nanoseconds_worth_sharing = 0});
  EXPECT_NE(executable.plan().find("combine"), std::string::npos);
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool({.threads = threads});
    const std::vector<Tensor> got = executable(inputs, &pool);
    for (std::size_t o = 0; o < got.size(); ++o)
      EXPECT_TRUE(got[o].same_bits(expected[o])) << threads << " threads, output " << o;
  }
}

}  // namespace
}  // namespace limpid
