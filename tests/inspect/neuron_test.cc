#include "limpid/inspect/neuron.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/function/builder.h"
#include "limpid/inspect/table.h"
#include "limpid/ops/ops.h"
#include "tests/inspect/worked.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using testing::neuron_of_three;
using testing::neuron_of_two;
using testing::real_mlp;
using testing::whole_mlp;
using testing::Worked;

Observation run(const Worked& w) { return observe(w.function, w.inputs); }

std::string text_of(const Worked& w, std::string_view layer, std::int64_t index) {
  return to_text(explain_neuron(run(w), layer, index));
}

TEST(Neuron, ReadsAsWorkedByHand) {
  for (const Worked& w : {neuron_of_three(), neuron_of_two()})
    expect_message(text_of(w, "layers.0", 0));
  for (const Worked& w : {whole_mlp(), real_mlp()}) {
    for (const std::int64_t index : {0, 1, 2}) expect_message(text_of(w, "layers.0", index));
    expect_message(text_of(w, "layers.1", 0));
  }
}

// z and the activation have the bits of the run; they are not a sum of f64 products.
TEST(Neuron, HoldsTheBitsOfTheRun) {
  const Worked w = real_mlp();
  const Observation seen = run(w);
  const auto inputs = static_cast<ValueId>(w.function.inputs().size());
  for (std::int64_t i = 0; i < 3; ++i) {
    const Neuron neuron = explain_neuron(seen, "layers.0", i);
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(neuron.z)),
              std::bit_cast<std::uint32_t>(seen[inputs].values<float>()[at]));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(neuron.activated)),
              std::bit_cast<std::uint32_t>(seen[inputs + 1].values<float>()[at]));
  }
}

Worked wide(std::int64_t features) {
  std::vector<float> weights, x;
  for (std::int64_t i = 0; i < features; ++i) {
    weights.push_back(static_cast<float>(i % 10));
    x.push_back(i % 2 == 0 ? 1.0f : -1.0f);
  }
  Worked w = testing::worked({features, 1},
                             {{"layers.0.weight", Tensor::from(Shape{1, features}, weights)},
                              {"layers.0.bias", Tensor::from<float>(Shape{1}, {0.5f})}},
                             {});
  w.inputs.set("x", Tensor::from(Shape{features}, x));
  return w;
}

TEST(Neuron, OfMoreInputsShowsTheLargestAndTheSumOfTheRest) {
  EXPECT_EQ(text_of(wide(16), "layers.0", 0).find("input"), std::string::npos) << "one line";
  EXPECT_NE(text_of(wide(17), "layers.0", 0).find("and 9 more"), std::string::npos);
  // 30 inputs: -9 and 8 three times, -7 twice make eight; -7 and the smaller ones are the rest.
  expect_message(text_of(wide(30), "layers.0", 0));
}

// Whoever looks for the NaN of z finds the term that it comes from on top.
TEST(Neuron, OfMoreInputsShowsANaNFirst) {
  Worked w = wide(30);
  std::vector<float> x(30, 1.0f);
  x[24] = NAN;
  w.inputs.set("x", Tensor::from(Shape{30}, x));
  const std::string text = text_of(w, "layers.0", 0);
  EXPECT_NE(text.find("weight * input\n   24  4.0 * nan "), std::string::npos) << text;
}

TEST(Neuron, OfInfinitiesAndNaNs) {
  Worked w = neuron_of_two();
  w.inputs.set("x", Tensor::from<float>(Shape{2}, {INFINITY, NAN}));
  EXPECT_EQ(text_of(w, "layers.0", 0), "layers.0:0\nz = 0.8 * inf + (-0.3) * nan + 0.2 = nan\n");
  w.inputs.set("x", Tensor::from<float>(Shape{2}, {-INFINITY, -NAN}));
  EXPECT_EQ(text_of(w, "layers.0", 0), "layers.0:0\nz = 0.8 * (-inf) + (-0.3) * nan + 0.2 = nan\n");
  // JSON has no such numbers.
  EXPECT_EQ(
      to_json(explain_neuron(run(w), "layers.0", 0)).dump(),
      R"({"layer":"layers.0","index":0,"row":0,"terms":[{"index":0,"weight":0.8,"input":null},)"
      R"({"index":1,"weight":-0.3,"input":null}],"bias":0.2,"z":null})");
}

