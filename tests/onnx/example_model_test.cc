// A file as a model of one example: the proof that it is a batch, models of several inputs, and
// messages beside the graph.
#include "limpid/formats/onnx/example_model.h"

#include <fstream>

#include "limpid/core/key.h"
#include "limpid/inspect/op_example.h"
#include "tests/onnx/models.h"

namespace limpid::testing {
namespace {

using onnx::load_onnx_model;
using onnx::load_onnx_model_for;

// A file that holds a model.
class ModelFile {
 public:
  explicit ModelFile(const ::onnx::ModelProto& model) {
    std::ofstream(path(), std::ios::binary) << model.SerializeAsString();
  }
  std::filesystem::path path() const { return folder_ / "m.onnx"; }

 private:
  TemporaryFolder folder_;
};

Model loaded(const ::onnx::ModelProto& model) { return load_onnx_model(ModelFile(model).path()); }

// A node of x f32[batch, 4, 6] and a weight w f32[6, 6], without its attributes.
::onnx::ModelProto of_batch(const std::string& op, const std::vector<std::string>& inputs,
                            ::onnx::NodeProto*& node) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"batch", "4", "6"});
  auto& w = add_initializer(graph, "w", kFloat, {6, 6});
  for (int i = 0; i < 36; ++i) w.add_float_data(static_cast<float>(i % 7) - 3);
  node = &add_node(graph, op, inputs, {"y"});
  add_output(graph, "y");
  return model;
}

TEST(ExampleModel, OfAProvedBatchHasNoneOfIt) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto softmax = of_batch("Softmax", {"x"}, node);
  set_integer(*node, "axis", 1);
  for (const ::onnx::ModelProto& proto : {softmax, of_batch("MatMul", {"x", "w"}, node)}) {
    const Model model = loaded(proto);
    EXPECT_EQ(model.note, "");
    EXPECT_EQ(to_string(data_input(model).type), "f32[4, 6]");
    EXPECT_EQ(to_string(model.function.type(model.function.outputs()[0].value)), "f32[4, 6]");
    // The model on five examples at once, as in the graph, and on one after the other.
    const Tensor x = random_tensor({Dtype::kF32, {5, 4, 6}}, Key(1));
    const ModelFile file(proto);
    const Tensor together = predict(load_onnx_model_for(file.path(), {{"x", x}}), {{"x", x}})[0];
    EXPECT_TRUE(predict(model, x).same_bits(together));
  }
}

// A size for a dimension that the model does not have would be used by nobody.
TEST(ExampleModel, KnowsTheDimensionsItIsGiven) {
  ::onnx::NodeProto* node = nullptr;
  const ModelFile file(of_batch("Relu", {"x"}, node));
  EXPECT_EQ(to_string(data_input(load_onnx_model(file.path(), {{"batch", 2}})).type),
            "f32[2, 4, 6]");
  const Tensor x = random_tensor({Dtype::kF32, {2, 4, 6}}, Key(1));
  for (const std::string name : {"n", "x.1"}) {
    const std::map<std::string, std::int64_t> sizes{{"batch", 2}, {name, 4}};
    const std::string error =
        "there is no dynamic dimension '" + name + "', expected one of: 'batch'";
    expect_error(ErrorCode::kInvalidArgument, error, [&] { load_onnx_model(file.path(), sizes); });
    expect_error(ErrorCode::kInvalidArgument, error, [&] {
      load_onnx_model_for(file.path(), {{"x", x}}, sizes);
    });
  }
}

TEST(ExampleModel, NamesAllOperatorsThatAreMissing) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = of_batch("Wobble", {"x"}, node);
  add_node(*model.mutable_graph(), "Convolve", {"y"}, {"z"});
  const ModelFile file(model);
  const std::string error = "operators that Limpid does not have: Convolve ('z'), Wobble ('y')";
  expect_error(ErrorCode::kUnsupported, error, [&] { load_onnx_model(file.path()); });
  const Tensor x = Tensor::zeros({Dtype::kF32, {2, 4, 6}});
  expect_error(ErrorCode::kUnsupported, error, [&] {
    load_onnx_model_for(file.path(), {{"x", x}});
  });
}

