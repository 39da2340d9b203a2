#include "limpid/transforms/edit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "tests/inspect/worked.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using testing::real_mlp;
using testing::Worked;

std::vector<Tensor> inputs_of(const Worked& w) {
  std::vector<Tensor> all;
  for (const Input& i : w.function.inputs()) all.push_back(w.inputs.at(i.name));
  return all;
}

Tensor run(const Function& f, const Worked& w) { return interpret(f, inputs_of(w)).front(); }

// Of 2-3-1: %0 linear, %1 relu, %2 linear.
TEST(Edit, UnitSetToZeroTakesItsShareOutOfTheSum) {
  const Worked w = real_mlp();
  const Edited what_if = edit(w.function, {parse_edit("%1[0] = 0")});
  // After unit 0: 0.6 * relu(0.8 * 1.5 - 0.3 * -0.7 + 0.2) is missing, units 1 and 2 are 0.
  EXPECT_EQ(run(what_if.function, w).item<float>(), 0.1f);
  EXPECT_NE(run(w.function, w).item<float>(), 0.1f);
}

TEST(Edit, NothingChangesWithoutEdits) {
  const Worked w = real_mlp();
  const Edited same = edit(w.function, {});
  EXPECT_EQ(same.function, w.function);
  EXPECT_EQ(same.values.size(), w.function.types().size());
}

TEST(Edit, ValuesSayWhatBecameOfEach) {
  const Worked w = real_mlp();
  const Edited e = edit(w.function, {parse_edit("%0 *= -2")});
  Function::Parts parts{
      e.function.name(), e.function.inputs(), e.function.nodes(), {}, e.function.types()};
  parts.outputs.push_back(
      {"", e.values[static_cast<std::size_t>(value_of_name(w.function, "%0"))]});
  const Tensor before = interpret(Function({w.function.name(),
                                            w.function.inputs(),
                                            w.function.nodes(),
                                            {{"", value_of_name(w.function, "%0")}},
                                            w.function.types()}),
                                  inputs_of(w))
                            .front();
  const Tensor after = interpret(Function(parts), inputs_of(w)).front();
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(after.values<float>()[i], -2 * before.values<float>()[i]);
}

TEST(Edit, OneWeightAlone) {
  const Worked w = real_mlp();
  const Edited e = edit(w.function, {parse_edit("%layers.1.weight[0, 0] = 0")});
  EXPECT_EQ(run(e.function, w).item<float>(), 0.1f);
}

TEST(Edit, MinusOneIsAllOfADimension) {
  const Function f = trace("f", {{"x", f32({2, 3})}}, [](std::span<const Value> in) {
    return std::vector<Value>{negate(in[0])};
  });
  const Edited e = edit(f, {parse_edit("%0[-1, 1] = 7")});
  const auto x = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(interpret(e.function, {&x, 1})
                  .front()
                  .same_bits(Tensor::from<float>({2, 3}, {-1, 7, -3, -4, 7, -6})));
}

TEST(Edit, OfEveryDtypeThatIsComputedWith) {
  const std::vector<Input> inputs{{"x", {Dtype::kF64, {2}}}, {"i", {Dtype::kI64, {2}}}};
  const Function f = trace("f", inputs, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] + in[0], in[1] + in[1]};
  });
  const std::vector<Tensor> in{Tensor::from<double>({2}, {1, 2}),
                               Tensor::from<std::int64_t>({2}, {3, 4})};
  const Function g =
      edit(f, {parse_edit("%x[0] *= 0.1"), parse_edit("%x[1] += 0.1"), parse_edit("%i[1] = -7")})
          .function;
  const std::vector<Tensor> out = interpret(g, in);
  EXPECT_TRUE(out[0].same_bits(Tensor::from<double>({2}, {0.2, 4.2})));
  EXPECT_TRUE(out[1].same_bits(Tensor::from<std::int64_t>({2}, {6, -14})));
}