// f64, no bias, no scope: the layer is called by the name of its value.
TEST(Neuron, OfALayerWithoutNameOrBias) {
  const Function f = trace(
      "f", {{"x", {Dtype::kF64, {2}}}, {"w", {Dtype::kF64, {1, 2}}}},
      [](std::span<const Value> in) { return std::vector<Value>{tanh(linear(in[0], in[1]))}; });
  const Observation seen = observe(f, {{"x", Tensor::from<double>(Shape{2}, {0.1, 0.2})},
                                       {"w", Tensor::from<double>(Shape{1, 2}, {1, 2})}});
  const Neuron neuron = explain_neuron(seen, "%0", 0);
  EXPECT_FALSE(neuron.bias);
  EXPECT_EQ(neuron.z, seen[2].values<double>()[0]);
  EXPECT_EQ(neuron.activation, "tanh");
  EXPECT_EQ(neuron.activated, seen[3].values<double>()[0]);
  EXPECT_EQ(to_text(neuron), "%0:0\nz = 1.0 * 0.1 + 2.0 * 0.2 = 0.5; tanh 0.462117\n");
}

// What a function of x and w shows.
Observation seen_of(const Tensor& x, const Tensor& w,
                    const std::function<Value(const Value&, const Value&)>& f) {
  const Function traced =
      trace("f", {{"x", x.type()}, {"w", w.type()}},
            [&](std::span<const Value> in) { return std::vector<Value>{f(in[0], in[1])}; });
  return observe(traced, {{"x", x}, {"w", w}});
}

TEST(Neuron, HasTheActivationThatTakesItsZAlone) {
  const Tensor three = Tensor::from<float>({1}, {3}), two = Tensor::from<float>({2, 1}, {2, 4}),
               four = Tensor::from<float>({1, 1}, {4});
  // No number of a sum belongs to one neuron.
  const Observation summed =
      seen_of(three, two, [](const Value& x, const Value& w) { return sum(linear(x, w)); });
  EXPECT_EQ(explain_neuron(summed, "%0", 1).activation, "");
  // What is added to a layer's output is no activation of it, as in a residual block.
  const Observation added =
      seen_of(three, four, [](const Value& x, const Value& w) { return linear(x, w) + x; });
  EXPECT_EQ(explain_neuron(added, "%0", 0).activation, "");
  const Observation wide =
      seen_of(Tensor::from(Shape{20}, std::vector<float>(20, -1)),
              Tensor::from(Shape{1, 20}, std::vector<float>(20, 1)),
              [](const Value& x, const Value& w) { return relu(linear(x, w)); });
  expect_message(to_text(explain_neuron(wide, "%0", 0)));
}

// Two layers of one scope are told apart by their values, and none is the scope's.
TEST(Neuron, OfLayersThatShareAScope) {
  const Observation seen = seen_of(Tensor::from<float>({1}, {3}), Tensor::from<float>({1, 1}, {2}),
                                   [](const Value& x, const Value& w) {
                                     const Builder::Scope scope(x.builder(), "mlp");
                                     return linear(linear(x, w), w);
                                   });
  EXPECT_EQ(explain_neuron(seen, "%1", 0).z, 12);
  expect_refused(ErrorCode::kNotFound, [&] { explain_neuron(seen, "mlp", 0); });
}

TEST(Neuron, OfNoRowsIsRefused) {
  const Observation seen =
      seen_of(Tensor::zeros({Dtype::kF32, {0, 2}}), Tensor::from<float>({1, 2}, {1, 2}),
              [](const Value& x, const Value& w) { return linear(x, w); });
  for (const std::int64_t row : {-1, 0}) EXPECT_THROW(explain_neuron(seen, "%0", 0, row), Error);
}

// By its scope, or by the name of its value.
TEST(Neuron, OfALayerByTheNameOfItsValue) {
  const Neuron neuron = explain_neuron(run(real_mlp()), "%2", 0);
  EXPECT_EQ(neuron.layer, "layers.1");
  EXPECT_EQ(to_text(neuron), text_of(real_mlp(), "layers.1", 0));
}

TEST(Neuron, OfAFunctionWithoutLayers) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {1}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{abs(in[0])};
  });
  expect_refused(ErrorCode::kNotFound, [&] {
    explain_neuron(observe(f, {{"x", Tensor::from<float>({1}, {1})}}), "layers.0", 0);
  });
}