TEST(ExampleModel, OfABatchThatIsNotProvedRunsOnOneExample) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto softmax = of_batch("Softmax", {"x"}, node);
  set_integer(*node, "axis", 0);
  ::onnx::ModelProto sums = of_batch("CumSum", {"x", "axis"}, node);
  add_integer(*sums.mutable_graph(), "axis", 0);
  for (const auto& [proto, op] :
       {std::pair(softmax, "softmax"), std::pair(sums, "cumulative_sum")}) {
    const Model model = loaded(proto);
    EXPECT_EQ(model.note, std::string("the model runs on a batch of 1: ") + op +
                              " may mix the examples of a batch");
    EXPECT_EQ(to_string(data_input(model).type), "f32[4, 6]");
  }
}

// x scaled by the batch size: no example affects another, but each batch size is another function.
TEST(ExampleModel, OfTheSizeOfTheBatchIsNotProved) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = of_batch("Mul", {"x", "size"}, node);
  auto& graph = *model.mutable_graph();
  add_integers(graph, "zero", {0});
  const ::onnx::NodeProto last = graph.node(0);
  graph.clear_node();
  add_node(graph, "Shape", {"x"}, {"shape"});
  add_node(graph, "Gather", {"shape", "zero"}, {"count"});
  set_integer(add_node(graph, "Cast", {"count"}, {"size"}), "to", kFloat);
  *graph.add_node() = last;
  EXPECT_EQ(loaded(model).note,
            "the model runs on a batch of 1: its function depends on the batch size");
}

// A shape written for batch size 1 fits no other.
TEST(ExampleModel, OfAShapeForOneExampleRunsOnOne) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = of_batch("Reshape", {"x", "shape"}, node);
  add_integers(*model.mutable_graph(), "shape", {1, 24});
  const Model read = loaded(model);
  EXPECT_EQ(read.note.substr(0, 32), "the model runs on a batch of 1: ");
  EXPECT_EQ(to_string(read.function.type(read.function.outputs()[0].value)), "f32[24]");
}

// Without names, the batch is the leading dimension of each input, and no other.
TEST(ExampleModel, OfDimensionsWithoutNamesLeadsWithItsBatch) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"", "3"});
  add_input(graph, "y", kFloat, {"", ""});
  add_node(graph, "Add", {"x", "y"}, {"z"});
  add_output(graph, "z");
  const ModelFile file(model);
  const Model read = load_onnx_model(file.path(), {{"y.1", 3}});
  EXPECT_EQ(read.note, "");
  EXPECT_EQ(to_string(data_inputs(read)[0].type), "f32[3]");
  EXPECT_EQ(to_string(data_inputs(read)[1].type), "f32[3]");
  expect_error(ErrorCode::kNotFound, "'y.1' (axis 1 of input 'y')",
               [&] { load_onnx_model(file.path()); });
}

// A dimension whose size the file gives is no batch, though it has no name either.
TEST(ExampleModel, OfDimensionsWithoutNamesKeepsTheFixedOnes) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"", "3"});
  add_input(graph, "y", kFloat, {"3", "2"});
  add_node(graph, "MatMul", {"x", "y"}, {"z"});
  add_output(graph, "z");
  const Model read = loaded(model);
  EXPECT_EQ(read.note, "");
  EXPECT_EQ(to_string(read.function.inputs()[0].type), "f32[3]");
  EXPECT_EQ(to_string(read.function.inputs()[1].type), "f32[3, 2]");
}

// The batch of 1 that a file fixes is left out where every output has it, too.
TEST(ExampleModel, OfABatchOfOneMayHaveOutputsWithoutIt) {
  for (const auto& [keeps, type] : {std::pair(1, "f32[3]"), std::pair(0, "f32[1, 3]")}) {
    ::onnx::ModelProto model = empty_model();
    auto& graph = *model.mutable_graph();
    add_input(graph, "x", kFloat, {"1", "3"});
    add_integers(graph, "axes", {1});
    add_integers(graph, "all", {0, 1});
    set_integer(add_node(graph, "ReduceSum", {"x", keeps ? "axes" : "all"}, {"y"}), "keepdims",
                keeps);
    add_output(graph, "y");
    EXPECT_EQ(to_string(data_input(loaded(model)).type), type);
  }
}

