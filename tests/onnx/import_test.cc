// Imported models: inferred shapes, values known at import, and names that stay.
#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <limits>
#include <optional>

#include "limpid/formats/onnx/example_model.h"
#include "tests/flush_subnormals.h"
#include "tests/onnx/models.h"
#include "tests/refusals.h"

namespace limpid::testing {
namespace {

// y = x reshaped to its first two dimensions and the rest, by a chain over its shape.
::onnx::ModelProto reshaped_by_its_own_shape() {
  return model_of(
      "(float[batch, length, 2, 3] x) => (y) <int64[1] zero = {0}, int64[1] rest = {-1}> { shape = "
      "Shape(x) batch = Gather(shape, zero) wanted = Concat <axis = 0> (batch, rest) y = "
      "Reshape(x, wanted) }");
}

Type output_type(const onnx::Imported& imported) {
  return imported.function.type(imported.function.outputs()[0].value);
}

TEST(Import, ChainsOverShapesLeaveNothingBehind) {
  const onnx::Imported imported = import(
      reshaped_by_its_own_shape(), {.dimensions = {{"batch", 4}, {"length", 5}}, .known = {}});
  EXPECT_EQ(ops_of(imported), std::vector<std::string>{"reshape"});
  EXPECT_EQ(to_string(output_type(imported)), "f32[4, 30]");
  EXPECT_TRUE(imported.fixed.empty());
}

TEST(Import, AllDimensionsThatAreMissingAreNamed) {
  ::onnx::ModelProto model = reshaped_by_its_own_shape();
  add_input(*model.mutable_graph(), "z", kFloat, {"", "7"});
  expect_refused(ErrorCode::kNotFound, [&] { import(model); });
}

// Each node looks its function up. A linear search for each would take hours.
TEST(Import, FindsAnOperatorThatIsMissingAmongManyFunctions) {
  std::string nodes, functions;
  for (int i = 0; i < 1'000; ++i) {
    nodes += "y = own.G(x) ";
    functions += own_function("F" + std::to_string(i) + " (x) => (y) { y = Neg(x) }");
  }
  const ::onnx::ModelProto model = model_of("(float[2] x) => (y) { " + nodes + "}" + functions);
  EXPECT_THROW(import(model), Error);
}

TEST(Import, AllOperatorsThatAreMissingAreNamed) {
  ::onnx::ModelProto model =
      model_of("(float[2] x) => (y) { a = Convolve(x) b = Relu(a) c = Wobble(b) y = Convolve(c) }");
  model.mutable_graph()->mutable_node(0)->set_name("first");
  model.mutable_graph()->mutable_node(2)->set_name("second");
  expect_refused(ErrorCode::kUnsupported, [&] { import(model); });
}

// In one line, whatever they are called and however many nodes they have.
TEST(Import, OperatorsThatAreMissingAreNamedInOneLine) {
  ::onnx::ModelProto model = model_of("(float[2] x) => () {}");
  auto& graph = *model.mutable_graph();
  for (int i = 0; i < 1003; ++i) add_node(graph, "Wobble", {"x"}, {"y" + std::to_string(i)});
  for (const std::string& op : {std::string("a b\n"), std::string(97, 'n'), std::string(96, 'o')})
    add_node(graph, op, {"x"}, {"z"});
  const std::string message = error_of(ErrorCode::kUnsupported, [&] { import(model); });
  expect_message(message.substr(0, 200));
  expect_message(message.substr(message.size() - 150));
}

// Attributes become f64 when they are read, and constants f32.
TEST(Import, TheFloatModeOfTheProgramDoesNotShow) {
  ::onnx::ModelProto model = model_of(
      "(float[batch, 3, 1] x) => (y) { h = LRN <size = 3> (x) tiny = Constant <value_float = 1.0> "
      "() "
      "y = Mul(h, tiny) }");
  model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->set_f(1e-40f);
  const TemporaryFolder folder;
  write(folder / "m.onnx", bytes_of_model(model));
  const auto read = [&] {
    const onnx::ImportOptions two{.dimensions = {{"batch", 2}}, .known = {}};
    return std::vector<Function>{import(model, two).function,
                                 onnx::load_onnx(folder / "m.onnx", two).function,
                                 onnx::load_onnx_model(folder / "m.onnx").function};
  };
  const std::vector<Function> expected = read();
  for (void (*const set)() :
       std::vector<void (*)()>{flush_subnormals, [] { std::fesetround(FE_UPWARD); },
                               [] { std::fesetround(FE_DOWNWARD); }}) {
    set();
    const std::vector<Function> got = read();
    std::fesetenv(FE_DFL_ENV);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(got[i], expected[i]) << i;
  }
}

TEST(Import, FloatingInitializersAreParametersAndIntegersConstants) {
  // Files before IR version 4 list the weights among the inputs.
  ::onnx::ModelProto model = model_of(
      "(float[2] x, float[2] weight = {2, -3}) => (y) <int64[2] shape = {2, 1}> { h = Mul(x, "
      "weight) y = Reshape(h, shape) }");
  auto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_name("/layers/layers.0/act/Mul");
  graph.mutable_node(1)->set_name("/layers.0/Reshape");
  const onnx::Imported imported = import(model);
  ASSERT_EQ(imported.params.names(), std::vector<std::string>{"weight"});
  ASSERT_EQ(imported.function.inputs().size(), 2u);
  EXPECT_EQ(imported.function.inputs()[1].name, "x");
  EXPECT_EQ(imported.function.nodes()[0].scope, "layers.0.act");
  EXPECT_EQ(imported.function.nodes()[1].scope, "layers.0");
  EXPECT_EQ(numbers(imported, {Tensor::from<float>({2}, {10, 100})}),
            (std::vector<float>{20, -300}));
}

// Modules on the way to a node give its layer; a name that goes on like its list's is of no list,
// and names that are too long say nothing.
TEST(Import, LayersAreNamedByTheModulesAroundThem) {
  for (const auto& [name, scope] :
       {std::pair<std::string, const char*>{"/net/network/Neg", "net.network"},
        {"/net/net.1/Exp", "net.1"},
        {"/" + std::string(200, 'n') + "/Tanh", ""}}) {
    ::onnx::ModelProto model = model_of("(float[2] x) => (y) { y = Neg(x) }");
    model.mutable_graph()->mutable_node(0)->set_name(name);
    EXPECT_EQ(import(model).function.nodes()[0].scope, scope);
  }
}

TEST(Import, TheDefaultDomainHasTwoNames) {
  ::onnx::ModelProto model = model_of("(float[2] x) => (y) { y = Neg(x) }");
  model.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  EXPECT_EQ(numbers(import(model), {Tensor::from<float>({2}, {1, -2})}),
            (std::vector<float>{-1, 2}));
}

TEST(Import, RefusesWhatAnOperatorDoesNotHave) {
  const auto refused = [](ErrorCode code, const ::onnx::ModelProto& model) {
    expect_refused(code, [&] { import(model); });
  };
  refused(ErrorCode::kFormat, model_of("(float[2] x) => (z) { y, z = Neg(x) }"));
  refused(ErrorCode::kShape, model_of("(float[2, 3] x) => (y) <int64[2] axes = {1, -1}> { y = "
                                      "ReduceSum(x, axes) }"));
  ::onnx::ModelProto sparse = model_of("(float[1] x) => (y) { y = Identity(x) }");
  sparse.mutable_graph()->add_sparse_initializer()->add_dims(3);
  refused(ErrorCode::kUnsupported, sparse);
}

// Bits of 16 come as whole numbers, one to an element.
TEST(Import, WeightsOf16BitsMayBeWholeNumbers) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  auto& halves = add_initializer(graph, "halves", ::onnx::TensorProto::FLOAT16, {2});
  for (const int bits : {0x3c00, 0xc400}) halves.add_int32_data(bits);
  auto& narrow = add_initializer(graph, "narrow", ::onnx::TensorProto::BFLOAT16, {2});
  for (const int bits : {0x3f80, 0xc080}) narrow.add_int32_data(bits);
  add_initializer(graph, "wide", ::onnx::TensorProto::DOUBLE, {1}).add_double_data(0.1);
  auto& bytes = add_initializer(graph, "bytes", ::onnx::TensorProto::INT8, {2});
  for (const int byte : {-128, 127}) bytes.add_int32_data(byte);
  add_input(graph, "x", kFloat, {"1"});
  add_node(graph, "Identity", {"x"}, {"y"});
  add_output(graph, "y");
  const Params params = import(model).params;
  EXPECT_EQ(params.at("halves").values<F16>()[0].bits, 0x3c00);
  EXPECT_EQ(params.at("halves").values<F16>()[1].bits, 0xc400);
  EXPECT_EQ(params.at("narrow").values<Bf16>()[1].bits, 0xc080);
  EXPECT_EQ(params.at("wide").values<double>()[0], 0.1);
  EXPECT_TRUE(params.at("bytes").same_bits(Tensor::from<std::int8_t>({2}, {-128, 127})));
}

TEST(Import, AShapeThatIsAnInputMustBeKnown) {
  const ::onnx::ModelProto model =
      model_of("(float[6] x, int64[2] wanted) => (y) { y = Reshape(x, wanted) }");
  expect_refused(ErrorCode::kUnsupported, [&] { import(model); });
  const onnx::Imported imported = import(
      model, {.dimensions = {}, .known = {{"wanted", Tensor::from<std::int64_t>({2}, {3, 2})}}});
  EXPECT_EQ(imported.fixed, std::vector<std::string>{"wanted"});
  EXPECT_EQ(to_string(output_type(imported)), "f32[3, 2]");
  expect_refused(ErrorCode::kShape, [&] {
    import(model, {.dimensions = {}, .known = {
                     { "wanted",
                       Tensor::from<std::int64_t>({1}, {6}) }
                   }});
  });
}

// A shape made of a weight holds for this weight only.
TEST(Import, TellsWhichWeightsAreBuiltIn) {
  const onnx::Imported imported = import(model_of(
      "(float[6] x) => (y) <float[2] wanted = {3, 2}, float other = {1}> { shape = Cast <to = 7> "
      "(wanted) h = Reshape(x, shape) y = Add(h, other) }"));
  EXPECT_EQ(imported.fixed_params, std::vector<std::string>{"wanted"});
  EXPECT_TRUE(imported.fixed.empty());
  EXPECT_EQ(to_string(output_type(imported)), "f32[3, 2]");
}

// The same name has different meanings in different versions: Clip's bounds, and the second operand
// of arithmetic, comparisons and logic, broadcast from an axis on.
TEST(Import, MeaningsAreThoseOfTheVersion) {
  const Tensor x = Tensor::from<float>({3}, {-5, 0.5f, 5});
  const auto clipped = [&](const std::string& call, int version) {
    return numbers(
        import(model_of("(float[3] x) => (y) <float low = {-2}> { y = " + call + " }", version)),
        {x});
  };
  EXPECT_EQ(clipped("Clip <min = -1.0, max = 1.0> (x)", 6), (std::vector<float>{-1, 0.5f, 1}));
  EXPECT_EQ(clipped("Clip <min = -1.0> (x)", 6), (std::vector<float>{-1, 0.5f, 5}));
  EXPECT_EQ(clipped("Clip (x, low)", 13), (std::vector<float>{-2, 0.5f, 5}));
  const auto broadcast = [](const std::string& op, const Tensor& a, const Tensor& b) {
    const std::string type = a.dtype() == Dtype::kBool ? "bool" : "float";
    const ::onnx::ModelProto model =
        model_of("(" + type + "[2, 2] x, " + type + "[2] b) => (y) { y = " + op +
                     " <broadcast = 1, axis = 0> (x, b) }",
                 6);
    return interpret(import(model).function, std::vector<Tensor>{a, b})[0];
  };
  const auto truths = [](const Shape& shape, std::initializer_list<bool> values) {
    return Tensor::from<bool>(shape, values);
  };
  EXPECT_TRUE(broadcast("Add", Tensor::from<float>({2, 2}, {1, 2, 3, 4}),
                        Tensor::from<float>({2}, {10, 20}))
                  .same_bits(Tensor::from<float>({2, 2}, {11, 12, 23, 24})));
  EXPECT_TRUE(
      broadcast("Less", Tensor::from<float>({2, 2}, {1, 1, 1, 1}), Tensor::from<float>({2}, {0, 2}))
          .same_bits(truths({2, 2}, {false, false, true, true})));
  EXPECT_TRUE(
      broadcast("And", truths({2, 2}, {true, true, true, false}), truths({2}, {false, true}))
          .same_bits(truths({2, 2}, {false, false, true, false})));
}

TEST(Import, SlicesGoBackwards) {
  const auto slice = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    ::onnx::ModelProto model = model_of(
        "(float[5] x) => (y) <int64[1] axis = {0}> { y = Slice(x, start, end, axis, step) }");
    add_integers(*model.mutable_graph(), "start", {start});
    add_integers(*model.mutable_graph(), "end", {end});
    add_integers(*model.mutable_graph(), "step", {step});
    return numbers(import(model), {Tensor::from<float>({5}, {0, 1, 2, 3, 4})});
  };
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(slice(-1, kLowest, -2), (std::vector<float>{4, 2, 0}));
  EXPECT_EQ(slice(kHighest, 1, -1), (std::vector<float>{4, 3, 2}));
  EXPECT_EQ(slice(3, -6, -1), (std::vector<float>{3, 2, 1, 0}));
  EXPECT_EQ(slice(kHighest, kLowest, kLowest), std::vector<float>{4});
  EXPECT_EQ(slice(-2, kHighest, kHighest), std::vector<float>{3});
  EXPECT_EQ(slice(4, 1, 1), std::vector<float>{});
  EXPECT_EQ(slice(0, 4, -1), std::vector<float>{});
  EXPECT_EQ(slice(-10, -20, -1), std::vector<float>{0});
}

