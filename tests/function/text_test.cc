// The text form: its look, and the handling of text that is not a Function.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/core/key.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/train/loop/step.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

constexpr const char* kMlp =
    R"(function mlp(%layers.0.weight: f32[3, 2], %layers.0.bias: f32[3], %layers.1.weight: f32[1, 3], %layers.1.bias: f32[1], %x: f32[2]) {
  %0 = linear(%x, %layers.0.weight, %layers.0.bias) : f32[3]  @layers.0
  %1 = relu(%0) : f32[3]  @layers.0
  %2 = linear(%1, %layers.1.weight, %layers.1.bias) : f32[1]  @layers.1
  return logits = %2
}
)";

TEST(Text, OfAnMlp) {
  const Function f = nn::mlp({2, 3, 1}, relu).function();
  EXPECT_EQ(to_text(f), kMlp);
  EXPECT_EQ(parse_function(kMlp), f);
}

TEST(Text, OfAWholeTrainingStepReadsBack) {
  const Function step = train::step_function(train::mlp_problem(nn::mlp({6, 5, 4}, gelu, 0.3)),
                                             {optim::Sgd{0.9, 0.1, true}}, 7);
  EXPECT_EQ(parse_function(to_text(step)), step);
}

TEST(Text, LinesMayEndAsOnWindows) {
  std::string text;
  for (const char* c = kMlp; *c != 0; ++c) text += *c == '\n' ? "\r\n" : std::string(1, *c);
  EXPECT_EQ(to_text(parse_function(text)), kMlp);
}

TEST(Text, LinesMayBeginWithTabs) {
  std::string text;
  for (const char* c = kMlp; *c != 0; ++c) text += *c == '\n' ? "\n\t" : std::string(1, *c);
  EXPECT_EQ(to_text(parse_function(text)), kMlp);
}

// The shortest text of numbers has two characters for each.
TEST(Text, NumbersNeedNoSpaces) {
  constexpr std::int64_t kCount = 300;
  std::string numbers = "1";
  for (std::int64_t i = 1; i < kCount; ++i) numbers += ",1";
  const Function f = parse_function("function f() {\n%0 = constant() {value = u8[300] (" + numbers +
                                    ")} : u8[300]\nreturn %0\n}");
  const std::vector<std::uint8_t> ones(kCount, 1);
  EXPECT_TRUE(interpret(f, {})[0].same_bits(Tensor::from<std::uint8_t>({kCount}, ones)));
}

// No name of a result, if it has none, and no control character.
TEST(Text, HasWhatThereIs) {
  Builder builder("");
  const Value x = builder.input("\x1f", {Dtype::kF32, {2}});
  const Function f = builder.finish(std::vector<Value>{-x, x}, {"", "\x7f"});
  const std::string text =
      "function \"\"(%\"\\x1f\": f32[2]) {\n  %0 = negate(%\"\\x1f\") : f32[2]\n"
      "  return %0, \"\x7f\" = %\"\\x1f\"\n}\n";
  EXPECT_EQ(to_text(f), text);
  EXPECT_EQ(parse_function(text), f);
}

TEST(Text, ShowsAsManyElementsAsItIsTold) {
  const Tensor four = Tensor::from<float>({4}, {1, 2, 3, 4});
  EXPECT_EQ(to_text(four, {.max_elements = 4}), "f32[4] (1.0, 2.0, 3.0, 4.0)");
  EXPECT_EQ(to_text(four, {.max_elements = 3}), "f32[4] ...");
}

TEST(Text, OddNamesAreQuoted) {
  Builder builder("0 odd \"name\"");
  const Value x = builder.input("a b\n%", {Dtype::kF32, {2}});
  const Builder::Scope scope(builder, "la\\yer 1");
  const Function f = builder.finish(std::vector<Value>{-x}, {"out,put"});
  EXPECT_EQ(parse_function(to_text(f)), f) << to_text(f);
}

TEST(Text, NamesWithAnyCharacterReadBack) {
  for (int c = 1; c < 128; ++c) {
    Builder builder("f");
    const Value x = builder.input(std::string("a") + static_cast<char>(c), {Dtype::kF32, {2}});
    const Function f = builder.finish(std::vector<Value>{-x, x});
    EXPECT_EQ(parse_function(to_text(f)), f) << to_text(f);
  }
}

TEST(Text, WithoutResultsReadsBack) {
  Builder builder("f");
  builder.input("x", {Dtype::kF32, {2}});
  const Function f = builder.finish({});
  EXPECT_EQ(parse_function(to_text(f)), f) << to_text(f);
}

// The most operands and results that an op may have.
TEST(Text, OfABarrierOfManyValuesReadsBack) {
  Builder builder("f");
  const Value x = builder.input("x", {Dtype::kF32, {2}});
  const Function f = builder.finish(
      barrier(std::vector<Value>(static_cast<std::size_t>(op::barrier.max_inputs), x)));
  EXPECT_TRUE(parse_function(to_text(f)) == f);
}

