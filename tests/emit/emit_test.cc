// The text that emit_cpp() writes. run.cmake compares what it computes.
#include "limpid/emit/emit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/function/builder.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/mlp.h"
#include "limpid/nn/recurrent.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"
#include "tests/refusals.h"

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
  EXPECT_TRUE(contains(text,
                       "//   static gain::Workspace workspace;\n"
                       "//   gain::run(x, y, workspace);\n"
                       "//   gain::run(x, y);  // or with the workspace on the stack\n"))
      << text.substr(0, 600);
}

// Whether arithmetic moves out of the default float mode otherwise depends on the compiler and the
// CPU.
TEST(Emit, ComputesInAFunctionThatIsNotInlined) {
  EXPECT_TRUE(
      contains(emit_cpp(doubled("x", "y")), "\n__attribute__((noinline)) inline void compute("));
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
  EXPECT_EQ(declared("mode", "workspace"), "const float* mode_2, float* workspace_2");
  // A macro of GNU's C++, and a word of C++20.
  EXPECT_EQ(declared("linux", "requires"), "const float* xlinux, float* outrequires");
  EXPECT_EQ(declared("unix", "Workspace"), "const float* xunix, float* Workspace_2");
  EXPECT_EQ(declared("or", "or_eq"), "const float* x, float* outor_eq");  // xor is no name, either
  EXPECT_EQ(declared("a.", "a/"), "const float* a_, float* a_2");
  // Macros of the headers that are included, or may be.
  EXPECT_EQ(declared("NAN", "INFINITY"), "const float* xNAN, float* outINFINITY");
  EXPECT_EQ(declared("EOF", "INT8_MAX"), "const float* xEOF, float* outINT8_MAX");
  EXPECT_EQ(declared("M_PIl", "math_errhandling"),
            "const float* xM_PIl, float* outmath_errhandling");
  EXPECT_EQ(declared("X", "Y1"), "const float* X, float* Y1");
  EXPECT_EQ(declared("NaN", "M"), "const float* NaN, float* M");
}

TEST(Emit, NumbersNamesThatBecomeOne) {
  const Type type{Dtype::kF32, {3}};
  const Function f = trace(
      "sum", {{"a b", type}, {"a-b", type}, {"a_b_3", type}, {"a/b", type}},
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
  for (const char* name :
       {"", "2nd", "a-b", "class", "_x", "a__b", "std", "a::b", "main", "log", "index", "NAN"})
    expect_refused(ErrorCode::kInvalidArgument,
                   [&] { emit_cpp(doubled("x", "y"), {}, {.namespace_name = name}); });
}

// The words of C++20, and what the C library's headers may define as macros or declare outside of
// any namespace: a header that has one for its own name does not compile.
TEST(Emit, RefusesEveryWordThatIsTaken) {
  constexpr std::string_view kWords =
      "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
      "char32_t "
      "char8_t class co_await co_return co_yield compl concept const const_cast consteval "
      "constexpr "
      "constinit continue decltype default delete do double dynamic_cast else enum explicit export "
      "extern false float for friend goto if inline int long mutable namespace new noexcept not "
      "not_eq nullptr operator or or_eq private protected public register reinterpret_cast "
      "requires "
      "return short signed sizeof static static_assert static_cast struct switch template this "
      "thread_local throw true try typedef typeid typename union unsigned using virtual void "
      "volatile wchar_t while xor xor_eq "
      "EOF INFINITY NAN NULL errno linux math_errhandling std unix "
      "abort abs acos acosh asin asinh atan atan2 atanh atexit atof atoi atol atoll basename bcmp "
      "bcopy bsearch bzero calloc cbrt ceil copysign cos cosh div drand48 drem erf erfc exit exp "
      "exp10 exp2 expm1 fabs fdim ffs finite floor fma fmax fmin fmod free frexp gamma getenv "
      "hypot "
      "ilogb index j0 j1 jn labs ldexp ldiv lgamma llabs lldiv llrint llround log log10 log1p log2 "
      "logb lrint lround main malloc memccpy memchr memcmp memcpy memmem memmove memset mkdtemp "
      "mkstemp mktemp modf nan nearbyint nextafter nexttoward pow putenv qsort rand random realloc "
      "realpath remainder remquo rindex rint round roundeven scalb scalbln scalbn setenv "
      "significand "
      "sin sincos sinh sqrt srand srandom stpcpy strcat strchr strcmp strcoll strcpy strcspn "
      "strdup "
      "strerror strlen strncat strncmp strncpy strpbrk strrchr strsep strsignal strspn strstr "
      "strtod "
      "strtof strtok strtol strtold strtoll strtoul strtoull strxfrm swab system tan tanh tgamma "
      "trunc unsetenv y0 y1 yn";
  for (std::size_t at = 0; at < kWords.size();) {
    const std::size_t end = std::min(kWords.find(' ', at), kWords.size());
    const std::string word(kWords.substr(at, end - at));
    EXPECT_THROW(emit_cpp(doubled("x", "y"), {}, {.namespace_name = word}), Error) << word;
    EXPECT_NO_THROW(emit_cpp(doubled("x", "y"), {}, {.namespace_name = word + "s1"})) << word;
    at = end + 1;
  }
}

// Each is tried with all numbers from the last one on.
TEST(Emit, NumbersThousandsOfOutputsOfOneName) {
  constexpr std::size_t kOutputs = 20'000;
  const Type row{Dtype::kF32, {1}};
  const Function f = trace("f", {{"x", row}}, [](std::span<const Value> in) {
    return std::vector<Value>(kOutputs, in[0]);
  });
  EXPECT_TRUE(contains(emit_cpp(f), "out_20000"));
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

TEST(Emit, LeavesOutWhatOnlyAnUnreadResultOfABarrierNeeds) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {3}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{barrier(std::vector<Value>{exp(in[0]), abs(in[0])})[1]};
  });
  EXPECT_FALSE(contains(emit_cpp(f), "exp(")) << emit_cpp(f);
}

