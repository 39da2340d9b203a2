// Imported models: inferred shapes, values known at import, and names that stay.
#include <algorithm>
#include <cfenv>
#include <limits>
#include <optional>

#include "limpid/formats/onnx/example_model.h"
#include "tests/flush_subnormals.h"
#include "tests/onnx/models.h"

namespace limpid::testing {
namespace {

// y = x reshaped to its first two dimensions and the rest, by a chain over its shape.
::onnx::ModelProto reshaped_by_its_own_shape() {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"batch", "length", "2", "3"});
  add_integers(graph, "zero", {0});
  add_integers(graph, "rest", {-1});
  add_node(graph, "Shape", {"x"}, {"shape"});
  add_node(graph, "Gather", {"shape", "zero"}, {"batch"});
  add_node(graph, "Concat", {"batch", "rest"}, {"wanted"}).add_attribute()->CopyFrom([] {
    ::onnx::AttributeProto axis;
    axis.set_name("axis");
    axis.set_type(::onnx::AttributeProto::INT);
    axis.set_i(0);
    return axis;
  }());
  add_node(graph, "Reshape", {"x", "wanted"}, {"y"});
  add_output(graph, "y");
  return model;
}

TEST(Import, ChainsOverShapesLeaveNothingBehind) {
  const onnx::Imported imported = import(
      reshaped_by_its_own_shape(), {.dimensions = {{"batch", 4}, {"length", 5}}, .known = {}});
  EXPECT_EQ(ops_of(imported), std::vector<std::string>{"reshape"});
  EXPECT_EQ(to_string(imported.function.type(imported.function.outputs()[0].value)), "f32[4, 30]");
  EXPECT_TRUE(imported.fixed.empty());
}

TEST(Import, AllDimensionsThatAreMissingAreNamed) {
  ::onnx::ModelProto model = reshaped_by_its_own_shape();
  add_input(*model.mutable_graph(), "z", kFloat, {"", "7"});
  expect_error(ErrorCode::kNotFound,
               "'batch' (axis 0 of input 'x'), 'length' (axis 1 of input 'x'), 'z.0' (axis 0 of "
               "input 'z')",
               [&] { import(model); });
}

// Each node looks its function up. A linear search for each would take hours.
TEST(Import, FindsAnOperatorThatIsMissingAmongManyFunctions) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  for (int i = 0; i < 1'000; ++i) {
    auto& function = *model.add_functions();
    function.set_domain("d");
    function.set_name("f" + std::to_string(i));
    add_node(graph, "g", {"x"}, {"y"}).set_domain("d");
  }
  add_output(graph, "y");
  expect_error(ErrorCode::kUnsupported, "d.g ('y', ", [&] { import(model); });
}

TEST(Import, AllOperatorsThatAreMissingAreNamed) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  add_node(graph, "Convolve", {"x"}, {"a"}, "first");
  add_node(graph, "Relu", {"a"}, {"b"});
  add_node(graph, "Wobble", {"b"}, {"c"}, "second");
  add_node(graph, "Convolve", {"c"}, {"y"});
  add_output(graph, "y");
  expect_error(ErrorCode::kUnsupported,
               "operators that Limpid does not have: Convolve ('first', 'y'), Wobble ('second')",
               [&] { import(model); });
}

// In one line, whatever they are called and however many nodes they have.
TEST(Import, OperatorsThatAreMissingAreNamedInOneLine) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  for (int i = 0; i < 1003; ++i) add_node(graph, "Wobble", {"x"}, {"y" + std::to_string(i)});
  add_node(graph, "a b\n", {"x"}, {"z"});
  add_node(graph, std::string(97, 'n'), {"x"}, {"z"});
  add_node(graph, std::string(96, 'o'), {"x"}, {"z"});
  const std::string message = error_of(ErrorCode::kUnsupported, [&] { import(model); });
  EXPECT_TRUE(message.starts_with("operators that Limpid does not have: 'a b\\x0a' ('z'), '" +
                                  std::string(96, 'n') + "...' ('z'), Wobble ('y0', 'y1', "))
      << message;
  EXPECT_TRUE(message.ends_with(", 'y997' and 5 more), " + std::string(96, 'o') + " ( and 1 more)"))
      << message;
}