// The first op's result is %0, whatever the inputs are called.
TEST(Text, InputsNamedLikeResultsAreQuoted) {
  Builder builder("f");
  const Value x = builder.input("0", {Dtype::kF32, {2}});
  const Function f = builder.finish(std::vector<Value>{-x, x});
  EXPECT_EQ(parse_function(to_text(f)), f) << to_text(f);
}

TEST(Text, AnAttributeThatIsMissingOrOfAnotherKindIsNamed) {
  const Attributes one{{"axis", std::int64_t{1}}};
  EXPECT_EQ(one.integer("axis"), 1);
  for (const char* name : {"axis", "other"})
    expect_refused(ErrorCode::kInvalidArgument, [&] { (void)one.get<double>(name); });
}

TEST(Text, AttributesHaveEachNameOnce) {
  Attributes one{{"axis", std::int64_t{1}}, {"axis", std::int64_t{2}}};
  EXPECT_EQ(one.integer("axis"), 2);
  EXPECT_EQ(one.size(), 1u);
  one.set("axis", 0.5);
  EXPECT_EQ(one.get<double>("axis"), 0.5);
  EXPECT_EQ(one.size(), 1u);
}

// Whatever the order in which code or a file names them, a call is the same call.
TEST(Text, AttributesHaveOneOrder) {
  const Attributes sorted{{"alpha", 0.5}, {"axis", std::int64_t{1}}};
  const Attributes given{{"axis", std::int64_t{1}}, {"alpha", 0.5}};
  EXPECT_TRUE(sorted == given);
  EXPECT_EQ(given.begin()->first, "alpha");
}

TEST(Text, AttributesAreEqualByTheirBits) {
  const auto with = [](double number) { return Attributes{{"alpha", number}}; };
  EXPECT_FALSE(with(0.0) == with(-0.0));
  EXPECT_TRUE(with(std::nan("")) == with(std::nan("")));
  EXPECT_FALSE(with(1) == (Attributes{{"alpha", std::int64_t{1}}}));
}

TEST(Text, AttributesOfEveryKindAreCompared) {
  using List = std::vector<std::int64_t>;
  const std::vector<Attribute> all{true,
                                   false,
                                   std::int64_t{0},
                                   std::int64_t{1},
                                   1.0,
                                   2.0,
                                   List{},
                                   List{0},
                                   List{0, 1},
                                   Dtype::kF32,
                                   Dtype::kF64,
                                   Tensor::scalar(1.0f),
                                   Tensor::scalar(2.0f),
                                   Tensor::scalar(1.0)};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < all.size(); ++j)
      EXPECT_EQ((Attributes{{"a", all[i]}} == Attributes{{"a", all[j]}}), i == j) << i << ' ' << j;
  EXPECT_FALSE((Attributes{{"a", true}} == Attributes{{"b", true}}));
  EXPECT_FALSE((Attributes{{"a", true}} == Attributes{{"a", true}, {"b", true}}));
}

TEST(Text, NumbersKeepTheirBits) {
  const float inf = std::numeric_limits<float>::infinity();
  const Function f = trace("f", {{"x", {Dtype::kF32, {}}}}, [&](std::span<const Value> in) {
    Builder& b = in[0].builder();
    const auto put = [&](Tensor t) { return constant(b, std::move(t)); };
    return std::vector<Value>{
        put(Tensor::from<float>({6}, {0.1f, -0.0f, 1e-45f, 3.4028235e38f, inf, -inf})),
        put(Tensor::from<double>({3}, {0.1, 5e-324, 1.0 / 3})),
        put(Tensor::from<std::int64_t>({2}, {std::numeric_limits<std::int64_t>::min(), 7})),
        put(Tensor::from<std::uint8_t>({2}, {0, 255})),
        put(Tensor::from<std::int8_t>({2}, {-128, 127})),
        put(Tensor::from<bool>({2}, {true, false})),
        put(Tensor::from<F16>({2}, {to_f16(-2.0f), to_f16(0.5f)})),
        put(Tensor::from<Bf16>({2}, {to_bf16(-2.0f), to_bf16(0.5f)})),
        leaky_relu(in[0], 2),
        clamp(in[0], -static_cast<double>(inf), 1),
        dropout(in[0], put(Tensor::scalar<std::int64_t>(1)), 0.1 + 0.2)};
  });
  EXPECT_EQ(parse_function(to_text(f)), f) << to_text(f);
}