TEST(ExampleModel, OfAGraphWithoutInputsIsNone) {
  const auto refused = [](const ::onnx::ModelProto& model) {
    expect_error(ErrorCode::kFormat, "expected an input of the function without a tensor",
                 [&] { loaded(model); });
  };
  ::onnx::ModelProto model = empty_model();
  refused(model);
  auto& value = *add_node(*model.mutable_graph(), "Constant", {}, {"y"}).add_attribute();
  value.set_name("value_floats");
  value.set_type(::onnx::AttributeProto::FLOATS);
  value.add_floats(3);
  add_output(*model.mutable_graph(), "y");
  refused(model);
}

// A model gives the same numbers for the same inputs, in a batch of any size.
TEST(ExampleModel, OfRandomNumbersIsNone) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = of_batch("RandomUniformLike", {"x"}, node);
  const ModelFile file(model);
  expect_error(ErrorCode::kUnsupported, "it draws random numbers",
               [&] { load_onnx_model(file.path()); });
  const Tensor x = Tensor::zeros({Dtype::kF32, {2, 4, 6}});
  expect_error(ErrorCode::kUnsupported, "it draws random numbers", [&] {
    load_onnx_model_for(file.path(), {{"x", x}});
  });
}

// ---- several inputs

// An encoder as BERT's: token, position and segment embeddings, a layer of attention with a mask
// of padding, and a feed-forward network with residual connections and norms.
::onnx::ModelProto bert(std::int64_t width, std::int64_t vocabulary, std::int64_t length) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  std::uint64_t key = 0;
  const auto weight = [&](const std::string& name, const std::vector<std::int64_t>& dims) {
    auto& tensor = add_initializer(graph, name, kFloat, dims);
    const Tensor values = random_tensor({Dtype::kF32, Shape(dims)}, Key(++key), -0.5, 0.5);
    for (const float v : values.values<float>()) tensor.add_float_data(v);
  };
  for (const char* name : {"input_ids", "attention_mask", "token_type_ids"})
    add_input(graph, name, kInt64, {"batch", "sequence"});
  weight("tokens", {vocabulary, width});
  weight("positions", {length, width});
  weight("segments", {2, width});
  for (const char* name : {"q", "k", "v", "o", "up", "down"}) weight(name, {width, width});
  weight("gamma", {width});
  weight("beta", {width});
  add_integers(graph, "zero", {0});
  add_integers(graph, "one", {1});
  add_integers(graph, "two", {2});
  add_integers(graph, "middle", {1, 2});
  add_initializer(graph, "scale", kFloat, {}).add_float_data(0.25f);
  add_initializer(graph, "unit", kFloat, {}).add_float_data(1);
  add_initializer(graph, "least", kFloat, {}).add_float_data(-10000);
  // Embeddings; the positions are the first rows of a table, as many as there are tokens.
  add_node(graph, "Gather", {"tokens", "input_ids"}, {"e0"});
  add_node(graph, "Gather", {"segments", "token_type_ids"}, {"e1"});
  add_node(graph, "Shape", {"input_ids"}, {"shape"});
  add_node(graph, "Slice", {"shape", "one", "two"}, {"count"});
  add_node(graph, "Slice", {"positions", "zero", "count"}, {"e2"});
  add_node(graph, "Add", {"e0", "e1"}, {"e3"});
  add_node(graph, "Add", {"e3", "e2"}, {"e4"});
  add_node(graph, "LayerNormalization", {"e4", "gamma", "beta"}, {"x"});
  // (1 - mask) * -10000, added to the scores of each key.
  set_integer(add_node(graph, "Cast", {"attention_mask"}, {"m0"}), "to", kFloat);
  add_node(graph, "Sub", {"unit", "m0"}, {"m1"});
  add_node(graph, "Mul", {"m1", "least"}, {"m2"});
  add_node(graph, "Unsqueeze", {"m2", "one"}, {"mask"});
  for (const char* name : {"q", "k", "v"})
    add_node(graph, "MatMul", {"x", name}, {std::string(name) + "x"});
  auto& turned = add_attribute(add_node(graph, "Transpose", {"kx"}, {"kt"}), "perm",
                               ::onnx::AttributeProto::INTS);
  for (const int d : {0, 2, 1}) turned.add_ints(d);
  add_node(graph, "MatMul", {"qx", "kt"}, {"s0"});
  add_node(graph, "Mul", {"s0", "scale"}, {"s1"});
  add_node(graph, "Add", {"s1", "mask"}, {"s2"});
  set_integer(add_node(graph, "Softmax", {"s2"}, {"p"}), "axis", -1);
  add_node(graph, "MatMul", {"p", "vx"}, {"a0"});
  add_node(graph, "MatMul", {"a0", "o"}, {"a1"});
  add_node(graph, "Add", {"x", "a1"}, {"a2"});
  add_node(graph, "LayerNormalization", {"a2", "gamma", "beta"}, {"a3"});
  add_node(graph, "MatMul", {"a3", "up"}, {"f0"});
  add_node(graph, "Relu", {"f0"}, {"f1"});
  add_node(graph, "MatMul", {"f1", "down"}, {"f2"});
  add_node(graph, "Add", {"a3", "f2"}, {"hidden"});
  add_node(graph, "Gather", {"hidden", "zero"}, {"c0"}).add_attribute()->CopyFrom([] {
    ::onnx::AttributeProto axis;
    axis.set_name("axis");
    axis.set_type(::onnx::AttributeProto::INT);
    axis.set_i(1);
    return axis;
  }());
  add_node(graph, "Squeeze", {"c0", "one"}, {"pooled"});
  add_output(graph, "hidden");
  add_output(graph, "pooled");
  return model;
}

