// Untrusted Functions with extreme attributes and shapes: every use ends soon, in an Error or in
// the interpreter's bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/inspect/summary.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/vmap.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

constexpr std::int64_t kSome = 4;

// Every use of a Function that needs no knowledge of it. Returns "" on success.
std::string error_of(const std::string& text, bool differentiate = true) {
  try {
    const Function f = parse_function(text);
    verify(f);
    summarize(f, {}, 3);
    shape_trace(f, {});
    const std::vector<Tensor> x{Tensor::from<float>({kSome}, {1, -2, 3, 0.5f})};
    const std::vector<Tensor> expected = interpret(f, x);
    const std::vector<Tensor> got = compile(f)(x);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i].same_bits(expected[i])) << text;
    compile(vmap(f, {0}, 2));
    if (!differentiate) return "";
    const Function gradient = vjp(f, {0});
    compile(gradient)(std::vector<Tensor>{x[0], Tensor::zeros(f.type(f.outputs()[0].value))});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string with(const std::string& ops) {
  return "function f(%x: f32[4]) {\n" + ops + "\n  return %y\n}\n";
}

// A use that ends well, or in an Error whose message is recorded.
void expect_refusals(std::span<const std::string> all) {
  for (const std::string& ops : all) {
    const std::string error = error_of(with(ops));
    EXPECT_NE(error, "") << ops;
    expect_message(error);
  }
}

TEST(Hostile, Attributes) {
  const std::string fine[] = {
      "%y = slice(%x) {limits = [4], starts = [0], strides = [9223372036854775807]} : f32[1]",
      "%y = slice(%x) {limits = [4], starts = [4], strides = [4611686018427387904]} : f32[0]",
      "%0 = slice(%x) {limits = [1], starts = [0], strides = [1]} : f32[1]\n%y = pad(%0) {high = "
      "[0], interior = [9223372036854775807], low = [2], value = 1.0} : f32[3]",
      "%0 = constant() {value = i64[3] (-9223372036854775808, 9223372036854775807, 1)} : "
      "i64[3]\n%y = gather(%x, %0) {batch = 0} : f32[3]",
      "%0 = constant() {value = i64[4] (-9223372036854775808, 9223372036854775807, 1, 1)} : "
      "i64[4]\n%y = scatter_add(%0, %x) {batch = 0, size = 2} : f32[2]",
      "%y = rms_norm(%x) {dims = 1, eps = inf} : f32[4]",
      "%y = swish(%x) {beta = nan} : f32[4]",
      "%0 = reshape(%x) {shape = [1, 4]} : f32[1, 4]\n%1 = scaled_dot_product_attention(%0, %0, "
      "%0) {causal = true, scale = nan} : f32[1, 4]\n%y = reshape(%1) {shape = [4]} : f32[4]"};
  for (const std::string& ops : fine) EXPECT_EQ(error_of(with(ops)), "") << ops;
  const std::string refused[] = {
      "%y = slice(%x) {limits = [9223372036854775807], starts = [0], strides = [1]} : f32[4]",
      "%y = slice(%x) {limits = [4], starts = [-9223372036854775808], strides = [1]} : f32[4]",
      "%y = slice(%x) {limits = [], starts = [0], strides = [1]} : f32[4]",
      "%y = pad(%x) {high = [0], interior = [9223372036854775807], low = [0], value = 0.0} : "
      "f32[4]",
      "%y = pad(%x) {high = [9223372036854775807], interior = [0], low = [1], value = 0.0} : "
      "f32[4]",
      "%y = pad(%x) {high = [4611686018427387904], interior = [0], low = [0], value = 0.0} : "
      "f32[4]",
      "%y = concatenate(%x, %x) {axis = 9223372036854775807} : f32[8]",
      "%y = concatenate() {axis = 0} : f32[8]",
      "%0 = iota() {size = 4} : i32[4]\n%y = gather(%x, %0) {batch = 9223372036854775807} : f32[4]",
      "%0 = iota() {size = 4} : i32[4]\n%y = gather(%x, %0) {batch = 1} : f32[4]",
      "%0 = iota() {size = 4} : i32[4]\n%y = scatter_add(%0, %x) {batch = -1, size = 4} : f32[4]",
      "%0 = iota() {size = 4} : i32[4]\n%y = scatter_add(%0, %x) {batch = 0, size = "
      "9223372036854775807} : f32[4]",
      "%y = iota() {size = 9223372036854775807} : i32[4]",
      "%y = layer_norm(%x) {dims = 0, eps = 0.0} : f32[4]",
      "%y = layer_norm(%x) {dims = -9223372036854775808, eps = 0.0} : f32[4]",
      "%y = layer_norm(%x) {dims = 1, eps = nan} : f32[4]",
      "%y = softmax(%x) {axis = -1} : f32[4]",
      "%y = transpose(%x) {permutation = [9223372036854775807]} : f32[4]",
      "%y = reshape(%x) {shape = [-1]} : f32[4]",
      "%y = reshape(%x) {shape = [1, 1, 1, 1, 1, 1, 1, 1, 4]} : f32[4]",
      "%y = broadcast(%x) {shape = [4611686018427387904, 4]} : f32[4]",
      "%y = clamp(%x) {high = nan, low = 0.0} : f32[4]"};
  expect_refusals(refused);
}