// Attributes become f64 when they are read, and constants f32.
TEST(Import, TheFloatModeOfTheProgramDoesNotShow) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"batch", "3", "1"});
  set_integer(add_node(graph, "LRN", {"x"}, {"h"}), "size", 3);
  set_real(add_node(graph, "Constant", {}, {"tiny"}), "value_float", 1e-40f);
  add_node(graph, "Mul", {"h", "tiny"}, {"y"});
  add_output(graph, "y");
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
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  add_input(graph, "layers.0.weight", kFloat, {"2"});  // as files before IR version 4 list them
  auto& weight = add_initializer(graph, "layers.0.weight", kFloat, {2});
  weight.add_float_data(2);
  weight.add_float_data(-3);
  add_integers(graph, "shape", {2, 1});
  add_node(graph, "Mul", {"x", "layers.0.weight"}, {"h"}, "/layers/layers.0/act/Mul");
  add_node(graph, "Reshape", {"h", "shape"}, {"y"}, "/layers.0/Reshape");
  add_output(graph, "y");
  const onnx::Imported imported = import(model);
  ASSERT_EQ(imported.params.names(), std::vector<std::string>{"layers.0.weight"});
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
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  add_node(graph, "Neg", {"x"}, {"a"}, "/net/network/Neg");
  add_node(graph, "Exp", {"a"}, {"b"}, "/net/net.1/Exp");
  add_node(graph, "Tanh", {"b"}, {"c"}, "/" + std::string(200, 'n') + "/Tanh");
  add_output(graph, "c");
  const onnx::Imported imported = import(model);
  std::vector<std::string> scopes;
  for (const Node& node : imported.function.nodes()) scopes.push_back(node.scope);
  EXPECT_EQ(scopes, (std::vector<std::string>{"net.network", "net.1", ""}));
}

TEST(Import, TheDefaultDomainHasTwoNames) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  auto& node = add_node(graph, "Neg", {"x"}, {"y"});
  node.set_domain("ai.onnx");
  add_output(graph, "y");
  EXPECT_EQ(numbers(import(model), {Tensor::from<float>({2}, {1, -2})}),
            (std::vector<float>{-1, 2}));
}

TEST(Import, OutputsAreThoseThatAnOperatorHas) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  add_node(graph, "Neg", {"x"}, {"y", "z"}, "n");
  add_output(graph, "z");
  expect_error(ErrorCode::kFormat, "Neg 'n': this operator has no output 1",
               [&] { import(model); });
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

TEST(Import, RefusesSparseWeights) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  graph.add_sparse_initializer()->add_dims(3);
  add_input(graph, "x", kFloat, {"1"});
  add_node(graph, "Identity", {"x"}, {"y"});
  add_output(graph, "y");
  expect_error(ErrorCode::kUnsupported, "sparse initializers", [&] { import(model); });
}

TEST(Import, AShapeThatIsAnInputMustBeKnown) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"6"});
  add_input(graph, "wanted", kInt64, {"2"});
  add_node(graph, "Reshape", {"x", "wanted"}, {"y"}, "r");
  add_output(graph, "y");
  expect_error(ErrorCode::kUnsupported, "Reshape 'r': it depends on the values of input 'wanted'",
               [&] { import(model); });
  const onnx::Imported imported = import(
      model, {.dimensions = {}, .known = {{"wanted", Tensor::from<std::int64_t>({2}, {3, 2})}}});
  EXPECT_EQ(imported.fixed, std::vector<std::string>{"wanted"});
  EXPECT_EQ(to_string(imported.function.type(imported.function.outputs()[0].value)), "f32[3, 2]");
  expect_error(ErrorCode::kShape, "input 'wanted': i64[1] does not fit its declaration", [&] {
    import(model, {.dimensions = {}, .known = {
                     { "wanted",
                       Tensor::from<std::int64_t>({1}, {6}) }
                   }});
  });
}