Tensor integers(const Shape& shape, std::uint64_t key, std::int64_t bound) {
  return random_tensor({Dtype::kI64, shape}, Key(key), 0, 1, bound);
}

Params bert_inputs(std::int64_t batch, std::int64_t length) {
  const Tensor mask = Tensor::generate<std::int64_t>({batch, length}, [&](auto out) {
    for (std::int64_t i = 0; i < batch; ++i)
      for (std::int64_t j = 0; j < length; ++j)
        out[static_cast<std::size_t>(i * length + j)] = j < length - i ? 1 : 0;
  });
  return {{"input_ids", integers({batch, length}, 1, 40)},
          {"attention_mask", mask},
          {"token_type_ids", integers({batch, length}, 2, 2)}};
}

TEST(SeveralInputs, OfBertRunInTheShapesOfTheFile) {
  const ModelFile file(bert(16, 40, 12));
  const Params inputs = bert_inputs(3, 7);
  const Model together = load_onnx_model_for(file.path(), inputs);
  const std::vector<Tensor> all = predict(together, inputs);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(to_string(all[0].type()), "f32[3, 7, 16]");
  EXPECT_EQ(to_string(all[1].type()), "f32[3, 16]");
  // For a given length the batch is proved, and each example alone has the same bits.
  const Model model = load_onnx_model(file.path(), {{"sequence", 7}});
  EXPECT_EQ(model.note, "");
  EXPECT_EQ(to_string(data_inputs(model)[0].type), "i64[7]");
  const std::vector<Tensor> rows = predict(model, inputs);
  EXPECT_TRUE(rows[0].same_bits(all[0]));
  EXPECT_TRUE(rows[1].same_bits(all[1]));
  // And those of the interpreter.
  std::vector<Tensor> arguments = together.params.values();
  for (const Input& input : data_inputs(together)) arguments.push_back(inputs.at(input.name));
  EXPECT_TRUE(interpret(together.function, arguments)[0].same_bits(all[0]));
}