TEST(Edit, OneOfSeveralResultsOfAnOp) {
  const std::vector<Input> inputs{{"x", f32({2})}, {"y", f32({2})}};
  const Function f = trace("f", inputs, [](std::span<const Value> in) { return barrier(in); });
  const std::vector<Tensor> in(2, Tensor::from<float>({2}, {1, 2}));
  const std::vector<Tensor> out = interpret(edit(f, {parse_edit("%1 = 7")}).function, in);
  EXPECT_TRUE(out[0].same_bits(in[0]));
  EXPECT_TRUE(out[1].same_bits(Tensor::from<float>({2}, {7, 7})));
}

TEST(Edit, TheOrderCounts) {
  const Worked w = real_mlp();
  const float a = run(edit(w.function, {parse_edit("%2 = 3"), parse_edit("%2 *= 2")}).function, w)
                      .item<float>();
  const float b = run(edit(w.function, {parse_edit("%2 *= 2"), parse_edit("%2 = 3")}).function, w)
                      .item<float>();
  EXPECT_EQ(a, 6);
  EXPECT_EQ(b, 3);
}

TEST(Edit, WhatIsNotEditedKeepsItsBits) {
  // -0 in a place beside the edited one, and NaN after it.
  const Function f = trace("f", {{"x", f32({3})}}, [](std::span<const Value> in) {
    return std::vector<Value>{abs(in[0]) * in[0]};
  });
  const Edited e = edit(f, {parse_edit("%x[0] += 1")});
  const auto x = Tensor::from<float>({3}, {1, -0.0f, std::numeric_limits<float>::quiet_NaN()});
  const Tensor y = interpret(e.function, {&x, 1}).front();
  EXPECT_EQ(y.values<float>()[0], 4);
  EXPECT_TRUE(std::signbit(y.values<float>()[1]));
  EXPECT_TRUE(std::isnan(y.values<float>()[2]));
}

TEST(Edit, NoiseIsOfItsSeedAlone) {
  const Worked w = real_mlp();
  const auto with = [&](const char* text) {
    return run(edit(w.function, {parse_edit(text)}).function, w);
  };
  EXPECT_TRUE(with("%0 += noise(0.5, 7)").same_bits(with("%0 += noise(0.5, 7)")));
  EXPECT_FALSE(with("%0 += noise(0.5, 7)").same_bits(with("%0 += noise(0.5, 8)")));
  EXPECT_TRUE(with("%0 += noise(0, 7)").same_bits(run(w.function, w)));
  // In f64 as in f32.
  const std::vector<Input> inputs{{"x", {Dtype::kF32, {2}}}, {"y", {Dtype::kF64, {2}}}};
  const Function f = trace("f", inputs, [](std::span<const Value> in) {
    return std::vector<Value>{cast(in[0], Dtype::kF64), in[1]};
  });
  const Function noisy =
      edit(f, {parse_edit("%x += noise(0.5, 7)"), parse_edit("%y += noise(0.5, 7)")}).function;
  const std::vector<Tensor> out = interpret(
      noisy, std::vector<Tensor>{Tensor::zeros(inputs[0].type), Tensor::zeros(inputs[1].type)});
  EXPECT_TRUE(out[0].same_bits(out[1]));
}

TEST(Edit, CompiledAndInterpretedAgree) {
  const Worked w = real_mlp();
  const Edited e =
      edit(w.function, {parse_edit("%0[1] += 0.25"), parse_edit("%1 *= 1.5"),
                        parse_edit("%layers.1.bias = -1"), parse_edit("%x += noise(1, 3)")});
  EXPECT_TRUE(compile(e.function)(inputs_of(w)).front().same_bits(run(e.function, w)));
}

TEST(Edit, PatchTakesTheValueOfAnotherExample) {
  const Worked w = real_mlp();
  const Edit patch{.at = "%1", .change = Edit::Patch{Tensor::from<float>({3}, {1, 2, 3})}};
  // 0.6 * 1 - 0.2 * 2 + 0.4 * 3 + 0.1
  const Tensor y = run(edit(w.function, {patch}).function, w);
  EXPECT_FLOAT_EQ(y.item<float>(), 1.5f);
}