TEST(Text, ThatIsBrokenIsRefusedWithItsLine) {
  const auto refused = [](ErrorCode code, const std::vector<const char*>& texts) {
    for (const char* text : texts) {
      SCOPED_TRACE(text);
      expect_refused(code, [&] { parse_function(text); });
    }
  };
  refused(ErrorCode::kParse,
          {"",
           "functional",
           "function f(",
           "function f(%x: f31[2]) {",
           "function f(%x: f32[99999999999999999999]) {",
           "function f(%x: f32[]) {\n%0 = fly(%x) : f32[]",
           "function f(%x: f32[]) {\n%0 = exp(%y) : f32[]",
           "function f(%x: f32[]) {\n%0 = exp(%0) : f32[]",
           "function f(%x: f32[]) {\n%0 = exp(%x) : f32[2]\nreturn %0\n}",
           "function f(%x: f32[]) {\n%0, %1 = exp(%x) : f32[]\nreturn %0\n}",
           "function f(%x: f32[]) {\n%0 = exp(%x) : f32[]\n%0 = exp(%x) : f32[]\nreturn %0\n}",
           "function f(%x: f32[2]) {\n%0 = sum(%x) {axis = 0, axis = 0} : f32[]\nreturn %0\n}",
           "function f() {\n%0 = constant() {value = f32[3] (1.0)} : f32[3]\nreturn %0\n}",
           "function f() {\n%0 = constant() {value = u8[1] (256)} : u8[1]\nreturn %0\n}",
           "function f() {\n%0 = constant() {value = bool[1] (2)} : bool[1]\nreturn %0\n}",
           "function f() {\n%0 = constant() {value = f32[1] (1.0.0)} : f32[1]\nreturn %0\n}",
           "function f(%\"x: f32[]) {",
           "function f(%\"\\x9\"",
           "function f(%\"\\x41",
           "function f(%\"\\x9",
           "function f(%\"\\x",
           "function f(%\"x\\",
           "function f(%x: f32[]) {\nreturn %x\n} more",
           "function f(%x: f32[]) {\nreturn %x"});
  refused(ErrorCode::kShape,
          {"function f(%x: f32[-2]) {", "function f(%x: f32[9999999999, 9999999999]) {",
           "function f(%x: f32[1,1,1,1,1,1,1,1,1]) {",
           "function f(%x: f32[2]) {\n%0 = sum(%x) {axis = 7} : f32[]\nreturn %0\n}"});
  refused(ErrorCode::kInvalidArgument,
          {"function f(%x: f32[], %x: f32[]) {",
           "function f(%x: f32[]) {\n%0 = exp(%x, %x) : f32[]\nreturn %0\n}",
           "function f(%x: f32[2]) {\n%0 = sum(%x) : f32[]\nreturn %0\n}",
           "function f(%x: f32[2]) {\n%0 = sum(%x) {axis = 0.0} : f32[]\nreturn %0\n}",
           "function f(%x: f32[2]) {\n%0 = sum(%x) {axis = 0, bias = 1} : f32[]\nreturn %0\n}"});
}

// A part of a scope is a group within another.
TEST(Text, ScopesAreNotVeryLong) {
  const auto parsed = [](const std::string& scope) {
    return parse_function("function f(%x: f32[]) {\n%0 = exp(%x) : f32[]  @" + scope +
                          "\nreturn %0\n}");
  };
  std::string deep = "a";
  for (int i = 1; i < 256; ++i) deep += ".a";
  EXPECT_EQ(parsed(deep).nodes()[0].scope, deep);
  expect_refused(ErrorCode::kInvalidArgument, [&] { parsed(deep + ".a"); });
  EXPECT_EQ(parsed(std::string(4096, 'a')).nodes()[0].scope.size(), 4096u);
  expect_refused(ErrorCode::kInvalidArgument, [&] { parsed(std::string(4097, 'a')); });
}

// Text that is truncated, or has any byte changed, is read or refused; nothing else happens.
TEST(Text, MutatedTextNeverCrashes) {
  const std::string whole = to_text(train::step_function(
      train::mlp_problem(nn::mlp({6, 5, 4}, silu, 0.3)), {optim::Sgd{0.9}}, 3));
  const auto attempt = [](std::string_view text) {
    try {
      verify(parse_function(text));
    } catch (const Error&) {
    }
  };
  for (std::size_t n = 0; n < whole.size(); n += 7) attempt(std::string_view(whole).substr(0, n));
  const Key key(1);
  constexpr std::string_view kBytes = "%(){}[]=,.-:@\"\\ 0123456789aefinrx\n\0\xff";
  for (std::uint64_t i = 0; i < 3000; ++i) {
    std::string text = whole;
    for (std::uint64_t k = 0; k <= key.below(3, 3 * i); ++k) {
      const std::size_t at = key.below(text.size(), 100'000 + 10 * i + k);
      text[at] = kBytes[key.below(kBytes.size(), 200'000 + 10 * i + k)];
    }
    attempt(text);
  }
}

}  // namespace
}  // namespace limpid
