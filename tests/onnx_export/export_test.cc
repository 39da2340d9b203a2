// Exported ONNX: the ONNX project's checker accepts it and infers our types.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>

#include "limpid/function/builder.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/mlp.h"
#include "limpid/nn/recurrent.h"
#include "limpid/nn/sequential.h"
#include "limpid/ops/ops.h"
#include "tests/formats/helpers.h"
#include "tests/onnx_export/cases.h"
#include "tests/refusals.h"

namespace limpid::testing {
namespace {

::onnx::ModelProto proto_of(std::span<const std::byte> bytes) {
  ::onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  return model;
}

::onnx::ModelProto proto_of(const Case& c) {
  return proto_of(onnx::serialize_onnx(c.function, c.params, c.options));
}

// Throws if the checker does, or if inferred types contradict the written ones.
void check(::onnx::ModelProto& model) {
  ::onnx::checker::check_model(model);
  ::onnx::shape_inference::InferShapes(model, ::onnx::OpSchemaRegistry::Instance(),
                                       ::onnx::ShapeInferenceOptions{true, 1, true});
}

void check_all(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ::onnx::ModelProto model = proto_of(c);
    EXPECT_NO_THROW(check(model));
  }
}

TEST(OnnxExport, TheCheckerAcceptsEveryExampleOfEveryOp) { check_all(op_cases()); }
TEST(OnnxExport, TheCheckerAcceptsModels) { check_all(model_cases()); }

TEST(OnnxExport, EveryOpIsWrittenOrRefusedWithAReason) {
  for (const Op* op : all_ops()) {
    const Example e = op->examples().front();
    if (is_refused(*op)) {
      const std::string message =
          error_of(ErrorCode::kUnsupported, [&] { onnx::serialize_onnx(function_of(*op, e)); });
      EXPECT_NE(message.find(fmt::format("{} (ONNX ", op->name)), std::string::npos) << message;
    } else {
      EXPECT_NO_THROW(onnx::serialize_onnx(function_of(*op, e))) << op->name;
    }
  }
}

// All of them in one line, with the layer.
TEST(OnnxExport, NamesAllThatItRefuses) {
  const Function f = trace(
      "f", {{"key", {Dtype::kI64, {}}}, {"x", {Dtype::kF32, {4}}}}, [](std::span<const Value> in) {
        const Builder::Scope scope(in[0].builder(), "layers.0");
        return std::vector<Value>{dropout(in[1], in[0], 0.5) + normal(in[0], {4})};
      });
  expect_refused(ErrorCode::kUnsupported, [&] { onnx::serialize_onnx(f); });
}

TEST(OnnxExport, ParametersInputsAndOutputsKeepTheirNames) {
  const nn::Mlp net{.sizes = {5, 4, 3}};
  const ::onnx::ModelProto model = proto_of(onnx::serialize_onnx(
      net.function(), net.init(Key(0)), {.batch = "N", .metadata = {{"limpid.config", "{}"}}}));
  EXPECT_EQ(model.producer_name(), "limpid");
  EXPECT_EQ(model.ir_version(), onnx::kExportIrVersion);
  EXPECT_EQ(model.opset_import(0).version(), onnx::kExportOpset);
  EXPECT_EQ(model.metadata_props(0).key(), "limpid.config");
  const ::onnx::GraphProto& graph = model.graph();
  std::vector<std::string> names;
  for (const auto& t : graph.initializer()) names.push_back(t.name());
  EXPECT_EQ(names, net.init(Key(0)).names());
  ASSERT_EQ(graph.input_size(), 1);
  EXPECT_EQ(graph.input(0).name(), "x");
  const auto& shape = graph.input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_param(), "N");
  EXPECT_EQ(shape.dim(1).dim_value(), 5);
  EXPECT_EQ(graph.output(0).name(), "logits");
  // The layers are the three standard operators.
  std::vector<std::string> ops;
  for (const auto& n : graph.node()) ops.push_back(n.name());
  EXPECT_EQ(ops, (std::vector<std::string>{"layers.0/Gemm", "layers.0/Relu", "layers.1/Gemm"}));
}