// The header of the standard library that has a name; empty: none that this test knows of.
std::string_view header_of(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"algorithm", "copy fill max min sort swap_ranges"},
      {"array", "array"},
      {"cfenv", "fegetround fesetround"},
      {"cmath",
       "acos acosh asin asinh atan atanh ceil copysign cos cosh erf erfc exp expm1 fabs floor fma "
       "frexp "
       "fmod ilogb isfinite isinf isnan ldexp log log1p nearbyint pow signbit sin sinh sqrt tan "
       "tanh trunc"},
      {"cstddef", "size_t"},
      {"cstdint", "int8_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t"},
      {"cstring", "memcpy"},
      {"limits", "numeric_limits"},
      {"utility", "swap"},
      {"type_traits", "is_floating_point_v is_integral_v is_same_v is_signed_v make_unsigned_t"}};
  for (const auto& [header, names] : kNames)
    if (contains(" " + std::string(names) + " ", " " + std::string(name) + " ")) return header;
  return {};
}

// One standard library's headers include each other, another's do not.
TEST(Emit, IncludesTheHeaderOfEveryNameThatItUses) {
  constexpr std::string_view kStd = "std::";
  for (const Op* op : all_ops())
    for (const Example& example : op->examples()) {
      const std::string text = emit_cpp(function_of(*op, example));
      for (std::size_t at = 0; (at = text.find(kStd, at)) != std::string::npos;) {
        at += kStd.size();
        const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", at);
        const std::string name = text.substr(at, end - at);
        const std::string_view header = header_of(name);
        ASSERT_NE(header, "") << name;
        EXPECT_TRUE(contains(text, "#include <" + std::string(header) + ">\n"))
            << op->name << ": std::" << name;
      }
    }
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

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++count;
  return count;
}

// The number behind a text.
std::size_t number_behind(const std::string& text, std::string_view part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return at == std::string::npos ? 0 : std::stoul(text.substr(at + part.size()));
}

// Of ten layers, the results of two are in use at a time.
TEST(Emit, UsesTheMemoryOfResultsThatAreReadNoMore) {
  const nn::Mlp net = nn::mlp({2, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 1}, relu);
  const std::string text = emit_cpp(net.function(), net.init(Key(0)));
  EXPECT_LE(number_behind(text, "The workspace takes "), 4 * 64 * sizeof(float));
}

TEST(Emit, FillsTheStackAsFarAsItMay) {
  const nn::Mlp net = nn::mlp({2, 300, 1}, relu);
  const Params params = net.init(Key(0));
  const std::size_t bytes = number_behind(emit_cpp(net.function(), params), "The workspace takes ");
  for (const std::size_t limit : {bytes, bytes - 1})
    EXPECT_EQ(contains(emit_cpp(net.function(), params, {.stack_bytes = limit}),
                       "  Workspace workspace;\n"),
              limit == bytes);
}

// Each buffer begins where a cache line does, also behind one of a few bytes.
TEST(Emit, AlignsEveryBuffer) {
  const nn::Mlp net = nn::mlp({3, 5, 7, 3, 2}, sigmoid);
  const std::string text = emit_cpp(net.function(), net.init(Key(0)));
  std::size_t buffers = 0;
  for (std::size_t at = 0; (at = text.find("(memory + ", at)) != std::string::npos; ++buffers) {
    at += 10;
    EXPECT_EQ(std::stoul(text.substr(at)) % 64, 0u) << text.substr(at, 20);
  }
  EXPECT_GT(buffers, 2u);
}

// The caller's memory takes what was asked for, not all that was computed.
TEST(Emit, KeepsAResultOfWhichAPartIsGiven) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {6}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{slice(abs(in[0]), 0, 0, 3)};
  });
  EXPECT_EQ(number_behind(emit_cpp(f), "The workspace takes "), 64u);
}

TEST(Emit, JoinsWhatIsDoneToEachElementIntoOneLoop) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {4, 6}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{abs(in[0] * 2.0 + 1.0) - in[0]};
  });
  const std::string text = emit_cpp(f);
  const std::string run = text.substr(text.find("inline void compute("));
  EXPECT_EQ(count_of(run, "for (std::size_t"), 1u) << run;
}