// Columns have one more before and one less behind; there is one more row.
TEST(Import, PadsOfSomeAxesMayRemoveElements) {
  const ::onnx::ModelProto model = model_of(
      "(float[2, 1, 2] x) => (y) <int64[4] pads = {1, 0, -1, 1}, int64[2] axes = {2, 0}> { y = "
      "Pad(x, pads, , axes) }");
  EXPECT_EQ(numbers(import(model), {Tensor::from<float>({2, 1, 2}, {1, 2, 3, 4})}),
            (std::vector<float>{0, 1, 0, 3, 0, 0}));
}

// quantized_linear as the exporter writes it, for a square x, with numbers that may be others.
struct Written {
  std::int64_t terms = 3;        // of a sum
  bool turned = false;           // the operands of each product
  std::optional<int> bias = {};  // the operand that it is of the last sum
  std::int64_t axis = 1;         // of the largest magnitudes
  float low = -127, high = 127;
  float codes = 127;    // of the largest magnitude
  float divisor = 127;  // of the scale of a row
  std::string largest_of = "x";
  std::string scale_by = "largest_of_row";
};

bool becomes_quantized_linear(const Written& written) {
  const auto operands = [&](const std::string& first, const std::string& second) {
    return written.turned ? "(" + second + ", " + first + ") " : "(" + first + ", " + second + ") ";
  };
  const auto constant = [](const std::string& name, float value) {
    return name + " = Constant <value_float = " + fmt::format("{:.1f}", value) + "> () ";
  };
  const std::string terms = std::to_string(written.terms);
  ::onnx::ModelProto model = model_of(
      "(float[3, " + terms + "] x, float[3, " + terms + "] other, float[3, 1] other_scale) => (" +
      (written.bias ? "sum" : "y") + ") <int64[1] axes = {" + std::to_string(written.axis) +
      "}, int64[2] rows = {3, 1}, float[4] scale = {0, 0, 0, 0}, float[4] bias = {0, 0, 0, 0}> { " +
      constant("high", written.high) + constant("low", written.low) +
      constant("steps_of_all", written.codes) + constant("divisor", written.divisor) +
      "magnitude = Abs(" + written.largest_of +
      ") largest = ReduceMax <keepdims = 0> (magnitude, axes) largest_of_row = Reshape(largest, "
      "rows) steps = Div(steps_of_all, largest_of_row) stepped = Mul" +
      operands("x", "steps") +
      "whole = Round(stepped) clipped = Clip(whole, low, high) codes = Cast <to = 3> (clipped) "
      "turned = Transpose(weight) sums = MatMulInteger(codes, turned) wide = Cast <to = 1> (sums) "
      "scale_of_row = Div(" +
      written.scale_by + ", divisor) scaled = Mul" + operands("wide", "scale_of_row") + "y = Mul" +
      operands("scaled", "scale") +
      (!written.bias        ? ""
       : *written.bias == 0 ? "sum = Add(bias, y)"
                            : "sum = Add(y, bias)") +
      " }");
  add_initializer(*model.mutable_graph(), "weight", ::onnx::TensorProto::INT8, {4, written.terms})
      .set_raw_data(std::string(static_cast<std::size_t>(4 * written.terms), 'a'));
  const std::vector<std::string> ops = ops_of(import(model));
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "add"), 0);
  return std::find(ops.begin(), ops.end(), "quantized_linear") != ops.end();
}