// Long dimensions beside an empty one: no iteration may do anything, however long.
TEST(Hostile, EmptyTensorsOfLongDimensions) {
  const std::string huge = "1125899906842624";
  const auto around = [&](const std::string& shape, const std::string& op) {
    return with(
        "%0 = slice(%x) {limits = [0], starts = [0], strides = [1]} : f32[0]\n"
        "%1 = reshape(%0) {shape = " +
        shape + "} : f32" + shape + "\n" + op +
        "\n%3 = reshape(%2) {shape = [0]} : f32[0]\n"
        "%y = concatenate(%3, %x) {axis = 0} : f32[4]");
  };
  const std::string rows = "[" + huge + ", 0]";
  const std::string three = "[" + huge + ", 3, 0]";
  const std::string products = "[" + huge + ", 0, 0]";
  for (const std::string op :
       {"softmax(%1) {axis = 1}", "softmax(%1) {axis = 0}", "log_softmax(%1) {axis = 1}",
        "layer_norm(%1) {dims = 1, eps = 0.1}", "rms_norm(%1) {dims = 1, eps = 0.1}", "exp(%1)",
        "concatenate(%1, %1) {axis = 1}"})
    // The row sums, which the gradient needs, exceed any machine's memory.
    EXPECT_EQ(error_of(around(rows, "%2 = " + op + " : f32" + rows), false), "") << op;
  EXPECT_EQ(
      error_of(around(rows, "%2 = transpose(%1) {permutation = [1, 0]} : f32[0, " + huge + "]")),
      "");
  for (const std::string op : {"sum", "max", "min"})
    EXPECT_EQ(error_of(around(three, "%2 = " + op + "(%1) {axis = 1} : f32" + rows)), "") << op;
  EXPECT_EQ(error_of(around(
                three, "%2 = transpose(%1) {permutation = [0, 2, 1]} : f32[" + huge + ", 0, 3]")),
            "");
  EXPECT_EQ(error_of(around(products,
                            "%2 = matmul(%1, %1) {transpose_a = false, transpose_b = true} "
                            ": f32" +
                                products)),
            "");
}

// More memory than any machine has: an Error from the allocation, or before it.
TEST(Hostile, MoreMemoryThanThereIs) {
  std::string ops =
      "%0 = broadcast(%x) {shape = [144115188075855871, 4]} : f32[144115188075855871, 4]\n";
  for (int i = 1; i < 9; ++i)
    ops += "%" + std::to_string(i) + " = sum(%0) {axis = " + std::to_string(i % 2) + "} : f32[" +
           (i % 2 == 0 ? "4" : "144115188075855871") + "]\n";
  const Function f = parse_function("function f(%x: f32[4]) {\n" + ops + "  return %8\n}\n");
  summarize(f, {}, 1);
  shape_trace(f, {});
  const std::vector<Tensor> x{Tensor::zeros({Dtype::kF32, {kSome}})};
  EXPECT_THROW(interpret(f, x), Error);
  EXPECT_THROW(compile(f)(x), Error);
}

// Eight values alive at the same time take 2^64 bytes, which must not overflow to 0.
TEST(Hostile, MoreMemoryThanAddresses) {
  std::string ops;
  for (int i = 0; i < 8; ++i)
    ops += fmt::format(
        "  %{0} = pad(%x) {{high = [576460752303423483], interior = [0], low = [0], value = "
        "{0}.5}} "
        ": f32[576460752303423487]\n",
        i);
  for (int i = 0; i < 8; ++i) ops += fmt::format("  %s{0} = sum(%{0}) {{axis = 0}} : f32[]\n", i);
  const Function f = parse_function("function f(%x: f32[4]) {\n" + ops +
                                    "  return %s0, %s1, %s2, %s3, %s4, %s5, %s6, %s7\n}\n");
  EXPECT_THROW(compile(f), Error);
}