TEST(Edit, SetsIntegersOf32Bits) {
  const Function f = trace("f", {{"x", {Dtype::kI32, {2}}}},
                           [](std::span<const Value> in) { return std::vector<Value>{in[0]}; });
  for (const double number : {-0x1p31, 0x1p31 - 1}) {
    const Function g = edit(f, {{"%x", {}, Edit::Set{number}}}).function;
    const std::vector<Tensor> x{Tensor::zeros({Dtype::kI32, {2}})};
    EXPECT_EQ(interpret(g, x)[0].values<std::int32_t>()[1], number);
  }
  for (const double number : {-0x1p31 - 1, 0x1p31, 0.5})
    expect_refused(ErrorCode::kDtype, [&] { edit(f, {{"%x", {}, Edit::Set{number}}}); });
}

TEST(Edit, RefusesWhatThereIsNot) {
  const Worked w = real_mlp();
  for (const auto& [text, code] : {std::pair("%99 = 0", ErrorCode::kNotFound),
                                   {"%layers.0 = 0", ErrorCode::kNotFound},
                                   {"%1[3] = 0", ErrorCode::kShape},
                                   {"%1[-2] = 0", ErrorCode::kShape},
                                   {"%1[0, 0] = 0", ErrorCode::kShape}})
    expect_refused(code, [&, t = text] { edit(w.function, {parse_edit(t)}); });
  const Function tokens = trace("f", {{"t", {Dtype::kI32, {2}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{cast(in[0], Dtype::kF32)};
  });
  for (const char* text :
       {"%t *= 2", "%t += 2", "%t += noise(1, 7)", "%t = 0.5", "%t = 2147483649", "%t = nan"})
    expect_refused(ErrorCode::kDtype, [&] { edit(tokens, {parse_edit(text)}); });
  EXPECT_NO_THROW(edit(tokens, {parse_edit("%t[1] = 5")}));
  const Edit::Patch two{Tensor::from<float>({2}, {1, 2})};
  expect_refused(ErrorCode::kShape, [&] { edit(w.function, {{"%1", {}, two}}); });
  expect_refused(ErrorCode::kDtype, [&] { edit(tokens, {{"%t", {}, two}}); });
}

// Of spaces there may be any, or none.
TEST(Edit, IsReadWithAnySpaces) {
  for (const char* text : {"%3[0,-1]+=2.5", "  %3 [ 0 ,  -1 ]  +=  2.5  "})
    EXPECT_EQ(to_text(parse_edit(text)), "%3[0, -1] += 2.5");
  EXPECT_EQ(to_text(parse_edit(" %x+=noise( 0.5 , 7 ) ")), "%x += noise(0.5, 7)");
  EXPECT_EQ(to_text(parse_edit("%x=1")), "%x = 1");
}

TEST(Edit, ResultsKeepTheirNames) {
  const Function f = real_mlp().function;
  EXPECT_EQ(edit(f, {parse_edit("%1 = 0")}).function.outputs()[0].name, f.outputs()[0].name);
  EXPECT_EQ(f.outputs()[0].name, "logits");
}

TEST(Edit, TextReadsBack) {
  for (const char* text : {"%3 = 0", "%3[0, -1] *= 2.5", "%layers.0.weight[5, -1] += -1e-30",
                           "%x += noise(0.1, 18446744073709551615)", "%3 = nan"})
    EXPECT_EQ(to_text(parse_edit(text)), text);
  std::istringstream wrong(
      "|=|%3|%3 =|3 = 0|% = 0|%3 = zero|%3[ = 0|%3[] = 0|%3[a] = 0|%3 -= 1|%3 += noise(1)|"
      "%3 += noise(1, -1)|%3 = 1 2|three = 0|%3] = 0|%[0] = 0|%3 += noise(1, 23|"
      "%3 += noise(one, 2)|%3 = noise(1, 2)");
  for (std::string text; std::getline(wrong, text, '|');)
    EXPECT_THROW(parse_edit(text), Error) << text;
  expect_refused(ErrorCode::kParse, [] { parse_edit("%3 -= 1"); });
}

}  // namespace
}  // namespace limpid
