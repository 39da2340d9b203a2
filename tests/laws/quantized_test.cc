// Weights of bf16 and i8: the bits of their products whatever the batch, the threads and the
// instruction set, the bounds on what they lose, and the transformation that makes them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "limpid/compile/executable.h"
#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/quantize.h"
#include "limpid/transforms/vmap.h"
#include "tests/laws/laws.h"
#include "tests/laws/random_values.h"
#include "tests/refusals.h"

namespace limpid::laws {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A layer with a ReLU after it; its parameters are inputs.
Function layer(Dtype weight, std::int64_t batch, std::int64_t in, std::int64_t out) {
  std::vector<Input> inputs{{"x", {Dtype::kF32, {batch, in}}}, {"weight", {weight, {out, in}}}};
  if (weight == Dtype::kI8) inputs.push_back({"scale", {Dtype::kF32, {out}}});
  inputs.push_back({"bias", {Dtype::kF32, {out}}});
  return trace("layer", inputs, [&](std::span<const Value> v) {
    return std::vector<Value>{relu(weight == Dtype::kI8 ? quantized_linear(v[0], v[1], v[2], v[3])
                                                        : linear(v[0], v[1], v[2]))};
  });
}

struct Sizes {
  std::int64_t in, out;
};

class NarrowWeights : public testing::TestWithParam<Dtype> {
 protected:
  // With the weight as an input and as a constant; the latter is packed once.
  void expect_same_bits(std::int64_t batch, Sizes s) const {
    SCOPED_TRACE(testing::Message() << batch << " x " << s.in << " -> " << s.out);
    const Function f = layer(GetParam(), batch, s.in, s.out);
    const std::vector<Tensor> inputs = random_inputs(f, Key(7), -2, 2, 256);
    EXPECT_EQ(compiled_is_interpreted(f, inputs), "");
    Params weights;
    for (std::size_t i = 1; i < inputs.size(); ++i) weights.set(f.inputs()[i].name, inputs[i]);
    EXPECT_EQ(compiled_is_interpreted(bind(f, weights), {inputs.data(), 1}), "");
  }
};

TEST_P(NarrowWeights, CompiledEqualsInterpretedForEveryBatch) {
  for (std::int64_t batch = 1; batch <= 70; ++batch) expect_same_bits(batch, {37, 45});
}

TEST_P(NarrowWeights, CompiledEqualsInterpretedForEverySize) {
  for (const std::int64_t in : {1, 2, 3, 4, 5, 15, 16, 17, 64, 255, 256, 257, 513, 784})
    for (const std::int64_t out : {1, 2, 15, 16, 17, 32, 33, 63, 64, 65, 128, 130})
      for (const std::int64_t batch : {1, 2, 3, 5}) expect_same_bits(batch, {in, out});
}

// More rows than are quantised, or finished, at a time.
TEST_P(NarrowWeights, CompiledEqualsInterpretedForManyRows) { expect_same_bits(203, {70, 33}); }

TEST_P(NarrowWeights, RunInTheirKernel) {
  const std::string plan = compile(layer(GetParam(), 3, 8, 5)).plan();
  const std::string dtype(name(GetParam()));
  EXPECT_NE(plan.find("in1^T " + dtype + "\n"), std::string::npos) << plan;
  EXPECT_NE(plan.find(dtype + " packed"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("reference"), std::string::npos) << plan;
  EXPECT_NE(plan.find(" relu\n"), std::string::npos) << plan;
}

INSTANTIATE_TEST_SUITE_P(Dtypes, NarrowWeights, testing::Values(Dtype::kBf16, Dtype::kI8),
                         [](const auto& which) { return std::string(name(which.param)); });

// ---- bf16

// One tensor that two products read in two shapes.
TEST(Bf16Weights, OfAnotherShapeArePackedAgain) {
  const Dtype f32 = Dtype::kF32;
  const Function f = trace(
      "f", {{"x", {f32, {3, 6}}}, {"y", {f32, {3, 4}}}, {"w", {Dtype::kBf16, {6, 4}}}},
      [](std::span<const Value> in) {
        return std::vector<Value>{matmul(in[0], in[2]), matmul(in[1], reshape(in[2], {4, 6}))};
      });
  EXPECT_EQ(compiled_is_interpreted(f, random_inputs(f, Key(3), -2, 2, 256)), "");
}

TEST(Bf16Weights, GiveWhatTheWidenedOnesGive) {
  for (const bool transposed : {false, true}) {
    const Function f = trace("f",
                             {{"a", {Dtype::kF32, {5, 300}}},
                              {"b", {Dtype::kBf16, transposed ? Shape{9, 300} : Shape{300, 9}}}},
                             [&](std::span<const Value> in) {
                               const Value wide = cast(in[1], Dtype::kF32);
                               return std::vector<Value>{matmul(in[0], in[1], false, transposed),
                                                         matmul(in[0], wide, false, transposed)};
                             });
    const std::vector<Tensor> results = compile(f)(random_inputs(f, Key(1)));
    EXPECT_TRUE(results[0].same_bits(results[1]));
  }
}

// A network may keep its weights in f32 and multiply with their bf16 values.
TEST(Bf16Weights, ReceiveARoundedGradient) {
  const Function loss =
      trace("loss", {{"x", {Dtype::kF32, {4, 6}}}, {"w", {Dtype::kF32, {3, 6}}}},
            [](std::span<const Value> in) {
              return std::vector<Value>{sum(sum(linear(in[0], cast(in[1], Dtype::kBf16)), 1), 0)};
            });
  const std::vector<Tensor> inputs = random_inputs(loss, Key(2));
  const std::vector<Tensor> gradients = interpret(grad(loss, {1}), inputs);
  for (std::size_t j = 0; j < 6; ++j) {
    float column = 0;
    for (std::size_t i = 0; i < 4; ++i) column += inputs[0].values<float>()[i * 6 + j];
    EXPECT_EQ(gradients[0].values<float>()[j], to_f32(to_bf16(column)));
  }
}

// Of what is only stored, cotangents are added in f32. Each is 1 + 2^-7, which both dtypes hold;
// three of them are 3 + 3 * 2^-7, which bf16 does not.
TEST(StoredFloats, HaveCotangentsThatAreAddedInF32) {
  using Of = std::function<Value(const Value&)>;
  const auto wide = [](const Value& v) { return cast(v, Dtype::kF32); };
  const auto rows = [](const Value& v, std::vector<std::int32_t> which) {
    const auto count = static_cast<std::int64_t>(which.size());
    return take(v, constant(v.builder(), Tensor::from({count}, which)), 0);
  };
  const std::map<std::string, Of> ways{
      {"broadcast",
       [&](const Value& v) {
         return wide(broadcast(v, {3, 2}));
       }},
      {"rows",
       [&](const Value& v) {
         return wide(rows(v, {0, 1, 1, 0, 0, 1}));
       }},
      {"read more often", [&](const Value& v) { return wide(v) + wide(v) + wide(v); }}};
  for (const Dtype stored : {Dtype::kBf16, Dtype::kF16}) {
    for (const auto& [name, way] : ways) {
      const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}}, [&](std::span<const Value> in) {
        return std::vector<Value>{sum(way(cast(in[0], stored)) * (1 + 0x1p-7))};
      });
      const std::vector<Tensor> inputs{Tensor::from<float>({2}, {1, 2})};
      const Function gradient = grad(f, {0});
      const float each = 3 + 3 * 0x1p-7f;
      const float expected = stored == Dtype::kBf16 ? to_f32(to_bf16(each)) : each;
      const Tensor result = interpret(gradient, inputs)[0];
      EXPECT_TRUE(result.same_bits(Tensor::from<float>({2}, {expected, expected}))) << name;
      EXPECT_EQ(compiled_is_interpreted(gradient, inputs), "") << name;
    }
  }
}

