// A file as a model of one example: the proof that it is a batch, models of several inputs, and
// messages beside the graph.
#include "limpid/formats/onnx/example_model.h"

#include <fstream>
#include <span>
#include <string>

#include "limpid/core/key.h"
#include "limpid/inspect/op_example.h"
#include "tests/onnx/models.h"
#include "tests/refusals.h"

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

// A call with x f32[batch, 4, 6] and a weight w f32[6, 6], after other nodes.
::onnx::ModelProto of_batch(const std::string& call, const std::string& values = "<float q = {0}>",
                            const std::string& before = "") {
  ::onnx::ModelProto model =
      model_of("(float[batch, 4, 6] x) => (y) " + values + " { " + before + "y = " + call + " }");
  auto& w = add_initializer(*model.mutable_graph(), "w", kFloat, {6, 6});
  for (int i = 0; i < 36; ++i) w.add_float_data(static_cast<float>(i % 7) - 3);
  return model;
}

TEST(ExampleModel, OfBytesIsThatOfTheFile) {
  const ::onnx::ModelProto proto = of_batch("MatMul(x, w)");
  const std::string bytes = proto.SerializeAsString();
  const Model model = onnx::parse_onnx_model(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(model.function, loaded(proto).function);
  EXPECT_TRUE(model.params.at("w").same_bits(loaded(proto).params.at("w")));
  EXPECT_THROW(onnx::parse_onnx_model(std::as_bytes(std::span(bytes)).first(bytes.size() - 1)),
               Error);
}

TEST(ExampleModel, OfAProvedBatchHasNoneOfIt) {
  for (const ::onnx::ModelProto& proto :
       {of_batch("Softmax <axis = 1> (x)"), of_batch("MatMul(x, w)")}) {
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
  const ModelFile file(of_batch("Relu(x)"));
  EXPECT_EQ(to_string(data_input(load_onnx_model(file.path(), {{"batch", 2}})).type),
            "f32[2, 4, 6]");
  const Tensor x = random_tensor({Dtype::kF32, {2, 4, 6}}, Key(1));
  for (const std::string name : {"n", "x.1"}) {
    const std::map<std::string, std::int64_t> sizes{{"batch", 2}, {name, 4}};
    expect_refused(ErrorCode::kInvalidArgument, [&] { load_onnx_model(file.path(), sizes); });
    expect_refused(ErrorCode::kInvalidArgument, [&] {
      load_onnx_model_for(file.path(), {{"x", x}}, sizes);
    });
  }
}

TEST(ExampleModel, NamesAllOperatorsThatAreMissing) {
  const ModelFile file(of_batch("Wobble(x)", "<float q = {0}>", "z = Convolve(x) "));
  expect_refused(ErrorCode::kUnsupported, [&] { load_onnx_model(file.path()); });
  const Tensor x = Tensor::zeros({Dtype::kF32, {2, 4, 6}});
  expect_refused(ErrorCode::kUnsupported, [&] { load_onnx_model_for(file.path(), {{"x", x}}); });
}

// Of operators in a branch, the first that an import meets is no reason to name only it; nor are
// sizes asked for that help nobody.
TEST(ExampleModel, NamesAllOperatorsThatAreMissingInABranch) {
  const std::string text = R"((float[n, m] x, bool c) => (y) {
    y = If (c) <then_branch = a () => (p) { o = Wobble(x) p = Convolve(o) },
                else_branch = b () => (q) { q = Identity(x) }> })";
  const ModelFile file(model_of(text));
  expect_refused(ErrorCode::kNotFound, [&] { load_onnx_model(file.path()); });
  expect_refused(ErrorCode::kUnsupported, [&] {
    load_onnx_model(file.path(), {{"n", 2}, {"m", 3}});
  });
}

// Indices into the last dimension are within an example.
TEST(ExampleModel, OfTheLargestElementsOfARowIsProved) {
  const ::onnx::ModelProto chosen = model_of(R"((float[batch, 6] x) => (y)
    <int64[1] k = {2}> { y, places = TopK(x, k) })");
  const ::onnx::ModelProto taken = model_of(R"((float[batch, 6] x) => (y)
    { place = ArgMax <axis = 1> (x) y = GatherElements <axis = 1> (x, place) })");
  for (const ::onnx::ModelProto& proto : {chosen, taken}) {
    const Model model = loaded(proto);
    EXPECT_EQ(model.note, "");
    EXPECT_EQ(to_string(data_input(model).type), "f32[6]");
    const Tensor x = random_tensor({Dtype::kF32, {5, 6}}, Key(1));
    const ModelFile file(proto);
    const Tensor together = predict(load_onnx_model_for(file.path(), {{"x", x}}), {{"x", x}})[0];
    EXPECT_TRUE(predict(model, x).same_bits(together));
  }
}

