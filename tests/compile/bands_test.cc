// Bands of rows: results are bit-identical for any number of rows, blocks and threads.
#include <gtest/gtest.h>

#include "limpid/kernels/isa.h"
#include "limpid/limpid.h"

namespace limpid {
namespace {

// Several panels of every instruction set, so that products are cut by columns too.
constexpr std::int64_t kWide = 200;

// Every kind of step that a band may hold: products with weights and their fused epilogues,
// functions of a row, broadcast reductions of a row, masks, and random bits, which depend on an
// element's index in the whole tensor.
Function everything(std::int64_t rows) {
  const auto constant_of = [](Builder& builder, const Shape& shape, std::uint64_t key) {
    return constant(builder, nn::normal(0.5)(Key(key), shape));
  };
  return trace(
      "everything", {{"x", {Dtype::kF32, {rows, 24}}}, {"key", {Dtype::kI64, {}}}},
      [&](std::span<const Value> in) {
        Builder& b = in[0].builder();
        const Value x = in[0] * 0.5 + 1.0;
        Value h = gelu(linear(x, constant_of(b, {kWide, 24}, 1), constant_of(b, {kWide}, 2)));
        h = layer_norm(h, constant_of(b, {kWide}, 3), constant_of(b, {kWide}, 4));
        h = dropout(h, in[1], 0.25);
        h = linear(h, constant_of(b, {24, kWide}, 5)) + x;
        const Value mean = reshape(sum(h, -1) / 24.0, {rows, 1});
        const Value below = h < mean;
        h = select(below, h - mean, 2.0 * h);
        const Value last = relu(linear(h, constant_of(b, {7, 24}, 6), constant_of(b, {7}, 7)));
        return std::vector<Value>{softmax(last), max(h, -1), below};
      });
}

class Bands : public testing::TestWithParam<int> {};

void expect_interpreted(const Function& f, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> expected = interpret(f, inputs);
  for (const kernels::Isa isa : kernels::available_isas())
    for (const int threads : {1, 2, 3, 5})
      for (const double worth : {0.0, 3000.0, 1e12}) {
        ThreadPool pool({.threads = threads});
        const Executable executable = compile(f, {.isa = isa, .nanoseconds_worth_sharing = worth});
        const std::vector<Tensor> got = executable(inputs, &pool);
        for (std::size_t o = 0; o < got.size(); ++o)
          EXPECT_TRUE(got[o].same_bits(expected[o]))
              << name(isa) << ", " << threads << " threads, output " << o << "\n"
              << executable.plan();
      }
}

TEST_P(Bands, HaveTheBitsOfTheInterpreter) {
  const std::int64_t rows = GetParam();
  expect_interpreted(everything(rows),
                     {nn::normal(1.0)(Key(9), {rows, 24}), Tensor::scalar<std::int64_t>(77)});
}

// One block of 96 rows and less, exactly one, one and a little, several.
INSTANTIATE_TEST_SUITE_P(Rows, Bands, testing::Values(1, 2, 5, 95, 96, 97, 192, 193, 500));

// Products of a batch: each of them, with its rows, is one row of the band.
Function attention_by_parts(std::int64_t items) {
  constexpr std::int64_t kQueries = 10, kKeys = 14, kSize = 9;
  return trace("attention",
               {{"q", {Dtype::kF32, {items, kQueries, kSize}}},
                {"k", {Dtype::kF32, {items, kKeys, kSize}}},
                {"v", {Dtype::kF32, {items, kKeys, kSize}}}},
               [&](std::span<const Value> in) {
                 const Value q = layer_norm(in[0]) * 0.5;
                 const Value scores = matmul(q, in[1], false, true);
                 const Value seen = scores > number_like(scores, -1);
                 const Value p = softmax(select(seen, scores, number_like(scores, -9)), -1);
                 const Value y = matmul(p, in[2]);
                 const Value back = matmul(p, y, true, false);
                 const Value numbers = sum(scores * p, -1);
                 return std::vector<Value>{y, back, p * expand_axis(numbers, p.shape(), -1)};
               });
}

TEST_P(Bands, TakeProductsOfABatch) {
  const Function f = attention_by_parts(GetParam());
  std::vector<Tensor> inputs;
  for (const Input& input : f.inputs())
    inputs.push_back(nn::normal(1.0)(Key(inputs.size()), input.type.shape));
  expect_interpreted(f, inputs);
}

// The rows of a layer, several to a product of the batch after it.
TEST_P(Bands, TakeALayerBeforeProductsOfABatch) {
  constexpr std::int64_t kHeads = 3, kSize = 8;
  const std::int64_t items = GetParam();
  const Function f = trace(
      "layer", {{"x", {Dtype::kF32, {items * kHeads, kSize}}}}, [&](std::span<const Value> in) {
        const Value weights = constant(in[0].builder(), nn::normal(0.5)(Key(1), {kSize, kSize}));
        const Value y = reshape(linear(in[0], weights), {items, kHeads, kSize});
        return std::vector<Value>{matmul(y, y, false, true)};
      });
  const std::vector<Tensor> inputs = {nn::normal(1.0)(Key(2), {items * kHeads, kSize})};
  const Executable executable = compile(f);
  EXPECT_TRUE(executable(inputs)[0].same_bits(interpret(f, inputs)[0])) << executable.plan();
}

TEST(BandsOfRows, KeepOneBandForProductsOfABatch) {
  const std::string plan = compile(attention_by_parts(480)).plan();
  EXPECT_EQ(plan.find("7 steps for 480 rows, 117 at a time"), 0u) << plan;
}

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

// The first band goes through one thread in blocks. Of the second one, the threads share the
// products, and one thread runs the step between them: its rows begin at 0 again.
TEST(BandsOfRows, LeaveNothingBehind) {
  const Function f =
      trace("two", {{"x", f32({97, 8})}, {"y", f32({2, 512})}}, [](std::span<const Value> in) {
        const auto weight = [&](std::int64_t size, std::uint64_t key) {
          return constant(in[0].builder(), nn::normal(0.1)(Key(key), {size, size}));
        };
        const Value a = linear(tanh(linear(in[0], weight(8, 1))), weight(8, 2));
        const Value b = linear(softmax(linear(in[1], weight(512, 3))), weight(512, 4));
        return std::vector<Value>{a, b};
      });
  const std::vector<Tensor> inputs = {nn::normal(1.0)(Key(5), {97, 8}),
                                      nn::normal(1.0)(Key(6), {2, 512})};
  const std::vector<Tensor> expected = interpret(f, inputs);
  ThreadPool pool({.threads = 3});
  const Executable executable = compile(f);
  const std::vector<Tensor> got = executable(inputs, &pool);
  for (std::size_t o = 0; o < got.size(); ++o)
    EXPECT_TRUE(got[o].same_bits(expected[o])) << o << '\n' << executable.plan();
}

// With weights larger than a thread's own cache, threads share columns where there are few rows.
// Not here: the memory of a band ends with its block, and the next value begins there.
TEST(BandsOfRows, OfMoreThanABlockAreSharedByRows) {
  constexpr std::int64_t kSize = 512, kRows = 97;
  const nn::Mlp net = nn::mlp({kSize, kSize, kSize, kSize}, relu);
  const Executable executable = compile(vmap(bind(net.function(), net.init(Key(0))), {0}, kRows),
                                        {.nanoseconds_worth_sharing = 0});
  EXPECT_EQ(executable.plan().find("3 steps for 97 rows, 96 at a time"), 0u) << executable.plan();
  const std::vector<Tensor> inputs = {nn::normal(1.0)(Key(1), {kRows, kSize})};
  ThreadPool pool({.threads = 3});
  EXPECT_TRUE(executable(inputs, &pool)[0].same_bits(executable(inputs)[0]));
}

// A step has a band of its own if the rows do not divide its elements.
TEST(BandsOfRows, EndBeforeElementsThatTheyDoNotDivide) {
  const Function f = trace("f", {{"x", f32({5, 8})}, {"y", f32({7})}}, [](auto in) {
    return std::vector<Value>{softmax(in[0]), exp(in[1])};
  });
  const std::vector<Tensor> inputs = {nn::normal(1.0)(Key(1), {5, 8}),
                                      nn::normal(1.0)(Key(2), {7})};
  ThreadPool pool({.threads = 2});
  const std::vector<Tensor> expected = interpret(f, inputs);
  const std::vector<Tensor> got = compile(f, {.nanoseconds_worth_sharing = 0})(inputs, &pool);
  for (std::size_t o = 0; o < got.size(); ++o) EXPECT_TRUE(got[o].same_bits(expected[o])) << o;
}

// A value that a step reads as a whole must be complete before the step, so the band ends there.
// The operand with one number per row, read as one number per column, has the same size, so a
// mistake would go unnoticed.
TEST(BandsOfRows, EndWhereAStepReadsMoreThanItsRow) {
  constexpr std::int64_t kSide = 200;
  using Reader = Value (*)(const Value& x, const Value& w, const Value& numbers);
  const std::pair<const char*, Reader> readers[] = {
      {"program", [](const Value& x, const Value& w, const Value& n) { return linear(x, w) - n; }},
      {"bias", [](const Value& x, const Value& w, const Value& n) { return linear(x, w, n); }},
      {"gain", [](const Value& x, const Value&, const Value& n) { return rms_norm(x, n); }},
      {"shift",
       [](const Value& x, const Value&, const Value& n) {
         return layer_norm(x, constant(x.builder(), nn::constant(1.0)(Key(0), {kSide})), n);
       }},
      {"scale",
       [](const Value& x, const Value&, const Value& n) {
         const Tensor weights =
             Tensor::generate<std::int8_t>({kSide, kSide}, [](std::span<std::int8_t> out) {
               for (std::size_t i = 0; i < out.size(); ++i)
                 out[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 255) - 127);
             });
         return quantized_linear(x, constant(x.builder(), weights), abs(n));
       }},
  };
  const Tensor x = nn::normal(1.0)(Key(2), {kSide, kSide});
  for (const auto& [name, reader] : readers) {
    const auto& read = reader;  // a lambda captures no structured binding
    const Function f =
        trace("f", {{"x", {Dtype::kF32, {kSide, kSide}}}}, [&](std::span<const Value> in) {
          const Value w = constant(in[0].builder(), nn::normal(1.0)(Key(1), {kSide, kSide}));
          return std::vector<Value>{read(in[0], w, max(linear(in[0], w), -1))};
        });
    const Executable executable = compile(f);
    EXPECT_TRUE(executable({&x, 1})[0].same_bits(interpret(f, {&x, 1})[0])) << name << "\n"
                                                                            << executable.plan();
  }
}

}  // namespace
}  // namespace limpid