// Parts of it have the cotangents of parts of a wide number.
TEST(StoredFloats, HaveTheCotangentsOfTheirParts) {
  using Of = std::function<Value(const Value&)>;
  const std::map<std::string, Of> ways{
      {"slice", [](const Value& v) { return slice(v, 0, 0, 2); }},
      {"split", [](const Value& v) { return split(v, 3, 0)[1]; }},
      {"select",
       [](const Value& v) {
         const Value mask = constant(v.builder(), Tensor::from<bool>({3}, {true, false, true}));
         return select(mask, v, v);
       }},
      {"scatter",
       [](const Value& v) { return scatter(v, iota(v.builder(), 1), slice(v, 0, 2, 3)); }}};
  const std::vector<Tensor> x{Tensor::from<float>({3}, {1, 2, 3})};
  for (const auto& [name, way] : ways) {
    const auto of = [&](Dtype dtype) {
      const Function f = trace("f", {{"x", {Dtype::kF32, {3}}}}, [&](std::span<const Value> in) {
        return std::vector<Value>{sum(cast(way(cast(in[0], dtype)), Dtype::kF32) * 3.0)};
      });
      const Function gradient = grad(f, {0});
      EXPECT_EQ(compiled_is_interpreted(gradient, x), "") << name;
      return interpret(gradient, x)[0];
    };
    const Tensor expected = of(Dtype::kF32);
    for (const Dtype stored : {Dtype::kBf16, Dtype::kF16})
      EXPECT_TRUE(of(stored).same_bits(expected)) << name;
  }
}