TEST(OnnxExport, OutputsThatAreInputsOrOneAnotherAreWritten) {
  const Type type{Dtype::kF32, {2}};
  const Function f = trace("f", {{"x", type}, {"y", type}},
                           [](std::span<const Value> in) {
                             const Value sum = in[0] + in[1];
                             return std::vector<Value>{sum, in[0], sum, number_like(sum, 1)};
                           },
                           {"y", "x", "", ""});
  ::onnx::ModelProto model = proto_of(onnx::serialize_onnx(f));
  check(model);
  std::vector<std::string> names;
  for (const auto& output : model.graph().output()) names.push_back(output.name());
  EXPECT_EQ(names, (std::vector<std::string>{"y_1", "x_1", "output", "output_1"}));
  // The sum has the name of the first output; it goes on to the third by an operator.
  const auto& nodes = model.graph().node();
  const auto makes = [](std::string_view name) {
    return [name](const ::onnx::NodeProto& n) { return n.output(0) == name; };
  };
  const auto sum = std::find_if(nodes.begin(), nodes.end(), makes("y_1"));
  ASSERT_NE(sum, nodes.end());
  EXPECT_EQ(sum->op_type(), "Add");
  const auto again = std::find_if(nodes.begin(), nodes.end(), makes("output"));
  ASSERT_NE(again, nodes.end());
  EXPECT_EQ(again->op_type(), "Identity");
  EXPECT_EQ(again->input(0), "y_1");
}

std::vector<std::string> operators_of(const Function& f) {
  const ::onnx::ModelProto model = proto_of(onnx::serialize_onnx(f));
  std::vector<std::string> ops;
  for (const auto& n : model.graph().node())
    if (n.op_type() != "Constant") ops.push_back(n.op_type());
  return ops;
}

// ONNX does not define the division of an integer by zero, on which processors trap.
TEST(OnnxExport, WritesDivisionsThatMeetNoZero) {
  const Type type{Dtype::kI32, {2}};
  const auto by = [&](std::initializer_list<std::int32_t> divisors) {
    return operators_of(trace("f", {{"x", type}}, [&](std::span<const Value> in) {
      const Value divisor = constant(in[0].builder(), Tensor::from<std::int32_t>({2}, divisors));
      return std::vector<Value>{in[0] / divisor};
    }));
  };
  const std::vector<std::string> guarded{"Equal", "Where", "Div", "Where"};
  EXPECT_EQ(operators_of(
                trace("f", {{"x", type}, {"y", type}},
                      [](std::span<const Value> in) { return std::vector<Value>{in[0] / in[1]}; })),
            guarded);
  EXPECT_EQ(by({3, 0}), guarded);
  EXPECT_EQ(by({3, 256}), std::vector<std::string>{"Div"});
}

// Numbers of rows that are known need no guard where all of them are rows.
TEST(OnnxExport, WritesGathersOfKnownRows) {
  const auto of = [](const Tensor& rows) {
    return operators_of(trace("f", {{"x", {Dtype::kF32, {3, 2}}}}, [&](std::span<const Value> in) {
      return std::vector<Value>{gather(in[0], constant(in[0].builder(), rows))};
    }));
  };
  const std::vector<std::string> plain{"Gather"};
  EXPECT_EQ(of(Tensor::from<std::int32_t>({2}, {0, 2})), plain);
  EXPECT_EQ(of(Tensor::from<std::int64_t>({2}, {2, 0})), plain);
  EXPECT_GT(of(Tensor::from<std::int32_t>({2}, {0, -1})).size(), 1u);
  EXPECT_GT(of(Tensor::from<std::int64_t>({2}, {3, 0})).size(), 1u);
}

