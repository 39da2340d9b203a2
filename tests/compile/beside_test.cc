// Independent products that threads run without waiting in between.
#include <gtest/gtest.h>

#include "limpid/inspect/op_example.h"
#include "limpid/limpid.h"

namespace limpid {
namespace {

constexpr std::int64_t kWidth = 150, kHidden = 333;

// As in a transformer: three products of one operand; then a gate, the values that it multiplies,
// and the product of the result.
Function block(std::int64_t rows) {
  const Type square{Dtype::kF32, {kWidth, kWidth}}, up{Dtype::kF32, {kHidden, kWidth}},
      down{Dtype::kF32, {kWidth, kHidden}};
  const std::vector<Input> inputs{{"x", {Dtype::kF32, {rows, kWidth}}},
                                  {"q", square},
                                  {"k", square},
                                  {"v", square},
                                  {"gate", up},
                                  {"up", up},
                                  {"down", down}};
  return trace("block", inputs, [](std::span<const Value> in) {
    const Value x = rms_norm(in[0]);
    const std::vector<Value> three{linear(x, in[1]), linear(x, in[2]), linear(x, in[3])};
    const Value y = three[0] * three[1] + three[2];
    const Value opened = swiglu(linear(y, in[4]), linear(y, in[5]));
    return std::vector<Value>{linear(opened, in[6]), three[0], three[1], three[2]};
  });
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++times;
  return times;
}

TEST(Beside, ProductsOfOneOperandStandBesideEachOther) {
  ThreadPool pool({.threads = 3});
  CompileOptions options;
  options.nanoseconds_worth_sharing = 0;  // every step is cut
  for (const std::int64_t rows : {1, 2, 5}) {
    const Function f = block(rows);
    const std::vector<Tensor> inputs = random_inputs(f, Key(1));
    Params weights;
    for (std::size_t i = 1; i < inputs.size(); ++i) weights.set(f.inputs()[i].name, inputs[i]);
    const std::vector<Tensor> want = interpret(f, inputs);
    for (const std::optional<Dtype> to :
         {std::optional<Dtype>(), std::optional(Dtype::kBf16), std::optional(Dtype::kI8)}) {
      const Quantized narrow = to ? quantize(f, weights, {.to = *to}) : Quantized{f, weights, {}};
      const Function bound = bind(narrow.function, narrow.params);
      const std::vector<Tensor> x{inputs[0]};
      const std::vector<Tensor> expected = to ? interpret(bound, x) : want;
      const Executable executable = compile(bound, options);
      EXPECT_EQ(count(executable.plan(), "& "), 3u) << executable.plan();
      for (int run = 0; run < 20; ++run) {
        const std::vector<Tensor> got = executable(x, &pool);
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_TRUE(got[i].same_bits(expected[i])) << i << " of " << rows;
      }
    }
  }
}

// A product that reads another's result waits for it.
TEST(Beside, ProductsOfProductsDoNot) {
  const Type square{Dtype::kF32, {kWidth, kWidth}};
  const Function f = trace("chain", {{"x", {Dtype::kF32, {1, kWidth}}}, {"w", square}},
                           [](std::span<const Value> in) {
                             return std::vector<Value>{linear(linear(in[0], in[1]), in[1])};
                           });
  const Function bound = bind(f, {{"w", Tensor::zeros(square)}});
  EXPECT_EQ(count(compile(bound).plan(), "& "), 0u);
  // Nor where it reads the result lane by lane besides.
  const Function residual = trace("residual", f.inputs(), [](std::span<const Value> in) {
    const Value x = rms_norm(in[0]), y = linear(x, in[1]);
    return std::vector<Value>{linear(linear(y, in[1]) + y, in[1]) + x};
  });
  const Executable executable = compile(bind(residual, {{"w", Tensor::zeros(square)}}));
  EXPECT_EQ(count(executable.plan(), "& "), 0u) << executable.plan();
}

// On AVX-512 the threads of a product by bf16 or i8 have other columns than those of a product by
// f32. So a product that reads the other's result waits for it.
TEST(Beside, ProductsOfWeightsOfTwoDtypesHaveTheirOwnPieces) {
  constexpr std::int64_t kColumns = 96;
  const Type weight{Dtype::kF32, {kColumns, kWidth}};
  ThreadPool pool({.threads = 2});
  CompileOptions options;
  options.nanoseconds_worth_sharing = 0;
  for (const Dtype narrow : {Dtype::kBf16, Dtype::kI8}) {
    const Function f = trace("gated",
                             {{"x", {Dtype::kF32, {1, kWidth}}},
                              {"a", weight},
                              {"b", weight},
                              {"c", {Dtype::kF32, {8, kColumns}}}},
                             [](auto in) {
                               const Value gated = linear(in[0], in[1]) * linear(in[0], in[2]);
                               return std::vector<Value>{linear(gated, in[3])};
                             });
    const std::vector<Tensor> inputs = random_inputs(f, Key(1));
    const Quantized mixed = quantize(f, {{"a", inputs[1]}, {"b", inputs[2]}, {"c", inputs[3]}},
                                     {.to = narrow, .exclude = {"a"}});
    const Function bound = bind(mixed.function, mixed.params);
    const Tensor want = interpret(bound, {inputs.data(), 1})[0];
    for (const kernels::Isa isa : kernels::available_isas()) {
      options.isa = isa;
      const Executable executable = compile(bound, options);
      if (isa == kernels::Isa::kAvx512) {
        EXPECT_EQ(count(executable.plan(), "& "), 0u) << executable.plan();
      }
      for (int run = 0; run < 100; ++run)
        ASSERT_TRUE(executable({inputs.data(), 1}, &pool)[0].same_bits(want))
            << name(narrow) << " " << name(isa) << "\n"
            << executable.plan();
    }
  }
}

// A result may have the memory of an input.
TEST(Beside, ProductsOfInputsThatAreResultsDoNot) {
  const Type rows{Dtype::kF32, {2, kWidth}}, square{Dtype::kF32, {kWidth, kWidth}};
  const std::vector<Input> inputs{{"x", rows}, {"y", rows}, {"a", square}, {"b", square}};
  const Function f = trace("two", inputs, [](std::span<const Value> in) {
    return std::vector<Value>{linear(in[0], in[2]), linear(in[1], in[3])};
  });
  const Function bound = bind(f, {{"a", Tensor::zeros(square)}, {"b", Tensor::zeros(square)}});
  EXPECT_EQ(count(compile(bound, {.donations = {{0, 1}}}).plan(), "& "), 0u);
}

// Here the second product's result takes the memory of what the first one reads, or begins before
// it, where a narrow result was.
class BesideOver : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Before, BesideOver, testing::Bool());

TEST_P(BesideOver, ProductsThatWriteOverAnOperandDoNot) {
  constexpr std::int64_t kNarrow = 16;
  const bool before = GetParam();
  const Type square{Dtype::kF32, {kWidth, kWidth}}, up{Dtype::kF32, {kWidth, kNarrow}},
      down{Dtype::kF32, {kNarrow, kWidth}};
  const std::vector<Input> inputs{{"x", {Dtype::kF32, {2, kWidth}}},
                                  {"a", before ? up : square},
                                  {"b", square},
                                  {"c", square},
                                  {"d", square},
                                  {"e", square},
                                  {"f", down}};
  const Function f = trace("over", inputs, [&](std::span<const Value> in) {
    const Value x = before ? tanh(linear(in[0], in[6])) : in[0];
    const Value a = tanh(linear(x, in[1])), b = tanh(linear(in[0], in[2]));
    const Value first = linear(a, in[3]);
    return std::vector<Value>{linear(first + linear(b, in[4]), in[5])};
  });
  const std::vector<Tensor> arguments = random_inputs(f, Key(1));
  Params weights;
  for (std::size_t i = 1; i < inputs.size(); ++i) weights.set(inputs[i].name, arguments[i]);
  CompileOptions options;
  options.nanoseconds_worth_sharing = 0;
  const Executable executable = compile(bind(f, weights), options);
  EXPECT_EQ(count(executable.plan(), "& "), 1u) << executable.plan();
  const Tensor want = interpret(f, arguments)[0];
  ThreadPool pool({.threads = 3});
  for (int run = 0; run < 20; ++run)
    EXPECT_TRUE(executable({arguments.data(), 1}, &pool)[0].same_bits(want));
}

}  // namespace
}  // namespace limpid