TEST(StoredFloats, AreOutputsWithCotangents) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{cast(in[0] * 3.0, Dtype::kBf16), cast(in[0], Dtype::kI32)};
  });
  const std::vector<Tensor> inputs{Tensor::from<float>({2}, {1, 2}),
                                   Tensor::from<Bf16>({2}, {to_bf16(1.0F), to_bf16(0.5F)}),
                                   Tensor::from<std::int32_t>({2}, {7, 7})};
  EXPECT_TRUE(interpret(vjp(f, {0}), inputs)[2].same_bits(Tensor::from<float>({2}, {3, 1.5})));
}

// One by one, the ones would be lost: both dtypes have only even numbers there.
TEST(StoredFloats, HaveASumOfCotangentsThatIsRoundedOnce) {
  for (const auto& [stored, large, expected] :
       {std::tuple{Dtype::kBf16, 256.0f, 260.0f}, {Dtype::kF16, 2048.0f, 2052.0f}}) {
    const Function f = trace("f", {{"x", {Dtype::kF32, {}}}}, [&](std::span<const Value> in) {
      const Value v = cast(in[0], stored);
      const auto read = [&] { return cast(v, Dtype::kF32); };
      return std::vector<Value>{read() + read() + read() + read() * large};
    });
    const std::vector<Tensor> inputs{Tensor::scalar(1.0f)};
    const Function gradient = grad(f, {0});
    EXPECT_EQ(interpret(gradient, inputs)[0].values<float>()[0], expected);
    EXPECT_EQ(compiled_is_interpreted(gradient, inputs), "");
  }
}

TEST(Bf16Weights, OfAnotherDtypeThanF32AreRefused) {
  Builder builder("f");
  const Value x = builder.input("x", {Dtype::kF64, {2, 3}});
  const Value w = builder.input("w", {Dtype::kBf16, {4, 3}});
  const Value h = builder.input("h", {Dtype::kF16, {4, 3}});
  expect_refused(ErrorCode::kDtype, [&] { linear(x, w); });
  const Value y = builder.input("y", {Dtype::kF32, {2, 3}});
  expect_refused(ErrorCode::kDtype, [&] { linear(y, h); });
}

// ---- i8

Tensor quantized(const std::vector<float>& x, std::int64_t features,
                 const std::vector<std::int8_t>& weight, const std::vector<float>& scale) {
  const auto rows = static_cast<std::int64_t>(x.size()) / features;
  const auto out = static_cast<std::int64_t>(scale.size());
  const Function f =
      trace("f", {{"x", {Dtype::kF32, {rows, features}}}}, [&](std::span<const Value> in) {
        Builder& b = in[0].builder();
        return std::vector<Value>{
            quantized_linear(in[0], constant(b, Tensor::from({out, features}, weight)),
                             constant(b, Tensor::from({out}, scale)))};
      });
  const std::vector<Tensor> inputs{Tensor::from({rows, features}, x)};
  EXPECT_EQ(compiled_is_interpreted(f, inputs), "");
  return interpret(f, inputs)[0];
}

// 0.5 and 1.5 units are ties and round to even codes; 2.54 is 127 units of 0.02.
TEST(I8Weights, WorkedExample) {
  const Tensor y = quantized({2.54f, 0.01f, 0.03f, -1.0f}, 4, {1, 100, 100, 2}, {0.5f});
  const float unit = 2.54f / 127.0f;
  EXPECT_EQ(y.item<float>(), (127.0f + 0.0f + 200.0f - 100.0f) * (unit * 0.5f));
}