// A voice detector that carries its state: x f32[batch, 8], h and c f32[1, batch, 4], sr i64[],
// which chooses between two filters of different lengths.
::onnx::ModelProto detector() {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"batch", "8"});
  add_input(graph, "h", kFloat, {"1", "batch", "4"});
  add_input(graph, "c", kFloat, {"1", "batch", "4"});
  add_input(graph, "sr", kInt64, {});
  std::uint64_t key = 10;
  const auto weight = [&](const std::string& name, const std::vector<std::int64_t>& dims) {
    auto& tensor = add_initializer(graph, name, kFloat, dims);
    const Tensor values = random_tensor({Dtype::kF32, Shape(dims)}, Key(++key), -1, 1);
    for (const float v : values.values<float>()) tensor.add_float_data(v);
  };
  weight("filter16", {8, 4});
  weight("filter8", {4, 4});
  weight("recurrent", {4, 4});
  weight("head", {4, 1});
  add_integer(graph, "rate", 16000);
  for (const auto& [name, value] :
       {std::pair("zero", 0), std::pair("four", 4), std::pair("one", 1)})
    add_integers(graph, name, {value});
  add_node(graph, "Equal", {"sr", "rate"}, {"is16"});
  auto& node = add_node(graph, "If", {"is16"}, {"frames"}, "rate");
  auto& fast = set_graph(node, "then_branch");
  add_node(fast, "Identity", {"x"}, {"all"});
  add_output(fast, "all");
  auto& slow = set_graph(node, "else_branch");
  add_node(slow, "Slice", {"x", "zero", "four", "one"}, {"half"});
  add_output(slow, "half");
  auto& second = add_node(graph, "If", {"is16"}, {"filter"}, "filters");
  for (const auto& [branch, name] :
       {std::pair("then_branch", "filter16"), std::pair("else_branch", "filter8")}) {
    auto& inner = set_graph(second, branch);
    add_node(inner, "Identity", {name}, {"f"});
    add_output(inner, "f");
  }
  add_node(graph, "MatMul", {"frames", "filter"}, {"features"});
  add_node(graph, "Squeeze", {"h", "zero"}, {"h0"});
  add_node(graph, "Squeeze", {"c", "zero"}, {"c0"});
  add_node(graph, "MatMul", {"h0", "recurrent"}, {"hr"});
  add_node(graph, "Add", {"features", "hr"}, {"gates"});
  add_node(graph, "Sigmoid", {"gates"}, {"gate"});
  add_node(graph, "Mul", {"gate", "c0"}, {"kept"});
  add_node(graph, "Tanh", {"gates"}, {"new"});
  add_node(graph, "Add", {"kept", "new"}, {"c1"});
  add_node(graph, "Tanh", {"c1"}, {"h1"});
  add_node(graph, "MatMul", {"h1", "head"}, {"logit"});
  add_node(graph, "Sigmoid", {"logit"}, {"output"});
  add_node(graph, "Unsqueeze", {"h1", "zero"}, {"hn"});
  add_node(graph, "Unsqueeze", {"c1", "zero"}, {"cn"});
  for (const char* name : {"output", "hn", "cn"}) add_output(graph, name);
  return model;
}

Params detector_inputs(std::int64_t batch, std::int64_t rate) {
  const auto numbers = [](const Shape& shape, std::uint64_t key) {
    return random_tensor({Dtype::kF32, shape}, Key(key), -1, 1);
  };
  return {{"x", numbers({batch, 8}, 1)},
          {"h", numbers({1, batch, 4}, 2)},
          {"c", numbers({1, batch, 4}, 3)},
          {"sr", Tensor::scalar(rate)}};
}

TEST(SeveralInputs, ChooseABranchByTheirValues) {
  const ModelFile file(detector());
  const auto outputs_at = [&](std::int64_t rate) {
    const Params inputs = detector_inputs(2, rate);
    return predict(load_onnx_model_for(file.path(), inputs), inputs);
  };
  const std::vector<Tensor> fast = outputs_at(16000), slow = outputs_at(8000);
  ASSERT_EQ(fast.size(), 3u);
  EXPECT_EQ(to_string(fast[0].type()), "f32[2, 1]");
  EXPECT_EQ(to_string(fast[1].type()), "f32[1, 2, 4]");
  EXPECT_FALSE(fast[0].same_bits(slow[0]));
  // Without a value the branches have two shapes, and the error says which.
  expect_error(ErrorCode::kUnsupported,
               "If 'rate': output 0 is f32[1, 8] in then_branch and f32[1, 4] in else_branch",
               [&] { load_onnx_model(file.path()); });
}

