// Operator behaviour that the ONNX project's tests do not cover: old versions, unusual ranks and
// dtypes, repeated indices, caches, and refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <variant>

#include "limpid/core/error.h"
#include "limpid/core/key.h"
#include "limpid/nn/init.h"
#include "tests/onnx/models.h"
#include "tests/refusals.h"

namespace limpid::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor reals(const Shape& shape, std::initializer_list<float> values) {
  return Tensor::from<float>(shape, values);
}
Tensor whole(const Shape& shape, std::initializer_list<std::int64_t> values) {
  return Tensor::from<std::int64_t>(shape, values);
}
Tensor narrow(const Shape& shape, std::initializer_list<std::int32_t> values) {
  return Tensor::from<std::int32_t>(shape, values);
}
Tensor truths(const Shape& shape, std::initializer_list<bool> values) {
  return Tensor::from<bool>(shape, values);
}

using Ints = std::vector<std::int64_t>;
using AttributeValue = std::variant<std::int64_t, float, std::string, Ints>;
using Attribute = std::pair<std::string, AttributeValue>;
using Inputs = std::vector<std::optional<Tensor>>;
constexpr const char* kTraining = "ai.onnx.preview.training";

// A model of one node, to be run.
struct OneNode {
  OneNode(const std::string& op, int version, const std::vector<Attribute>& attributes = {},
          const std::string& domain = "")
      : model(empty_model(version)), node(&add_node(*model.mutable_graph(), op, {}, {})) {
    node->set_domain(domain);
    model.mutable_opset_import(0)->set_domain(domain);
    for (const auto& [name, value] : attributes) add(name, value);
  }

  void add(const std::string& name, const AttributeValue& value) {
    if (const auto* const integer = std::get_if<std::int64_t>(&value))
      return set_integer(*node, name, *integer);
    if (const auto* const real = std::get_if<float>(&value)) return set_real(*node, name, *real);
    if (const auto* const text = std::get_if<std::string>(&value))
      return add_attribute(*node, name, ::onnx::AttributeProto::STRING).set_s(*text);
    auto& attribute = add_attribute(*node, name, ::onnx::AttributeProto::INTS);
    for (const std::int64_t v : std::get<Ints>(value)) attribute.add_ints(v);
  }

  // std::nullopt is an omitted input.
  onnx::Imported imported(const Inputs& inputs, int outputs = 1, bool known = true) {
    ::onnx::GraphProto& graph = *model.mutable_graph();
    onnx::ImportOptions options;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string name = inputs[i] ? "x" + std::to_string(i) : "";
      node->add_input(name);
      if (!inputs[i]) continue;
      const Type type = inputs[i]->type();
      std::vector<std::string> dims;
      for (const std::int64_t d : type.shape) dims.push_back(std::to_string(d));
      const int element = type.dtype == Dtype::kF32    ? ::onnx::TensorProto::FLOAT
                          : type.dtype == Dtype::kF64  ? ::onnx::TensorProto::DOUBLE
                          : type.dtype == Dtype::kI64  ? ::onnx::TensorProto::INT64
                          : type.dtype == Dtype::kI32  ? ::onnx::TensorProto::INT32
                          : type.dtype == Dtype::kU8   ? ::onnx::TensorProto::UINT8
                          : type.dtype == Dtype::kI8   ? ::onnx::TensorProto::INT8
                          : type.dtype == Dtype::kF16  ? ::onnx::TensorProto::FLOAT16
                          : type.dtype == Dtype::kBf16 ? ::onnx::TensorProto::BFLOAT16
                                                       : ::onnx::TensorProto::BOOL;
      add_input(graph, name, element, dims);
      if (known) options.known.emplace(name, *inputs[i]);
    }
    for (int i = 0; i < outputs; ++i) {
      const std::string name = "y" + std::to_string(i);
      node->add_output(name);
      add_output(graph, name);
    }
    return import(model, options);
  }
  std::vector<Tensor> run(const Inputs& inputs, int outputs = 1) {
    std::vector<Tensor> given;
    for (const std::optional<Tensor>& t : inputs)
      if (t) given.push_back(*t);
    return interpret(imported(inputs, outputs).function, given);
  }

  ::onnx::ModelProto model;
  ::onnx::NodeProto* node;
};

void expect_near(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(to_string(got.type()), to_string(wanted.type()));
  for (std::size_t i = 0; i < wanted.values<float>().size(); ++i)
    EXPECT_NEAR(got.values<float>()[i], wanted.values<float>()[i], 1e-5) << i;
}

void expect_bits(OneNode&& node, const Inputs& inputs, const Tensor& wanted,
                 int line = __builtin_LINE()) {
  const Tensor got = node.run(inputs)[0];
  EXPECT_TRUE(got.same_bits(wanted)) << "line " << line;
}
void expect_near(OneNode&& node, const Inputs& inputs, const Tensor& wanted) {
  expect_near(node.run(inputs)[0], wanted);
}

// What has no meaning is refused, with the node's name.
void refused(OneNode&& node, const Inputs& inputs, ErrorCode code, int outputs = 1,
             int line = __builtin_LINE()) {
  expect_refused(
      code, [&] { node.imported(inputs, outputs); }, line);
}

// ---- constants

TEST(OnnxConstants, NumbersOfAttributesAreKept) {
  OneNode node("Constant", 13);
  auto& attribute = add_attribute(*node.node, "value_floats", ::onnx::AttributeProto::FLOATS);
  for (const float v : {0.5f, -3.0f}) attribute.add_floats(v);
  EXPECT_TRUE(node.run({})[0].same_bits(reals({2}, {0.5f, -3})));
  expect_bits(OneNode("Constant", 13, {{"value_ints", Ints{7, -8}}}), {}, whole({2}, {7, -8}));
  constexpr std::int64_t kWide = (std::int64_t{1} << 40) + 1;
  expect_bits(OneNode("Constant", 13, {{"value_int", kWide}}), {}, whole({}, {kWide}));
}

TEST(OnnxConstants, ADiagonalMayLieBelowTheFirst) {
  const Tensor x = Tensor::zeros({Dtype::kF32, {2, 3}});
  expect_bits(OneNode("EyeLike", 9, {{"k", -1}}), {x}, reals({2, 3}, {0, 0, 0, 1, 0, 0}));
}

TEST(OnnxConstants, AreRefusedWithoutASensibleSize) {
  refused(OneNode("Constant", 13, {{"value_string", "x"}}), {}, ErrorCode::kUnsupported);
  const Tensor one = reals({}, {1}), row = reals({2}, {1, 2}), none = reals({}, {0});
  refused(OneNode("Range", 11), {one, reals({}, {3e9f}), one}, ErrorCode::kUnsupported);
  refused(OneNode("Range", 11), {one, one, none}, ErrorCode::kUnsupported);
  refused(OneNode("Range", 11), {row, one, one}, ErrorCode::kShape);
  refused(OneNode("EyeLike", 9), {row}, ErrorCode::kShape);
  refused(OneNode("Trilu", 14), {row}, ErrorCode::kShape);
  const Tensor index = whole({1}, {0});
  refused(OneNode("OneHot", 11), {index, whole({}, {-1}), row}, ErrorCode::kInvalidArgument);
  refused(OneNode("OneHot", 11), {index, whole({}, {3}), reals({3}, {0, 1, 2})}, ErrorCode::kShape);
  OneNode fill("ConstantOfShape", 9);
  auto& value = *add_attribute(*fill.node, "value", ::onnx::AttributeProto::TENSOR).mutable_t();
  value.set_data_type(kFloat);
  value.add_dims(2);
  for (const float v : {1.0f, 2.0f}) value.add_float_data(v);
  expect_refused(ErrorCode::kShape, [&] { fill.imported({whole({1}, {3})}); });
}

// -1 is the usual mark of no class. It became the last one in version 11.
TEST(OnnxConstants, ANegativeIndexIsHotFromVersion11) {
  const Inputs inputs{whole({3}, {0, -1, 2}), whole({}, {3}), reals({2}, {0, 1})};
  expect_bits(OneNode("OneHot", 9), inputs, reals({3, 3}, {1, 0, 0, 0, 0, 0, 0, 0, 1}));
  expect_bits(OneNode("OneHot", 11), inputs, reals({3, 3}, {1, 0, 0, 0, 0, 1, 0, 0, 1}));
}

// Downwards, and none where the limit lies the other way.
TEST(OnnxConstants, ARangeGoesTheWayOfItsStep) {
  const auto range = [](std::int64_t first, std::int64_t limit, std::int64_t step) {
    return OneNode("Range", 11).run({whole({}, {first}), whole({}, {limit}), whole({}, {step})})[0];
  };
  EXPECT_TRUE(range(5, 0, -2).same_bits(whole({3}, {5, 3, 1})));
  EXPECT_TRUE(range(5, 0, 2).same_bits(whole({0}, {})));
  // With numbers that f32 does not hold.
  EXPECT_TRUE(range(16777217, 16777219, 1).same_bits(whole({2}, {16777217, 16777218})));
}

// ---- products