TEST(I8Weights, RowsOfZerosAndOfTinyNumbersGiveNumbers) {
  const Tensor y = quantized({0, -0.0f, 1e-45f, 0, 0x1p-126f, -0x1p-127f, 3e38f, -3e38f}, 2,
                             {127, -127}, {2.0f});
  EXPECT_EQ(y.values<float>()[0], 0.0f);
  for (const float value : y.values<float>()) EXPECT_FALSE(std::isnan(value));
}

// From magnitudes m at which 127 / m is infinite to nearly infinite m.
TEST(I8Weights, RowsOfEveryMagnitudeAreTheirDefinition) {
  std::vector<float> x;
  for (int e = -149; e < 128; ++e)
    for (const float v : {1.0f, -0.6f, 0.0f, 1.9f}) x.push_back(std::ldexp(v, e));
  const Tensor y = quantized(x, 4, {3, 5, 7, 1, -11, 13, 17, 19}, {1.0f, 2.0f});
  EXPECT_GT(y.values<float>().back(), 0x1p127f);
}

// Other rows are not affected.
TEST(I8Weights, RowsWithNanOrInfinityAreNan) {
  for (const float bad : {kNan, -kNan, kInf, -kInf}) {
    const Tensor y = quantized({1, 2, bad, 4, 0, bad, 5, 6}, 2, {1, 0, 0, 0}, {1.0f, 1.0f});
    const auto v = y.values<float>();
    for (const std::size_t i : {2, 3, 4, 5}) EXPECT_TRUE(std::isnan(v[i])) << bad << " at " << i;
    for (const std::size_t i : {0, 1, 6, 7}) EXPECT_FALSE(std::isnan(v[i])) << bad << " at " << i;
  }
}

// The largest possible sums, of either sign.
TEST(I8Weights, SumsOfTheMostTermsAreExact) {
  const std::size_t k = arithmetic::kMostI8Terms;
  std::vector<std::int8_t> weight(2 * k, -128);
  std::fill_n(weight.begin(), k, std::int8_t{127});
  const Tensor y =
      quantized(std::vector<float>(k, 127.0f), static_cast<std::int64_t>(k), weight, {1, 1});
  EXPECT_EQ(y.values<float>()[0], static_cast<float>(127 * 127) * static_cast<float>(k));
  EXPECT_EQ(y.values<float>()[1], static_cast<float>(-128.0 * 127 * static_cast<double>(k)));
}

TEST(I8Weights, AreRefusedBeyondTheirMostTerms) {
  constexpr auto kTooMany = static_cast<std::int64_t>(arithmetic::kMostI8Terms) + 1;
  Builder b("f");
  const Value x = b.input("x", {Dtype::kF32, {kTooMany}}),
              w = b.input("w", {Dtype::kI8, {1, kTooMany}}), s = b.input("s", {Dtype::kF32, {1}}),
              none = b.input("none", {Dtype::kF32, {2, 0}}),
              nothing = b.input("nothing", {Dtype::kI8, {1, 0}});
  expect_refused(ErrorCode::kShape, [&] { quantized_linear(x, w, s, s); });
  expect_refused(ErrorCode::kShape, [&] { quantized_linear(none, nothing, s, s); });
}

// ---- quantize

// |W x - got| against the bound of quantize(), and a rounding of f32 for each step.
TEST(Quantize, StaysWithinItsBound) {
  constexpr std::int64_t kIn = 300, kOut = 40, kRows = 6;
  const Function f =
      trace("f", {{"w", {Dtype::kF32, {kOut, kIn}}}, {"x", {Dtype::kF32, {kRows, kIn}}}},
            [](std::span<const Value> in) { return std::vector<Value>{linear(in[1], in[0])}; });
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Tensor w = random_tensor({Dtype::kF32, {kOut, kIn}}, Key(seed), -0.3, 0.5);
    const Tensor x = random_tensor({Dtype::kF32, {kRows, kIn}}, Key(seed).fold_in(1), -1, 3);
    const Quantized q = quantize(f, Params{{"w", w}});
    const Tensor codes = q.params.at("w"), scale = q.params.at("w_scale");
    const std::vector<Tensor> in{codes, scale, x};
    const Tensor got = interpret(q.function, in)[0];
    double largest_share = 0;
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t o = 0; o < kOut; ++o) {
        const double s = scale.values<float>()[o];
        double exact = 0, x_sum = 0, w_sum = 0, t = 0;
        for (std::size_t i = 0; i < kIn; ++i) {
          const double xi = x.values<float>()[r * kIn + i], wi = w.values<float>()[o * kIn + i];
          const double stored = s * codes.values<std::int8_t>()[o * kIn + i];
          ASSERT_LE(std::fabs(stored - wi), s / 2 * (1 + 1e-5));
          exact += xi * wi;
          x_sum += std::fabs(xi);
          w_sum += std::fabs(stored);
          t = std::max(t, std::fabs(xi) / 127);
        }
        const double bound = (s * x_sum + t * w_sum) / 2;
        const double error = std::fabs(got.values<float>()[r * kOut + o] - exact);
        EXPECT_LE(error, bound * (1 + 1e-5));
        largest_share = std::max(largest_share, error / bound);
      }
    // The bound is not vacuous: some errors exceed 2 % of it.
    EXPECT_GT(largest_share, 0.02);
  }
}