// Other runtimes read no row of none, and know no largest of no numbers.
TEST(OnnxExport, WritesWhatIsOfNothingAsNumbers) {
  const auto of = [](Value (*f)(Value)) {
    return operators_of(trace("f", {{"x", {Dtype::kF32, {0, 2}}}}, [&](std::span<const Value> in) {
      return std::vector<Value>{f(in[0])};
    }));
  };
  const std::vector<std::string> numbers{"ConstantOfShape"};
  EXPECT_EQ(of([](Value x) { return max(x, 0); }), numbers);
  EXPECT_EQ(of([](Value x) { return min(x, 0); }), numbers);
  EXPECT_EQ(of([](Value x) {
              return gather(x, constant(x.builder(), Tensor::from<std::int32_t>({1}, {0})));
            }),
            numbers);
  EXPECT_EQ(of([](Value x) { return max(x, 1); }), std::vector<std::string>{"ReduceMax"});
}

// Nor does it define casts of numbers that a small integer cannot hold.
TEST(OnnxExport, WritesCastsThatSaturate) {
  for (const Dtype to : {Dtype::kI8, Dtype::kU8})
    EXPECT_EQ(operators_of(trace(
                  "f", {{"x", {Dtype::kF32, {2}}}},
                  [&](std::span<const Value> in) { return std::vector<Value>{cast(in[0], to)}; })),
              (std::vector<std::string>{"Clip", "Cast"}));
}

// There is no Neg of u8, and no Gemm of two types; the ReduceProd of other runtimes does not wrap.
TEST(OnnxExport, WritesOtherOperatorsForSomeTypes) {
  const auto of = [](const std::vector<Input>& inputs, Value (*f)(std::span<const Value>)) {
    return operators_of(
        trace("f", inputs, [&](std::span<const Value> in) { return std::vector<Value>{f(in)}; }));
  };
  EXPECT_EQ(of({{"x", {Dtype::kU8, {2}}}}, [](std::span<const Value> in) { return -in[0]; }),
            std::vector<std::string>{"Sub"});
  EXPECT_EQ(of({{"x", {Dtype::kF32, {2, 3}}}, {"w", {Dtype::kBf16, {4, 3}}}},
               [](std::span<const Value> in) { return linear(in[0], in[1]); }),
            (std::vector<std::string>{"Cast", "Gemm"}));
  for (const Dtype dtype : {Dtype::kF32, Dtype::kI32}) {
    const std::vector<std::string> ops =
        of({{"x", {dtype, {2, 3}}}}, [](std::span<const Value> in) { return prod(in[0], 0); });
    EXPECT_EQ(std::count(ops.begin(), ops.end(), "ReduceProd"), dtype == Dtype::kF32 ? 1 : 0);
  }
}

// One operator where the format has one, not the parts of its body.
TEST(OnnxExport, WritesCompositionsAsTheirOperators) {
  const auto of = [](Value (*f)(Value)) {
    return operators_of(trace("f", {{"x", {Dtype::kF32, {2, 3}}}}, [&](std::span<const Value> in) {
      return std::vector<Value>{f(in[0])};
    }));
  };
  const auto one = [](const char* name) { return std::vector<std::string>{name}; };
  EXPECT_EQ(of([](Value x) { return softmax(x); }), one("Softmax"));
  EXPECT_EQ(of([](Value x) { return log_softmax(x); }), one("LogSoftmax"));
  EXPECT_EQ(of([](Value x) { return log_sum_exp(x, 1); }), one("ReduceLogSumExp"));
  EXPECT_EQ(of([](Value x) { return leaky_relu(x, 0.1); }), one("LeakyRelu"));
  EXPECT_EQ(of([](Value x) { return elu(x, 0.5); }), one("Elu"));
  EXPECT_EQ(of([](Value x) { return selu(x); }), one("Selu"));
  EXPECT_EQ(of([](Value x) { return hard_sigmoid(x); }), one("HardSigmoid"));
  EXPECT_EQ(of([](Value x) { return hard_swish(x); }), one("HardSwish"));
  EXPECT_EQ(of([](Value x) { return clamp(x, -1, 1); }), one("Clip"));
}