TEST(OnnxProducts, OfIntegersAndOfEveryRank) {
  const Tensor a = narrow({2, 1, 2}, {1, 2, 3, 4}), b = narrow({2, 2}, {5, 6, 7, 8});
  expect_bits(OneNode("MatMul", 13), {a, b}, narrow({2, 1, 2}, {19, 22, 43, 50}));
  const Tensor row = narrow({2}, {1, 10}), stack = narrow({2, 2, 1}, {1, 2, 3, 4});
  expect_bits(OneNode("MatMul", 13), {row, stack}, narrow({2, 1}, {21, 43}));
  expect_bits(OneNode("MatMul", 13), {row, row}, narrow({}, {101}));
  refused(OneNode("MatMul", 13), {a, narrow({3}, {1, 2, 3})}, ErrorCode::kShape);
}

TEST(OnnxProducts, AGemmThatIsALinearBecomesOne) {
  const Tensor x = reals({1, 2}, {1, 2}), w = reals({3, 2}, {1, 0, 0, 1, 1, 1});
  const Tensor bias = reals({3}, {10, 20, 30});
  const onnx::Imported model = OneNode("Gemm", 13, {{"transB", 1}}).imported({x, w, bias});
  EXPECT_EQ(ops_of(model), std::vector<std::string>{"linear"});
  EXPECT_TRUE(interpret(model.function, std::vector<Tensor>{x, w, bias})[0].same_bits(
      reals({1, 3}, {11, 22, 33})));
  const Tensor a = narrow({1, 2}, {1, 2}), b = narrow({2, 1}, {3, 4}), c = narrow({}, {5});
  expect_bits(OneNode("Gemm", 13, {{"alpha", 2.0f}, {"beta", 3.0f}}), {a, b, c},
              narrow({1, 1}, {37}));
}

TEST(OnnxProducts, AGemmIsOneOfTwoMatrices) {
  const Tensor row = reals({2}, {1, 2}), square = reals({2, 2}, {1, 2, 3, 4});
  refused(OneNode("Gemm", 13), {square, row}, ErrorCode::kShape);
  refused(OneNode("Gemm", 13), {row, square}, ErrorCode::kShape);
  // The share of C is one of a linear, too.
  const Tensor bias = reals({2}, {10, 20});
  expect_bits(OneNode("Gemm", 13, {{"transB", 1}, {"beta", 0.5f}}), {square, square, bias},
              reals({2, 2}, {10, 21, 16, 35}));
  expect_bits(OneNode("Gemm", 13, {{"transB", 1}}), {square, square, reals({2, 1}, {10, 20})},
              reals({2, 2}, {15, 21, 31, 45}));
  expect_bits(OneNode("Gemm", 13, {{"transA", 1}, {"transB", 1}}), {square, square},
              reals({2, 2}, {7, 15, 10, 22}));
  // A share of 0 leaves C out, whatever it holds.
  expect_bits(OneNode("Gemm", 13, {{"beta", 0.0f}}), {square, square, reals({2}, {kInf, -kInf})},
              reals({2, 2}, {7, 10, 15, 22}));
}

TEST(OnnxProducts, OfBytesMeetOneZeroPoint) {
  const Tensor a = Tensor::from<std::uint8_t>({1, 2}, {200, 100});
  const Tensor b = Tensor::from<std::int8_t>({2, 1}, {-100, 100});
  const Tensor point = Tensor::from<std::uint8_t>({}, {50});
  expect_bits(OneNode("MatMulInteger", 10), {a, b}, narrow({1, 1}, {-10000}));
  expect_bits(OneNode("MatMulInteger", 10), {a, b, point}, narrow({1, 1}, {-10000}));
  const Tensor c = Tensor::from<std::int8_t>({1, 2}, {100, 100});
  expect_bits(OneNode("MatMulInteger", 10),
              {c, b, std::nullopt, Tensor::from<std::int8_t>({}, {-100})}, narrow({1, 1}, {20000}));
  expect_bits(OneNode("MatMulInteger", 10),
              {c, Tensor::from<std::int8_t>({2, 1}, {1, 2}), Tensor::from<std::int8_t>({}, {-100})},
              narrow({1, 1}, {600}));
}

TEST(OnnxProducts, OfIntegersTakeAZeroPointForEachRow) {
  const Tensor a = narrow({2, 2}, {1, 2, 3, 4}), one = narrow({2, 2}, {1, 0, 0, 1});
  expect_bits(OneNode("MatMulInteger", 10), {a, one, narrow({2}, {1, 2})},
              narrow({2, 2}, {0, 1, 1, 2}));
  expect_bits(OneNode("MatMulInteger", 10), {one, a, std::nullopt, narrow({2}, {1, 2})},
              narrow({2, 2}, {0, 0, 2, 2}));
}

