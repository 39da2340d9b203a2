// The text that emit_cpp() writes. run.cmake compares what it computes.
#include "limpid/emit/emit.h"

#include <gtest/gtest.h>

#include <limits>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"

namespace limpid {
namespace {

Function doubled(const std::string& input, const std::string& output) {
  return trace("doubled", {{input, {Dtype::kF32, {3}}}},
               [](std::span<const Value> in) { return std::vector<Value>{in[0] + in[0]}; },
               {output});
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Emit, NamesElements) {
  const EmitOptions options{.namespace_name = "net",
                            .element_names = {{"x", {"weight", "a\nb"}}, {"y", {"cat", "dog"}}}};
  const std::string text = emit_cpp(doubled("x", "y"), {}, options);
  EXPECT_NE(text.find("x\n//         x[0]  weight\n//         x[1]  a?b\n//   out"),
            std::string::npos)
      << text.substr(0, 600);
  EXPECT_NE(text.find("//         y[1]  dog\n"), std::string::npos);
}

TEST(Emit, DeclaresArgumentsByTheirNames) {
  const std::string text = emit_cpp(doubled("x", "y"), {}, {.namespace_name = "gain"});
  EXPECT_TRUE(contains(text, "namespace gain {"));
  EXPECT_TRUE(contains(text, "inline void run(const float* x, float* y) noexcept {"));
  EXPECT_TRUE(contains(text, "inline constexpr std::size_t x_size = 3;"));
  EXPECT_TRUE(contains(text, "//   in   f32[3]  x\n"));
}

TEST(Emit, MakesNamesThatCppTakes) {
  const auto declared = [](const std::string& input, const std::string& output) {
    const std::string text = emit_cpp(doubled(input, output));
    const std::size_t begin = text.rfind("inline void run(") + 16;
    return text.substr(begin, text.find(')', begin) - begin);
  };
  EXPECT_EQ(declared("layers.0/x", ""), "const float* layers_0_x, float* out");
  EXPECT_EQ(declared("x", "x"), "const float* x, float* x_2");
  EXPECT_EQ(declared("0", "float"), "const float* x0, float* outfloat");
  EXPECT_EQ(declared("\xc3\xa4\n#error", "run"), "const float* error, float* run_2");
}

TEST(Emit, NumbersNamesThatBecomeOne) {
  const Type type{Dtype::kF32, {3}};
  const Function f = trace(
      "sum", {{"a b", type}, {"a-b", type}, {"a/b", type}, {"a.b", type}},
      [](std::span<const Value> in) { return std::vector<Value>{in[0] + in[1] + in[2] + in[3]}; },
      {"y"});
  EXPECT_TRUE(contains(emit_cpp(f),
                       "inline void run(const float* a_b, const float* a_b_2, const float* a_b_3, "
                       "const float* a_b_4, float* y) noexcept {"))
      << emit_cpp(f).substr(0, 600);
}

// Marks of writing direction, of which the first and last of each group are here, and line ends.
TEST(Emit, NothingInACommentTurnsItAround) {
  for (const char* mark : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069",
                           "\u2028", "\u2029", "\u0085"}) {
    const std::string name = std::string("x") + mark + "y";
    const std::string text =
        emit_cpp(doubled("x", "y"), {}, {.element_names = {{"x", {name, "b", "c"}}}});
    EXPECT_TRUE(contains(text, "x[0]  x?y\n")) << name;
  }
}

TEST(Emit, NothingOfAFunctionEndsAComment) {
  const std::string text = emit_cpp(doubled("x\n#error one\\", "y"));
  EXPECT_FALSE(contains(text, "\n#error one"));
}

TEST(Emit, ShowsNamesInOtherLetters) {
  const EmitOptions options{.element_names = {{"größe", {"Höhe", "\xff", "\xe2\x80\xaex"}},
                                              {"y", {"猫", "x?\?/", "a\\"}}}};
  const std::string text = emit_cpp(doubled("größe", "y"), {}, options);
  EXPECT_NE(text.find("//   in   f32[3]  gr_e, größe\n//         gr_e[0]  Höhe\n"
                      "//         gr_e[1]  ?\n//         gr_e[2]  ?x\n"
                      "//   out  f32[3]  y\n//         y[0]  猫\n"
                      "//         y[1]  x?\?\?\n//         y[2]  a?\n"),
            std::string::npos)
      << text.substr(0, 600);
}

TEST(Emit, RefusesANamespaceThatIsNone) {
  for (const char* name : {"", "2nd", "a-b", "class", "_x", "a__b", "std", "a::b"}) try {
      emit_cpp(doubled("x", "y"), {}, {.namespace_name = name});
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
      EXPECT_TRUE(contains(e.what(), "is not a valid name of a C++ namespace")) << e.what();
    }
}

TEST(Emit, TakesOnlyThePartsThatAreUsed) {
  const std::string text = emit_cpp(doubled("x", "y"));
  for (const char* part : {"kExp", "kLog", "multiply_tile", "philox", "bit_cast"})
    EXPECT_FALSE(contains(text, part)) << part;
  const nn::Mlp net = nn::mlp({2, 3, 1}, sigmoid);
  const std::string with_sigmoid = emit_cpp(net.function(), net.init(Key(0)));
  EXPECT_TRUE(contains(with_sigmoid, "inline float sigmoid(float x) {"));
  EXPECT_TRUE(contains(with_sigmoid, "kExp"));
  EXPECT_FALSE(contains(with_sigmoid, "kTanh"));
}

TEST(Emit, LeavesTheStackAloneWhereTheWorkspaceIsLarge) {
  const nn::Mlp net = nn::mlp({2, 300, 1}, relu);
  const Params params = net.init(Key(0));
  const auto on_stack = [&](std::size_t stack_bytes) {
    return contains(emit_cpp(net.function(), params, {.stack_bytes = stack_bytes}),
                    "  Workspace workspace;\n");
  };
  EXPECT_TRUE(on_stack(16384));
  EXPECT_FALSE(on_stack(1024));
}

// The smallest subnormal, a zero with a sign, the lowest integers.
TEST(Emit, WritesNumbersExactly) {
  Builder builder("numbers");
  const std::vector<Value> values{
      constant(builder, Tensor::from<float>({3}, {1e-45f, -0.0f, 0.1f})),
      constant(builder,
               Tensor::from<std::int64_t>({1}, {std::numeric_limits<std::int64_t>::min()})),
      constant(builder, Tensor::from<std::int32_t>({2}, {-2147483647 - 1, 7}))};
  const std::string text = emit_cpp(builder.finish(values));
  EXPECT_TRUE(contains(text, "0x1p-149f, -0.0f, 0x1.99999ap-4f,")) << text;
  EXPECT_TRUE(contains(text, "(-9223372036854775807 - 1)"));
  EXPECT_TRUE(contains(text, "(-2147483647 - 1), 7,"));
}

}  // namespace
}  // namespace limpid