// A layer is its operator, in a batch of any size, too; a scan that only looks like one is not.
TEST(OnnxExport, WritesRecurrentLayersAsTheirOperators) {
  const auto count = [](const Function& f, const Params& params, const std::string& name,
                        const onnx::ExportOptions& options = {}) {
    ::onnx::ModelProto model = proto_of(onnx::serialize_onnx(f, params, options));
    check(model);
    const auto& nodes = model.graph().node();
    return std::count_if(nodes.begin(), nodes.end(),
                         [&](const auto& node) { return node.op_type() == name; });
  };
  const Type x{Dtype::kF32, {5, 3}};
  const nn::LSTM lstm{.input = 3, .hidden = 4, .layers = 2, .bidirectional = true};
  const Function f = nn::function_of(lstm, x);
  for (const char* batch : {"", "N"})
    EXPECT_EQ(count(f, lstm.init(Key(0)), "LSTM", {.batch = batch}), 4) << batch;
  const nn::GRU gru{.input = 3, .hidden = 4};
  EXPECT_EQ(count(nn::function_of(gru, x), gru.init(Key(0)), "GRU", {.batch = "N"}), 1);
  const nn::RNN rnn{.input = 3, .hidden = 4};
  EXPECT_EQ(count(nn::function_of(rnn, x), rnn.init(Key(0)), "RNN", {.batch = "N"}), 1);
  // Weights that are data would be those of each example.
  EXPECT_EQ(count(nn::function_of(gru, x), {}, "GRU", {.batch = "N"}), 0);
  const nn::RNN other{.input = 3, .hidden = 4, .nonlinearity = "relu"};
  EXPECT_EQ(count(nn::function_of(other, x), other.init(Key(0)), "RNN"), 0);
}

TEST(OnnxExport, NumbersTheNamesThatAreTaken) {
  const Type type{Dtype::kF32, {2}};
  const Function f =
      trace("f", {{"Relu", type}, {"Relu_1", type}},
            [](std::span<const Value> in) { return std::vector<Value>{relu(in[0]) + relu(in[1])}; },
            {"Relu"});
  ::onnx::ModelProto model = proto_of(onnx::serialize_onnx(f));
  check(model);
  EXPECT_EQ(model.graph().output(0).name(), "Relu_2");
}

// A graph must have a name.
TEST(OnnxExport, NamesAFunctionThatHasNoName) {
  const Function f = trace("", {{"x", {Dtype::kF32, {2}}}},
                           [](std::span<const Value> in) { return std::vector<Value>{-in[0]}; });
  ::onnx::ModelProto model = proto_of(onnx::serialize_onnx(f));
  check(model);
  EXPECT_EQ(model.graph().name(), "function");
}

TEST(OnnxExport, RefusesABatchOfNothing) {
  const Function f = trace("f", {{"w", {Dtype::kF32, {3}}}},
                           [](std::span<const Value> in) { return std::vector<Value>{in[0]}; });
  expect_refused(ErrorCode::kInvalidArgument, [&] {
    onnx::serialize_onnx(f, {{"w", Tensor::zeros({Dtype::kF32, {3}})}}, {.batch = "N"});
  });
}

TEST(OnnxExport, RefusesParametersThatDoNotFit) {
  const nn::Mlp net{.sizes = {5, 3}};
  Params params = net.init(Key(0));
  params.set("layers.0.bias", Tensor::zeros({Dtype::kF32, {4}}));
  expect_refused(ErrorCode::kShape, [&] { onnx::serialize_onnx(net.function(), params); });
  params.set("layers.0.bias", Tensor::zeros({Dtype::kF64, {3}}));
  expect_refused(ErrorCode::kDtype, [&] { onnx::serialize_onnx(net.function(), params); });
  EXPECT_THROW(onnx::serialize_onnx(net.function(), {{"w", Tensor::scalar(1.0f)}}), Error);
}

TEST(OnnxExport, WritesTheFileAtOnce) {
  const TemporaryFolder folder;
  const nn::Mlp net{.sizes = {5, 3}};
  onnx::save_onnx(folder / "m.onnx", net.function(), net.init(Key(0)));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"m.onnx"}));
  EXPECT_EQ(read(folder / "m.onnx"),
            text_of(onnx::serialize_onnx(net.function(), net.init(Key(0)))));
  expect_refused(ErrorCode::kIo, [&] { onnx::save_onnx(folder / "none/m.onnx", net.function()); });
}

}  // namespace
}  // namespace limpid::testing