// A shape made of a weight holds for this weight only.
TEST(Import, TellsWhichWeightsAreBuiltIn) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"6"});
  auto& wanted = add_initializer(graph, "wanted", kFloat, {2});
  for (const float dim : {3.0f, 2.0f}) wanted.add_float_data(dim);
  add_initializer(graph, "other", kFloat, {}).add_float_data(1);
  set_integer(add_node(graph, "Cast", {"wanted"}, {"shape"}), "to", kInt64);
  add_node(graph, "Reshape", {"x", "shape"}, {"h"});
  add_node(graph, "Add", {"h", "other"}, {"y"});
  add_output(graph, "y");
  const onnx::Imported imported = import(model);
  EXPECT_EQ(imported.fixed_params, std::vector<std::string>{"wanted"});
  EXPECT_TRUE(imported.fixed.empty());
  EXPECT_EQ(to_string(imported.function.type(imported.function.outputs()[0].value)), "f32[3, 2]");
}

// The same name has different meanings in different versions: Clip's bounds, the axes of ReduceSum.
TEST(Import, MeaningsAreThoseOfTheVersion) {
  ::onnx::ModelProto old = empty_model(6);
  add_input(*old.mutable_graph(), "x", kFloat, {"3"});
  auto& clip = add_node(*old.mutable_graph(), "Clip", {"x"}, {"y"});
  set_real(clip, "min", -1);
  set_real(clip, "max", 1);
  add_output(*old.mutable_graph(), "y");
  const Tensor x = Tensor::from<float>({3}, {-5, 0.5f, 5});
  EXPECT_EQ(numbers(import(old), {x}), (std::vector<float>{-1, 0.5f, 1}));

  ::onnx::ModelProto half = empty_model(6);
  add_input(*half.mutable_graph(), "x", kFloat, {"3"});
  set_real(add_node(*half.mutable_graph(), "Clip", {"x"}, {"y"}), "min", -1);
  add_output(*half.mutable_graph(), "y");
  EXPECT_EQ(numbers(import(half), {x}), (std::vector<float>{-1, 0.5f, 5}));

  ::onnx::ModelProto young = empty_model(13);
  add_input(*young.mutable_graph(), "x", kFloat, {"3"});
  add_initializer(*young.mutable_graph(), "low", kFloat, {}).add_float_data(-2);
  add_node(*young.mutable_graph(), "Clip", {"x", "low"}, {"y"});
  add_output(*young.mutable_graph(), "y");
  EXPECT_EQ(numbers(import(young), {x}), (std::vector<float>{-2, 0.5f, 5}));

  ::onnx::ModelProto sixth = empty_model(6);  // the second operand broadcast from an axis on
  add_input(*sixth.mutable_graph(), "x", kFloat, {"2", "2"});
  add_input(*sixth.mutable_graph(), "b", kFloat, {"2"});
  auto& add = add_node(*sixth.mutable_graph(), "Add", {"x", "b"}, {"y"});
  set_integer(add, "broadcast", 1);
  set_integer(add, "axis", 0);
  add_output(*sixth.mutable_graph(), "y");
  EXPECT_EQ(numbers(import(sixth), {Tensor::from<float>({2, 2}, {1, 2, 3, 4}),
                                    Tensor::from<float>({2}, {10, 20})}),
            (std::vector<float>{11, 12, 23, 24}));

  // So do comparisons and logic.
  const auto truths = [](const std::string& op, int type, const std::vector<Tensor>& inputs) {
    ::onnx::ModelProto model = empty_model(6);
    add_input(*model.mutable_graph(), "x", type, {"2", "2"});
    add_input(*model.mutable_graph(), "b", type, {"2"});
    auto& node = add_node(*model.mutable_graph(), op, {"x", "b"}, {"y"});
    set_integer(node, "broadcast", 1);
    set_integer(node, "axis", 0);
    add_output(*model.mutable_graph(), "y");
    return interpret(import(model).function, inputs)[0];
  };
  EXPECT_TRUE(truths("Less", kFloat,
                     {Tensor::from<float>({2, 2}, {1, 1, 1, 1}), Tensor::from<float>({2}, {0, 2})})
                  .same_bits(Tensor::from<bool>({2, 2}, {false, false, true, true})));
  EXPECT_TRUE(truths("And", kBool,
                     {Tensor::from<bool>({2, 2}, {true, true, true, false}),
                      Tensor::from<bool>({2}, {false, true})})
                  .same_bits(Tensor::from<bool>({2, 2}, {false, false, true, false})));
}