// The examples are the state's middle dimension.
TEST(SeveralInputs, HaveTheBatchWhereItsNameIs) {
  ::onnx::ModelProto model = detector();
  auto& graph = *model.mutable_graph();
  graph.mutable_input()->RemoveLast();  // sr is 16000
  add_integer(graph, "sr", 16000);
  const ModelFile file(model);
  const Model read = load_onnx_model(file.path());
  EXPECT_EQ(read.note, "");
  EXPECT_EQ(to_string(data_inputs(read)[1].type), "f32[1, 4]");
  Params inputs = detector_inputs(3, 16000);
  const Params files{{"x", inputs.at("x")}, {"h", inputs.at("h")}, {"c", inputs.at("c")}};
  const std::vector<Tensor> all = predict(load_onnx_model_for(file.path(), files), files);
  const Params rows{{"x", inputs.at("x")},
                    {"h", inputs.at("h").reshape({3, 1, 4})},
                    {"c", inputs.at("c").reshape({3, 1, 4})}};
  const std::vector<Tensor> each = predict(read, rows);
  EXPECT_TRUE(each[0].same_bits(all[0]));
  EXPECT_TRUE(each[1].reshape({1, 3, 4}).same_bits(all[1]));
}

TEST(SeveralInputs, NameWhatIsMissingOrDoesNotFit) {
  const ModelFile file(detector());
  Params inputs = detector_inputs(2, 16000);
  const auto expect = [&](ErrorCode code, const std::string& part, const Params& given) {
    expect_error(code, part, [&] { load_onnx_model_for(file.path(), given); });
  };
  expect(ErrorCode::kInvalidArgument,
         "it takes 'x' f32[batch, 8], 'h' f32[1, batch, 4], 'c' f32[1, batch, 4], 'sr' i64[]; "
         "missing: 'h', 'c', 'sr'; unknown: 'state'",
         {{"x", inputs.at("x")}, {"state", inputs.at("h")}});
  inputs.set("h", Tensor::zeros({Dtype::kF32, {1, 3, 4}}));
  expect(ErrorCode::kShape, "dimension 'batch' is 2, but input 'h' is f32[1, 3, 4]", inputs);
  inputs.set("h", Tensor::zeros({Dtype::kF64, {1, 2, 4}}));
  expect(ErrorCode::kDtype, "input 'h': expected f32, got f64[1, 2, 4]", inputs);
  inputs.set("h", Tensor::zeros({Dtype::kF32, {2, 4}}));
  expect(ErrorCode::kShape, "input 'h': f32[2, 4] does not fit its declaration", inputs);
}

// An input that is declared without a shape takes an example of any shape.
TEST(SeveralInputs, MayHaveAnyRank) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  for (int i = 0; i < 10; ++i) {
    const std::string name = "x" + std::to_string(i);
    add_input(graph, name, kFloat, {});
    graph.mutable_input(i)->mutable_type()->mutable_tensor_type()->clear_shape();
  }
  add_node(graph, "Add", {"x0", "x9"}, {"y"});
  add_output(graph, "y");
  const ModelFile file(model);
  expect_error(ErrorCode::kNotFound, "all dimensions of input 'x0'",
               [&] { load_onnx_model(file.path()); });
  Params inputs;
  expect_error(
      ErrorCode::kInvalidArgument,
      "'x6' of any rank, 'x7' of any rank, and 2 more; missing: 'x0', 'x1', 'x2', 'x3', 'x4', "
      "'x5', 'x6', 'x7', and 2 more",
      [&] { load_onnx_model_for(file.path(), inputs); });
  for (int i = 0; i < 10; ++i)
    inputs.set("x" + std::to_string(i),
               Tensor::from<float>({2}, {static_cast<float>(i), static_cast<float>(2 * i)}));
  EXPECT_TRUE(predict(load_onnx_model_for(file.path(), inputs), inputs)[0].same_bits(
      Tensor::from<float>({2}, {9, 18})));
}

TEST(SeveralInputs, AreSavedAndLoaded) {
  const ModelFile file(bert(16, 40, 12));
  const Model model = load_onnx_model(file.path(), {{"sequence", 5}});
  const TemporaryFolder folder;
  save_model(folder / "bert", model);
  const Params inputs = bert_inputs(2, 5);
  const std::vector<Tensor> a = predict(model, inputs),
                            b = predict(load_model(folder / "bert"), inputs);
  EXPECT_TRUE(a[0].same_bits(b[0]));
  EXPECT_TRUE(a[1].same_bits(b[1]));
}

}  // namespace
}  // namespace limpid::testing