TEST(ExampleModel, OfABatchThatIsNotProvedRunsOnOneExample) {
  for (const ::onnx::ModelProto& proto :
       {of_batch("Softmax <axis = 0> (x)"), of_batch("CumSum(x, axis)", "<int64 axis = {0}>"),
        // x scaled by the batch size: no example affects another, but each size is another function
        of_batch("Mul(x, size)", "<int64[1] zero = {0}>",
                 "shape = Shape(x) count = Gather(shape, zero) size = Cast <to = 1> (count) ")}) {
    const Model model = loaded(proto);
    expect_message(model.note);
    EXPECT_EQ(to_string(data_input(model).type), "f32[4, 6]");
  }
}

// A shape written for batch size 1 fits no other.
TEST(ExampleModel, OfAShapeForOneExampleRunsOnOne) {
  const Model read = loaded(of_batch("Reshape(x, shape)", "<int64[2] shape = {1, 24}>"));
  EXPECT_NE(read.note, "");
  EXPECT_EQ(to_string(read.function.type(read.function.outputs()[0].value)), "f32[24]");
}

// Without names, the batch is the leading dimension of each input, and no other.
TEST(ExampleModel, OfDimensionsWithoutNamesLeadsWithItsBatch) {
  const ModelFile file(model_of("(float[?, 3] x, float[?, ?] y) => (z) { z = Add(x, y) }"));
  const Model read = load_onnx_model(file.path(), {{"y.1", 3}});
  EXPECT_EQ(read.note, "");
  EXPECT_EQ(to_string(data_inputs(read)[0].type), "f32[3]");
  EXPECT_EQ(to_string(data_inputs(read)[1].type), "f32[3]");
  expect_refused(ErrorCode::kNotFound, [&] { load_onnx_model(file.path()); });
}

// A dimension whose size the file gives is no batch, though it has no name either.
TEST(ExampleModel, OfDimensionsWithoutNamesKeepsTheFixedOnes) {
  const Model read = loaded(model_of("(float[?, 3] x, float[3, 2] y) => (z) { z = MatMul(x, y) }"));
  EXPECT_EQ(read.note, "");
  EXPECT_EQ(to_string(read.function.inputs()[0].type), "f32[3]");
  EXPECT_EQ(to_string(read.function.inputs()[1].type), "f32[3, 2]");
}

// The batch of 1 that a file fixes is left out where every output has it, too.
TEST(ExampleModel, OfABatchOfOneMayHaveOutputsWithoutIt) {
  for (const auto& [sum, type] : {std::pair("<keepdims = 1> (x, axes)", "f32[3]"),
                                  std::pair("<keepdims = 0> (x, all)", "f32[1, 3]")})
    EXPECT_EQ(
        to_string(
            data_input(loaded(model_of(std::string("(float[1, 3] x) => (y) <int64[1] axes = {1}, "
                                                   "int64[2] all = {0, 1}> { y = ReduceSum ") +
                                       sum + " }")))
                .type),
        type);
}

TEST(ExampleModel, OfAGraphWithoutInputsIsNone) {
  for (const char* const text :
       {"() => () {}", "() => (y) { y = Constant <value_floats = [3.0]> () }"})
    expect_refused(ErrorCode::kFormat, [&] { loaded(model_of(text)); });
}

// A model gives the same numbers for the same inputs, in a batch of any size.
TEST(ExampleModel, OfRandomNumbersIsNone) {
  const ModelFile file(of_batch("RandomUniformLike(x)"));
  expect_refused(ErrorCode::kUnsupported, [&] { load_onnx_model(file.path()); });
  const Tensor x = Tensor::zeros({Dtype::kF32, {2, 4, 6}});
  expect_refused(ErrorCode::kUnsupported, [&] { load_onnx_model_for(file.path(), {{"x", x}}); });
}

// ---- several inputs

// A weight of random numbers.
void add_weight(::onnx::ModelProto& model, const std::string& name,
                const std::vector<std::int64_t>& dims, std::uint64_t key, double size) {
  auto& tensor = add_initializer(*model.mutable_graph(), name, kFloat, dims);
  const Tensor values = random_tensor({Dtype::kF32, Shape(dims)}, Key(key), -size, size);
  for (const float v : values.values<float>()) tensor.add_float_data(v);
}