Function mlp_function() { return nn::Mlp{{20, 16, 5}}.function(); }
Params mlp_params() { return nn::Mlp{{20, 16, 5}}.init(Key(3)); }

TEST(Quantize, ToBf16IsTheNetworkOfRoundedWeights) {
  const Params params = mlp_params();
  const Quantized q = quantize(mlp_function(), params, {.to = Dtype::kBf16});
  Params rounded;
  for (const auto& [name, value] : params) {
    const bool weight = value.shape().rank() == 2;
    EXPECT_EQ(q.params.at(name).dtype(), weight ? Dtype::kBf16 : Dtype::kF32) << name;
    rounded.set(
        name, Tensor::generate<float>(value.shape(), [&, &all = value](std::span<float> out) {
          for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = weight ? to_f32(to_bf16(all.values<float>()[i])) : all.values<float>()[i];
        }));
  }
  EXPECT_EQ(q.params.names(), params.names());
  const std::vector<Tensor> x{random_tensor({Dtype::kF32, {20}}, Key(4))};
  EXPECT_TRUE(interpret(bind(q.function, q.params), x)[0].same_bits(
      interpret(bind(mlp_function(), rounded), x)[0]));
}

TEST(Quantize, ToI8GivesScalesAndSaysSo) {
  const Quantized q = quantize(mlp_function(), mlp_params());
  EXPECT_EQ(q.params.names(), (std::vector<std::string>{"layers.0.weight", "layers.0.weight_scale",
                                                        "layers.0.bias", "layers.1.weight",
                                                        "layers.1.weight_scale", "layers.1.bias"}));
  EXPECT_EQ(q.done,
            (std::vector<std::string>{
                "layers.0.weight: f32[16, 20] became i8[16, 20] and a scale for each output",
                "layers.1.weight: f32[5, 16] became i8[5, 16] and a scale for each output"}));
  verify(q.function);
  for (const Node& node : q.function.nodes()) EXPECT_NE(node.op, &op::linear);
}

// A model's file has parameters that only another Function of it reads.
TEST(Quantize, KeepsParametersThatTheFunctionLacks) {
  Params params = mlp_params();
  params.set("temperature", Tensor::scalar<float>(3));
  const Quantized q = quantize(mlp_function(), params);
  ASSERT_NE(q.params.find("temperature"), nullptr);
  EXPECT_TRUE(q.params.at("temperature").same_bits(params.at("temperature")));
}

TEST(Quantize, OfABatchIsTheBatchOfTheQuantized) {
  for (const Dtype to : {Dtype::kBf16, Dtype::kI8}) {
    const Quantized q = quantize(mlp_function(), mlp_params(), {.to = to});
    const Function f = bind(q.function, q.params);
    for (const std::int64_t size : {1, 2, 13, 70}) {
      const Function batch = vmap(f, {0}, size);
      const std::vector<Tensor> x{random_tensor({Dtype::kF32, {size, 20}}, Key(4))};
      EXPECT_EQ(compiled_is_interpreted(batch, x), "");
      EXPECT_EQ(compile(batch).plan().find("reference"), std::string::npos);
      const Tensor all = compile(batch)(x)[0];
      for (std::int64_t i = 0; i < size; ++i)
        EXPECT_TRUE(
            slice(all, 0, i).same_bits(interpret(f, std::vector<Tensor>{slice(x[0], 0, i)})[0]));
    }
  }
}

