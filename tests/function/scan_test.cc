// scan: its text and its refusals. The laws on random loops are in tests/laws.
#include "limpid/transforms/scan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/function/text.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/expand.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/widen.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

constexpr const char* kRunningSum =
    R"(function sums(%start: f32[2], %xs: f32[3, 2], %scale: f32[2]) {
  %0, %1 = scan(%start, %xs, %scale) {body = function code(%"0": f32[2], %"1": f32[2], %captured.2: f32[2]) {
    %0 = multiply(%"1", %captured.2) : f32[2]
    %1 = add(%"0", %0) : f32[2]
    return %1, %1
  }, carries = 1, length = 3, recompute = false, reverse = false, scanned = 1} : f32[2], f32[3, 2]  @layer
  return %0, %1
}
)";

Function running_sum() {
  return trace(
      "sums",
      {{"start", {Dtype::kF32, {2}}}, {"xs", {Dtype::kF32, {3, 2}}}, {"scale", {Dtype::kF32, {2}}}},
      [](std::span<const Value> in) {
        const Builder::Scope scope(in[0].builder(), "layer");
        const auto [last, all] = scan(
            [&](Value total, Value x) {
              const Value next = total + x * in[2];
              return std::tuple{next, next};
            },
            in[0], in[1]);
        return std::vector<Value>{last, all};
      });
}

TEST(Scan, IsAnIndentedBlockInText) {
  EXPECT_EQ(to_text(running_sum()), kRunningSum);
  EXPECT_EQ(parse_function(kRunningSum), running_sum());
  EXPECT_EQ(node_text(running_sum(), running_sum().nodes()[0], {.bodies = false}),
            "%0, %1 = scan(%start, %xs, %scale) {body = function code, carries = 1, length = 3, "
            "recompute = false, reverse = false, scanned = 1} : f32[2], f32[3, 2]  @layer");
}

TEST(Scan, RunsInTheOrderOfTime) {
  const std::vector<Tensor> in{Tensor::from<float>({2}, {1, 2}),
                               Tensor::from<float>({3, 2}, {1, 1, 2, 2, 3, 3}),
                               Tensor::from<float>({2}, {1, 10})};
  const std::vector<Tensor> got = compile(running_sum())(in);
  EXPECT_TRUE(got[0].same_bits(Tensor::from<float>({2}, {7, 62})));
  EXPECT_TRUE(got[1].same_bits(Tensor::from<float>({3, 2}, {2, 12, 4, 32, 7, 62})));
}

TEST(Scan, IsEqualIfItsBodyIs) {
  std::string other = kRunningSum;
  other.replace(other.find("add"), 3, "subtract");
  EXPECT_FALSE(parse_function(other) == running_sum());
  EXPECT_EQ(parse_function(to_text(widen(widen(running_sum())))), widen(running_sum()));
}

// An argument that has nothing to do with the loss is constant to the loop's gradient.
TEST(Scan, GradientIsNothingForWhatIsOnlyCompared) {
  const Type row{Dtype::kF32, {2}};
  const Function f =
      trace("f", {{"x", {Dtype::kF32, {3, 2}}}, {"h", row}, {"mask", row}},
            [](std::span<const Value> in) {
              const auto [last, all] = scan(
                  [&](Value h, Value x) {
                    return std::tuple{select(in[2] * abs(h) > number_like(h, 0), h * x, h),
                                      std::tuple<>()};
                  },
                  in[1], in[0]);
              return std::vector<Value>{sum(last)};
            });
  const std::vector<Tensor> in{Tensor::from<float>({3, 2}, {2, 2, 3, 3, 5, 5}),
                               Tensor::from<float>({2}, {1, 1}), Tensor::from<float>({2}, {1, -1})};
  const std::vector<Tensor> got = interpret(grad(f, {0, 1, 2}), in);
  EXPECT_TRUE(got[0].same_bits(Tensor::from<float>({3, 2}, {15, 0, 10, 0, 6, 0})));
  EXPECT_TRUE(got[1].same_bits(Tensor::from<float>({2}, {30, 1})));
  EXPECT_TRUE(got[2].same_bits(Tensor::from<float>({2}, {0, 0})));
}

// ---- refusals

TEST(Scan, RefusesACarryThatChangesItsType) {
  const auto with = [](const std::function<Value(Value, Value)>& step) {
    trace("f", {{"h", {Dtype::kF32, {2}}}, {"x", {Dtype::kF32, {3, 2}}}},
          [&](std::span<const Value> in) {
            const auto code = [&](Value h, Value x) {
              return std::tuple{step(h, x), std::tuple<>()};
            };
            return leaves_of(scan(code, in[0], in[1]));
          });
  };
  expect_refused(ErrorCode::kShape, [&] { with([](Value h, Value) { return sum(h); }); });
  expect_refused(ErrorCode::kDtype,
                 [&] { with([](Value h, Value) { return cast(h, Dtype::kF64); }); });
}