// An encoder as BERT's: token, position and segment embeddings, a layer of attention with a mask
// of padding, and a feed-forward network with residual connections and norms.
::onnx::ModelProto bert(std::int64_t width, std::int64_t vocabulary, std::int64_t length) {
  ::onnx::ModelProto model = model_of(R"(
    (int64[batch, sequence] input_ids, int64[batch, sequence] attention_mask,
     int64[batch, sequence] token_type_ids) => (hidden, pooled)
    <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, float scale = {0.25},
     float unit = {1}, float least = {-10000}> {
      e0 = Gather(tokens, input_ids)
      e1 = Gather(segments, token_type_ids)
      shape = Shape(input_ids)  count = Slice(shape, one, two)
      e2 = Slice(positions, zero, count)
      e3 = Add(e0, e1)  e4 = Add(e3, e2)  x = LayerNormalization(e4, gamma, beta)
      m0 = Cast <to = 1> (attention_mask)  m1 = Sub(unit, m0)  m2 = Mul(m1, least)
      mask = Unsqueeze(m2, one)
      qx = MatMul(x, q)  kx = MatMul(x, k)  vx = MatMul(x, v)
      kt = Transpose <perm = [0, 2, 1]> (kx)
      s0 = MatMul(qx, kt)  s1 = Mul(s0, scale)  s2 = Add(s1, mask)  p = Softmax <axis = -1> (s2)
      a0 = MatMul(p, vx)  a1 = MatMul(a0, o)  a2 = Add(x, a1)
      a3 = LayerNormalization(a2, gamma, beta)
      f0 = MatMul(a3, up)  f1 = Relu(f0)  f2 = MatMul(f1, down)  hidden = Add(a3, f2)
      c0 = Gather <axis = 1> (hidden, zero)  pooled = Squeeze(c0, one)
    })");
  std::uint64_t key = 0;
  add_weight(model, "tokens", {vocabulary, width}, ++key, 0.5);
  add_weight(model, "positions", {length, width}, ++key, 0.5);
  add_weight(model, "segments", {2, width}, ++key, 0.5);
  for (const char* name : {"q", "k", "v", "o", "up", "down"})
    add_weight(model, name, {width, width}, ++key, 0.5);
  for (const char* name : {"gamma", "beta"}) add_weight(model, name, {width}, ++key, 0.5);
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

// A voice detector that carries its state, and chooses between two filters of different lengths.
::onnx::ModelProto detector() {
  ::onnx::ModelProto model = model_of(R"(
    (float[batch, 8] x, float[1, batch, 4] h, float[1, batch, 4] c, int64 sr) => (output, hn, cn)
    <int64 rate = {16000}, int64[1] zero = {0}, int64[1] four = {4}, int64[1] one = {1}> {
      is16 = Equal(sr, rate)
      frames = If (is16) <then_branch = a () => (all) { all = Identity(x) },
                          else_branch = b () => (half) { half = Slice(x, zero, four, one) }>
      filter = If (is16) <then_branch = d () => (f) { f = Identity(filter16) },
                          else_branch = e () => (f) { f = Identity(filter8) }>
      features = MatMul(frames, filter)
      h0 = Squeeze(h, zero)  c0 = Squeeze(c, zero)
      hr = MatMul(h0, recurrent)  gates = Add(features, hr)  gate = Sigmoid(gates)
      kept = Mul(gate, c0)  new = Tanh(gates)  c1 = Add(kept, new)  h1 = Tanh(c1)
      logit = MatMul(h1, head)  output = Sigmoid(logit)
      hn = Unsqueeze(h1, zero)  cn = Unsqueeze(c1, zero)
    })");
  std::uint64_t key = 10;
  add_weight(model, "filter16", {8, 4}, ++key, 1);
  add_weight(model, "filter8", {4, 4}, ++key, 1);
  add_weight(model, "recurrent", {4, 4}, ++key, 1);
  add_weight(model, "head", {4, 1}, ++key, 1);
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
  expect_refused(ErrorCode::kUnsupported, [&] { load_onnx_model(file.path()); });
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
  const auto expect = [&](ErrorCode code, const Params& given) {
    expect_refused(code, [&] { load_onnx_model_for(file.path(), given); });
  };
  expect(ErrorCode::kInvalidArgument, {{"x", inputs.at("x")}, {"state", inputs.at("h")}});
  inputs.set("h", Tensor::zeros({Dtype::kF32, {1, 3, 4}}));
  expect(ErrorCode::kShape, inputs);
  inputs.set("h", Tensor::zeros({Dtype::kF64, {1, 2, 4}}));
  expect(ErrorCode::kDtype, inputs);
  inputs.set("h", Tensor::zeros({Dtype::kF32, {2, 4}}));
  expect(ErrorCode::kShape, inputs);
}

// An input that is declared without a shape takes an example of any shape.
TEST(SeveralInputs, MayHaveAnyRank) {
  std::string declared = "float[] x0";
  for (int i = 1; i < 10; ++i) declared += ", float[] x" + std::to_string(i);
  const ModelFile file(model_of("(" + declared + ") => (y) { y = Add(x0, x9) }"));
  expect_refused(ErrorCode::kNotFound, [&] { load_onnx_model(file.path()); });
  Params inputs;
  expect_refused(ErrorCode::kInvalidArgument, [&] { load_onnx_model_for(file.path(), inputs); });
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