TEST(Quantize, LeavesWhatIsNamedAndWhatIsReadOtherwise) {
  const Function f =
      trace("f",
            {{"table", {Dtype::kF32, {9, 6}}},
             {"kept", {Dtype::kF32, {6, 6}}},
             {"free", {Dtype::kF32, {6, 6}}},
             {"ids", {Dtype::kI32, {4}}}},
            [](std::span<const Value> in) {
              const Value x = gather(in[0], in[3]);
              return std::vector<Value>{linear(linear(linear(x, in[1]), in[2]), in[0]), sum(in[0])};
            });
  const std::vector<Tensor> inputs = random_inputs(f, Key(1));
  // "free" is not a parameter; "table" is also used in a sum.
  const Params params{{"table", inputs[0]}, {"kept", inputs[1]}};
  for (const Dtype to : {Dtype::kBf16, Dtype::kI8}) {
    EXPECT_EQ(quantize(f, params, {.to = to}).done.size(), 1u);
    const Quantized q = quantize(f, params, {.to = to, .exclude = {"kept"}});
    EXPECT_TRUE(q.done.empty());
    EXPECT_EQ(q.function, f);
  }
}

// Each of these would have been quantised if it were not read in one more way: as a result, with
// its columns as outputs as well as its rows, or by rows that are not its outputs'.
TEST(Quantize, LeavesWhatIsAResultAndWhatIsReadInTwoLayouts) {
  const Type square{Dtype::kF32, {6, 6}};
  const std::vector<Input> inputs{{"w", square}, {"x", square}, {"ids", {Dtype::kI32, {4}}}};
  using Reading = std::vector<Value> (*)(std::span<const Value>);
  const Reading readings[] = {
      [](std::span<const Value> in) {
        return std::vector<Value>{linear(in[1], in[0]), in[0]};
      },
      [](std::span<const Value> in) {
        return std::vector<Value>{linear(in[1], in[0]), matmul(in[1], in[0])};
      },
      [](std::span<const Value> in) {
        return std::vector<Value>{matmul(in[1], in[0]), gather(in[0], in[2])};
      },
      // Elements of rows, rather than rows.
      [](std::span<const Value> in) {
        const Value places = broadcast(reshape(in[2], {1, 4}), {6, 4});
        return std::vector<Value>{linear(in[1], in[0]), gather(in[0], places, 1)};
      }};
  for (const Reading code : readings) {
    const Function f = trace("f", inputs, code);
    const Params params{{"w", random_tensor(square, Key(1))}};
    for (const Dtype to : {Dtype::kBf16, Dtype::kI8})
      EXPECT_TRUE(quantize(f, params, {.to = to}).done.empty()) << to_text(f);
  }
}

// There is no kernel for these.
TEST(Quantize, LeavesWhatIsMultipliedOtherwise) {
  struct Case {
    Type w, x;
    Value (*read)(Value x, Value w);
  };
  const Case cases[] = {
      {{Dtype::kF32, {5, 6}},
       {Dtype::kF32, {5, 4}},
       [](Value x, Value w) { return matmul(x, w, true, false); }},
      {{Dtype::kF32, {2, 5, 6}},
       {Dtype::kF32, {2, 4, 5}},
       [](Value x, Value w) { return matmul(x, w); }},
      {{Dtype::kF64, {6, 5}}, {Dtype::kF64, {4, 5}}, [](Value x, Value w) { return linear(x, w); }},
      {{Dtype::kF32, {0, 5}}, {Dtype::kF32, {4, 5}}, [](Value x, Value w) { return linear(x, w); }},
      {{Dtype::kF32, {5, 5}}, {Dtype::kF32, {5, 5}}, [](Value x, Value w) {
         return linear(w, x);
       }}};
  for (const Case& c : cases) {
    const Function f = trace("f", {{"w", c.w}, {"x", c.x}}, [&](std::span<const Value> in) {
      return std::vector<Value>{c.read(in[1], in[0])};
    });
    for (const Dtype to : {Dtype::kBf16, Dtype::kI8}) {
      const Quantized q = quantize(f, Params{{"w", Tensor::zeros(c.w)}}, {.to = to});
      EXPECT_TRUE(q.done.empty()) << to_text(f);
      EXPECT_EQ(q.function, f);
      EXPECT_EQ(q.params.at("w").type(), c.w);
    }
  }
}