TEST(OnnxEinsum, DiagonalsSumsAndSeveralOperands) {
  const auto einsum = [](const std::string& equation, const Inputs& inputs) {
    return OneNode("Einsum", 12, {{"equation", equation}}).run(inputs)[0];
  };
  const Tensor square = reals({2, 2}, {1, 2, 3, 4}), v = reals({2}, {1, 10});
  EXPECT_TRUE(einsum("ii->i", {square}).same_bits(reals({2}, {1, 4})));
  EXPECT_TRUE(einsum("ii", {square}).same_bits(reals({}, {5})));
  EXPECT_TRUE(einsum("ji", {square}).same_bits(reals({2, 2}, {1, 3, 2, 4})));
  EXPECT_TRUE(einsum(" i , i j , j -> ", {v, square, v}).same_bits(reals({}, {451})));
  EXPECT_TRUE(einsum("i,j->ji", {v, v}).same_bits(reals({2, 2}, {1, 10, 10, 100})));
  EXPECT_TRUE(einsum("ij,k->ik", {square, v}).same_bits(reals({2, 2}, {3, 30, 7, 70})));
  const Tensor cube = reals({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_TRUE(einsum("iii->i", {cube}).same_bits(reals({2}, {1, 8})));
  EXPECT_TRUE(einsum("...ij,...j->...i", {cube, v}).same_bits(reals({2, 2}, {21, 43, 65, 87})));
  EXPECT_TRUE(einsum("...i,...i", {cube, reals({1, 2, 1}, {1, 2})})
                  .same_bits(reals({2, 2}, {3, 14, 11, 30})));
  EXPECT_TRUE(einsum("ij,jk", {narrow({1, 2}, {2, 3}), narrow({2, 1}, {4, 5})})
                  .same_bits(narrow({1, 1}, {23})));
}

// A dimension of 1 meets one of any size, from either side; others must be equal.
TEST(OnnxEinsum, StretchesOnes) {
  const Tensor column = reals({2, 1}, {1, 10}), square = reals({2, 2}, {1, 2, 3, 4});
  for (const bool turned : {false, true}) {
    const Tensor &a = turned ? square : column, &b = turned ? column : square;
    expect_bits(OneNode("Einsum", 12, {{"equation", "ij,ij->ij"}}), {a, b},
                reals({2, 2}, {1, 2, 30, 40}));
  }
  refused(OneNode("Einsum", 12, {{"equation", "ij,jk"}}), {square, reals({3, 1}, {1, 2, 3})},
          ErrorCode::kShape);
  // Capital letters come before small ones.
  expect_bits(OneNode("Einsum", 12, {{"equation", "aB"}}), {square}, reals({2, 2}, {1, 3, 2, 4}));
}

TEST(OnnxEinsum, RefusesWhatIsNoEquation) {
  const Tensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const char* const equation : {"ij,jk->ik", "i->i", "ijk->i", "ij->k", "ij->ii", "i1->i"})
    refused(OneNode("Einsum", 12, {{"equation", equation}}), {x}, ErrorCode::kFormat);
  refused(OneNode("Einsum", 12, {{"equation", "ii->i"}}), {x}, ErrorCode::kShape);
}

// ---- arithmetic, logic and shapes

TEST(OnnxArithmetic, AShiftByAllBitsLeavesNone) {
  const auto bytes = [](std::initializer_list<std::uint8_t> values) {
    return Tensor::from<std::uint8_t>({4}, values);
  };
  const auto shifted = [&](const std::string& direction) {
    return OneNode("BitShift", 11, {{"direction", direction}})
        .run({bytes({255, 255, 129, 129}), bytes({8, 255, 7, 1})})[0];
  };
  EXPECT_TRUE(shifted("LEFT").same_bits(bytes({0, 0, 128, 2})));
  EXPECT_TRUE(shifted("RIGHT").same_bits(bytes({0, 0, 1, 64})));
}

TEST(OnnxArithmetic, ShiftsAreOfBytesLeftOrRight) {
  const Tensor bytes = Tensor::from<std::uint8_t>({1}, {3}), whole_one = narrow({1}, {3});
  refused(OneNode("BitShift", 11, {{"direction", "LEFT"}}), {whole_one, whole_one},
          ErrorCode::kUnsupported);
  refused(OneNode("BitShift", 11, {{"direction", "UP"}}), {bytes, bytes}, ErrorCode::kFormat);
}

TEST(OnnxArithmetic, BitsAreTurnedAround) {
  expect_bits(OneNode("BitwiseNot", 18), {Tensor::from<std::uint8_t>({3}, {0, 1, 255})},
              Tensor::from<std::uint8_t>({3}, {255, 254, 0}));
  expect_bits(OneNode("BitwiseNot", 18), {narrow({3}, {0, 5, -1})}, narrow({3}, {-1, -6, 0}));
}

// An odd number that f32 does not hold, and a sum that it does not hold either.
TEST(OnnxArithmetic, PowersAreOfF64WhereAnOperandIs) {
  expect_bits(OneNode("Pow", 15), {reals({1}, {-1}), Tensor::from<double>({1}, {16777217})},
              reals({1}, {-1}));
  expect_bits(OneNode("Pow", 15), {narrow({1}, {4097}), reals({1}, {2})}, narrow({1}, {16785409}));
}

TEST(OnnxActivations, AreOfIntegersToo) {
  expect_bits(OneNode("Relu", 14), {narrow({3}, {-2, 0, 3})}, narrow({3}, {0, 0, 3}));
}

TEST(OnnxActivations, AGeluHasTwoForms) {
  const Tensor x = reals({2}, {1, -2});
  expect_near(OneNode("Gelu", 20), {x}, reals({2}, {0.841345f, -0.0455003f}));
  expect_near(OneNode("Gelu", 20, {{"approximate", "tanh"}}), {x},
              reals({2}, {0.841192f, -0.0454023f}));
  refused(OneNode("Gelu", 20, {{"approximate", "sigmoid"}}), {x}, ErrorCode::kUnsupported);
  // Attributes have their types, and some must be there.
  refused(OneNode("Gelu", 20, {{"approximate", 1}}), {x}, ErrorCode::kFormat);
  refused(OneNode("DepthToSpace", 13), {x}, ErrorCode::kFormat);
}

TEST(OnnxActivations, ASwishHasASlope) {
  const Tensor x = reals({2}, {1, -1});
  expect_near(OneNode("Swish", 24), {x}, reals({2}, {0.731059f, -0.268941f}));
  expect_near(OneNode("Swish", 24, {{"alpha", 2.0f}}), {x}, reals({2}, {0.880797f, -0.119203f}));
}

// The attributes replace the usual constants; an input equal to a threshold is not beyond it.
TEST(OnnxActivations, HaveTheirOwnConstantsAndEdges) {
  const float e = 0.36787944f;  // exp(-1)
  expect_near(OneNode("Selu", 6, {{"gamma", 3.0f}}), {reals({2}, {-1, 2})},
              reals({2}, {3 * 1.6732632f * (e - 1), 6}));
  expect_near(OneNode("Selu", 1), {reals({1}, {1000})}, reals({1}, {1050.7f}));
  expect_near(OneNode("Selu", 6, {{"alpha", 2.0f}}), {reals({2}, {-1, 2})},
              reals({2}, {1.0507010f * 2 * (e - 1), 2 * 1.0507010f}));
  expect_bits(OneNode("ThresholdedRelu", 10), {reals({3}, {1, 1.5f, 0.5f})},
              reals({3}, {0, 1.5f, 0}));
  expect_bits(OneNode("Shrink", 9, {{"bias", 0.25f}}), {reals({5}, {0.5f, -0.5f, 0.375f, 1, -1})},
              reals({5}, {0, 0, 0, 0.75f, -0.75f}));
}

TEST(OnnxActivations, AnEluMayHaveANegativeAlpha) {
  const float e = 0.36787944f;  // exp(-1)
  expect_near(OneNode("Elu", 6, {{"alpha", -2.0f}}), {reals({2}, {-1, 3})},
              reals({2}, {2 - 2 * e, 3}));
}

// Before version 7, a slope for each channel was not broadcast from the right.
TEST(OnnxActivations, AnOldSlopeIsThatOfAChannel) {
  const Tensor x = reals({1, 2, 2}, {-1, 1, -1, -2}), slope = reals({2}, {2, 3});
  expect_bits(OneNode("PRelu", 6), {x, slope}, reals({1, 2, 2}, {-2, 1, -3, -6}));
  expect_bits(OneNode("PRelu", 7), {x, slope}, reals({1, 2, 2}, {-2, 1, -2, -6}));
}

TEST(OnnxLogic, BoolsAreEqualWhereBothAreFalse) {
  const Tensor a = truths({4}, {false, false, true, true});
  const Tensor b = truths({4}, {false, true, false, true});
  expect_bits(OneNode("Equal", 13), {a, b}, truths({4}, {true, false, false, true}));
}

TEST(OnnxShapes, OldTilesRepeatOneAxis) {
  expect_bits(OneNode("Tile", 5), {reals({2, 1}, {1, 2}), whole({}, {3}), whole({}, {1})},
              reals({2, 3}, {1, 1, 1, 2, 2, 2}));
}

TEST(OnnxShapes, ASqueezeWithoutAxesTakesEveryOne) {
  expect_bits(OneNode("Squeeze", 13), {reals({1, 2, 1}, {1, 2})}, reals({2}, {1, 2}));
}

// Of two channels; without a mode, blocks come before channels.
TEST(OnnxShapes, DepthIsOfBlocksOfChannelsUnlessTheModeIsAnother) {
  const Tensor x = reals({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  expect_bits(OneNode("DepthToSpace", 13, {{"blocksize", 2}}), {x},
              reals({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7}));
  expect_bits(OneNode("DepthToSpace", 13, {{"blocksize", 2}, {"mode", "CRD"}}), {x},
              reals({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(OnnxShapes, AreRefusedWhereTheyDoNotFit) {
  const Tensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6}),
               image = Tensor::zeros({Dtype::kF32, {1, 6, 3, 4}});
  refused(OneNode("Reshape", 14), {x, whole({3}, {2, 3, 0})}, ErrorCode::kShape);
  refused(OneNode("Reshape", 14), {x, whole({3}, {-1, 3, -1})}, ErrorCode::kShape);
  refused(OneNode("Flatten", 13, {{"axis", 3}}), {x}, ErrorCode::kShape);
  refused(OneNode("Flatten", 13, {{"axis", -3}}), {x}, ErrorCode::kShape);
  refused(OneNode("Squeeze", 13), {x, whole({1}, {0})}, ErrorCode::kShape);
  refused(OneNode("Unsqueeze", 13), {x, whole({2}, {0, 0})}, ErrorCode::kShape);
  refused(OneNode("Unsqueeze", 13), {x}, ErrorCode::kFormat);
  refused(OneNode("Tile", 13), {x, whole({1}, {2})}, ErrorCode::kShape);
  for (const char* op : {"DepthToSpace", "SpaceToDepth"})
    for (const std::int64_t block : {0, 2, 65537})
      refused(OneNode(op, 13, {{"blocksize", block}}), {image}, ErrorCode::kShape);
  refused(OneNode("DepthToSpace", 13, {{"blocksize", 1}}), {x}, ErrorCode::kShape);
  refused(OneNode("Reshape", 14), {x, reals({1}, {6})}, ErrorCode::kDtype);
  refused(OneNode("Reshape", 14), {x, whole({1, 1}, {6})}, ErrorCode::kShape);
  refused(OneNode("Trilu", 14), {x, whole({2}, {1, 2})}, ErrorCode::kShape);
  refused(OneNode("Trilu", 14), {x, reals({}, {1})}, ErrorCode::kDtype);
}

// Of nothing, the open dimension is 0; numbers may be i32.
TEST(OnnxShapes, AreOpenWhereNothingIs) {
  const auto reshaped = [](const Tensor& shape) {
    return OneNode("Reshape", 14, {{"allowzero", 1}})
        .run({Tensor::zeros({Dtype::kF32, {0, 3}}), shape})[0]
        .shape();
  };
  EXPECT_EQ(reshaped(whole({2}, {0, -1})), (Shape{0, 0}));
  EXPECT_EQ(reshaped(narrow({2}, {-1, 3})), (Shape{0, 3}));
  EXPECT_EQ(OneNode("Flatten", 13, {{"axis", 2}}).run({reals({1, 2}, {1, 2})})[0].shape(),
            (Shape{2, 1}));
}

TEST(OnnxParts, AreRefusedWhereTheyDoNotFit) {
  const Tensor x = reals({4}, {1, 2, 3, 4}), none = Tensor::zeros({Dtype::kF32, {0}});
  for (const Tensor& split : {whole({2}, {1, 2}), whole({2}, {3, 2}), whole({2}, {5, -1})})
    refused(OneNode("Split", 13), {x, split}, ErrorCode::kShape, 2);
  refused(OneNode("Split", 18, {{"num_outputs", 3}}), {x}, ErrorCode::kFormat, 2);
  const auto slice = [&](const Tensor& ends, const Tensor& axes, const Tensor& steps,
                         ErrorCode code = ErrorCode::kShape) {
    refused(OneNode("Slice", 13), {x, whole({1}, {0}), ends, axes, steps}, code);
  };
  const Tensor zero = whole({1}, {0}), one = whole({1}, {1}), two = whole({2}, {1, 1});
  slice(two, zero, one);
  slice(one, two, one);
  slice(one, zero, two);
  slice(one, zero, zero, ErrorCode::kInvalidArgument);
  const auto pad = [&](const Tensor& of, const char* mode, const Tensor& pads,
                       ErrorCode code = ErrorCode::kShape) {
    refused(OneNode("Pad", 19, {{"mode", mode}}), {of, pads}, code);
  };
  pad(x, "mirror", two, ErrorCode::kUnsupported);
  pad(x, "constant", one);
  pad(x, "constant", whole({2}, {(std::int64_t{1} << 40) + 1, 0}));
  pad(x, "constant", whole({2}, {0, -(std::int64_t{1} << 40) - 1}));
  pad(x, "constant", whole({2}, {-3, -2}));
  pad(none, "edge", two);
  pad(x, "edge", whole({2}, {3'000'000'000, 0}), ErrorCode::kUnsupported);
}

// Of five elements in parts of two, the third has one and the fourth none.
TEST(OnnxParts, TheLastOfASplitMayBeEmpty) {
  const auto parts =
      OneNode("Split", 18, {{"num_outputs", 4}}).run({reals({5}, {1, 2, 3, 4, 5})}, 4);
  EXPECT_TRUE(parts[1].same_bits(reals({2}, {3, 4})));
  EXPECT_TRUE(parts[2].same_bits(reals({1}, {5})));
  EXPECT_TRUE(parts[3].same_bits(reals({0}, {})));
}

TEST(OnnxParts, SmallIntegersArePadded) {
  const Tensor around = whole({2}, {1, 1});
  expect_bits(OneNode("Pad", 13),
              {Tensor::from<std::int8_t>({2}, {1, -2}), around, Tensor::scalar<std::int8_t>(-3)},
              Tensor::from<std::int8_t>({4}, {-3, 1, -2, -3}));
  expect_bits(
      OneNode("Pad", 13),
      {Tensor::from<std::uint8_t>({2}, {1, 200}), around, Tensor::scalar<std::uint8_t>(255)},
      Tensor::from<std::uint8_t>({4}, {255, 1, 200, 255}));
}

// A condition may be shorter than the axis, but not true beyond its end.
TEST(OnnxParts, AConditionChoosesPlaces) {
  const Tensor x = reals({2, 2}, {1, 2, 3, 4});
  const auto compress = [&](const std::vector<bool>& condition, OneNode&& node) {
    return node.run({x, Tensor::generate<bool>({static_cast<std::int64_t>(condition.size())},
                                               [&](std::span<bool> out) {
                                                 std::copy(condition.begin(), condition.end(),
                                                           out.begin());
                                               })})[0];
  };
  const std::vector<bool> third{false, false, true};
  EXPECT_TRUE(compress(third, OneNode("Compress", 11)).same_bits(reals({1}, {3})));
  EXPECT_TRUE(compress({false, true, false}, OneNode("Compress", 11, {{"axis", 0}}))
                  .same_bits(reals({1, 2}, {3, 4})));
  expect_refused(ErrorCode::kShape, [&] {
    compress(third, OneNode("Compress", 11, {{"axis", 0}}));
  });
}

TEST(OnnxParts, SlicesHaveInputsSinceVersion10) {
  const Tensor x = reals({4}, {1, 2, 3, 4});
  expect_bits(OneNode("Slice", 9, {{"starts", Ints{1}}, {"ends", Ints{3}}}), {x},
              reals({2}, {2, 3}));
  expect_bits(OneNode("Slice", 10), {x, whole({1}, {1}), whole({1}, {3})}, reals({2}, {2, 3}));
}

// A start is clamped to an element, an end to the place before the first.
TEST(OnnxParts, ASliceBackwardsBeginsAtAnElement) {
  const Tensor x = reals({4}, {1, 2, 3, 4});
  const auto slice = [&](std::int64_t start, std::int64_t end, const Tensor& expected) {
    expect_bits(OneNode("Slice", 13),
                {expected.elements() == 0 && start == 0 ? reals({0}, {}) : x, whole({1}, {start}),
                 whole({1}, {end}), whole({1}, {0}), whole({1}, {-1})},
                expected);
  };
  slice(-9, -20, reals({1}, {1}));
  slice(9, -20, reals({4}, {4, 3, 2, 1}));
  slice(-9, 0, reals({0}, {}));
  slice(0, -20, reals({0}, {}));  // of no elements
}

TEST(OnnxParts, OldConcatsWereAlongTheSecondAxis) {
  const Tensor x = reals({1, 2}, {1, 2});
  expect_bits(OneNode("Concat", 1), {x, x}, reals({1, 4}, {1, 2, 1, 2}));
}

TEST(OnnxParts, APadMayGoAroundItsEnds) {
  const auto padded = [](const Tensor& x, const char* mode, std::int64_t low, std::int64_t high) {
    return OneNode("Pad", 19, {{"mode", mode}}).run({x, whole({2}, {low, high})})[0];
  };
  const Tensor x = reals({3}, {1, 2, 3});
  EXPECT_TRUE(padded(x, "wrap", 4, 2).same_bits(reals({9}, {3, 1, 2, 3, 1, 2, 3, 1, 2})));
  EXPECT_TRUE(padded(x, "reflect", 5, 1).same_bits(reals({9}, {2, 1, 2, 3, 2, 1, 2, 3, 2})));
  EXPECT_TRUE(padded(x, "edge", 2, 1).same_bits(reals({6}, {1, 1, 1, 2, 3, 3})));
  EXPECT_TRUE(padded(x, "edge", -1, 1).same_bits(reals({3}, {2, 3, 3})));
  EXPECT_TRUE(padded(reals({1}, {7}), "reflect", 1, 1).same_bits(reals({3}, {7, 7, 7})));
  expect_bits(OneNode("Pad", 13),
              {truths({2}, {true, false}), whole({2}, {1, 1}), truths({}, {true})},
              truths({4}, {true, true, false, true}));
  const auto bytes = [](const Shape& shape, std::initializer_list<std::uint8_t> values) {
    return Tensor::from<std::uint8_t>(shape, values);
  };
  expect_bits(OneNode("Pad", 13), {bytes({2}, {1, 255}), whole({2}, {0, 1}), bytes({}, {200})},
              bytes({3}, {1, 255, 200}));
  expect_bits(OneNode("Pad", 2, {{"pads", Ints{1, 0}}, {"value", 5.0f}}), {x},
              reals({4}, {5, 1, 2, 3}));
  expect_bits(OneNode("Pad", 1, {{"paddings", Ints{0, 1}}}), {x}, reals({4}, {1, 2, 3, 0}));
}

TEST(OnnxReductions, OfBytesAndOfTruths) {
  const Tensor bytes = Tensor::from<std::int8_t>({3}, {-3, 4, -5});
  expect_bits(OneNode("ReduceMin", 18, {{"keepdims", 0}}), {bytes},
              Tensor::from<std::int8_t>({}, {-5}));
  expect_bits(OneNode("ReduceMax", 18, {{"keepdims", 0}}),
              {Tensor::from<std::uint8_t>({2}, {200, 100})}, Tensor::from<std::uint8_t>({}, {200}));
  for (const auto& [op, of_both, of_none] :
       {std::tuple{"ReduceMax", true, false}, std::tuple{"ReduceMin", false, true}}) {
    EXPECT_EQ(OneNode(op, 20).run({truths({2}, {true, false})})[0].item<bool>(), of_both);
    EXPECT_EQ(OneNode(op, 20).run({truths({0}, {})})[0].item<bool>(), of_none);
  }
  expect_bits(OneNode("ReduceL2", 18, {{"keepdims", 0}}), {narrow({2}, {3, -4})}, narrow({}, {5}));
}

TEST(OnnxReductions, ExponentialsOfLargeNumbersDoNotOverflow) {
  const Tensor x = reals({4, 2}, {1000, 1000, -1000, -1000, -kInf, -kInf, kInf, 0});
  const Tensor y = OneNode("ReduceLogSumExp", 13, {{"axes", Ints{1}}, {"keepdims", 0}}).run({x})[0];
  const auto values = y.values<float>();
  EXPECT_NEAR(values[0], 1000 + std::log(2.0f), 1e-3);
  EXPECT_NEAR(values[1], -1000 + std::log(2.0f), 1e-3);
  EXPECT_EQ(values[2], -kInf);
  EXPECT_EQ(values[3], kInf);
}

// ---- norms and classes

// The momentum is the share of what was.
TEST(OnnxNorms, BatchStatisticsInTraining) {
  const Tensor x = reals({2, 1, 2}, {1, 3, 5, 7});
  const Tensor one = reals({1}, {1}), zero = reals({1}, {0}), old = reals({1}, {10});
  const auto y = OneNode("BatchNormalization", 15,
                         {{"training_mode", 1}, {"momentum", 0.75f}, {"epsilon", 0.0f}})
                     .run({x, one, zero, old, old}, 3);
  const float unit = 1 / std::sqrt(5.0f);
  expect_near(y[0], reals({2, 1, 2}, {-3 * unit, -unit, unit, 3 * unit}));
  expect_near(y[1], reals({1}, {8.5f}));
  expect_near(y[2], reals({1}, {8.75f}));
}

// From version 7 to 13, a node was in training where it gave statistics.
TEST(OnnxNorms, OldVersionsTrainWhereTheyGiveStatistics) {
  const Tensor x = reals({2, 1, 2}, {1, 3, 5, 7});
  const Tensor one = reals({1}, {1}), two = reals({1}, {2}), four = reals({1}, {4});
  for (const int version : {7, 9}) {
    const auto run = [&](int outputs) {
      return OneNode("BatchNormalization", version, {{"epsilon", 0.0f}})
          .run({x, one, two, two, four}, outputs);
    };
    expect_near(run(1)[0], reals({2, 1, 2}, {1.5f, 2.5f, 3.5f, 4.5f}));
    const auto trained = run(5);
    const float unit = 1 / std::sqrt(5.0f);
    expect_near(trained[0], reals({2, 1, 2}, {2 - 3 * unit, 2 - unit, 2 + unit, 2 + 3 * unit}));
    expect_near(trained[1], reals({1}, {2.2f}));
    expect_near(trained[3], reals({1}, {4}));
    expect_near(trained[4], reals({1}, {5}));
  }
}

// Of an even number of channels, one more lies behind.
TEST(OnnxNorms, AnEvenWindowReachesFurtherBehind) {
  expect_near(OneNode("LRN", 13, {{"size", 2}, {"alpha", 2.0f}, {"beta", 1.0f}, {"bias", 0.0f}}),
              {reals({1, 3, 1}, {1, 2, 3})}, reals({1, 3, 1}, {1.0f / 5, 2.0f / 13, 1.0f / 3}));
}

// Rows whose variance is ten times the epsilon of 1e-5 that all have unless they name one.
TEST(OnnxNorms, HaveTheEpsilonOfTheFormat) {
  const Tensor x = reals({1, 1, 2}, {0.01f, -0.01f});
  const Tensor one = reals({1}, {1}), zero = reals({1}, {0}), variance = reals({1}, {1e-4f});
  const float y = 0.95346259f;  // 0.01 / sqrt(1.1e-4)
  const auto expect_it = [&](OneNode&& node, const Inputs& inputs) {
    SCOPED_TRACE(node.node->op_type());
    expect_near(node.run(inputs)[0], reals({1, 1, 2}, {y, -y}));
  };
  expect_it(OneNode("BatchNormalization", 15), {x, one, zero, zero, variance});
  expect_it(OneNode("BatchNormalization", 6), {x, one, zero, zero, one});
  expect_it(OneNode("InstanceNormalization", 6), {x, one, zero});
  expect_it(OneNode("GroupNormalization", 21, {{"num_groups", 1}}), {x, one, zero});
  expect_it(OneNode("LayerNormalization", 17), {x, reals({2}, {1, 1})});
  expect_it(OneNode("RMSNormalization", 23), {x, reals({2}, {1, 1})});
}

TEST(OnnxNorms, GroupFactorsOfBothMeanings) {
  const Tensor x = reals({1, 4, 2}, {1, 3, 1, 3, 5, 9, 5, 9});
  const Tensor by_group = reals({2}, {1, 10}), nothing = reals({2}, {0, 0});
  const Tensor by_channel = reals({4}, {1, 1, 10, 10}), none = reals({4}, {0, 0, 0, 0});
  const auto run = [&](int version, const Tensor& scale, const Tensor& bias) {
    return OneNode("GroupNormalization", version, {{"num_groups", 2}, {"epsilon", 0.0f}})
        .run({x, scale, bias})[0];
  };
  const Tensor wanted = reals({1, 4, 2}, {-1, 1, -1, 1, -10, 10, -10, 10});
  expect_near(run(18, by_group, nothing), wanted);
  expect_near(run(21, by_channel, none), wanted);
}

TEST(OnnxNorms, AreRefusedWhereTheyDoNotFit) {
  const Tensor row = reals({2}, {1, 2}), x = reals({1, 3, 1}, {1, 2, 3}), c = reals({3}, {1, 1, 1});
  refused(OneNode("BatchNormalization", 15), {row, row, row, row, row}, ErrorCode::kShape);
  refused(OneNode("InstanceNormalization", 6), {row, row, row}, ErrorCode::kShape);
  refused(OneNode("BatchNormalization", 7, {{"spatial", 0}}), {x, c, c, c, c},
          ErrorCode::kUnsupported);
  for (const std::int64_t groups : {0, 2})
    refused(OneNode("GroupNormalization", 21, {{"num_groups", groups}}), {x, c, c},
            ErrorCode::kShape);
  refused(OneNode("GroupNormalization", 21, {{"num_groups", 1}}), {row, row, row},
          ErrorCode::kShape);
  for (const std::int64_t size : {0, 1025})
    refused(OneNode("LRN", 13, {{"size", size}}), {x}, ErrorCode::kUnsupported);
  refused(OneNode("LpNormalization", 22, {{"p", 3}}), {x}, ErrorCode::kUnsupported);
}

// Statistics are of f32 unless they are to have the type of x; the second may be wanted alone.
TEST(OnnxNorms, StatisticsOfRowsComeAlone) {
  const Tensor x = Tensor::from<double>({1, 2}, {1, 3}), scale = Tensor::from<double>({2}, {1, 1});
  for (const std::int64_t stash : {0, 1, 11}) {  // 0: none is named
    OneNode node("LayerNormalization", 17);
    node.add("epsilon", 0.0f);
    if (stash > 0) node.add("stash_type", stash);
    for (const char* name : {"x", "scale"}) node.node->add_input(name);
    for (const char* name : {"", "", "deviation"}) node.node->add_output(name);
    auto& graph = *node.model.mutable_graph();
    add_input(graph, "x", ::onnx::TensorProto::DOUBLE, {"1", "2"});
    add_input(graph, "scale", ::onnx::TensorProto::DOUBLE, {"2"});
    add_output(graph, "deviation");
    const auto y = interpret(import(node.model).function, std::vector<Tensor>{x, scale})[0];
    EXPECT_TRUE(y.same_bits(stash < 11 ? reals({1, 1}, {1}) : Tensor::from<double>({1, 1}, {1})));
  }
}

// A scale of more dimensions than a row.
TEST(OnnxNorms, AScaleOfRmsMayBeOneOfAll) {
  const Tensor x = reals({2, 2}, {1, 1, 2, 2}), scale = reals({2, 1}, {3, 5});
  expect_near(OneNode("RMSNormalization", 23, {{"epsilon", 0.0f}}), {x, scale},
              reals({2, 2}, {3, 3, 5, 5}));
}

TEST(OnnxNorms, MeansAndVariancesAreOverTheseAxes) {
  const Tensor x = reals({2, 2}, {1, 5, 3, 9});
  expect_near(OneNode("MeanVarianceNormalization", 13, {{"axes", Ints{0}}}), {x},
              reals({2, 2}, {-1, -1, 1, 1}));
}

TEST(OnnxNorms, ALineOfAnySizeHasItsDirection) {
  for (const float size : {1e30f, 1e-30f}) {
    const Tensor x = reals({1, 2}, {3 * size, 4 * size});
    expect_near(OneNode("LpNormalization", 22).run({x})[0], reals({1, 2}, {0.6f, 0.8f}));
  }
  const Tensor x = reals({1, 2}, {3e38f, 3e38f});
  expect_near(OneNode("LpNormalization", 22, {{"p", 1}}).run({x})[0], reals({1, 2}, {0.5f, 0.5f}));
}

// Not in i64, as the sums of this library.
TEST(OnnxReductions, OfI32AreI32) {
  const Tensor x = Tensor::from<std::int32_t>({2}, {7, -3});
  for (const std::string name : {"ReduceSum", "ReduceProd", "ReduceSumSquare", "ReduceL1"}) {
    const Tensor y = OneNode(name, 18, {{"keepdims", 0}}).run({x})[0];
    EXPECT_EQ(y.dtype(), Dtype::kI32) << name;
  }
  const Tensor axis = Tensor::scalar<std::int64_t>(0);
  EXPECT_EQ(OneNode("CumSum", 14).run({x, axis})[0].dtype(), Dtype::kI32);
}

TEST(OnnxNorms, ALineOfZerosHasNoDirection) {
  const Tensor x = reals({2, 2}, {0, 0, 3, 4});
  expect_near(OneNode("LpNormalization", 22), {x}, reals({2, 2}, {0, 0, 0.6f, 0.8f}));
  expect_near(OneNode("LpNormalization", 22, {{"p", 1}}), {reals({1, 2}, {-1, 3})},
              reals({1, 2}, {-0.25f, 0.75f}));
}

TEST(OnnxClasses, SoftmaxWasOverAllDimensionsFromTheAxisOn) {
  const Tensor x = Tensor::zeros({Dtype::kF32, {2, 2, 2}});
  expect_near(OneNode("Softmax", 12), {x},
              reals({2, 2, 2}, {.25f, .25f, .25f, .25f, .25f, .25f, .25f, .25f}));
  expect_near(OneNode("Softmax", 13), {x},
              reals({2, 2, 2}, {.5f, .5f, .5f, .5f, .5f, .5f, .5f, .5f}));
  const Tensor tied = reals({1, 3}, {1, 2, 2});
  expect_near(OneNode("Hardmax", 11), {tied}, reals({1, 3}, {0, 1, 0}));
}

TEST(OnnxClasses, AnAxisBehindTheLastLeavesRowsOfOne) {
  const Tensor x = reals({1, 3}, {1, 5, 2});
  for (const char* op : {"Softmax", "Hardmax"})
    expect_near(OneNode(op, 11, {{"axis", 2}}), {x}, reals({1, 3}, {1, 1, 1}));
}

TEST(OnnxClasses, LossesNeedClassesAndIndicesOf32Bits) {
  const Tensor scores = reals({1, 2}, {0, 0}), label = whole({1}, {0});
  refused(OneNode("NegativeLogLikelihoodLoss", 13), {reals({2}, {0, 0}), label}, ErrorCode::kShape);
  for (const std::int64_t index : {std::int64_t{1} << 31, -(std::int64_t{1} << 31) - 1})
    refused(OneNode("SoftmaxCrossEntropyLoss", 13, {{"ignore_index", index}}), {scores, label},
            ErrorCode::kUnsupported);
  refused(OneNode("SoftmaxCrossEntropyLoss", 13, {{"reduction", "max"}}), {scores, label},
          ErrorCode::kFormat);
}

// ---- indices and order

TEST(OnnxIndices, GatherNdBehindDimensionsInCommon) {
  const Tensor x = narrow({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  expect_bits(OneNode("GatherND", 12, {{"batch_dims", 1}}), {x, whole({2, 1, 2}, {-1, 0, 0, 1})},
              narrow({2, 1}, {2, 5}));
}

// Version 11 gave it another name.
TEST(OnnxIndices, AScatterIsOneOfOldVersions) {
  const Inputs inputs{reals({2}, {1, 2}), whole({1}, {1}), reals({1}, {5})};
  expect_bits(OneNode("Scatter", 10), inputs, reals({2}, {1, 5}));
  expect_bits(OneNode("ScatterElements", 11), inputs, reals({2}, {1, 5}));
  for (const auto& [op, version] : {std::pair{"Scatter", 11}, {"ScatterElements", 10}})
    expect_refused(ErrorCode::kUnsupported,
                   [&, op = op, version = version] { OneNode(op, version).imported(inputs); });
}

TEST(OnnxIndices, AreRefusedWhereTheyDoNotFit) {
  const Tensor x = reals({2, 2}, {1, 2, 3, 4});
  for (const Tensor& places : {whole({1, 3}, {0, 0, 0}), whole({1, 0}, {}), whole({}, {0})})
    refused(OneNode("GatherND", 12), {x, places}, ErrorCode::kShape);
  for (const std::int64_t batch : {-1, 2})
    refused(OneNode("GatherND", 12, {{"batch_dims", batch}}), {x, whole({2, 1}, {0, 1})},
            ErrorCode::kShape);
  const Tensor cache = Tensor::zeros({Dtype::kF32, {1, 3, 1}}), row = reals({1, 1, 1}, {1});
  constexpr ErrorCode kUnsupported = ErrorCode::kUnsupported;
  refused(OneNode("TensorScatter", 24, {{"axis", 0}}), {cache, row}, kUnsupported);
  refused(OneNode("TensorScatter", 24, {{"mode", "ring"}}), {cache, row}, kUnsupported);
  refused(OneNode("TensorScatter", 24), {cache, reals({1, 1}, {1})}, kUnsupported);
}

TEST(OnnxIndices, UpdatesOfOnePlaceCombine) {
  const Tensor x = reals({3}, {1, 2, 3});
  const Tensor places = whole({3}, {0, -3, 2}), updates = reals({3}, {4, 5, 6});
  const auto run = [&](const std::string& reduction) {
    return OneNode("ScatterElements", 18, {{"reduction", reduction}}).run({x, places, updates})[0];
  };
  EXPECT_TRUE(run("none").same_bits(reals({3}, {5, 2, 6})));
  EXPECT_TRUE(run("add").same_bits(reals({3}, {10, 2, 9})));
  EXPECT_TRUE(run("mul").same_bits(reals({3}, {20, 2, 18})));
  EXPECT_TRUE(run("max").same_bits(reals({3}, {5, 2, 6})));
  EXPECT_TRUE(run("min").same_bits(reals({3}, {1, 2, 3})));
  refused(OneNode("ScatterElements", 18, {{"reduction", "sum"}}), {x, places, updates},
          ErrorCode::kFormat);
  expect_bits(OneNode("ScatterND", 18, {{"reduction", "mul"}}),
              {x, whole({2, 1}, {1, 1}), reals({2}, {5, 7})}, reals({3}, {1, 70, 3}));
}

TEST(OnnxIndices, ACircularCacheGoesOnAtItsBeginning) {
  const Tensor cache = Tensor::zeros({Dtype::kF32, {2, 3, 1}});
  const Tensor update = reals({2, 2, 1}, {1, 2, 3, 4});
  expect_bits(OneNode("TensorScatter", 24, {{"mode", "circular"}}),
              {cache, update, whole({2}, {2, 0})}, reals({2, 3, 1}, {2, 0, 1, 3, 4, 0}));
}

TEST(OnnxOrder, PlacesOfExtremes) {
  const Tensor x = narrow({2, 3}, {1, 3, 3, 2, 0, 0});
  expect_bits(OneNode("ArgMax", 13, {{"axis", -1}, {"keepdims", 0}, {"select_last_index", 1}}), {x},
              whole({2}, {2, 0}));
  expect_bits(OneNode("ArgMin", 13), {x}, whole({1, 3}, {0, 1, 1}));
}

// Narrow numbers are compared in a wider type; the place is found along any axis.
TEST(OnnxOrder, PlacesOfBytes) {
  const Tensor bytes = Tensor::from<std::int8_t>({2, 3}, {-3, 4, 4, -5, -6, 1});
  expect_bits(OneNode("ArgMax", 13, {{"axis", 1}, {"select_last_index", 1}}), {bytes},
              whole({2, 1}, {2, 2}));
  const auto least = OneNode("TopK", 11, {{"largest", 0}}).run({bytes, whole({1}, {2})}, 2);
  EXPECT_TRUE(least[0].same_bits(Tensor::from<std::int8_t>({2, 2}, {-3, 4, -6, -5})));
  EXPECT_TRUE(least[1].same_bits(whole({2, 2}, {0, 1, 1, 0})));
  // 1, 2 and -4.
  for (const Tensor& x : {Tensor::from<F16>({3}, {{0x3c00}, {0x4000}, {0xc400}}),
                          Tensor::from<Bf16>({3}, {{0x3f80}, {0x4000}, {0xc080}})}) {
    expect_bits(OneNode("ArgMax", 13), {x}, whole({1}, {1}));
    const auto last = OneNode("TopK", 11, {{"largest", 0}}).run({x, whole({1}, {1})}, 2);
    EXPECT_EQ(to_string(last[0].type()), to_string(Type{x.dtype(), {1}}));
    EXPECT_TRUE(last[1].same_bits(whole({1}, {2})));
  }
}

TEST(OnnxOrder, TopKOfEveryVersion) {
  const Tensor x = whole({4}, {2, 9, 2, 9});
  for (const int version : {9, 10, 11}) {
    OneNode node("TopK", version);
    if (version < 10) node.add("k", 3);
    const auto y = version < 10 ? node.run({x}, 2) : node.run({x, whole({1}, {3})}, 2);
    EXPECT_TRUE(y[0].same_bits(whole({3}, {9, 9, 2}))) << version;
    EXPECT_TRUE(y[1].same_bits(whole({3}, {1, 3, 0}))) << version;
  }
  EXPECT_THROW(OneNode("TopK", 11).imported({x, whole({1}, {3})}, 2, false), Error);
}

// ---- attention

// Zero queries weigh all keys equally, so the result is the mean of the visible values.
TEST(OnnxAttention, MasksMeetEachOther) {
  const Tensor q = Tensor::zeros({Dtype::kF32, {1, 1, 2, 1}});
  const Tensor k = Tensor::zeros({Dtype::kF32, {1, 1, 4, 1}});
  const Tensor v = reals({1, 1, 4, 1}, {1, 2, 4, 8});
  const auto means = [&](const Inputs& inputs, bool causal) {
    return OneNode("Attention", 24, {{"is_causal", causal ? 1 : 0}}).run(inputs)[0];
  };
  expect_near(means({q, k, v}, true), reals({1, 1, 2, 1}, {1, 1.5f}));
  // A mask for fewer keys hides the others.
  expect_near(means({q, k, v, truths({2, 3}, {true, false, true, false, true, true})}, false),
              reals({1, 1, 2, 1}, {2.5f, 3}));
  expect_near(means({q, k, v, reals({1, 4}, {0, 0, -kInf, 0})}, true),
              reals({1, 1, 2, 1}, {1, 1.5f}));
  // Three keys are valid: the last query sees all of them, the one before it two.
  const Tensor counts = whole({1}, {3});
  expect_near(means({q, k, v, std::nullopt, std::nullopt, std::nullopt, counts}, false),
              reals({1, 1, 2, 1}, {7.0f / 3, 7.0f / 3}));
  expect_near(means({q, k, v, std::nullopt, std::nullopt, std::nullopt, counts}, true),
              reals({1, 1, 2, 1}, {1.5f, 7.0f / 3}));
  // Keys of the past come before.
  const auto with_past =
      OneNode("Attention", 23, {{"is_causal", 1}})
          .run({q, k, v, std::nullopt, reals({1, 1, 1, 1}, {0}), reals({1, 1, 1, 1}, {16})}, 3);
  expect_near(with_past[0], reals({1, 1, 2, 1}, {8.5f, 19.0f / 3}));
  expect_near(with_past[2], reals({1, 1, 5, 1}, {16, 1, 2, 4, 8}));
}

// The parts that are written out for the scores give what the op gives, whatever masks there are
// and however many queries share a head of keys.
TEST(OnnxAttention, WithScoresIsTheSame) {
  const auto drawn = [](const Shape& shape, std::uint64_t key) {
    return nn::normal(1.0)(Key(key), shape);
  };
  const Tensor q = drawn({2, 4, 3, 2}, 1), k = drawn({2, 2, 5, 2}, 2), v = drawn({2, 2, 5, 3}, 3);
  const Tensor seen = truths({3, 5}, {true, false, true, true, true, true, true, false, true, false,
                                      true, true, true, false, true});
  const Tensor more = drawn({3, 5}, 4), one = reals({3, 1}, {1, 2, 3}), all = truths({}, {true});
  const Tensor valid = whole({2}, {3, 4});
  for (const std::optional<Tensor>& mask : {std::optional<Tensor>(), {seen}, {more}, {one}, {all}})
    for (const std::optional<Tensor>& counts : {std::optional<Tensor>(), {valid}})
      for (const std::int64_t causal : {0, 1}) {
        const auto run = [&](int outputs) {
          return OneNode("Attention", 24, {{"is_causal", causal}})
              .run({q, k, v, mask, std::nullopt, std::nullopt, counts}, outputs);
        };
        const auto whole_op = run(1), by_parts = run(4);
        expect_near(by_parts[0], whole_op[0]);
        EXPECT_EQ(by_parts[3].shape(), (Shape{2, 4, 3, 5}));
      }
}

TEST(OnnxAttention, SoftmaxHasThePrecisionThatIsGiven) {
  const auto drawn = [](std::uint64_t key) { return nn::normal(1.0)(Key(key), {2, 4, 7, 8}); };
  const Tensor q = drawn(1), k = drawn(2), v = drawn(3);
  const auto run = [&](int precision, int outputs) {
    return OneNode("Attention", 23, {{"softmax_precision", precision}}).run({q, k, v}, outputs)[0];
  };
  // Whether the scores are an output or not.
  EXPECT_TRUE(run(::onnx::TensorProto::DOUBLE, 1).same_bits(run(::onnx::TensorProto::DOUBLE, 4)));
  // Of 16 bits it is that of the queries.
  for (const int precision :
       {::onnx::TensorProto::FLOAT, ::onnx::TensorProto::FLOAT16, ::onnx::TensorProto::BFLOAT16})
    EXPECT_TRUE(run(precision, 1).same_bits(OneNode("Attention", 23).run({q, k, v})[0]));
  // A third in f32, which the queries of f64 would have more exactly.
  const auto f64 = [](std::vector<double> values) {
    return Tensor::from<double>({1, 1, static_cast<std::int64_t>(values.size()), 1}, values);
  };
  const Tensor third = OneNode("Attention", 23, {{"softmax_precision", ::onnx::TensorProto::FLOAT}})
                           .run({f64({0}), f64({0, 0, 0}), f64({1, 0, 0})})[0];
  EXPECT_EQ(third.values<double>()[0], static_cast<double>(1.0f / 3));
}

// A mask is converted to the dtype of the scores.
TEST(OnnxAttention, AMaskMayHaveAnotherTypeThanTheQueries) {
  const auto f64 = [](const Shape& shape, std::initializer_list<double> values) {
    return Tensor::from<double>(shape, values);
  };
  const Tensor k = f64({1, 1, 2, 1}, {0, 0}), v = f64({1, 1, 2, 1}, {3, 5});
  const Tensor y =
      OneNode("Attention", 24).run({f64({1, 1, 1, 1}, {0}), k, v, reals({1, 2}, {-kInf, 0})})[0];
  EXPECT_TRUE(y.same_bits(f64({1, 1, 1, 1}, {5})));
}

// Zero queries again: the mean of the values that are seen.
TEST(OnnxAttention, MasksOfNumbersMeetCounts) {
  const Tensor q = Tensor::zeros({Dtype::kF32, {1, 1, 2, 1}});
  const Tensor k = Tensor::zeros({Dtype::kF32, {1, 1, 4, 1}});
  const Tensor v = reals({1, 1, 4, 1}, {1, 2, 4, 8});
  const auto means = [&](const std::optional<Tensor>& mask, const std::optional<Tensor>& counts) {
    return OneNode("Attention", 24).run({q, k, v, mask, std::nullopt, std::nullopt, counts})[0];
  };
  const Tensor three = whole({1}, {3}), hides = reals({1, 4}, {0, -kInf, 0, 0});
  expect_near(means(hides, three), reals({1, 1, 2, 1}, {2.5f, 2.5f}));
  const Tensor seen = truths({1, 4}, {true, false, true, true});
  expect_near(means(seen, three), reals({1, 1, 2, 1}, {2.5f, 2.5f}));
  // A mask of one column is one of all keys.
  expect_near(means(truths({2, 1}, {true, true}), {}), reals({1, 1, 2, 1}, {3.75f, 3.75f}));
  // As many keys as queries, in order.
  const Tensor queries = Tensor::zeros({Dtype::kF32, {1, 1, 4, 1}});
  expect_near(OneNode("Attention", 24, {{"is_causal", 1}}), {queries, k, v},
              reals({1, 1, 4, 1}, {1, 1.5f, 7.0f / 3, 3.75f}));
  // Three of the keys count: each query sees one key less, and the first sees none.
  const Tensor counted =
      OneNode("Attention", 24, {{"is_causal", 1}})
          .run({queries, k, v, std::nullopt, std::nullopt, std::nullopt, three})[0];
  expect_near(counted.reshape({4, 1}).rows(1, 3), reals({3, 1}, {1, 1.5f, 7.0f / 3}));
  // A scale of 0 weighs all keys alike.
  const Tensor far = reals({1, 1, 4, 1}, {-9, 9, 0, 5});
  expect_near(OneNode("Attention", 24, {{"scale", 0.0f}}), {far, far, v},
              reals({1, 1, 4, 1}, {3.75f, 3.75f, 3.75f, 3.75f}));
}

TEST(OnnxAttention, WidthsSplitIntoHeads) {
  const Tensor x = Tensor::zeros({Dtype::kF32, {1, 2, 4}});
  for (const auto& [queries, keys] : {std::pair{3, 2}, {2, 3}, {0, 2}, {2, 0}})
    refused(OneNode("Attention", 23, {{"q_num_heads", queries}, {"kv_num_heads", keys}}), {x, x, x},
            ErrorCode::kShape);
  const Tensor angles = reals({1, 2, 1}, {0, 0});
  refused(OneNode("RotaryEmbedding", 23, {{"num_heads", 3}}), {x, angles, angles},
          ErrorCode::kShape);
  refused(OneNode("RotaryEmbedding", 23, {{"num_heads", 2}}),
          {x, reals({2, 1}, {0, 0}), reals({2, 1}, {0, 0})}, ErrorCode::kShape);
}

TEST(OnnxAttention, ScoresOfEveryStage) {
  const Tensor q = reals({1, 1, 1, 1}, {1}), k = reals({1, 1, 2, 1}, {1, 3});
  const Tensor mask = reals({1, 2}, {0, 1});
  const auto scores = [&](int mode) {
    return OneNode("Attention", 23, {{"softcap", 2.0f}, {"qk_matmul_output_mode", mode}})
        .run({q, k, k, mask}, 4)[3];
  };
  const float a = 2 * std::tanh(0.5f), b = 2 * std::tanh(1.5f);
  const float share = 1 / (1 + std::exp(b + 1 - a));
  expect_near(scores(0), reals({1, 1, 1, 2}, {1, 3}));
  expect_near(scores(1), reals({1, 1, 1, 2}, {a, b}));
  expect_near(scores(2), reals({1, 1, 1, 2}, {a, b + 1}));
  expect_near(scores(3), reals({1, 1, 1, 2}, {share, 1 - share}));
  for (const int mode : {-1, 4}) expect_refused(ErrorCode::kFormat, [&] { scores(mode); });
}

TEST(OnnxAttention, HeadsMustFit) {
  const auto heads = [](std::int64_t n) { return Tensor::zeros({Dtype::kF32, {1, n, 2, 1}}); };
  for (const auto& [keys, values] : {std::pair{2, 2}, {0, 1}, {1, 0}, {1, 3}})
    refused(OneNode("Attention", 23, {{"softcap", 1.0f}}), {heads(3), heads(keys), heads(values)},
            ErrorCode::kShape);
}

TEST(OnnxRotaryEmbedding, TurnsAPartOfEveryHead) {
  const Tensor x = reals({1, 1, 6}, {1, 2, 3, 4, 5, 6});
  const Tensor cos = reals({1, 1, 1}, {0}), sin = reals({1, 1, 1}, {1});
  expect_near(OneNode("RotaryEmbedding", 23,
                      {{"num_heads", 2}, {"rotary_embedding_dim", 2}, {"interleaved", 1}}),
              {x, cos, sin}, reals({1, 1, 6}, {-2, 1, 3, -5, 4, 6}));
}

// A table of more angles than are used, by the numbers of the places; four dimensions have their
// heads before the places.
TEST(OnnxRotaryEmbedding, TakesAnglesOfATable) {
  const Tensor x = reals({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor cos = reals({3, 2}, {1, 9, 0, 9, -1, 9}), sin = reals({3, 2}, {0, 9, 1, 9, 0, 9});
  const Tensor places = whole({1, 2}, {2, 1});
  const auto turned = [&](const Tensor& rows) {
    OneNode node("RotaryEmbedding", 23);
    node.add("rotary_embedding_dim", 2);
    if (rows.shape().rank() == 3) node.add("num_heads", 1);
    return node.run({rows, cos, sin, places})[0];
  };
  expect_near(turned(x), reals({1, 2, 4}, {-1, -2, 3, 4, -6, 5, 7, 8}));
  expect_near(turned(x.reshape({1, 1, 2, 4})), reals({1, 1, 2, 4}, {-1, -2, 3, 4, -6, 5, 7, 8}));
}

// ---- chance and optimisers

// Before version 7, a dropout was one of training unless it said that it is a test.
TEST(OnnxChance, OldDropoutsTrain) {
  const Tensor x = Tensor::generate<float>(
      {64}, [](std::span<float> out) { std::fill(out.begin(), out.end(), 1.0f); });
  const Tensor dropped = OneNode("Dropout", 6).run({x})[0];
  const auto values = dropped.values<float>();
  EXPECT_GT(std::count(values.begin(), values.end(), 0.0f), 0);
  EXPECT_GT(std::count(values.begin(), values.end(), 2.0f), 0);
  EXPECT_EQ(std::count(values.begin(), values.end(), 0.0f) +
                std::count(values.begin(), values.end(), 2.0f),
            64);
  expect_bits(OneNode("Dropout", 6, {{"is_test", 1}}), {x}, x);
  const Tensor rest = OneNode("Dropout", 6, {{"ratio", 0.75f}}).run({x})[0];
  EXPECT_GT(std::count(rest.values<float>().begin(), rest.values<float>().end(), 4.0f), 0);
  // Later ones have the same share if they name none, and their own numbers by their seed.
  const auto trained = [&](std::int64_t seed) {
    return OneNode("Dropout", 13, {{"seed", seed}})
        .run({x, std::nullopt, truths({}, {true})}, 2)[0];
  };
  const Tensor first = trained(1);
  EXPECT_EQ(std::count(first.values<float>().begin(), first.values<float>().end(), 0.0f) +
                std::count(first.values<float>().begin(), first.values<float>().end(), 2.0f),
            64);
  EXPECT_TRUE(first.same_bits(trained(1)));
  EXPECT_FALSE(first.same_bits(trained(2)));
  for (const float ratio : {-0.5f, 1.0f})
    refused(OneNode("Dropout", 13), {x, reals({}, {ratio}), truths({}, {true})},
            ErrorCode::kUnsupported);
  refused(OneNode("Dropout", 13), {x, reals({}, {0.5f}), truths({2}, {true, true})},
          ErrorCode::kDtype);
}

// Seeds are of f32: those between two whole numbers differ, too.
TEST(OnnxChance, SeedsAreNumbersOfAnySize) {
  const auto draw = [](float seed) {
    return OneNode("RandomNormalLike", 22, {{"seed", seed}, {"dtype", ::onnx::TensorProto::DOUBLE}})
        .run({Tensor::zeros({Dtype::kF32, {4}})})[0];
  };
  EXPECT_FALSE(draw(0.25f).same_bits(draw(0.5f)));
  EXPECT_EQ(draw(1).dtype(), Dtype::kF64);
}

TEST(OnnxChance, AMaskSaysWhatWasDropped) {
  const Tensor x = reals({8}, {1, 2, 3, 4, 5, 6, 7, 8});
  OneNode node("Dropout", 13, {{"seed", 3}});
  const onnx::Imported model = node.imported({x, reals({}, {0.5f}), truths({}, {true})}, 2);
  EXPECT_TRUE(model.random);
  const auto y =
      interpret(model.function, std::vector<Tensor>{x, reals({}, {0.5f}), truths({}, {true})});
  std::size_t kept = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const bool stays = y[1].values<bool>()[i];
    EXPECT_EQ(y[0].values<float>()[i], stays ? 2 * x.values<float>()[i] : 0) << i;
    kept += stays;
  }
  EXPECT_GT(kept, 0u);
  EXPECT_LT(kept, 8u);
  // The dropout rate matters only in training, and must be known then; so must the training flag.
  EXPECT_NO_THROW(OneNode("Dropout", 13).imported({x, reals({}, {0.5f})}, 1, false));
  EXPECT_THROW(
      OneNode("Dropout", 13).imported({x, reals({}, {0.5f}), truths({}, {true})}, 1, false), Error);
}

TEST(OnnxChance, ASeedGivesTheSameNumbers) {
  const auto draw = [](float seed) {
    return OneNode("RandomUniform", 22,
                   {{"shape", Ints{4}}, {"low", 2.0f}, {"high", 3.0f}, {"seed", seed}})
        .run({})[0];
  };
  EXPECT_TRUE(draw(1).same_bits(draw(1)));
  EXPECT_FALSE(draw(1).same_bits(draw(2)));
  const Tensor drawn = draw(1);
  for (const float x : drawn.values<float>()) EXPECT_TRUE(x >= 2 && x < 3) << x;
}

TEST(OnnxChance, NormalNumbersHaveTheirMeanAndScale) {
  const auto draw = [](float mean, float scale) {
    return OneNode("RandomNormal", 22,
                   {{"shape", Ints{4}}, {"mean", mean}, {"scale", scale}, {"seed", 1.0f}})
        .run({})[0];
  };
  const Tensor drawn = draw(0, 1), moved = draw(5, 0.5f);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NE(drawn.values<float>()[i], 0) << i;
    EXPECT_NEAR(moved.values<float>()[i], 5 + drawn.values<float>()[i] / 2, 1e-5) << i;
  }
}

// 1 with probability x.
TEST(OnnxChance, WhatIsCertainIsDrawn) {
  const Tensor x = reals({4}, {0, 1, 1, 0});
  expect_bits(OneNode("Bernoulli", 15), {x}, x);
  expect_bits(OneNode("Bernoulli", 15, {{"dtype", ::onnx::TensorProto::BOOL}}), {x},
              truths({4}, {false, true, true, false}));
}

// Each by the name of its output, the same in every run.
TEST(OnnxChance, NodesWithoutASeedDrawTheirOwnNumbers) {
  ::onnx::ModelProto model = empty_model(18);
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"8"});
  for (const char* name : {"a", "b"}) {
    add_node(graph, "RandomUniformLike", {"x"}, {name});
    add_output(graph, name);
  }
  const std::vector<Tensor> x{Tensor::zeros({Dtype::kF32, {8}})};
  const auto y = interpret(import(model).function, x);
  EXPECT_FALSE(y[0].same_bits(y[1]));
  EXPECT_TRUE(y[0].same_bits(interpret(import(model).function, x)[0]));
}

// Without training nothing is dropped; masks were numbers at first.
TEST(OnnxChance, AMaskIsOfBoolsSinceVersionTen) {
  const Tensor x = reals({2}, {1, 2});
  for (const int version : {7, 9}) {
    const auto y = OneNode("Dropout", version).run({x}, 2);
    EXPECT_TRUE(y[0].same_bits(x)) << version;
    EXPECT_TRUE(y[1].same_bits(reals({2}, {1, 1}))) << version;
  }
  EXPECT_TRUE(OneNode("Dropout", 10).run({x}, 2)[1].same_bits(truths({2}, {true, true})));
}

TEST(OnnxOptimizers, TakeAsManyStatesAsParameters) {
  const Tensor x = reals({1}, {1});
  refused(OneNode("Adagrad", 1, {}, kTraining), {reals({}, {1}), whole({}, {0}), x, x},
          ErrorCode::kFormat, 2);
  refused(OneNode("Adagrad", 1, {}, kTraining), {reals({}, {1})}, ErrorCode::kFormat, 2);
}

// The gradients are so small that the epsilons count.
TEST(OnnxOptimizers, HaveTheEpsilonsOfTheFormat) {
  const Tensor rate = reals({}, {1}), step = whole({}, {0}), zero = reals({1}, {0});
  const auto adam = OneNode("Adam", 1, {}, kTraining)
                        .run({rate, step, reals({1}, {10}), reals({1}, {1e-3f}), zero, zero}, 3);
  expect_near(adam[0], reals({1}, {10 - 1e-4f / (std::sqrt(1e-9f) + 1e-6f)}));
  const auto adagrad = OneNode("Adagrad", 1, {}, kTraining)
                           .run({rate, step, reals({1}, {1}), reals({1}, {1e-6f}), zero}, 2);
  expect_near(adagrad[0], reals({1}, {0.5f}));
}

TEST(OnnxOptimizers, ParametersShrinkAfterTheStep) {
  const auto y = OneNode("Adam", 1, {{"norm_coefficient_post", 0.25f}}, kTraining)
                     .run({reals({}, {0}), whole({}, {0}), reals({1}, {4}), reals({1}, {1}),
                           reals({1}, {0}), reals({1}, {0})},
                          3);
  expect_near(y[0], reals({1}, {3}));
}

TEST(OnnxOptimizers, StepZeroIsTakenAsItIs) {
  const auto adam = [](std::int64_t step) {
    return OneNode("Adam", 1, {{"alpha", 0.5f}, {"beta", 0.75f}, {"epsilon", 0.0f}}, kTraining)
        .run({reals({}, {0.5f}), whole({}, {step}), reals({1}, {1}), reals({1}, {4}),
              reals({1}, {0}), reals({1}, {0})},
             3);
  };
  // Means of 2 and 4: 0.5 * 2 / sqrt(4), and with both corrections 0.5 * 4 / sqrt(16).
  expect_near(adam(0)[0], reals({1}, {0.5f}));
  expect_near(adam(1)[0], reals({1}, {0.5f}));
  expect_near(adam(2)[0], reals({1}, {1 - 0.5f * std::sqrt(1 - 0.5625f) / 0.75f}));
  expect_near(adam(2)[2], reals({1}, {4}));
  const auto momentum = [](std::int64_t step, const std::string& mode) {
    return OneNode("Momentum", 1,
                   {{"alpha", 0.5f}, {"beta", 0.25f}, {"norm_coefficient", 0.0f}, {"mode", mode}},
                   kTraining)
        .run(
            {reals({}, {1}), whole({}, {step}), reals({1}, {10}), reals({1}, {4}), reals({1}, {2})},
            2)[0];
  };
  expect_near(momentum(0, "standard"), reals({1}, {5}));
  expect_near(momentum(1, "standard"), reals({1}, {8}));
  expect_near(momentum(1, "nesterov"), reals({1}, {5}));
  expect_refused(ErrorCode::kFormat, [&] { momentum(1, "heavy"); });
}

}  // namespace
}  // namespace limpid::testing
