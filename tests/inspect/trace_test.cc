#include "limpid/inspect/trace.h"

#include <gtest/gtest.h>

#include <cmath>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/barrier.h"
#include "limpid/ops/ops.h"
#include "tests/inspect/worked.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

constexpr float kInf = INFINITY;
constexpr float kNaN = NAN;

TEST(Statistics, OfOrdinaryNumbers) {
  const Statistics s = statistics(Tensor::from<float>(Shape{2, 2}, {1, 2, 0, -3}));
  EXPECT_EQ(s.count, 4);
  EXPECT_EQ(s.min, -3);
  EXPECT_EQ(s.mean, 0);
  EXPECT_EQ(s.std, std::sqrt(3.5));
  EXPECT_EQ(s.max, 2);
  EXPECT_EQ(s.zero_share, 0.25);
  EXPECT_EQ(s.nans, 0);
  EXPECT_EQ(s.infs, 0);
}

TEST(Statistics, CountNaNsAndInfinitiesApart) {
  const Statistics s = statistics(Tensor::from<float>(Shape{6}, {kNaN, 1, kInf, -kInf, 3, -0.0f}));
  EXPECT_EQ(s.nans, 1);
  EXPECT_EQ(s.infs, 2);
  EXPECT_EQ(s.min, 0);
  EXPECT_EQ(s.max, 3);
  EXPECT_EQ(s.mean, 4.0 / 3);
  EXPECT_DOUBLE_EQ(s.std, std::sqrt(42.0 / 27));  // of -0, 1 and 3
  EXPECT_EQ(s.zero_share, 1.0 / 6);
}

TEST(Statistics, OfNothingFinite) {
  for (const Tensor& t : {Tensor(), Tensor::from<float>(Shape{2}, {kNaN, kInf})}) {
    const Statistics s = statistics(t);
    EXPECT_EQ(s.count, t.elements());
    EXPECT_TRUE(std::isnan(s.min) && std::isnan(s.mean) && std::isnan(s.std) && std::isnan(s.max));
    EXPECT_EQ(s.zero_share, 0);
  }
}

// A sum in f32 would be 0.
TEST(Statistics, AddInDoublePrecision) {
  EXPECT_EQ(statistics(Tensor::from<float>(Shape{3}, {1e8f, 1, -1e8f})).mean, 1.0 / 3);
}

TEST(Statistics, OfEveryDtype) {
  const auto expect_one_to_two = [](const Tensor& t) {
    const Statistics s = statistics(t);
    EXPECT_EQ(s.min, 1) << name(t.dtype());
    EXPECT_EQ(s.max, 2) << name(t.dtype());
  };
  expect_one_to_two(Tensor::from<float>(Shape{2}, {1, 2}));
  expect_one_to_two(Tensor::from<double>(Shape{2}, {1, 2}));
  expect_one_to_two(Tensor::from<Bf16>(Shape{2}, {Bf16{0x3f80}, Bf16{0x4000}}));
  expect_one_to_two(Tensor::from<F16>(Shape{2}, {F16{0x3c00}, F16{0x4000}}));
  expect_one_to_two(Tensor::from<std::int32_t>(Shape{2}, {1, 2}));
  expect_one_to_two(Tensor::from<std::int64_t>(Shape{2}, {1, 2}));
  expect_one_to_two(Tensor::from<std::uint8_t>(Shape{2}, {1, 2}));
  expect_one_to_two(Tensor::from<std::int8_t>(Shape{2}, {1, 2}));
  const Statistics b = statistics(Tensor::from<bool>(Shape{2}, {true, false}));
  EXPECT_EQ(b.min, 0);
  EXPECT_EQ(b.max, 1);
}

TEST(Statistics, OfHalfPrecisionAtItsEdges) {
  const Statistics s = statistics(Tensor::from<F16>(
      Shape{5}, {F16{0x0001}, F16{0xfbff}, F16{0x7c00}, F16{0x7e00}, F16{0x8000}}));
  EXPECT_EQ(s.min, -65504);
  EXPECT_EQ(s.max, std::ldexp(1, -24));
  EXPECT_EQ(s.infs, 1);
  EXPECT_EQ(s.nans, 1);
  EXPECT_EQ(s.zero_share, 0.2);
}

TEST(Trace, HasTheDataAndEveryOp) {
  const testing::Worked w = testing::whole_mlp();
  const std::vector<TraceRow> rows = trace_rows(observe(w.function, w.inputs), w.params);
  EXPECT_EQ(to_text(rows),
            "value  layer     op      shape  min     mean      std  max   zero  NaN  Inf\n"
            "%x               input   (2)     -1      0.5      1.5    2   0.0%    0    0\n"
            "%0     layers.0  linear  (3)     -1        1  1.63299    3   0.0%    0    0\n"
            "%1     layers.0  relu    (3)      0  1.33333  1.24722    3  33.3%    0    0\n"
            "%2     layers.1  linear  (1)      4        4        0    4   0.0%    0    0\n");
}

TEST(Trace, AsJson) {
  const Function f = trace("f", {{"x", {Dtype::kF64, {2, 4}}}}, [](std::span<const Value> in) {
    const Builder::Scope scope(in[0].builder(), "layer");
    return std::vector<Value>{abs(in[0])};
  });
  const Params inputs{{"x", Tensor::from<double>({2, 4}, {kNaN, kInf, -kInf, -kInf, 0, -1, 3, 2})}};
  EXPECT_EQ(
      to_json(trace_rows(observe(f, inputs), {})[1]).dump(),
      R"({"value":"%0","layer":"layer","op":"abs","dtype":"f64","shape":[2,4],"min":0.0,)"
      R"("mean":1.5,"std":1.118033988749895,"max":3.0,"zero_share":0.125,"nans":1,"infs":3})");
}

TEST(Trace, HasEveryResultOfAnOp) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}, {"y", {Dtype::kF32, {3}}}},
                           [](std::span<const Value> in) { return barrier(in); });
  const Params inputs{{"x", Tensor::from<float>({2}, {1, 2})},
                      {"y", Tensor::from<float>({3}, {3, 4, 5})}};
  std::vector<std::size_t> observed;
  const Observation run = observe(f, inputs, [&](const Node&, std::size_t result, const Tensor&) {
    observed.push_back(result);
  });
  EXPECT_EQ(observed, (std::vector<std::size_t>{0, 1}));
  const std::vector<TraceRow> rows = trace_rows(run, {});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[2].value, "%0");
  EXPECT_EQ(rows[3].value, "%1");
  EXPECT_EQ(rows[3].statistics.mean, 4);
}

TEST(Trace, ObservesTheBitsOfTheInterpreter) {
  const testing::Worked w = testing::real_mlp();
  const Observation run = observe(w.function, w.inputs);
  ASSERT_EQ(run.values.size(), w.function.types().size());
  std::vector<Tensor> inputs;
  for (const Input& i : w.function.inputs()) inputs.push_back(w.inputs.at(i.name));
  EXPECT_TRUE(run.values.back().same_bits(interpret(w.function, inputs).front()));
}

TEST(Trace, MissingInputIsNamed) {
  const testing::Worked w = testing::real_mlp();
  expect_refused(ErrorCode::kNotFound, [&] { observe(w.function, w.params); });
}

}  // namespace
}  // namespace limpid