TEST(Import, SlicesGoBackwards) {
  const auto slice = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    ::onnx::ModelProto model = empty_model();
    auto& graph = *model.mutable_graph();
    add_input(graph, "x", kFloat, {"5"});
    add_integers(graph, "start", {start});
    add_integers(graph, "end", {end});
    add_integers(graph, "axis", {0});
    add_integers(graph, "step", {step});
    add_node(graph, "Slice", {"x", "start", "end", "axis", "step"}, {"y"});
    add_output(graph, "y");
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
  EXPECT_EQ(slice(-10, -20, -1), std::vector<float>{});
}

// Columns have one more before and one less behind; there is one more row.
TEST(Import, PadsOfSomeAxesMayRemoveElements) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2", "1", "2"});
  add_integers(graph, "pads", {1, 0, -1, 1});
  add_integers(graph, "axes", {2, 0});
  add_node(graph, "Pad", {"x", "pads", "", "axes"}, {"y"});
  add_output(graph, "y");
  const Tensor x = Tensor::from<float>({2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(numbers(import(model), {x}), (std::vector<float>{0, 1, 0, 3, 0, 0}));
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
  using Names = std::vector<std::string>;
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  const std::string terms = std::to_string(written.terms);
  add_input(graph, "x", kFloat, {"3", terms});
  add_input(graph, "other", kFloat, {"3", terms});
  add_input(graph, "other_scale", kFloat, {"3", "1"});
  add_initializer(graph, "weight", ::onnx::TensorProto::INT8, {4, written.terms})
      .set_raw_data(std::string(static_cast<std::size_t>(4 * written.terms), 'a'));
  add_initializer(graph, "scale", kFloat, {4}).set_raw_data(std::string(16, '\0'));
  add_initializer(graph, "bias", kFloat, {4}).set_raw_data(std::string(16, '\0'));
  const auto operands = [&](const char* first, const char* second) {
    return written.turned ? Names{second, first} : Names{first, second};
  };
  set_real(add_node(graph, "Constant", {}, {"high"}), "value_float", written.high);
  set_real(add_node(graph, "Constant", {}, {"low"}), "value_float", written.low);
  set_real(add_node(graph, "Constant", {}, {"steps_of_all"}), "value_float", written.codes);
  set_real(add_node(graph, "Constant", {}, {"divisor"}), "value_float", written.divisor);
  add_integers(graph, "axes", {written.axis});
  add_integers(graph, "rows", {3, 1});
  add_node(graph, "Abs", {written.largest_of}, {"magnitude"});
  set_integer(add_node(graph, "ReduceMax", {"magnitude", "axes"}, {"largest"}), "keepdims", 0);
  add_node(graph, "Reshape", {"largest", "rows"}, {"largest_of_row"});
  add_node(graph, "Div", {"steps_of_all", "largest_of_row"}, {"steps"});
  add_node(graph, "Mul", operands("x", "steps"), {"stepped"});
  add_node(graph, "Round", {"stepped"}, {"whole"});
  add_node(graph, "Clip", {"whole", "low", "high"}, {"clipped"});
  set_integer(add_node(graph, "Cast", {"clipped"}, {"codes"}), "to", ::onnx::TensorProto::INT8);
  add_node(graph, "Transpose", {"weight"}, {"turned"});
  add_node(graph, "MatMulInteger", {"codes", "turned"}, {"sums"});
  set_integer(add_node(graph, "Cast", {"sums"}, {"wide"}), "to", kFloat);
  add_node(graph, "Div", {written.scale_by, "divisor"}, {"scale_of_row"});
  add_node(graph, "Mul", operands("wide", "scale_of_row"), {"scaled"});
  add_node(graph, "Mul", operands("scaled", "scale"), {"y"});
  if (written.bias)
    add_node(graph, "Add", *written.bias == 0 ? Names{"bias", "y"} : Names{"y", "bias"}, {"sum"});
  add_output(graph, written.bias ? "sum" : "y");
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

TEST(Import, AnAxisIsReducedOnce) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2", "3"});
  add_integers(graph, "axes", {1, -1});
  add_node(graph, "ReduceSum", {"x", "axes"}, {"y"});
  add_output(graph, "y");
  expect_error(ErrorCode::kShape, "duplicate axis: [1, -1]", [&] { import(model); });
}

}  // namespace
}  // namespace limpid::testing