// The code of a loop has the length of one step, and its weights once.
TEST(Emit, WritesALoopOverTimeAsALoop) {
  const auto text_of = [](std::int64_t steps) {
    const nn::GRU layer{.input = 3, .hidden = 4};
    return emit_cpp(nn::function_of(layer, {Dtype::kF32, {steps, 3}}), layer.init(Key(1)));
  };
  const std::string text = text_of(1000);
  EXPECT_EQ(count_of(text, "0; s"), 1u) << text;
  EXPECT_EQ(count_of(text, "// weight_hh_l0: "), 1u);
  const auto lines = [](const std::string& t) { return std::count(t.begin(), t.end(), '\n'); };
  EXPECT_EQ(lines(text), lines(text_of(500)));
}

// By name, and once, though two products read it.
TEST(Emit, HasEveryWeightOnce) {
  const Function f = trace("f", {{"w", {Dtype::kF32, {5, 4}}}, {"x", {Dtype::kF32, {3, 4}}}},
                           [](std::span<const Value> in) {
                             const Value y = linear(in[1], in[0], Value());
                             return std::vector<Value>{y, linear(in[1] * 2.0, in[0], Value())};
                           });
  const std::string text = emit_cpp(f, {{"w", random_tensor({Dtype::kF32, {5, 4}}, Key(1))}});
  EXPECT_EQ(count_of(text, "inline constexpr float c"), 1u);
  EXPECT_TRUE(contains(text, "// w: f32[1, 4, 5]\n")) << text;
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

// The bits of a scale of -0 are an integer that C++ has no literal of.
TEST(Emit, WritesTheLowestNumberOfACall) {
  const Type row{Dtype::kF32, {1, 1, 2}};
  const Function f = trace("f", {{"x", row}}, [](std::span<const Value> in) {
    return std::vector<Value>{call1(op::scaled_dot_product_attention, {in[0], in[0], in[0]},
                                    {{"causal", false}, {"scale", -0.0}})};
  });
  EXPECT_TRUE(contains(emit_cpp(f), ", (-9223372036854775807 - 1), ")) << emit_cpp(f);
}

// Numbers that are none by their bits, others of one or two bytes as whole numbers.
TEST(Emit, WritesNumbersOfEveryType) {
  const auto f32 = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  const auto f64 = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
  const std::pair<Tensor, std::string_view> all[] = {
      {Tensor::from<float>({6}, {f32(0x7fc00000), f32(0xffc00003), f32(0x7f800005), f32(0xff800005),
                                 f32(0x7f800000), f32(0xff800000)}),
       "__builtin_nanf(\"0x0\"), -__builtin_nanf(\"0x3\"), __builtin_nansf(\"0x5\"), "
       "-__builtin_nansf(\"0x5\"),"},
      {Tensor::from<float>({2}, {f32(0x7f800000), f32(0xff800000)}),
       "__builtin_inff(), -__builtin_inff(),"},
      {Tensor::from<double>(
           {3}, {f64(0x7ff8000000000000), f64(0xfff8000000000003), f64(0x7ff0000000000005)}),
       "__builtin_nan(\"0x0\"), -__builtin_nan(\"0x3\"), __builtin_nans(\"0x5\"),"},
      {Tensor::from<double>({4}, {f64(0x7ff0000000000000), f64(0xfff0000000000000), -0.0, -0.1}),
       "__builtin_inf(), -__builtin_inf(), -0.0, -0x1.999999999999ap-4,"},
      {Tensor::from<F16>({2}, {F16{0xfc00}, F16{1}}), "64512, 1,"},
      {Tensor::from<Bf16>({2}, {Bf16{0xff80}, Bf16{2}}), "65408, 2,"},
      {Tensor::from<std::uint8_t>({2}, {255, 0}), "255, 0,"},
      {Tensor::from<std::int8_t>({2}, {-128, 127}), "-128, 127,"},
      {Tensor::from<bool>({2}, {true, false}), "true, false,"}};
  for (const auto& [tensor, expected] : all) {
    Builder builder("numbers");
    const std::vector<Value> value{constant(builder, tensor)};
    const std::string text = emit_cpp(builder.finish(value));
    EXPECT_TRUE(contains(text, std::string("= {\n    ") + std::string(expected))) << text;
  }
}

// Rows 1 and 2 of an argument, and of a weight, begin after row 0.
TEST(Emit, GivesAFunctionAPartOfABuffer) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {4, 6}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{sum(slice(in[0], 0, 1, 3), 1)};
  });
  EXPECT_TRUE(contains(emit_cpp(f), "(2, 6, in0 + 6, out0);")) << emit_cpp(f);
  const Function product =
      trace("product", {{"x", {Dtype::kF32, {4, 6}}}, {"w", {Dtype::kF32, {7, 5}}}},
            [](std::span<const Value> in) {
              return std::vector<Value>{matmul(slice(in[0], 0, 1, 3), slice(in[1], 0, 1, 7))};
            });
  for (const char* part : {"in0 + 6, ", "in1 + 5, "})
    EXPECT_TRUE(contains(emit_cpp(product), part)) << emit_cpp(product);
}

}  // namespace
}  // namespace limpid
