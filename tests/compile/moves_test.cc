// Moved elements: equal to the interpreter's, however threads split them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "limpid/limpid.h"
#include "tests/guarded_memory.h"

namespace limpid {
namespace {

using List = std::vector<std::int64_t>;

Tensor numbers(const Type& type) {
  if (type.dtype == Dtype::kF32) return nn::normal(1.0)(Key(3), type.shape);
  if (type.dtype != Dtype::kI32)
    return Tensor::generate_bytes(type, [](std::span<std::byte> out) {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 7 % 251);
    });
  return Tensor::generate<std::int32_t>(type.shape, [](std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int32_t>(i * 7 % 13) - 1;
  });
}

using Code = std::function<Value(std::span<const Value>)>;

void check(const char* what, const std::vector<Input>& inputs, const Code& code, const char* step) {
  const Function f =
      trace(what, inputs, [&](std::span<const Value> in) { return std::vector<Value>{code(in)}; });
  std::vector<Tensor> tensors;
  for (const Input& input : inputs) tensors.push_back(numbers(input.type));
  const Tensor expected = interpret(f, tensors)[0];
  const Executable executable = compile(f, {.isa = {}, .nanoseconds_worth_sharing = 0});
  EXPECT_NE(executable.plan().find(step), std::string::npos) << executable.plan();
  for (const int threads : {1, 2, 3, 7}) {
    ThreadPool pool({.threads = threads});
    EXPECT_TRUE(executable(tensors, &pool)[0].same_bits(expected))
        << what << ", " << threads << " threads\n"
        << executable.plan();
  }
  // Operands and results that end at a protected page.
  std::vector<GuardedVector<std::byte>> operands;
  std::vector<const void*> in;
  for (const Tensor& t : tensors) {
    operands.emplace_back(t.bytes().begin(), t.bytes().end());
    in.push_back(operands.back().data());
  }
  GuardedVector<std::byte> result(expected.bytes().size());
  void* const out = result.data();
  Workspace(executable).run(in, {&out, 1});
  EXPECT_TRUE(std::ranges::equal(result, expected.bytes())) << what;
}

TEST(Moves, Permutations) {
  const Input x{"x", {Dtype::kF32, {5, 3, 4, 6}}};
  List order{0, 1, 2, 3};
  do {
    if (order != List{0, 1, 2, 3} && order != List{0, 1, 3, 2})
      check(
          "transpose", {x}, [&](auto in) { return transpose(in[0], order); }, "move");
  } while (std::next_permutation(order.begin(), order.end()));
  for (const std::int64_t last : {1, 2, 16, 32, 64, 65})  // runs of every kind
    check(
        "heads", {{"x", {Dtype::kF32, {3, 9, 4, last}}}},
        [](auto in) {
          return transpose(in[0], {0, 2, 1, 3});
        },
        "move");
}

TEST(Moves, OfElementsOfEverySize) {
  for (const Dtype dtype : {Dtype::kU8, Dtype::kBf16, Dtype::kI32, Dtype::kI64})
    check(
        "transpose", {{"x", {dtype, {5, 3, 4, 6}}}},
        [](auto in) {
          return transpose(in[0], {2, 0, 3, 1});
        },
        "move");
}

TEST(Moves, Parts) {
  const Input x{"x", {Dtype::kF32, {9, 7, 6}}};
  const List whole{9, 7, 6};
  check(
      "first", {x}, [&](auto in) { return slice(in[0], 0, 2, 8); }, "move");
  check(
      "middle", {x}, [&](auto in) { return slice(in[0], 1, 3, 5); }, "move");
  check(
      "last", {x}, [&](auto in) { return slice(in[0], -1, 1, 2); }, "move");
  check(
      "steps", {x},
      [&](auto in) {
        return slice(in[0], {1, 0, 2}, whole, {3, 2, 1});
      },
      "move");
  check(
      "columns", {x},
      [&](auto in) {
        return slice(in[0], {0, 0, 0}, whole, {1, 1, 4});
      },
      "move");
}

TEST(Moves, Joinings) {
  for (const std::int64_t axis : {0, 1, 2}) {
    const auto part = [&](std::int64_t size) {
      return Type{Dtype::kF32, Shape({4, 5, 6}).replace(static_cast<std::size_t>(axis), size)};
    };
    check(
        "concatenate", {{"a", part(3)}, {"b", part(0)}, {"c", part(8)}, {"d", part(1)}},
        [&](auto in) {
          return concatenate({in.begin(), in.end()}, axis) * 2.0;
        },
        "move");
  }
}

TEST(Moves, Padding) {
  const Input x{"x", {Dtype::kF32, {4, 5, 6}}};
  const auto padded = [&](const char* what, const Input& input, List low, List high, List interior,
                          double value) {
    check(
        what, {input}, [&](auto in) { return pad(in[0], low, high, interior, value); }, "fill");
  };
  padded("before", x, {2, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0.5);
  padded("after", x, {0, 0, 0}, {0, 3, 0}, {0, 0, 0}, -1);
  padded("around", x, {1, 2, 3}, {3, 1, 2}, {0, 0, 0}, 0);
  padded("the last axis", x, {0, 0, 1}, {0, 0, 1}, {0, 0, 0}, 0);
  padded("between", x, {1, 0, 0}, {0, 0, 2}, {0, 2, 1}, 3);
  padded("one number", {"x", {Dtype::kF32, {1}}}, {70}, {5}, {4}, 2);
  padded("of i64", {"x", {Dtype::kI64, {3, 5}}}, {1, 2}, {0, 1}, {0, 0}, -7);
}

// Between steps by rows they are in their band.
TEST(Moves, InABand) {
  check(
      "rows", {{"x", {Dtype::kF32, {200, 24}}}},
      [](auto in) {
        Value h = softmax(in[0]);
        h = concatenate({slice(h, 1, 8, 24), pad(slice(h, 1, 0, 8), {0, 1}, {0, 2}, {0, 0}, 0.5)},
                        1);
        return layer_norm(h);
      },
      "fill");
}

TEST(Moves, RowsByNumber) {
  for (const std::int64_t width : {1, 5, 40, 131}) {
    const Input ids{"ids", {Dtype::kI32, {4, 9}}};
    check(
        "gather", {{"x", {Dtype::kF32, {11, width}}}, ids},
        [](auto in) { return gather(in[0], in[1]); }, "gather");
    check(
        "of a batch", {{"x", {Dtype::kF32, {4, 11, width}}}, ids},
        [](auto in) { return gather(in[0], in[1], 1); }, "gather");
    check(
        "scatter_add", {ids, {"x", {Dtype::kF32, {4, 9, width}}}},
        [](auto in) { return scatter_add(in[0], in[1], 11); }, "scatter_add");
    check(
        "of a batch", {ids, {"x", {Dtype::kF32, {4, 9, width}}}},
        [](auto in) { return scatter_add(in[0], in[1], 11, 1); }, "scatter_add");
  }
}

}  // namespace
}  // namespace limpid