// Sums of more terms would not be exact; how many outputs there are does not matter.
TEST(Quantize, LeavesWeightsOfTooManyTermsForI8) {
  constexpr auto kMost = static_cast<std::int64_t>(arithmetic::kMostI8Terms);
  const auto quantized = [](const Shape& weight, bool turned, Dtype to) {
    const std::vector<Input> inputs{
        {"w", {Dtype::kF32, weight}},
        {"x", {Dtype::kF32, {1, weight[turned ? 0 : 1]}}},
    };
    const Function f = trace("f", inputs, [&](std::span<const Value> in) {
      return std::vector<Value>{turned ? matmul(in[1], in[0]) : linear(in[1], in[0])};
    });
    return quantize(f, Params{{"w", Tensor::zeros(inputs[0].type)}}, {.to = to}).done.size();
  };
  EXPECT_EQ(quantized({1, kMost}, false, Dtype::kI8), 1u);
  EXPECT_EQ(quantized({1, kMost + 1}, false, Dtype::kI8), 0u);
  EXPECT_EQ(quantized({1, kMost + 1}, false, Dtype::kBf16), 1u);
  EXPECT_EQ(quantized({kMost + 1, 1}, true, Dtype::kI8), 0u);
  EXPECT_EQ(quantized({kMost + 1, 1}, false, Dtype::kI8), 1u);
}

// A tied embedding.
TEST(Quantize, TakesRowsOfANarrowTable) {
  const Function f = trace("f", {{"table", {Dtype::kF32, {9, 6}}}, {"ids", {Dtype::kI32, {4}}}},
                           [](std::span<const Value> in) {
                             const Value x = gather(in[0], in[1]);
                             return std::vector<Value>{linear(x, in[0]), x};
                           });
  const Tensor ids = Tensor::from<std::int32_t>({4}, {3, 0, 8, 3});
  const Tensor table = random_tensor({Dtype::kF32, {9, 6}}, Key(1));
  for (const Dtype to : {Dtype::kBf16, Dtype::kI8}) {
    const Quantized q = quantize(f, Params{{"table", table}}, {.to = to});
    ASSERT_EQ(q.done.size(), 1u);
    const std::vector<Tensor> got = compile(bind(q.function, q.params))(std::vector<Tensor>{ids});
    // The rows are the dequantised codes.
    const Tensor stands_for = Tensor::generate<float>({9, 6}, [&](std::span<float> out) {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = to == Dtype::kBf16
                     ? to_f32(reinterpret_cast<const Bf16*>(q.params.at("table").bytes().data())[i])
                     : static_cast<float>(q.params.at("table").values<std::int8_t>()[i]) *
                           q.params.at("table_scale").values<float>()[i / 6];
    });
    const std::vector<Tensor> want = interpret(f, std::vector<Tensor>{stands_for, ids});
    EXPECT_TRUE(got[1].same_bits(want[1]));
    if (to == Dtype::kBf16) {
      EXPECT_TRUE(got[0].same_bits(want[0]));
    }
    for (std::size_t i = 0; i < 36; ++i)
      EXPECT_NEAR(got[0].values<float>()[i], want[0].values<float>()[i], 0.1f) << i;
  }
}

// The same parameters serve another Function of the same model.
TEST(Quantize, FitsAFunctionToParametersThatAreNarrow) {
  for (const Dtype to : {Dtype::kBf16, Dtype::kI8}) {
    const Quantized q = quantize(mlp_function(), mlp_params(), {.to = to});
    EXPECT_EQ(with_narrow_params(mlp_function(), q.params), q.function);
    EXPECT_EQ(with_narrow_params(mlp_function(), mlp_params()), mlp_function());
    // One that takes them already stays as it is.
    EXPECT_EQ(with_narrow_params(q.function, q.params), q.function);
  }
  const Function f = trace("f", {{"w", {Dtype::kF32, {3, 4}}}, {"x", {Dtype::kF32, {4}}}},
                           [](std::span<const Value> in) {
                             return std::vector<Value>{linear(in[1], in[0]), sum(in[0])};
                           });
  const auto refused = [&](ErrorCode code, const Function& function, const Params& params) {
    expect_refused(code, [&] { with_narrow_params(function, params); });
  };
  refused(ErrorCode::kInvalidArgument, f, {{"w", Tensor::zeros({Dtype::kBf16, {3, 4}})}});
  const Function g = layer(Dtype::kF32, 1, 4, 3);
  refused(ErrorCode::kNotFound, g, {{"weight", Tensor::zeros({Dtype::kI8, {3, 4}})}});
  refused(ErrorCode::kShape, g, {{"weight", Tensor::zeros({Dtype::kBf16, {4, 3}})}});
}