// Text that lists more of something than any function has is refused before memory for all of it is
// allocated.
TEST(Hostile, LimitsOfText) {
  const auto repeated = [](std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i)
      all += (i == 0 ? "" : ", ") + fmt::format(fmt::runtime(text), i);
    return all;
  };
  const std::string texts[] = {"function f(" + repeated("%i{}: f32[]", 65'537) + ") {",
                               "function f(%x: f32[]) {\nreturn " + repeated("%x", 65'537),
                               with("%y = concatenate(" + repeated("%x", 65'537) + ")"),
                               with(repeated("%{}", 65'537) + " = exp"),
                               with("%y = exp(%x) : " + repeated("f32[4]", 65'537)),
                               with("%y = exp(%x) {" + repeated("a{} = 1", 65)),
                               with("%y = exp(%x) {" + repeated("a{} = 1", 64) + "} : f32[4]"),
                               with("%y = exp(%x) {a = [" + repeated("1", 65'537))};
  for (const std::string& text : texts) expect_message(error_of(text));
  std::string ops;
  for (int i = 0; i <= 100'000; ++i) ops += fmt::format("%{} = exp(%x) : f32[4]\n", i);
  expect_message(error_of(with(ops)));
}

// A tensor in the text must have as many values as its type says. A huge type allocates no memory
// for them.
TEST(Hostile, TensorsWithOtherCounts) {
  for (const char* value : {"f32[576460752303423487] (1.0)", "f32[2] (1.0)", "f32[2] ()",
                            "f32[2] (1.0, 2.0, 3.0)", "f32[0] (1.0)"})
    expect_message(error_of(with("%y = constant() {value = " + std::string(value) + "} : f32[4]")));
}

// Products that could all be computed at the same time, of which each would be compared with each.
TEST(Hostile, ManyProductsBesideOneAnother) {
  constexpr int kProducts = 20'000;
  std::string text =
      "function f(%x: f32[4]) {\n  %w = constant() {value = f32[4, 4] (1, 0, 0, 0, 0, 1, 0, 0, 0, "
      "0, 1, 0, 0, 0, 0, 1)} : f32[4, 4]\n";
  std::string last = "%x", results;
  for (int i = 0; i < kProducts; ++i) {
    text += fmt::format("  %a{0} = tanh({1}) : f32[4]\n  %p{0} = linear(%a{0}, %w) : f32[4]\n", i,
                        last);
    last = fmt::format("%a{}", i);
    results += fmt::format("{}%p{}", i == 0 ? "" : ", ", i);
  }
  const Executable run = compile(parse_function(text + "  return " + results + "\n}\n"));
  const std::vector<Tensor> x{Tensor::from<float>({kSome}, {1, 2, 3, 4})};
  EXPECT_TRUE(run(x)[0].same_bits(interpret(
      trace("t", {{"x", x[0].type()}}, [](auto in) { return std::vector<Value>{tanh(in[0])}; }),
      x)[0]));
}

// Reshapes and broadcasts without effect are aliases, here in a chain as long as the text.
TEST(Hostile, LongChains) {
  constexpr int kLength = 90'000;
  std::string text = "function f(%x: f32[4]) {\n";
  std::string last = "%x";
  for (int i = 0; i < kLength; ++i) {
    text += i % 2 == 0
                ? fmt::format("%{} = broadcast({}) {{shape = [1, 4]}} : f32[1, 4]\n", i, last)
                : fmt::format("%{} = reshape({}) {{shape = [4]}} : f32[4]\n", i, last);
    last = fmt::format("%{}", i);
  }
  text += fmt::format("%y = negate({}) : f32[4]\n  return %y\n}}\n", last);
  const Executable run = compile(parse_function(text));
  const std::vector<Tensor> x{Tensor::from<float>({kSome}, {1, 2, 3, 4})};
  EXPECT_TRUE(run(x)[0].same_bits(Tensor::from<float>({kSome}, {-1, -2, -3, -4})));
}

}  // namespace
}  // namespace limpid