TEST(Neuron, AsJson) {
  const Worked w = real_mlp();
  EXPECT_EQ(
      to_json(explain_neuron(run(w), "layers.0", 2)).dump(),
      R"({"layer":"layers.0","index":2,"row":0,)"
      R"("terms":[{"index":0,"weight":0.5,"input":1.5},{"index":1,"weight":0.9,"input":-0.7}],)"
      R"("bias":-0.5,"z":-0.37999997,"activation":{"op":"relu","value":0.0}})");
  // Two rows in f64, where 0.1f would be another number; no bias and no activation.
  const Function f =
      trace("f", {{"x", {Dtype::kF64, {2, 1}}}, {"w", {Dtype::kF64, {1, 1}}}},
            [](std::span<const Value> in) { return std::vector<Value>{linear(in[0], in[1])}; });
  const Observation seen = observe(f, {{"x", Tensor::from<double>({2, 1}, {5, 3})},
                                       {"w", Tensor::from<double>({1, 1}, {0.1000000001})}});
  EXPECT_EQ(to_json(explain_neuron(seen, "%0", 0)).dump(),
            R"({"layer":"%0","index":0,"row":1,)"
            R"("terms":[{"index":0,"weight":0.1000000001,"input":3.0}],"z":0.3000000003})");
}

TEST(NeuronPlace, IsALayerWhoseNameMayHaveColons) {
  EXPECT_EQ(parse_neuron_place("layers.1:5").layer, "layers.1");
  EXPECT_EQ(parse_neuron_place("layers.1:5").index, 5);
  EXPECT_EQ(parse_neuron_place("encoder:0:12").layer, "encoder:0");
  EXPECT_EQ(parse_neuron_place("encoder:0:12").index, 12);
  for (const char* text : {"", "layers.1", ":5", "layers.1:", "layers.1:x", "layers.1:5x"})
    EXPECT_THROW(parse_neuron_place(text), Error) << text;
}

TEST(Neuron, UnknownLayerNamesTheLayers) {
  expect_refused(ErrorCode::kNotFound, [&] { text_of(real_mlp(), "layers.7", 0); });
}

TEST(Neuron, IndexOutsideSaysTheRange) {
  for (std::int64_t index : {std::int64_t{-1}, std::int64_t{3}, INT64_MAX}) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { text_of(real_mlp(), "layers.0", index); });
  }
}

// Three rows, and weights in bf16.
TEST(Neuron, OfSeveralRowsIsTheOneAskedForOrTheLast) {
  const Function f = trace(
      "f", {{"x", {Dtype::kF32, {3, 2}}}, {"w", {Dtype::kBf16, {2, 2}}}},
      [](std::span<const Value> in) { return std::vector<Value>{relu(linear(in[0], in[1]))}; });
  const auto bf16 = [](float number) { return to_bf16(number); };
  const Observation seen =
      observe(f, {{"x", Tensor::from<float>(Shape{3, 2}, {1, 2, 3, 4, 5, -6})},
                  {"w", Tensor::from<Bf16>(Shape{2, 2}, {bf16(7), bf16(7), bf16(0.5f), bf16(2)})}});
  EXPECT_EQ(to_text(explain_neuron(seen, "%0", 1, 0)),
            "%0:1, row 0 of 3\nz = 0.5 * 1.0 + 2.0 * 2.0 = 4.5; relu 4.5\n");
  EXPECT_EQ(to_text(explain_neuron(seen, "%0", 1)),
            "%0:1, row 2 of 3\nz = 0.5 * 5.0 + 2.0 * (-6.0) = -9.5; relu 0\n");
  const Observation two = observe(
      trace("f", {{"x", {Dtype::kF32, {2, 1}}}, {"w", {Dtype::kF32, {1, 1}}}},
            [](std::span<const Value> in) { return std::vector<Value>{linear(in[0], in[1])}; }),
      {{"x", Tensor::from<float>(Shape{2, 1}, {1, 2})},
       {"w", Tensor::from<float>(Shape{1, 1}, {3})}});
  EXPECT_EQ(to_text(explain_neuron(two, "%0", 0)), "%0:0, row 1 of 2\nz = 3.0 * 2.0 = 6\n");
  for (const std::int64_t row : {-2, 3}) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { explain_neuron(seen, "%0", 1, row); });
  }
}

}  // namespace
}  // namespace limpid