TEST(Import, AQuantizedProductHasAScaleForEachRow) {
  EXPECT_TRUE(becomes_quantized_linear({.axis = 1}));
  EXPECT_TRUE(becomes_quantized_linear({.axis = -1}));
  EXPECT_FALSE(becomes_quantized_linear({.axis = 0}));
}

// Other programs may write the operands the other way round.
TEST(Import, AQuantizedProductMayHaveItsOperandsInAnyOrder) {
  EXPECT_TRUE(becomes_quantized_linear({.turned = true}));
  for (const int place : {0, 1}) EXPECT_TRUE(becomes_quantized_linear({.bias = place})) << place;
}

// With more terms, a sum could need more than 32 bits.
TEST(Import, AQuantizedProductHasASumOf131071TermsAtMost) {
  EXPECT_TRUE(becomes_quantized_linear({.terms = 131'071}));
  EXPECT_FALSE(becomes_quantized_linear({.terms = 131'072}));
}

// Anything else would be other numbers: it stays what it is.
TEST(Import, WhatIsNearlyAQuantizedProductIsNone) {
  EXPECT_FALSE(becomes_quantized_linear({.low = -128}));
  EXPECT_FALSE(becomes_quantized_linear({.high = 126}));
  EXPECT_FALSE(becomes_quantized_linear({.codes = 126}));
  EXPECT_FALSE(becomes_quantized_linear({.divisor = 128}));
  EXPECT_FALSE(becomes_quantized_linear({.largest_of = "other"}));
  EXPECT_FALSE(becomes_quantized_linear({.scale_by = "other_scale"}));
}

}  // namespace
}  // namespace limpid::testing