// matmul x w reads its weight transposed.
TEST(Quantize, TurnsTheWeightsOfMatmul) {
  for (const bool transposed : {false, true}) {
    const Function f = trace("f",
                             {{"w", {Dtype::kF32, transposed ? Shape{7, 12} : Shape{12, 7}}},
                              {"x", {Dtype::kF32, {3, 12}}}},
                             [&](std::span<const Value> in) {
                               return std::vector<Value>{matmul(in[1], in[0], false, transposed)};
                             });
    const std::vector<Tensor> inputs = random_inputs(f, Key(5));
    const Tensor exact = interpret(f, inputs)[0];
    for (const Dtype to : {Dtype::kBf16, Dtype::kI8}) {
      const Quantized q = quantize(f, Params{{"w", inputs[0]}}, {.to = to});
      ASSERT_EQ(q.done.size(), 1u);
      EXPECT_EQ(q.params.at("w").shape(),
                (transposed || to == Dtype::kI8 ? Shape{7, 12} : Shape{12, 7}));
      EXPECT_EQ(with_narrow_params(f, q.params), q.function);
      const std::vector<Tensor> x{inputs[1]};
      const Tensor got = compile(bind(q.function, q.params))(x)[0];
      for (std::size_t i = 0; i < 21; ++i)
        EXPECT_NEAR(got.values<float>()[i], exact.values<float>()[i], 0.25f) << i;
    }
  }
}

TEST(Quantize, RefusesWhatItCannotDo) {
  const auto refused = [](ErrorCode code, const Params& params, const QuantizeOptions& options) {
    expect_refused(code, [&] { quantize(mlp_function(), params, options); });
  };
  refused(ErrorCode::kInvalidArgument, mlp_params(), {.to = Dtype::kF16});
  refused(ErrorCode::kNotFound, mlp_params(), {.exclude = {"layers.7.weight"}});
  Params broken = mlp_params();
  std::vector<float> weight(5 * 16, 1.0f);
  weight[2 * 16 + 3] = kInf;
  broken.set("layers.1.weight", Tensor::from<float>({5, 16}, weight));
  refused(ErrorCode::kInvalidArgument, broken, {});
  weight[2 * 16 + 3] = 1;
  weight[4 * 16] = std::numeric_limits<float>::quiet_NaN();
  broken.set("layers.1.weight", Tensor::from<float>({5, 16}, weight));
  refused(ErrorCode::kInvalidArgument, broken, {});
  const Function named =
      trace("f", {{"w", {Dtype::kF32, {2, 3}}}, {"w_scale", {Dtype::kF32, {3}}}},
            [](std::span<const Value> in) { return std::vector<Value>{linear(in[1], in[0])}; });
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    quantize(named, Params{{"w", Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6})}});
  });
}

TEST(Quantize, RefusesParametersOfAnotherType) {
  const nn::Mlp net = nn::mlp({4, 3}, relu);
  const Function f = net.function();
  for (const auto& [code, other] :
       {std::pair{ErrorCode::kDtype, Tensor::zeros({Dtype::kF64, {3, 4}})},
        {ErrorCode::kShape, Tensor::zeros({Dtype::kF32, {4, 3}})}}) {
    Params params = net.init(Key(0));
    params.set("layers.0.weight", other);
    for (const Dtype to : {Dtype::kBf16, Dtype::kI8})
      expect_refused(code, [&] { quantize(f, params, {.to = to}); });
  }
}

TEST(Quantize, HasNoGradientAndSaysWhy) {
  const Quantized q = quantize(mlp_function(), mlp_params());
  const Function f = bind(q.function, q.params);
  const Function loss = trace("loss", f.inputs(), [&](std::span<const Value> in) {
    return std::vector<Value>{sum(in[0].builder().inline_function(f, in)[0], 0)};
  });
  expect_refused(ErrorCode::kNoGradient, [&] { grad(loss, {0}); });
}

}  // namespace
}  // namespace limpid::laws
