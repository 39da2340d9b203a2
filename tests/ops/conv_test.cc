// Convolutions against the product of their patches, by definition the same bits; compiled against
// interpreted for shapes beyond those of the laws.
#include "limpid/ops/conv.h"

#include <gtest/gtest.h>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/inspect/op_example.h"
#include "limpid/ops/activation.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/grad.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using Kernel = std::vector<std::int64_t>;

// The same bits on every instruction set, by one thread and by three.
void expect_compiled(const Function& f, Key key) {
  static ThreadPool pool({.threads = 3});
  std::vector<Tensor> inputs;
  for (const Input& input : f.inputs())
    inputs.push_back(random_tensor(input.type, key.fold_in(inputs.size()), -2, 2, 2));
  const std::vector<Tensor> expected = interpret(f, inputs);
  for (const kernels::Isa isa : kernels::available_isas()) {
    const Executable executable = compile(f, {isa, 0});
    for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
      std::vector<const void*> in;
      for (const Tensor& t : inputs) in.push_back(t.bytes().data());
      std::vector<std::vector<std::byte>> results;
      std::vector<void*> out;
      for (const Tensor& t : expected) results.emplace_back(t.bytes().size());
      for (std::vector<std::byte>& r : results) out.push_back(r.data());
      Workspace(executable, threads).run(in, out);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_TRUE(std::equal(results[i].begin(), results[i].end(), expected[i].bytes().begin()))
            << name(isa) << ", output " << i << "\n"
            << executable.plan();
    }
  }
}

struct Case {
  Shape x, w;
  Convolution how;
};
const Case kCases[] = {
    // Several panels of positions, and blocks of terms that end within a channel.
    {{1, 30, 13, 17}, {13, 30, 3, 3}, {.low = {1, 1}, .high = {1, 1}}},
    {{2, 3, 31, 29}, {8, 3, 7, 7}, {.stride = {2, 2}, .low = {3, 3}, .high = {3, 3}}},
    // Small images share panels.
    {{9, 5, 4, 4}, {7, 5, 3, 3}, {.low = {1, 1}, .high = {1, 1}}},
    {{3, 40, 9, 9}, {50, 40, 1, 1}, {}},
    {{2, 6, 21, 5}, {6, 1, 3, 3}, {.stride = {3, 2}, .low = {1, 2}, .high = {2, 0}, .groups = 6}},
    {{1, 4, 700}, {6, 2, 9}, {.low = {16}, .high = {0}, .dilation = {2}, .groups = 2}},
    {{1, 2, 7, 8, 9}, {3, 2, 3, 2, 4}, {.stride = {2, 3, 1}, .low = {1, 0, 2}, .high = {1, 1, 2}}},
    // A stride and a dilation with a common divisor, and a stride beyond the kernel.
    {{1, 3, 25, 23},
     {4, 3, 3, 2},
     {.stride = {4, 3}, .low = {2, 1}, .high = {2, 1}, .dilation = {2, 3}}},
    {{1, 0, 5}, {2, 0, 2}, {}},
    {{2, 140, 12}, {3, 140, 4}, {.stride = {2}, .low = {3}, .high = {1}}},
};

TEST(Convolutions, CompiledWithItsGradientsEqualsInterpreted) {
  for (const Case& c : kCases) {
    const Function f = trace(
        "f", {{"x", {Dtype::kF32, c.x}}, {"w", {Dtype::kF32, c.w}}, {"b", {Dtype::kF32, {c.w[0]}}}},
        [&](std::span<const Value> in) {
          return std::vector<Value>{relu(conv(in[0], in[1], in[2], c.how))};
        });
    expect_compiled(f, Key(1));
    expect_compiled(vjp(f, {0, 1, 2}), Key(2));
  }
}

TEST(Convolutions, AreTheProductOfTheirPatches) {
  for (const Case& c : kCases) {
    if (c.how.groups != 1) continue;
    const Kernel kernel(c.w.begin() + 2, c.w.end());
    const auto inputs = std::vector<Input>{{"x", {Dtype::kF32, c.x}}, {"w", {Dtype::kF32, c.w}}};
    const Function f = trace("f", inputs, [&](std::span<const Value> in) {
      const Value columns = patches(in[0], kernel, c.how);
      const Value weight = reshape(in[1], {1, c.w[0], columns.shape()[1]});
      const Value products = matmul(broadcast(weight, weight.shape().replace(0, c.x[0])), columns);
      const Value y = conv(in[0], in[1], {}, c.how);
      return std::vector<Value>{y, reshape(products, y.shape())};
    });
    std::vector<Tensor> given;
    for (const Input& input : inputs)
      given.push_back(random_tensor(input.type, Key(given.size()), -2, 2, 2));
    const std::vector<Tensor> results = interpret(f, given);
    EXPECT_TRUE(results[0].same_bits(results[1])) << to_string(c.x);
  }
}

// Zeros around the input as padding are the padding.
TEST(Convolutions, PaddingIsZeros) {
  const Function f =
      trace("f", {{"x", {Dtype::kF32, {2, 3, 5, 6}}}, {"w", {Dtype::kF32, {4, 3, 3, 3}}}},
            [&](std::span<const Value> in) {
              const Value padded = pad(in[0], {0, 0, 2, 0}, {0, 0, 1, 3}, {0, 0, 0, 0});
              return std::vector<Value>{conv(in[0], in[1], {}, {.low = {2, 0}, .high = {1, 3}}),
                                        conv(padded, in[1])};
            });
  const std::vector<Tensor> results =
      interpret(f, {{random_tensor(f.inputs()[0].type, Key(0), -2, 2, 2),
                     random_tensor(f.inputs()[1].type, Key(1), -2, 2, 2)}});
  EXPECT_TRUE(results[0].same_bits(results[1]));
}

TEST(Convolutions, SayWhatDoesNotFit) {
  Builder b("f");
  const Value gray = b.input("gray", {Dtype::kF32, {2, 1, 8, 8}});
  const Value weight = b.input("weight", {Dtype::kF32, {4, 3, 3, 3}});
  const Value line = b.input("line", {Dtype::kF32, {2, 3, 2}});
  const Value color = b.input("color", {Dtype::kF32, {2, 3, 2, 9}});
  const Value vector = b.input("vector", {Dtype::kF32, {5}});
  expect_refused(ErrorCode::kShape, [&] { conv(gray, weight); });
  expect_refused(ErrorCode::kShape, [&] { conv(line, weight); });
  expect_refused(ErrorCode::kShape, [&] { conv(vector, vector); });
  expect_refused(ErrorCode::kShape, [&] { conv(color, weight); });
  expect_refused(ErrorCode::kShape, [&] { conv(color, weight, vector, {.low = {1, 0}}); });
  expect_refused(ErrorCode::kShape, [&] { conv(color, weight, {}, {.stride = {1}}); });
  expect_refused(ErrorCode::kShape, [&] { conv(color, weight, {}, {.stride = {0, 1}}); });
  expect_refused(ErrorCode::kShape, [&] { conv(color, weight, {}, {.groups = 2}); });
  expect_refused(ErrorCode::kShape, [&] { conv_transpose(color, weight); });
  expect_refused(ErrorCode::kShape, [&] { conv_weight_gradient(color, color, {2, 3}); });
  expect_refused(ErrorCode::kShape, [&] { patches(color, {3, 3}); });
  expect_refused(ErrorCode::kShape, [&] { col2im(line, {4}, {2}); });
}

}  // namespace
}  // namespace limpid
