// Bands of rows: what goes through the steps together is the same, bit for bit, whatever the rows,
// the blocks that they make and the threads that share them.
#include <gtest/gtest.h>

#include "limpid/limpid.h"

namespace limpid {
namespace {

// Every kind of step that a band may hold: products with weights and what is behind them, functions
// of a row, reductions of a row that are broadcast again, masks, and random bits, which depend on
// the place of an element in the whole.
Function everything(std::int64_t rows) {
  const auto constant_of = [](Builder& builder, const Shape& shape, std::uint64_t key) {
    return constant(builder, nn::normal(0.5)(Key(key), shape));
  };
  return trace(
      "everything", {{"x", {Dtype::kF32, {rows, 24}}}, {"key", {Dtype::kI64, {}}}},
      [&](std::span<const Value> in) {
        Builder& b = in[0].builder();
        const Value x = in[0] * 0.5 + 1.0;
        Value h = gelu(linear(x, constant_of(b, {40, 24}, 1), constant_of(b, {40}, 2)));
        h = layer_norm(h, constant_of(b, {40}, 3), constant_of(b, {40}, 4));
        h = dropout(h, in[1], 0.25);
        h = linear(h, constant_of(b, {24, 40}, 5)) + x;
        const Value mean = reshape(sum(h, -1) / 24.0, {rows, 1});
        const Value below = h < mean;
        h = select(below, h - mean, 2.0 * h);
        const Value last = relu(linear(h, constant_of(b, {7, 24}, 6), constant_of(b, {7}, 7)));
        return std::vector<Value>{softmax(last), max(h, -1), below};
      });
}

class Bands : public testing::TestWithParam<int> {};

TEST_P(Bands, HaveTheBitsOfTheInterpreter) {
  const std::int64_t rows = GetParam();
  const Function f = everything(rows);
  const std::vector<Tensor> inputs = {nn::normal(1.0)(Key(9), {rows, 24}),
                                      Tensor::scalar<std::int64_t>(77)};
  const std::vector<Tensor> expected = interpret(f, inputs);
  for (const int threads : {1, 2, 3, 5})
    for (const double worth : {0.0, 3000.0, 1e12}) {
      ThreadPool pool({.threads = threads});
      const Executable executable =
          compile(f, {.isa = std::nullopt, .nanoseconds_worth_sharing = worth});
      const std::vector<Tensor> got = executable(inputs, &pool);
      for (std::size_t o = 0; o < got.size(); ++o)
        EXPECT_TRUE(got[o].same_bits(expected[o]))
            << rows << " rows, " << threads << " threads, output " << o << "\n"
            << executable.plan();
    }
}
// One block of 96 rows and less, exactly one, one and a little, several.
INSTANTIATE_TEST_SUITE_P(Rows, Bands, testing::Values(1, 2, 5, 95, 96, 97, 192, 193, 500));

TEST(BandsOfRows, KeepOnlyTheRowsAtWork) {
  const nn::Mlp net = nn::mlp({50, 64, 64, 64, 3}, relu);
  const Function one = bind(net.function(), net.init(Key(0)));
  const Executable few = compile(vmap(one, {0}, 96));
  const Executable many = compile(vmap(one, {0}, 9600));
  EXPECT_GT(few.workspace_bytes(), 0u);
  EXPECT_EQ(few.workspace_bytes(), many.workspace_bytes()) << many.plan();
  EXPECT_NE(many.plan().find("4 steps for 9600 rows, 96 at a time"), std::string::npos)
      << many.plan();
}

// What a later step reads as a whole must be whole before it: a band ends there.
TEST(BandsOfRows, EndWhereAStepReadsMoreThanItsRow) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {300, 8}}}}, [](std::span<const Value> in) {
    const Value w = constant(in[0].builder(), nn::normal(1.0)(Key(1), {8, 8}));
    const Value h = linear(in[0], w);
    return std::vector<Value>{linear(h - max(h, 0), w)};
  });
  const Tensor x = nn::normal(1.0)(Key(2), {300, 8});
  const Executable executable = compile(f);
  EXPECT_TRUE(executable({&x, 1})[0].same_bits(interpret(f, {&x, 1})[0])) << executable.plan();
  EXPECT_GE(executable.workspace_bytes(), 300u * 8 * 4) << executable.plan();
}

}  // namespace
}  // namespace limpid