TEST(Scan, RefusesXsOfOtherLengths) {
  const auto with = [](const Shape& a, const Shape& b, std::optional<std::int64_t> length) {
    trace("f", {{"h", {Dtype::kF32, {}}}, {"a", {Dtype::kF32, a}}, {"b", {Dtype::kF32, b}}},
          [&](std::span<const Value> in) {
            const auto code = [&](Value h, const auto&) { return std::tuple{h, std::tuple<>()}; };
            return leaves_of(scan(code, in[0], std::tuple{in[1], in[2]}, {.length = length}));
          });
  };
  expect_refused(ErrorCode::kShape, [&] { with({3}, {4}, {}); });
  expect_refused(ErrorCode::kShape, [&] { with({3}, {3}, 4); });
  expect_refused(ErrorCode::kShape, [&] { with({3}, {}, {}); });
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    trace("f", {{"h", {Dtype::kF32, {}}}}, [&](std::span<const Value> in) {
      const auto code = [](Value h, std::tuple<>) { return std::tuple{h, h}; };
      return leaves_of(scan(code, in[0], std::tuple<>()));
    });
  });
}

std::string with_attributes(const std::string& attributes) {
  return "function f(%x: f32[2], %xs: f32[3, 2]) {\n  %0 = scan(%x, %xs) {" + attributes +
         "} : f32[2]\n  return %0\n}\n";
}
constexpr const char* kBody =
    "body = function g(%h: f32[2], %x: f32[2]) {\n%0 = add(%h, %x) : f32[2]\nreturn %0\n}";

TEST(Scan, ReadsTextOfStrangers) {
  const std::string body = kBody;
  EXPECT_NO_THROW(parse_function(with_attributes(
      body + ", carries = 1, length = 3, recompute = false, reverse = true, scanned = 1")));
  for (const char* const wrong :
       {", carries = -1, length = 3, recompute = false, reverse = true, scanned = 1",
        ", carries = 1, length = -3, recompute = false, reverse = true, scanned = 1",
        ", carries = 1, length = 4, recompute = false, reverse = true, scanned = 1",
        ", carries = 2, length = 3, recompute = false, reverse = true, scanned = 1",
        ", carries = 1, length = 3, recompute = false, reverse = true, scanned = 2",
        ", carries = 9223372036854775807, length = 3, recompute = false, reverse = true, scanned = "
        "1",
        ", carries = 1, length = 3, recompute = false, reverse = true, scanned = "
        "9223372036854775807",
        ", carries = 1, length = 3, recompute = false, reverse = true, scanned = 0"})
    EXPECT_THROW(parse_function(with_attributes(body + wrong)), Error) << wrong;
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    parse_function(with_attributes(
        "body = 1, carries = 1, length = 3, recompute = false, reverse = true, scanned = 1"));
  });
  expect_refused(ErrorCode::kParse, [&] { parse_function(with_attributes("body = function g(")); });
  // A value of the function around is none of the body.
  expect_refused(ErrorCode::kParse, [&] {
    parse_function(with_attributes("body = function g(%h: f32[2]) {\nreturn %x\n}"));
  });
}

TEST(Scan, LimitsFunctionsInsideEachOther) {
  const auto nested = [](int depth) {
    std::string text = "return %h\n}";
    for (int i = 1; i < depth; ++i)
      text = "%0 = scan(%h) {body = function g(%h: f32[]) {\n" + text +
             ", carries = 1, length = 1, recompute = false, reverse = false, scanned = 0} : "
             "f32[]\nreturn %0\n}";
    return "function g(%h: f32[]) {\n" + text;
  };
  EXPECT_NO_THROW(parse_function(nested(kMostDepth)));
  expect_refused(ErrorCode::kParse, [&] { parse_function(nested(kMostDepth + 1)); });
  EXPECT_THROW(parse_function(nested(1000)), Error);
}

// Many steps take no time until they run, and are not written one by one.
TEST(Scan, OfTooManyStepsIsNotUnrolled) {
  const Function f = parse_function(
      "function f(%x: f32[2]) {\n  %0 = scan(%x) {body = function g(%h: f32[2]) {\nreturn %h\n}, "
      "carries = 1, length = 9223372036854775807, recompute = false, reverse = false, scanned = 0} "
      ": f32[2]\n"
      "  %1 = scan(%0) {body = function g(%h: f32[2]) {\n%0 = scan(%h) {body = function g(%h: "
      "f32[2]) {\nreturn %h\n}, carries = 1, length = 100000, recompute = false, reverse = false, "
      "scanned = 0} : "
      "f32[2]\nreturn %0\n}, carries = 1, length = 100000, recompute = false, reverse = false, "
      "scanned = 0} : f32[2]\n"
      "  return %1\n}\n");
  expect_refused(ErrorCode::kUnsupported, [&] { expand(f); });
  EXPECT_NO_THROW(compile(f));
  EXPECT_NO_THROW(vjp(f, {0}));
}

}  // namespace
}  // namespace limpid
