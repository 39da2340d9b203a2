// Operator behaviour that the ONNX project's tests do not cover: old versions, unusual ranks and
// dtypes, repeated indices, caches, and refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "limpid/core/error.h"
#include "tests/onnx/models.h"

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

// A model of one node, to be filled with attributes and run.
struct OneNode {
  OneNode(const std::string& op, int version, const std::string& domain = "")
      : model(empty_model(version)), node(&add_node(*model.mutable_graph(), op, {}, {})) {
    node->set_domain(domain);
    model.mutable_opset_import(0)->set_domain(domain);
  }

  OneNode& integer(const std::string& name, std::int64_t value) {
    set_integer(*node, name, value);
    return *this;
  }
  OneNode& real(const std::string& name, float value) {
    set_real(*node, name, value);
    return *this;
  }
  OneNode& text(const std::string& name, const std::string& value) {
    add_attribute(*node, name, ::onnx::AttributeProto::STRING).set_s(value);
    return *this;
  }
  OneNode& integers(const std::string& name, const std::vector<std::int64_t>& values) {
    auto& attribute = add_attribute(*node, name, ::onnx::AttributeProto::INTS);
    for (const std::int64_t v : values) attribute.add_ints(v);
    return *this;
  }

  // std::nullopt is an omitted input.
  onnx::Imported imported(const std::vector<std::optional<Tensor>>& inputs, int outputs = 1,
                          bool known = true) {
    ::onnx::GraphProto& graph = *model.mutable_graph();
    onnx::ImportOptions options;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string name = inputs[i] ? "x" + std::to_string(i) : "";
      node->add_input(name);
      if (!inputs[i]) continue;
      const Type type = inputs[i]->type();
      std::vector<std::string> dims;
      for (const std::int64_t d : type.shape) dims.push_back(std::to_string(d));
      const int element = type.dtype == Dtype::kF32   ? ::onnx::TensorProto::FLOAT
                          : type.dtype == Dtype::kI64 ? ::onnx::TensorProto::INT64
                          : type.dtype == Dtype::kI32 ? ::onnx::TensorProto::INT32
                          : type.dtype == Dtype::kU8  ? ::onnx::TensorProto::UINT8
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
  std::vector<Tensor> run(const std::vector<std::optional<Tensor>>& inputs, int outputs = 1) {
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

// ---- constants

TEST(OnnxConstants, NumbersOfAttributesAreKept) {
  OneNode node("Constant", 13);
  auto& attribute = add_attribute(*node.node, "value_floats", ::onnx::AttributeProto::FLOATS);
  for (const float v : {0.5f, -3.0f}) attribute.add_floats(v);
  EXPECT_TRUE(node.run({})[0].same_bits(reals({2}, {0.5f, -3})));
  EXPECT_TRUE(OneNode("Constant", 13)
                  .integers("value_ints", {7, -8})
                  .run({})[0]
                  .same_bits(whole({2}, {7, -8})));
}

// ---- products

TEST(OnnxProducts, OfIntegersAndOfEveryRank) {
  const Tensor a = narrow({2, 1, 2}, {1, 2, 3, 4}), b = narrow({2, 2}, {5, 6, 7, 8});
  EXPECT_TRUE(OneNode("MatMul", 13).run({a, b})[0].same_bits(narrow({2, 1, 2}, {19, 22, 43, 50})));
  const Tensor row = narrow({2}, {1, 10}), stack = narrow({2, 2, 1}, {1, 2, 3, 4});
  EXPECT_TRUE(OneNode("MatMul", 13).run({row, stack})[0].same_bits(narrow({2, 1}, {21, 43})));
  EXPECT_TRUE(OneNode("MatMul", 13).run({row, row})[0].same_bits(narrow({}, {101})));
  EXPECT_THROW(OneNode("MatMul", 13).run({a, narrow({3}, {1, 2, 3})}), Error);
}

TEST(OnnxProducts, AGemmThatIsALinearBecomesOne) {
  const Tensor x = reals({1, 2}, {1, 2}), w = reals({3, 2}, {1, 0, 0, 1, 1, 1});
  const Tensor bias = reals({3}, {10, 20, 30});
  const onnx::Imported model = OneNode("Gemm", 13).integer("transB", 1).imported({x, w, bias});
  EXPECT_EQ(ops_of(model), std::vector<std::string>{"linear"});
  EXPECT_TRUE(interpret(model.function, std::vector<Tensor>{x, w, bias})[0].same_bits(
      reals({1, 3}, {11, 22, 33})));
  const Tensor a = narrow({1, 2}, {1, 2}), b = narrow({2, 1}, {3, 4}), c = narrow({}, {5});
  EXPECT_TRUE(OneNode("Gemm", 13)
                  .real("alpha", 2)
                  .real("beta", 3)
                  .run({a, b, c})[0]
                  .same_bits(narrow({1, 1}, {37})));
}

TEST(OnnxProducts, OfIntegersTakeAZeroPointForEachRow) {
  const Tensor a = narrow({2, 2}, {1, 2, 3, 4}), one = narrow({2, 2}, {1, 0, 0, 1});
  EXPECT_TRUE(OneNode("MatMulInteger", 10)
                  .run({a, one, narrow({2}, {1, 2})})[0]
                  .same_bits(narrow({2, 2}, {0, 1, 1, 2})));
  EXPECT_TRUE(OneNode("MatMulInteger", 10)
                  .run({one, a, std::nullopt, narrow({2}, {1, 2})})[0]
                  .same_bits(narrow({2, 2}, {0, 0, 2, 2})));
}

TEST(OnnxEinsum, DiagonalsSumsAndSeveralOperands) {
  const auto einsum = [](const std::string& equation,
                         const std::vector<std::optional<Tensor>>& inputs) {
    return OneNode("Einsum", 12).text("equation", equation).run(inputs)[0];
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

TEST(OnnxEinsum, RefusesWhatIsNoEquation) {
  const Tensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6});
  for (const char* equation : {"ij,jk->ik", "i->i", "ijk->i", "ij->k", "ij->ii", "i1->i", "ii->i"})
    EXPECT_THROW(OneNode("Einsum", 12).text("equation", equation).run({x}), Error) << equation;
}

// ---- arithmetic, logic and shapes

TEST(OnnxArithmetic, AShiftByAllBitsLeavesNone) {
  const auto bytes = [](std::initializer_list<std::uint8_t> values) {
    return Tensor::from<std::uint8_t>({4}, values);
  };
  const auto shifted = [&](const std::string& direction) {
    return OneNode("BitShift", 11)
        .text("direction", direction)
        .run({bytes({255, 255, 129, 129}), bytes({8, 255, 7, 1})})[0];
  };
  EXPECT_TRUE(shifted("LEFT").same_bits(bytes({0, 0, 128, 2})));
  EXPECT_TRUE(shifted("RIGHT").same_bits(bytes({0, 0, 1, 64})));
}

TEST(OnnxActivations, AnEluMayHaveANegativeAlpha) {
  const float e = std::exp(-1.0f);
  expect_near(OneNode("Elu", 6).real("alpha", -2).run({reals({2}, {-1, 3})})[0],
              reals({2}, {2 - 2 * e, 3}));
}

// Before version 7, a slope for each channel was not broadcast from the right.
TEST(OnnxActivations, AnOldSlopeIsThatOfAChannel) {
  const Tensor x = reals({1, 2, 2}, {-1, 1, -1, -2}), slope = reals({2}, {2, 3});
  EXPECT_TRUE(OneNode("PRelu", 6).run({x, slope})[0].same_bits(reals({1, 2, 2}, {-2, 1, -3, -6})));
  EXPECT_TRUE(OneNode("PRelu", 7).run({x, slope})[0].same_bits(reals({1, 2, 2}, {-2, 1, -2, -6})));
}

TEST(OnnxLogic, BoolsAreEqualWhereBothAreFalse) {
  const Tensor a = truths({4}, {false, false, true, true});
  const Tensor b = truths({4}, {false, true, false, true});
  EXPECT_TRUE(
      OneNode("Equal", 13).run({a, b})[0].same_bits(truths({4}, {true, false, false, true})));
}

TEST(OnnxShapes, OldTilesRepeatOneAxis) {
  EXPECT_TRUE(
      OneNode("Tile", 5).run({reals({2, 1}, {1, 2}), whole({}, {3}), whole({}, {1})})[0].same_bits(
          reals({2, 3}, {1, 1, 1, 2, 2, 2})));
}

TEST(OnnxShapes, ASqueezeWithoutAxesTakesEveryOne) {
  EXPECT_TRUE(
      OneNode("Squeeze", 13).run({reals({1, 2, 1}, {1, 2})})[0].same_bits(reals({2}, {1, 2})));
}

TEST(OnnxReductions, ExponentialsOfLargeNumbersDoNotOverflow) {
  const Tensor x = reals({4, 2}, {1000, 1000, -1000, -1000, -kInf, -kInf, kInf, 0});
  const Tensor y =
      OneNode("ReduceLogSumExp", 13).integers("axes", {1}).integer("keepdims", 0).run({x})[0];
  const auto values = y.values<float>();
  EXPECT_NEAR(values[0], 1000 + std::log(2.0f), 1e-3);
  EXPECT_NEAR(values[1], -1000 + std::log(2.0f), 1e-3);
  EXPECT_EQ(values[2], -kInf);
  EXPECT_EQ(values[3], kInf);
}

// ---- norms and classes

TEST(OnnxNorms, BatchStatisticsInTraining) {
  const Tensor x = reals({2, 1, 2}, {1, 3, 5, 7});
  const Tensor one = reals({1}, {1}), zero = reals({1}, {0}), old = reals({1}, {10});
  const auto y = OneNode("BatchNormalization", 15)
                     .integer("training_mode", 1)
                     .real("momentum", 0.5f)
                     .real("epsilon", 0)
                     .run({x, one, zero, old, old}, 3);
  const float unit = 1 / std::sqrt(5.0f);
  expect_near(y[0], reals({2, 1, 2}, {-3 * unit, -unit, unit, 3 * unit}));
  expect_near(y[1], reals({1}, {7}));
  expect_near(y[2], reals({1}, {7.5f}));
}

// The momentum is the share of what was.
TEST(OnnxNorms, RunningStatisticsKeepTheirShare) {
  const Tensor x = reals({2, 1, 2}, {1, 3, 5, 7});
  const Tensor one = reals({1}, {1}), zero = reals({1}, {0}), old = reals({1}, {8});
  const auto y = OneNode("BatchNormalization", 15)
                     .integer("training_mode", 1)
                     .real("momentum", 0.75f)
                     .run({x, one, zero, old, old}, 3);
  expect_near(y[1], reals({1}, {7}));
  expect_near(y[2], reals({1}, {7.25f}));
}

// From version 7 to 13, a node was in training where it gave statistics.
TEST(OnnxNorms, OldVersionsTrainWhereTheyGiveStatistics) {
  const Tensor x = reals({2, 1, 2}, {1, 3, 5, 7});
  const Tensor one = reals({1}, {1}), two = reals({1}, {2}), four = reals({1}, {4});
  for (const int version : {7, 9}) {
    const auto run = [&](int outputs) {
      return OneNode("BatchNormalization", version)
          .real("epsilon", 0)
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
  expect_near(OneNode("LRN", 13)
                  .integer("size", 2)
                  .real("alpha", 2)
                  .real("beta", 1)
                  .real("bias", 0)
                  .run({reals({1, 3, 1}, {1, 2, 3})})[0],
              reals({1, 3, 1}, {1.0f / 5, 2.0f / 13, 1.0f / 3}));
}

TEST(OnnxNorms, GroupFactorsOfBothMeanings) {
  const Tensor x = reals({1, 4, 2}, {1, 3, 1, 3, 5, 9, 5, 9});
  const Tensor by_group = reals({2}, {1, 10}), nothing = reals({2}, {0, 0});
  const Tensor by_channel = reals({4}, {1, 1, 10, 10}), none = reals({4}, {0, 0, 0, 0});
  const auto run = [&](int version, const Tensor& scale, const Tensor& bias) {
    return OneNode("GroupNormalization", version)
        .integer("num_groups", 2)
        .real("epsilon", 0)
        .run({x, scale, bias})[0];
  };
  const Tensor wanted = reals({1, 4, 2}, {-1, 1, -1, 1, -10, 10, -10, 10});
  expect_near(run(18, by_group, nothing), wanted);
  expect_near(run(21, by_channel, none), wanted);
}

TEST(OnnxNorms, ALineOfZerosHasNoDirection) {
  const Tensor x = reals({2, 2}, {0, 0, 3, 4});
  expect_near(OneNode("LpNormalization", 22).run({x})[0], reals({2, 2}, {0, 0, 0.6f, 0.8f}));
}

TEST(OnnxClasses, SoftmaxWasOverAllDimensionsFromTheAxisOn) {
  const Tensor x = Tensor::zeros({Dtype::kF32, {2, 2, 2}});
  expect_near(OneNode("Softmax", 12).run({x})[0],
              reals({2, 2, 2}, {.25f, .25f, .25f, .25f, .25f, .25f, .25f, .25f}));
  expect_near(OneNode("Softmax", 13).run({x})[0],
              reals({2, 2, 2}, {.5f, .5f, .5f, .5f, .5f, .5f, .5f, .5f}));
  const Tensor tied = reals({1, 3}, {1, 2, 2});
  expect_near(OneNode("Hardmax", 11).run({tied})[0], reals({1, 3}, {0, 1, 0}));
}

// ---- indices and order

TEST(OnnxIndices, GatherNdBehindDimensionsInCommon) {
  const Tensor x = narrow({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_TRUE(OneNode("GatherND", 12)
                  .integer("batch_dims", 1)
                  .run({x, whole({2, 1, 2}, {-1, 0, 0, 1})})[0]
                  .same_bits(narrow({2, 1}, {2, 5})));
}

TEST(OnnxIndices, UpdatesOfOnePlaceCombine) {
  const Tensor x = reals({3}, {1, 2, 3});
  const Tensor places = whole({3}, {0, -3, 2}), updates = reals({3}, {4, 5, 6});
  const auto run = [&](const std::string& reduction) {
    return OneNode("ScatterElements", 18).text("reduction", reduction).run({x, places, updates})[0];
  };
  EXPECT_TRUE(run("none").same_bits(reals({3}, {5, 2, 6})));
  EXPECT_TRUE(run("add").same_bits(reals({3}, {10, 2, 9})));
  EXPECT_TRUE(run("mul").same_bits(reals({3}, {20, 2, 18})));
  EXPECT_TRUE(run("max").same_bits(reals({3}, {5, 2, 6})));
  EXPECT_TRUE(run("min").same_bits(reals({3}, {1, 2, 3})));
  EXPECT_THROW(run("sum"), Error);
  EXPECT_TRUE(OneNode("ScatterND", 18)
                  .text("reduction", "mul")
                  .run({x, whole({2, 1}, {1, 1}), reals({2}, {5, 7})})[0]
                  .same_bits(reals({3}, {1, 70, 3})));
}

TEST(OnnxIndices, ACircularCacheGoesOnAtItsBeginning) {
  const Tensor cache = Tensor::zeros({Dtype::kF32, {2, 3, 1}});
  const Tensor update = reals({2, 2, 1}, {1, 2, 3, 4});
  EXPECT_TRUE(OneNode("TensorScatter", 24)
                  .text("mode", "circular")
                  .run({cache, update, whole({2}, {2, 0})})[0]
                  .same_bits(reals({2, 3, 1}, {2, 0, 1, 3, 4, 0})));
}

TEST(OnnxOrder, PlacesOfExtremes) {
  const Tensor x = narrow({2, 3}, {1, 3, 3, 2, 0, 0});
  EXPECT_TRUE(OneNode("ArgMax", 13)
                  .integer("axis", -1)
                  .integer("keepdims", 0)
                  .integer("select_last_index", 1)
                  .run({x})[0]
                  .same_bits(whole({2}, {2, 0})));
  EXPECT_TRUE(OneNode("ArgMin", 13).run({x})[0].same_bits(whole({1, 3}, {0, 1, 1})));
}

TEST(OnnxOrder, TopKOfEveryVersion) {
  const Tensor x = whole({4}, {2, 9, 2, 9});
  for (const int version : {9, 10, 11}) {
    OneNode node("TopK", version);
    if (version < 10) node.integer("k", 3);
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
  const auto means = [&](const std::vector<std::optional<Tensor>>& inputs, bool causal) {
    return OneNode("Attention", 24).integer("is_causal", causal ? 1 : 0).run(inputs)[0];
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
      OneNode("Attention", 23)
          .integer("is_causal", 1)
          .run({q, k, v, std::nullopt, reals({1, 1, 1, 1}, {0}), reals({1, 1, 1, 1}, {16})}, 3);
  expect_near(with_past[0], reals({1, 1, 2, 1}, {8.5f, 19.0f / 3}));
  expect_near(with_past[2], reals({1, 1, 5, 1}, {16, 1, 2, 4, 8}));
}

TEST(OnnxAttention, ScoresOfEveryStage) {
  const Tensor q = reals({1, 1, 1, 1}, {1}), k = reals({1, 1, 2, 1}, {1, 3});
  const Tensor mask = reals({1, 2}, {0, 1});
  const auto scores = [&](int mode) {
    OneNode node("Attention", 23);
    node.real("softcap", 2).integer("qk_matmul_output_mode", mode);
    return node.run({q, k, k, mask}, 4)[3];
  };
  const float a = 2 * std::tanh(0.5f), b = 2 * std::tanh(1.5f);
  const float share = 1 / (1 + std::exp(b + 1 - a));
  expect_near(scores(0), reals({1, 1, 1, 2}, {1, 3}));
  expect_near(scores(1), reals({1, 1, 1, 2}, {a, b}));
  expect_near(scores(2), reals({1, 1, 1, 2}, {a, b + 1}));
  expect_near(scores(3), reals({1, 1, 1, 2}, {share, 1 - share}));
  EXPECT_THROW(scores(4), Error);
}

TEST(OnnxAttention, HeadsMustFit) {
  const auto heads = [](std::int64_t n) { return Tensor::zeros({Dtype::kF32, {1, n, 2, 1}}); };
  for (const auto& [keys, values] : {std::pair{2, 2}, {0, 1}, {1, 0}, {1, 3}})
    EXPECT_THROW(
        OneNode("Attention", 23).real("softcap", 1).run({heads(3), heads(keys), heads(values)}),
        Error)
        << keys << " " << values;
}

TEST(OnnxRotaryEmbedding, TurnsAPartOfEveryHead) {
  const Tensor x = reals({1, 1, 6}, {1, 2, 3, 4, 5, 6});
  const Tensor cos = reals({1, 1, 1}, {0}), sin = reals({1, 1, 1}, {1});
  expect_near(OneNode("RotaryEmbedding", 23)
                  .integer("num_heads", 2)
                  .integer("rotary_embedding_dim", 2)
                  .integer("interleaved", 1)
                  .run({x, cos, sin})[0],
              reals({1, 1, 6}, {-2, 1, 3, -5, 4, 6}));
}

// ---- chance and optimisers

TEST(OnnxChance, AMaskSaysWhatWasDropped) {
  const Tensor x = reals({8}, {1, 2, 3, 4, 5, 6, 7, 8});
  OneNode node("Dropout", 13);
  node.integer("seed", 3);
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
    return OneNode("RandomUniform", 22)
        .integers("shape", {4})
        .real("low", 2)
        .real("high", 3)
        .real("seed", seed)
        .run({})[0];
  };
  EXPECT_TRUE(draw(1).same_bits(draw(1)));
  EXPECT_FALSE(draw(1).same_bits(draw(2)));
  const Tensor drawn = draw(1);
  for (const float x : drawn.values<float>()) EXPECT_TRUE(x >= 2 && x < 3) << x;
}

TEST(OnnxChance, NormalNumbersHaveTheirMeanAndScale) {
  const auto draw = [](float mean, float scale) {
    return OneNode("RandomNormal", 22)
        .integers("shape", {4})
        .real("mean", mean)
        .real("scale", scale)
        .real("seed", 1)
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
  EXPECT_TRUE(OneNode("Bernoulli", 15).run({x})[0].same_bits(x));
  EXPECT_TRUE(OneNode("Bernoulli", 15)
                  .integer("dtype", ::onnx::TensorProto::BOOL)
                  .run({x})[0]
                  .same_bits(truths({4}, {false, true, true, false})));
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

TEST(OnnxOptimizers, ParametersShrinkAfterTheStep) {
  const auto y = OneNode("Adam", 1, "ai.onnx.preview.training")
                     .real("norm_coefficient_post", 0.25f)
                     .run({reals({}, {0}), whole({}, {0}), reals({1}, {4}), reals({1}, {1}),
                           reals({1}, {0}), reals({1}, {0})},
                          3);
  expect_near(y[0], reals({1}, {3}));
}

TEST(OnnxOptimizers, StepZeroIsTakenAsItIs) {
  const auto adam = [](std::int64_t step) {
    return OneNode("Adam", 1, "ai.onnx.preview.training")
        .real("alpha", 0.5f)
        .real("beta", 0.75f)
        .real("epsilon", 0)
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
    return OneNode("Momentum", 1, "ai.onnx.preview.training")
        .real("alpha", 0.5f)
        .real("beta", 0.25f)
        .real("norm_coefficient", 0)
        .text("mode", mode)
        .run(
            {reals({}, {1}), whole({}, {step}), reals({1}, {10}), reals({1}, {4}), reals({1}, {2})},
            2)[0];
  };
  expect_near(momentum(0, "standard"), reals({1}, {5}));
  expect_near(momentum(1, "standard"), reals({1}, {8}));
  expect_near(momentum(1, "nesterov"), reals({1}, {5}));
  EXPECT_THROW(momentum(1, "heavy"), Error);
}

}  // namespace
}  // namespace limpid::testing
