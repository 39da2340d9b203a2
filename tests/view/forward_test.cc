#include "limpid/view/forward.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "limpid/core/error.h"
#include "limpid/core/stop_check.h"
#include "limpid/formats/model.h"
#include "limpid/formats/npy.h"
#include "limpid/formats/safetensors.h"
#include "limpid/function/interpret.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/inspect/neuron.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/train/loop/evaluator.h"
#include "limpid/train/run/run_setup.h"
#include "limpid/transforms/grad.h"
#include "limpid/view/api.h"
#include "limpid/view/compare.h"
#include "limpid/view/data.h"
#include "limpid/view/gradient.h"
#include "limpid/view/graph.h"
#include "tests/refusals.h"
#include "tests/view/trained.h"

namespace limpid::view {
namespace {

using ViewForward = Trained;

Subject example(std::int64_t index) {
  return {.model = "r0",
          .input = InputSpec{InputSpec::Example{.data = "", .part = "test", .index = index}}};
}

// A model that is this function alone.
template <class F>
OpenModel model_of(std::vector<Input> inputs, const F& f) {
  OpenModel open{.name = "f"};
  open.model.function = trace("f", std::move(inputs), f);
  return open;
}

Params inputs_of(Session& session, std::int64_t index) {
  const auto open = session.model("r0");
  Params inputs = open->model.params;
  inputs.set(data_input(open->model).name,
             session.examples(*open, open->data, "test")->inputs_of(index, 1).reshape(Shape{2}));
  return inputs;
}

TEST_F(ViewForward, RowsAreThoseOfTrace) {
  const auto open = session_->model("r0");
  const Observation run = observe(open->model.function, inputs_of(*session_, 5));
  const std::vector<TraceRow> rows = trace_rows(run, open->model.params);
  const Forward forward = view::forward(*session_, {.subject = example(5)});
  ASSERT_EQ(forward.rows.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(forward.rows[i].trace.value, rows[i].value);
    EXPECT_EQ(forward.rows[i].trace.op, rows[i].op);
    EXPECT_EQ(forward.rows[i].trace.statistics.mean, rows[i].statistics.mean);
    const Tensor& value = run[value_of_name(open->model.function, rows[i].value)];
    EXPECT_TRUE(forward.rows[i].values->elements.same_bits(value.reshape({value.elements()})));
  }
  ASSERT_TRUE(forward.spoken.chosen);
  const Tensor answer =
      predict(open->model, session_->examples(*open, open->data, "test")->inputs_of(5, 1));
  const auto logits = answer.values<float>();
  EXPECT_EQ(*forward.spoken.chosen, logits[1] > logits[0] ? 1 : 0);
  ASSERT_TRUE(forward.example);
  EXPECT_EQ(forward.example->target, std::vector<double>{1});  // row i of moons is of class i mod 2
}

TEST_F(ViewForward, ValuesAskedForByNameAreThoseOfAll) {
  const Forward all = view::forward(*session_, {.subject = example(5)});
  const Forward some = view::forward(*session_, {.subject = example(5), .only = {"%1", "%x"}});
  ASSERT_EQ(some.rows.size(), 2u);
  const Json rows = to_json(all).at("rows"), found = to_json(some).at("rows");
  for (const Json& row : found.elements()) {
    const auto same = std::count(rows.elements().begin(), rows.elements().end(), row);
    EXPECT_EQ(same, 1) << row.dump();
  }
  EXPECT_EQ(found.at(0).at("value").as_string(), "%1");
}

TEST_F(ViewForward, ExamplesAreOfThePartThatIsAskedFor) {
  const auto open = session_->model("r0");
  const Split split = load_data(open->data);
  for (int again = 0; again < 2; ++again) {
    const auto inputs = [&](const char* part) {
      return session_->examples(*open, open->data, part)->inputs;
    };
    EXPECT_TRUE(inputs("train").same_bits(split.train.inputs));
    EXPECT_TRUE(inputs("validation").same_bits(split.validation.inputs));
    EXPECT_TRUE(
        inputs("test").same_bits(load_examples(parse_data_spec(open->data), open->model).inputs));
    EXPECT_FALSE(inputs("test").same_bits(inputs("validation")));
  }
}

// More of them than are kept.
TEST_F(ViewForward, EachDataSetHasItsOwnExamples) {
  const auto open = session_->model("r0");
  for (int again = 0; again < 2; ++again)
    for (int seed = 1; seed <= 18; ++seed) {
      const std::string spec = fmt::format("moons:{},count=10", seed);
      EXPECT_TRUE(
          session_->examples(*open, spec, "train")->inputs.same_bits(load_data(spec).train.inputs));
    }
}

TEST_F(ViewForward, ExamplesToBrowseHaveTheirOwnTargets) {
  const auto open = session_->model("r0");
  const auto data = session_->examples(*open, open->data, "train");
  const ShownExamples shown =
      show_examples(*session_, {.model = "r0", .part = "train", .first = 3, .count = 4});
  ASSERT_EQ(shown.examples.size(), 4u);
  for (std::int64_t i = 0; i < 4; ++i) {
    const ShownExample& one = shown.examples[static_cast<std::size_t>(i)];
    EXPECT_EQ(one.index, 3 + i);
    EXPECT_TRUE(one.values.same_bits(data->inputs_of(3 + i, 1)));
    EXPECT_EQ(one.facts.target, to_doubles(data->targets_of(3 + i, 1)));
  }
  EXPECT_NE(shown.examples[0].facts.target, shown.examples[1].facts.target);
  const Json said = to_json(shown);
  EXPECT_EQ(said.at("size").as_integer(), data->size());
  EXPECT_EQ(said.at("part").as_string(), "train");
  EXPECT_EQ(said.at("task").as_string(), "classification");
  EXPECT_EQ(said.at("input").dump(), R"({"dtype":"f32","shape":[2]})");
  EXPECT_EQ(show_examples(*session_, {.model = "r0", .part = "train", .first = shown.data->size()})
                .examples.size(),
            0u);
  const auto count = [&](std::int64_t asked) {
    return show_examples(
               *session_,
               {.model = "r0", .data = "moons:3,count=2000", .part = "train", .count = asked})
        .examples.size();
  };
  EXPECT_EQ(count(999), 999u);
  EXPECT_EQ(count(1001), 1000u);
}

TEST_F(ViewForward, NumbersAreTheSameInput) {
  const auto open = session_->model("r0");
  const Tensor x = inputs_of(*session_, 3).at(data_input(open->model).name);
  const Subject typed{.model = "r0", .input = InputSpec{InputSpec::Numbers{to_doubles(x)}}};
  const Forward a = forward(*session_, {.subject = typed}),
                b = forward(*session_, {.subject = example(3)});
  for (std::size_t i = 0; i < a.rows.size(); ++i)
    EXPECT_TRUE(a.rows[i].values->elements.same_bits(b.rows[i].values->elements));
}

TEST_F(ViewForward, NeuronIsThatOfTrace) {
  const auto open = session_->model("r0");
  const Observation run = observe(open->model.function, inputs_of(*session_, 5));
  const Neuron expected = explain_neuron(run, "layers.1", 1);
  const ExplainedNeuron n =
      neuron(*session_, {.subject = example(5), .layer = "layers.1", .index = 1, .most = 3});
  EXPECT_EQ(n.text, to_text(expected));
  EXPECT_EQ(n.terms, 8);
  ASSERT_EQ(n.neuron.terms.size(), 3u);
  double sum = n.rest;
  for (const Neuron::Term& t : n.neuron.terms) {
    const Neuron::Term& whole = expected.terms[static_cast<std::size_t>(t.index)];
    EXPECT_EQ(t.weight, whole.weight);
    EXPECT_EQ(t.input, whole.input);
    sum += t.product();
  }
  EXPECT_GE(std::abs(n.neuron.terms[0].product()), std::abs(n.neuron.terms[1].product()));
  EXPECT_NEAR(sum + *n.neuron.bias, n.neuron.z, 1e-5);
  EXPECT_EQ(n.source, "layers.0");
  EXPECT_EQ(n.neurons, 2);
  EXPECT_TRUE(n.names.empty());
  // What makes it NaN is its first term.
  const Subject odd{.model = "r0", .input = InputSpec{InputSpec::Numbers{{9, std::nan("")}}}};
  const ExplainedNeuron nan = neuron(*session_, {.subject = odd, .layer = "layers.0", .most = 1});
  ASSERT_EQ(nan.neuron.terms.size(), 1u);
  EXPECT_EQ(nan.neuron.terms[0].index, 1);
  // The first layer's terms are the columns of the data.
  EXPECT_EQ(neuron(*session_, {.subject = example(5), .layer = "layers.0"}).names,
            (std::vector<std::string>{"x", "y"}));
}

// Beyond some million operations a plan computes the values.
TEST_F(ViewForward, ALargeModelHasTheValuesOfTheInterpreter) {
  const nn::Mlp net = nn::mlp({2, 1500, 1500, 2}, relu);
  const Function f = net.function();
  const Params params = net.init(Key(1));
  std::vector<Tensor> inputs;
  for (const Input& i : f.inputs())
    inputs.push_back(params.find(i.name) ? params.at(i.name) : Tensor::from<float>({2}, {1, -2}));
  std::vector<Tensor> expected = inputs;
  interpret(f, inputs,
            [&](const Node&, std::size_t, const Tensor& value) { expected.push_back(value); });
  const std::vector<Tensor> values = session_->values(f, inputs);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_TRUE(values[i].same_bits(expected[i])) << i;
}

TEST(ViewProbabilities, OfLabelsAreEachItsOwn) {
  const auto logits = Tensor::from<float>({2, 3}, {9, 9, 9, 0, 0, 1000});
  EXPECT_EQ(probabilities_of_last(Task::kMultiLabel, logits), (std::vector<float>{0.5, 0.5, 1}));
  EXPECT_EQ(probabilities_of_last(Task::kClassification, logits), (std::vector<float>{0, 0, 1}));
}

TEST_F(ViewForward, EditsShowInEverythingBehindThem) {
  Subject subject = example(2);
  subject.changes.push_back({.edit = parse_edit("%1 = 0")});
  const Forward f = forward(*session_, {.subject = subject, .compare = true});
  const auto bias = session_->model("r0")->model.params.at("layers.1.bias");
  for (const ForwardRow& row : f.rows) {
    if (row.trace.value == "%x" || row.trace.value == "%0") {
      EXPECT_EQ(row.changed, 0) << row.trace.value;
    }
    if (row.trace.value == "%2") {
      EXPECT_GT(row.changed, 0);
      EXPECT_TRUE(row.values->elements.same_bits(bias));
    }
  }
}

TEST_F(ViewForward, AnEditOfOneNumberChangesOne) {
  Subject subject = example(2);
  subject.changes.push_back({.edit = parse_edit("%1[5] = 123")});
  const Forward f = forward(*session_, {.subject = subject, .only = {"%1"}, .compare = true});
  EXPECT_EQ(f.rows.at(0).changed, 1);
}

TEST_F(ViewForward, PatchedWithAnotherExampleItAnswersAsThatOne) {
  Subject subject = example(2);
  subject.changes.push_back(
      {.edit = {.at = "%0", .change = Edit::Patch{}}, .patch = example(7).input});
  const Forward patched = forward(*session_, {.subject = subject});
  const Forward other = forward(*session_, {.subject = example(7)});
  EXPECT_TRUE(patched.rows.back().values->elements.same_bits(other.rows.back().values->elements));
  EXPECT_FALSE(
      patched.rows.front().values->elements.same_bits(other.rows.front().values->elements));
}

TEST_F(ViewForward, GradientByParametersIsThatOfTraining) {
  const auto open = session_->model("r0");
  const Function& f = open->model.function;
  std::vector<Tensor> inputs;
  const Params named = inputs_of(*session_, 4);
  for (const Input& i : f.inputs()) inputs.push_back(named.at(i.name));
  const Function loss = trace("loss", f.inputs(), [&](std::span<const Value> in) {
    const Value logits = in[0].builder().inline_function(f, in).front();
    return std::vector<Value>{mean(
        softmax_cross_entropy(logits, constant(in[0].builder(), Tensor::scalar<std::int32_t>(0))))};
  });
  std::vector<std::size_t> wrt(f.inputs().size());
  for (std::size_t i = 0; i < wrt.size(); ++i) wrt[i] = i;
  const std::vector<Tensor> expected = compile(value_and_grad(loss, Wrt(wrt)))(inputs);
  const Gradients g = gradient(*session_, {.subject = example(4)});
  EXPECT_EQ(g.value, exact_at(expected[0], 0));
  std::size_t compared = 0;
  for (std::size_t i = 0; i < f.inputs().size(); ++i)
    for (const GradientRow& row : g.rows)
      if (row.value == "%" + f.inputs()[i].name) {
        EXPECT_TRUE(
            row.values->elements.same_bits(expected[1 + i].reshape({expected[1 + i].elements()})));
        ++compared;
      }
  EXPECT_EQ(compared, f.inputs().size());
}

TEST_F(ViewForward, GradientOfAnOutputByThatOutputIsOne) {
  const Gradients g = gradient(*session_, {.subject = example(4), .output = 1});
  EXPECT_EQ(g.rows.front().value, "%2");
  EXPECT_TRUE(g.rows.front().values->elements.same_bits(Tensor::from<float>({2}, {0, 1})));
  // One layer back: the weights of that output, where they contribute.
  const Tensor weight = session_->model("r0")->model.params.at("layers.1.weight");
  EXPECT_EQ(g.rows[1].value, "%1");
  EXPECT_TRUE(g.rows[1].values->elements.same_bits(weight.rows(1, 1).reshape({8})));
  EXPECT_EQ(g.rows[1].from.at(0).op, "linear");
  EXPECT_EQ(g.rows[1].from.at(0).value, "%2");
  EXPECT_EQ(g.rows[0].layer, "layers.1");
  EXPECT_EQ(g.rows[0].op, "linear");
  EXPECT_THROW(gradient(*session_, {.subject = example(4), .output = 2}), Error);
  EXPECT_THROW(gradient(*session_, {.subject = example(4), .target = {{5}}}), Error);
  EXPECT_THROW(gradient(*session_, {.subject = example(4), .target = {{2}}}), Error);
}

TEST_F(ViewForward, TheGradientOfARequestIsOfItsTarget) {
  for (const int target : {0, 1})
    for (const char* const form : {"{}", "[{}]"}) {
      const std::string list = fmt::format(fmt::runtime(form), target);
      const std::string answer = view::answer(
          *session_, "gradient",
          R"({"model": "r0", "input": {"index": 4}, "of": {"loss": {"target": )" + list + "}}}");
      const Gradients expected =
          gradient(*session_, {.subject = example(4), .target = {{static_cast<double>(target)}}});
      EXPECT_EQ(answer, to_json(expected).dump({.replace_invalid = true}));
    }
}

// An op that takes a value twice is one op.
TEST_F(ViewForward, AGradientComesOnceFromEachOp) {
  const auto open = session_->add(model_of({{"x", f32({2})}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] * in[0]};
  }));
  const Gradients g = gradient(
      *session_, {.subject = {open->id, InputSpec{InputSpec::Numbers{{3, 5}}}}, .output = 0});
  ASSERT_EQ(g.rows.back().value, "%x");
  EXPECT_EQ(g.rows.back().from.size(), 1u);
  EXPECT_TRUE(g.rows.back().values->elements.same_bits(Tensor::from<float>({2}, {6, 0})));
}

// As an ONNX file is opened: nothing says what the data were.
TEST(ViewGradient, WithoutDataTheLossIsOfAClass) {
  Session session({});
  const auto open = session.add(model_of({{"x", f32({3})}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] + in[0]};
  }));
  const Subject subject{open->id, InputSpec{InputSpec::Numbers{{0, 0, 0}}}};
  EXPECT_NEAR(gradient(session, {.subject = subject, .target = {{2}}}).value.value, std::log(3.0),
              1e-6);
  EXPECT_THROW(gradient(session, {.subject = subject, .target = {{3}}}), Error);
}

// Whose errors are measured in the scale of its targets.
TEST_F(ViewForward, TheLossOfARegressionIsThatOfItsEvaluation) {
  std::ofstream file(folder_ / "table.csv");
  file << "a,b\n";
  for (int i = 0; i < 60; ++i) file << i << ',' << 50 * i << '\n';
  file.close();
  train::TrainConfig config;
  config.data = "csv:" + (folder_ / "table.csv").string() + ",target=b";
  config.hidden = {4};
  config.epochs = 1;
  add("regression", config);
  const auto open = session_->model("r1");
  const train::RunSetup setup(config, train::load_data(config));
  const double loss =
      train::Evaluator(setup.problem, setup.data.train.rows(7, 1))(open->model.params)
          .metrics.at("loss");
  const Subject seventh{
      .model = "r1",
      .input = InputSpec{InputSpec::Example{.data = "", .part = "train", .index = 7}}};
  EXPECT_NEAR(gradient(*session_, {.subject = seventh}).value.value, loss, 1e-4 * loss);
}

TEST_F(ViewForward, GradientsAreThoseOfASessionThatKeepsNothing) {
  Subject edited = example(4);
  edited.changes = {{parse_edit("%1[3] = 2")}};
  Subject otherwise = example(4);
  otherwise.changes = {{parse_edit("%1[3] = 3")}};
  const GradientRequest requests[] = {{.subject = example(4)},
                                      {.subject = example(5)},
                                      {.subject = example(4), .target = {{0}}},
                                      {.subject = example(4), .target = {{1}}},
                                      {.subject = edited},
                                      {.subject = otherwise},
                                      {.subject = edited, .output = 1},
                                      {.subject = example(4), .output = 0}};
  for (const GradientRequest& request : requests) {
    Session other({.paths = {(folder_ / "moons").string()}});
    EXPECT_EQ(to_json(gradient(*session_, request)).dump(),
              to_json(gradient(other, request)).dump());
  }
}

TEST_F(ViewForward, GraphHasEveryOpAndItsLayers) {
  const auto open = session_->model("r0");
  const Graph g = graph_of(open->model.function, open->model.params, 100);
  ASSERT_EQ(g.nodes.size(), 3u);
  EXPECT_EQ(g.groups.at(static_cast<std::size_t>(g.nodes[2].group)).name, "layers.1");
  EXPECT_EQ(g.nodes[0].parameters, 24);
  EXPECT_EQ(g.groups.front().parameters, 42);
  EXPECT_EQ(g.groups.front().nodes, 3);
  EXPECT_THROW(graph_of(open->model.function, open->model.params, 2), Error);
  EXPECT_GT(graph_of_body(open->model.function, 0, 100).nodes.size(), 1u);
  EXPECT_THROW(graph_of_body(open->model.function, 3, 100), Error);
}

TEST_F(ViewForward, AGraphSaysWhatIsWhere) {
  const auto open = session_->model("r0");
  const Function& f = open->model.function;
  const Graph g = graph_of(f, open->model.params, 100);
  const auto inputs = static_cast<std::int64_t>(f.inputs().size());
  for (std::size_t i = 0; i < f.inputs().size(); ++i)
    EXPECT_EQ(g.values[i].kind, open->model.params.find(f.inputs()[i].name)
                                    ? Graph::Kind::kParameter
                                    : Graph::Kind::kInput);
  for (std::size_t n = 0; n < g.nodes.size(); ++n)
    for (const std::int64_t id : g.nodes[n].outputs)
      EXPECT_EQ(g.values[static_cast<std::size_t>(id)].node, static_cast<std::int64_t>(n));
  for (const Graph::Edge& e : g.edges)
    EXPECT_EQ(e.from,
              e.value < inputs ? -1 - e.value : g.values[static_cast<std::size_t>(e.value)].node);
  EXPECT_EQ(g.nodes[0].multiply_adds, 16);
  EXPECT_TRUE(g.nodes[0].body);
  const Json nodes = to_json(g).at("nodes");
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    EXPECT_EQ(nodes.at("op").at(n).as_string(), g.nodes[n].op);
    EXPECT_EQ(nodes.at("note").at(n).as_string(), g.nodes[n].note);
  }
  const Json groups = to_json(g).at("groups");
  EXPECT_EQ(groups.at("name").dump(), R"(["layers","layers.0","layers.1"])");
  EXPECT_EQ(groups.at("kind").dump(), R"(["block","layer","layer"])");
  EXPECT_EQ(groups.at("nodes").dump(), "[3,2,1]");
  EXPECT_EQ(groups.at("parameters").dump(), "[42,24,18]");
}

TEST_F(ViewForward, ASessionShowsNoMoreThanItsLimits) {
  Session few({.paths = {(folder_ / "moons").string()}, .limits = {.values = 3}});
  for (const ForwardRow& row : forward(few, {.subject = example(4)}).rows)
    EXPECT_LE(row.values->elements.elements(), 3);
  for (const GradientRow& row : gradient(few, {.subject = example(4)}).rows)
    EXPECT_LE(row.values->elements.elements(), 3);
  EXPECT_EQ(show_examples(few, {.model = "r0", .count = 10}).examples.size(), 1u);
  EXPECT_EQ(show_examples(few, {.model = "r0", .count = 0}).examples.size(), 0u);
  // An example is shown whole or not at all, and one always is.
  Session one({.paths = {(folder_ / "moons").string()}, .limits = {.values = 1}});
  EXPECT_EQ(show_examples(one, {.model = "r0", .count = 10}).examples.size(), 1u);
  const Json edits = Json::parse(R"([{"at": "%1", "set": 1}, {"at": "%1", "set": 2}])");
  EXPECT_EQ(changes_from_json(JsonView(edits), {.edits = 2}).size(), 2u);
  EXPECT_THROW(changes_from_json(JsonView(edits), {.edits = 1}), Error);
}

// Of all tensors together, whatever each may show.
TEST_F(ViewForward, AResponseHasABoundOfElementsAndARequestOneOfMemory) {
  Session few({.paths = {(folder_ / "moons").string()}, .limits = {.shown = 11}});
  const auto shown = [](const auto& rows) {
    std::int64_t elements = 0;
    for (const auto& row : rows)
      if (row.values) elements += row.values->elements.elements();
    return elements;
  };
  EXPECT_EQ(shown(forward(few, {.subject = example(4)}).rows), 11);
  EXPECT_EQ(shown(gradient(few, {.subject = example(4)}).rows), 11);
  Session small({.paths = {(folder_ / "moons").string()}, .limits = {.memory = 20}});
  expect_refused(ErrorCode::kUnsupported, [&] { forward(small, {.subject = example(4)}); });
  EXPECT_THROW(gradient(small, {.subject = example(4)}), Error);
  const Function f = session_->model("r0")->model.function;
  expect_refused(ErrorCode::kUnsupported,
                 [&] { static_cast<void>(Session({.limits = {.memory = 1}}).compiled(f)); });
}

// A request that is ended leaves everything as it was.
TEST_F(ViewForward, WhatNobodyWaitsForEnds) {
  StopCheck check([] { return true; });
  const StopScope scope(check);
  EXPECT_THROW(forward(*session_, {.subject = example(4)}), Stopped);
  EXPECT_THROW(gradient(*session_, {.subject = example(4)}), Stopped);
  const StopScope none(nullptr);
  EXPECT_FALSE(forward(*session_, {.subject = example(4)}).rows.empty());
}

// As from an ONNX file. An op of two layers is of the one that it takes first.
TEST(ViewGraph, WithoutScopesLayersAreThoseOfParameters) {
  const Tensor zeros = Tensor::zeros(f32({4}));
  const Function f =
      trace("bare", {{"a.weight", f32({4})}, {"b.bias", f32({4})}, {"x", f32({4})}},
            [](std::span<const Value> in) { return std::vector<Value>{in[2] * (in[0] + in[1])}; });
  const Graph g = graph_of(f, {{"a.weight", zeros}, {"b.bias", zeros}}, 100);
  ASSERT_EQ(g.nodes.size(), 2u);
  ASSERT_EQ(g.nodes[0].group, 0);
  EXPECT_EQ(g.groups[0].name, "a");
  EXPECT_EQ(g.nodes[1].group, -1);
  // As many ops as are shown. None of them has a body.
  EXPECT_EQ(graph_of(f, {}, 2).nodes.size(), 2u);
  EXPECT_THROW(graph_of_body(f, 1, 100), Error);
}

TEST(ViewGraph, ANoteHasNoTensor) {
  const Function f = trace("f", {{"x", f32({2})}}, [](std::span<const Value> in) {
    const Tensor numbers = Tensor::from<float>({2}, {1, 2});
    return std::vector<Value>{in[0] * constant(in[0].builder(), numbers)};
  });
  const Graph g = graph_of(f, {}, 100);
  ASSERT_EQ(g.nodes.at(0).op, "constant");
  EXPECT_EQ(g.nodes[0].note, "");
}

TEST(ViewGraph, LayersAreInTheirBlocks) {
  const Function scoped = trace("scoped", {{"x", f32({4})}}, [](std::span<const Value> in) {
    const Builder::Scope scope(in[0].builder(), "blocks.0.norm");
    return std::vector<Value>{sum(in[0], 0)};
  });
  const Function bare = trace("bare", {{"blocks.0.norm.weight", f32({4})}},
                              [](std::span<const Value> in) { return std::vector<Value>{-in[0]}; });
  const Params params{{"blocks.0.norm.weight", Tensor::zeros(f32({4}))}};
  for (const Graph& g : {graph_of(scoped, {}, 9), graph_of(bare, params, 9)}) {
    const Json groups = to_json(g).at("groups");
    EXPECT_EQ(groups.at("name").dump(), R"(["blocks","blocks.0","blocks.0.norm"])");
    EXPECT_EQ(groups.at("parent").dump(), "[-1,0,1]");
  }
  EXPECT_EQ(graph_of(scoped, {}, 9).nodes[0].note, "axis = 0");
}

TEST_F(ViewForward, TenThousandOps) {
  const Function f =
      trace("deep", {{"w", f32({4})}, {"x", f32({4})}}, [](std::span<const Value> in) {
        Value x = in[1];
        for (int i = 0; i < 5000; ++i) {
          const Builder::Scope scope(x.builder(), "layers." + std::to_string(i));
          x = tanh(x * in[0]);
        }
        return std::vector<Value>{x};
      });
  OpenModel deep{.id = "", .name = "deep"};
  deep.model = {f, {{"w", Tensor::from<float>({4}, {1, 1, 1, 1})}}, ""};
  const std::string id = session_->add(std::move(deep))->id;
  const Json graph = asked("graph", Json{{"model", id}}.dump());
  EXPECT_EQ(graph.at("nodes").at("op").size(), 10'000u);
  EXPECT_EQ(graph.at("groups").at("name").size(), 5001u);
  EXPECT_EQ(graph.at("edges").size(), 15'000u);
}

// As curl sends one that has nothing to say.
TEST(ViewApi, ARequestMayBeEmpty) {
  Session session({});
  EXPECT_EQ(answer(session, "session", ""), answer(session, "session", "{}"));
}

TEST_F(ViewForward, WrongRequestsAreOneSentence) {
  const char* const requests[][2] = {
      {"fly", "{}"},
      {"graph", "[]"},
      {"graph", "{"},
      {"graph", R"({"model": "m9"})"},
      {"graph", R"({"model": 3})"},
      {"graph", R"({"model": "r0", "node": 99})"},
      {"tensor", R"({"model": "r0", "value": "%9", "input": {"index": 0}})"},
      {"tensor", R"({"model": "r0", "value": "%0"})"},
      {"tensor",
       R"({"model": "r0", "value": "%layers.0.weight", "box": {"first": [0], "count": [1]}})"},
      {"tensor", R"({"model": "r0", "value": "%layers.0.weight", "as": "poems"})"},
      {"tensor", R"({"model": "r0", "value": "%layers.0.weight", "bins": 9999999})"},
      {"forward", R"({"model": "r0"})"},
      {"forward", R"({"model": "r0", "input": {}})"},
      {"forward", R"({"model": "r0", "input": {"values": [1]}})"},
      {"forward", R"({"model": "r0", "input": {"values": [1, "x"]}})"},
      {"forward", R"({"model": "r0", "input": {"index": -1}})"},
      {"forward", R"({"model": "r0", "input": {"index": 999999}})"},
      {"forward", R"({"model": "r0", "input": {"text": "hello"}})"},
      {"forward", R"({"model": "r0", "input": {"index": 0, "part": "../etc"}})"},
      {"forward", R"({"model": "r0", "input": {"index": 0, "data": "csv:/etc/passwd"}})"},
      {"forward", R"({"model": "r0", "input": {"index": 0, "data": "moons:1,count=2000000000"}})"},
      {"forward", R"({"model": "r0", "input": {"index": 0}, "edits": [{"at": "%1"}]})"},
      {"forward",
       R"({"model": "r0", "input": {"index": 0}, "edits": [{"at": "%1", "set": 1, "add": 1}]})"},
      {"forward",
       R"({"model": "r0", "input": {"index": 0}, "edits": [{"at": "%1", "index": [99], "set": 1}]})"},
      {"neuron", R"({"model": "r0", "input": {"index": 0}, "layer": "none", "index": 0})"},
      {"neuron", R"({"model": "r0", "input": {"index": 0}, "layer": "layers.0", "index": 8})"},
      {"gradient", R"({"model": "r0", "input": {"index": 0}, "of": {}})"},
      {"data", R"({"model": "r0", "first": 100000})"},
      {"run/log", R"({"run": "r9"})"},
      {"run/step", R"({"run": "r0", "step": 999})"},
      {"run/step", R"({"run": "r0", "step": -1})"},
      {"run/start", R"({"name": "../x", "config": {}})"},
      {"run/start", R"({"name": "x", "config": {"data": "csv:/etc/passwd"}})"},
      {"run/start", R"({"name": "x", "config": {"fly": 1}})"},
      {"run/action", R"({"run": "r0", "action": "pause"})"},
      {"run/action", R"({"run": "r0", "action": "fly"})"}};
  for (const auto& [name, request] : requests) {
    try {
      ADD_FAILURE() << name << ' ' << request << ": " << answer(*session_, name, request);
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      EXPECT_NE(e.code(), ErrorCode::kInternal) << e.what();
    }
  }
  std::string edits;
  for (int i = 0; i < 300; ++i) edits += R"({"at": "%1", "set": 1},)";
  edits.pop_back();
  EXPECT_THROW(answer(*session_, "forward",
                      R"({"model": "r0", "input": {"index": 0}, "edits": [)" + edits + "]}"),
               Error);
}

TEST_F(ViewForward, ARefusalSaysWhatWasExpected) {
  for (const auto& [name, request] :
       {std::pair("forward", R"("input": {"index": -1}})"),
        {"forward", R"("input": {"index": 999999}})"},
        {"data", R"("first": 100000, "count": 3})"},
        {"gradient", R"("input": {"index": 0}, "of": {"loss": {"target": 5}}})"},
        {"gradient", R"("input": {"index": 0}, "of": {"loss": {"target": [1, 2]}}})"}})
    expect_refused(ErrorCode::kInvalidArgument, [&, n = name, r = request] {
      asked(n, std::string(R"({"model": "r0", )") + r);
    });
  expect_refused(ErrorCode::kShape,
                 [&] { asked("forward", R"({"model": "r0", "input": {"values": [1]}})"); });
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { asked("run/step", R"({"run": "r0", "step": 999})"); });
  Session small({.limits = {.file = 3}});
  const std::string text = "12345";
  expect_refused(ErrorCode::kUnsupported,
                 [&] { small.open("a.npz", std::as_bytes(std::span(text))); });
}

TEST_F(ViewForward, EachKindOfEditIsRead) {
  const Json json =
      Json::parse(R"([{"at": "%1", "index": [5, -1], "set": "inf"}, {"at": "%1", "scale": 0.5},
                                    {"at": "%1", "add": 3}, {"at": "%1", "noise": {"std": 0.25, "seed": 7}}])");
  std::string texts;
  for (const Change& change : changes_from_json(JsonView(json), {}))
    texts += to_text(change.edit) + "\n";
  EXPECT_EQ(texts, "%1[5, -1] = inf\n%1 *= 0.5\n%1 += 3\n%1 += noise(0.25, 7)\n");
}

TEST_F(ViewForward, NumbersFitTheInputsDtype) {
  const auto of = [&](Dtype dtype, double number) {
    OpenModel open = model_of({{"x", {dtype, {}}}}, [](std::span<const Value> in) {
      return std::vector<Value>{cast(in[0], Dtype::kF64)};
    });
    open.origin = Origin::kDropped;
    const std::string id = session_->add(std::move(open))->id;
    const Subject subject{id, InputSpec{InputSpec::Numbers{{number}}}};
    const Forward f = forward(*session_, {.subject = subject});
    session_->close(id);
    return f.spoken.outputs.at(0).values.elements.values<double>()[0];
  };
  for (const auto& [dtype, number] : {std::pair(Dtype::kI8, -128.0),
                                      {Dtype::kU8, 255},
                                      {Dtype::kI32, 0x1p31 - 1},
                                      {Dtype::kI32, -0x1p31},
                                      {Dtype::kF64, 0.1},
                                      {Dtype::kI64, 0x1p53},
                                      {Dtype::kBool, 1}})
    EXPECT_EQ(of(dtype, number), number);
  EXPECT_EQ(of(Dtype::kBf16, 0.1), 0.10009765625);
  EXPECT_EQ(of(Dtype::kF16, 0.1), 0.0999755859375);
  using Wrong = std::vector<std::pair<Dtype, std::vector<double>>>;
  for (const auto& [dtype, numbers] : Wrong{{Dtype::kI8, {128, -129}},
                                            {Dtype::kU8, {256, -1}},
                                            {Dtype::kI32, {0x1p31, -0x1p31 - 1, 1.5}},
                                            {Dtype::kI64, {0x1p53 + 2}},
                                            {Dtype::kBool, {2}}})
    for (const double number : numbers) EXPECT_THROW(of(dtype, number), Error) << number;
}

TEST_F(ViewForward, InputsComeByTheirNames) {
  const std::string id = session_
                             ->add(model_of({{"x", f32({2})}, {"y", f32({2})}},
                                            [](std::span<const Value> in) {
                                              return std::vector<Value>{in[0] - in[1]};
                                            }))
                             ->id;
  const auto rows = [&](const std::string& tensors) {
    return asked("forward", R"({"model": ")" + id + R"(", "input": {"tensors": )" + tensors +
                                R"(}, "only": ["%0"]})")
        .at("rows");
  };
  const Json said = rows(R"({"y": {"values": [1, 2]}, "x": {"values": [5, 7]}})");
  EXPECT_EQ(said.size(), 1u);
  EXPECT_EQ(said.at(0).at("values").at("values").dump(), "[4.0,5.0]");
  EXPECT_THROW(rows(R"({"y": {"values": [1, 2]}})"), Error);
  EXPECT_THROW(rows(R"({"y": {"values": [1, 2]}, "x": {"values": [5]}})"), Error);
}

TEST_F(ViewForward, WhatFitsNoModelIsRefused) {
  const Subject digits{.model = "r0",
                       .input = InputSpec{InputSpec::Example{.data = "digits:1,count=10"}}};
  expect_refused(ErrorCode::kShape, [&] { forward(*session_, {.subject = digits}); });
  const std::vector<std::byte> npz = serialize_npz({{"a", Tensor::from<float>({2}, {1, 2})}});
  const auto tensors = session_->open("b.npz", npz);
  const Subject none{.model = tensors->id, .input = InputSpec{InputSpec::Numbers{{1, 2}}}};
  expect_refused(ErrorCode::kUnsupported, [&] { forward(*session_, {.subject = none}); });
  EXPECT_THROW(session_->examples(*tensors, "", "test"), Error);
  EXPECT_THROW(session_->examples(*session_->model("r0"), "moons:3,count=200", "fly"), Error);
  EXPECT_TRUE(session_->examples(*tensors, "moons:3,count=200", "test")
                  ->inputs.same_bits(load_data("moons:3,count=200").test.inputs));
  EXPECT_THROW(show_examples(*session_, {.model = "r0", .first = -1}), Error);
  EXPECT_THROW(show_examples(*session_, {.model = "r0", .count = -1}), Error);
}

TEST_F(ViewForward, AGraphShowsItsEdits) {
  const auto ops = [&](const std::string& edits) {
    return asked("graph", R"({"model": "r0", "edits": )" + edits + "}").at("nodes").at("op").size();
  };
  EXPECT_EQ(ops("[]"), 3u);
  EXPECT_GT(ops(R"([{"at": "%1", "scale": 2}])"), 3u);
  EXPECT_THROW(ops(R"([{"at": "%1", "patch": {"index": 1}}])"), Error);
}

TEST_F(ViewForward, ARegressionHasNoClass) {
  train::TrainConfig config = moons_config();
  config.data = "sine:1,count=100";
  add("sine", config);
  Subject third = example(3);
  third.model = "r1";
  const Forward f = forward(*session_, {.subject = third});
  EXPECT_FALSE(f.spoken.chosen);
  EXPECT_TRUE(f.spoken.probabilities.empty());
  ASSERT_TRUE(f.example);
  EXPECT_EQ(f.example->target.size(), 1u);
  const Json said = to_json(f);
  EXPECT_TRUE(said.at("input").at("label").is_null());
  EXPECT_FALSE(said.at("answer").contains("class"));
  EXPECT_FALSE(said.at("answer").contains("probabilities"));
  const Json shown = to_json(show_examples(*session_, {.model = "r1", .first = 3}));
  EXPECT_TRUE(shown.at("examples").at(0).at("label").is_null());
  EXPECT_TRUE(shown.at("classes").is_null());
  EXPECT_TRUE(shown.at("picture").is_null());
  // The target may be said.
  const Gradients own = gradient(*session_, {.subject = third});
  const Gradients same = gradient(*session_, {.subject = third, .target = f.example->target});
  EXPECT_EQ(to_json(own).dump(), to_json(same).dump());
  EXPECT_NE(gradient(*session_, {.subject = third, .target = {{9}}}).value, own.value);
  EXPECT_THROW(gradient(*session_, {.subject = third, .target = {{1, 2}}}), Error);
}

// The other operands of the norm between two layers are its own parameters.
TEST_F(ViewForward, TheSourceOfANeuronIsTheLayerBeforeItsNorm) {
  OpenModel open =
      model_of({{"a", f32({2, 3})}, {"gain", f32({2})}, {"b", f32({1, 2})}, {"x", f32({3})}},
               [](std::span<const Value> in) {
                 Value hidden;
                 {
                   const Builder::Scope scope(in[0].builder(), "first");
                   hidden = linear(in[3], in[0]);
                 }
                 const Builder::Scope scope(in[0].builder(), "second");
                 return std::vector<Value>{linear(hidden * in[1], in[2])};
               });
  open.model.params = {{"a", Tensor::zeros(f32({2, 3}))},
                       {"gain", Tensor::zeros(f32({2}))},
                       {"b", Tensor::zeros(f32({1, 2}))}};
  const std::string id = session_->add(std::move(open))->id;
  const Subject subject{id, InputSpec{InputSpec::Numbers{{1, 2, 3}}}};
  EXPECT_EQ(neuron(*session_, {.subject = subject, .layer = "second"}).source, "first");
  EXPECT_EQ(neuron(*session_, {.subject = subject, .layer = "first"}).source, "");
  // Its terms may all be in the rest.
  EXPECT_TRUE(
      neuron(*session_, {.subject = subject, .layer = "first", .most = 0}).neuron.terms.empty());
}

TEST_F(ViewForward, TheSourceOfANeuronHasItsNeurons) {
  OpenModel open = model_of(
      {{"a", f32({4, 2})},
       {"b", f32({4, 2})},
       {"c", f32({1, 4})},
       {"d", f32({1, 2})},
       {"x", f32({2})}},
      [](std::span<const Value> in) {
        Builder& builder = in[0].builder();
        std::vector<Value> both;
        {
          const Builder::Scope scope(builder, "body");
          both = {linear(in[4], in[0]), linear(in[4], in[1])};
        }
        const auto last = [&](const std::string& scope, const Value& value, const Value& weight) {
          const Builder::Scope inside(builder, scope);
          return linear(value, weight);
        };
        return std::vector<Value>{last("gated", silu(both[0]) * both[1], in[2]),
                                  last("half", slice(both[1], 0, 0, 2), in[3]),
                                  last("plain", relu(both[1]) * 2.0, in[2])};
      });
  for (const Input& input : open.model.function.inputs())
    if (input.name != "x") open.model.params.set(input.name, Tensor::zeros(input.type));
  const std::string id = session_->add(std::move(open))->id;
  const Subject subject{id, InputSpec{InputSpec::Named{{{"x", {1, 2}}}}}};
  const auto source = [&](const std::string& layer) {
    return neuron(*session_, {.subject = subject, .layer = layer}).source;
  };
  EXPECT_EQ(source("gated"), "");
  EXPECT_EQ(source("half"), "");
  // Two layers of one scope have the names of their values.
  EXPECT_EQ(source("plain"), "%1");
  EXPECT_EQ(source("%1"), "");
}

// That of the Function's text: with quotes, if it begins with a digit, say.
TEST_F(ViewForward, AParameterHasOneName) {
  OpenModel open =
      model_of({{"0.weight", f32({2})}, {"the x", f32({2})}},
               [](std::span<const Value> in) { return std::vector<Value>{in[0] * in[1]}; });
  open.model.params = {{"0.weight", Tensor::from<float>({2}, {3, 4})}};
  const auto model = session_->add(std::move(open));
  const Json request{{"model", model->id}};
  const Json listed = asked("parameters", request.dump());
  const std::string value = listed.at("parameters").at(0).at("value").as_string();
  EXPECT_EQ(value, R"(%"0.weight")");
  const Json graph = asked("graph", request.dump());
  EXPECT_EQ(graph.at("values").at("name").at(0).as_string(), value);
  Subject subject{.model = model->id};
  EXPECT_EQ(look(*session_, {.subject = subject, .value = value}).statistics.mean, 3.5);
  EXPECT_EQ(look(*session_, {.subject = subject, .value = "%0.weight"}).statistics.mean, 3.5);
  EXPECT_THROW(look(*session_, {.subject = subject, .value = "0.weight"}), Error);
  subject.input = InputSpec{InputSpec::Numbers{{1, 1}}};
  EXPECT_EQ(look(*session_, {.subject = subject, .value = value}).statistics.mean, 3.5);
  subject.changes.push_back({.edit = {.at = value, .index = {0}, .change = Edit::Set{8}}});
  EXPECT_EQ(look(*session_, {.subject = subject, .value = "%0"}).statistics.mean, 6);
  EXPECT_EQ(model_json(*model).at("inputs").at(0).at("value").as_string(), R"(%"the x")");
  const Subject other{model->id, InputSpec{InputSpec::Numbers{{1, 2}}}};
  EXPECT_EQ(compare(*session_, {model->id, subject.input}, other).first->name, R"(%"the x")");
}

// What a request asks for beside its subject.
TEST_F(ViewForward, ARequestHasItsOptions) {
  const auto said = [&](const std::string& name, const std::string& options) {
    return asked(name, R"({"model": "r0", )" + options + "}");
  };
  const auto bins = [](const Json& shown) { return shown.at("histogram").at("counts").size(); };
  const Json first = said("parameters", R"("bins": 3)").at("parameters").at(0);
  EXPECT_EQ(bins(first), 3u);
  EXPECT_EQ(bins(said("parameters", R"("node": 0)").at("parameters").at(0)), 30u);
  const Json part = said("tensor", R"("value": "%layers.0.weight", "bins": 4,
                                      "box": {"first": [1, 0], "count": [2, 1]})");
  EXPECT_EQ(bins(part), 4u);
  EXPECT_EQ(part.at("values").at("values").size(), 2u);
  const auto row = [&](const std::string& options) {
    return said("forward", R"("input": {"index": 1}, "only": ["%0"])" + options).at("rows").at(0);
  };
  EXPECT_FALSE(row(R"(, "values": 0)").contains("values"));
  EXPECT_EQ(row(R"(, "values": 3)").at("values").at("values").size(), 3u);
  EXPECT_EQ(row("").at("values").at("values").size(), 8u);
  const std::string one = R"("input": {"index": 1}, "layer": "layers.1", "index": 0)";
  EXPECT_EQ(said("neuron", one + R"(, "terms": 2)").at("terms").size(), 2u);
  EXPECT_EQ(said("neuron", one).at("terms").size(), 8u);
  EXPECT_EQ(said("neuron", one).at("source").at("layer").as_string(), "layers.0");
  EXPECT_TRUE(said("neuron", one).at("activation").is_null());
  const Json hidden =
      said("neuron", R"("input": {"index": 1}, "layer": "layers.0", "index": 0)").at("activation");
  EXPECT_EQ(hidden.at("op").as_string(), "relu");
  EXPECT_FALSE(hidden.at("value").is_null());
  const auto gradients = [&](const std::string& options) {
    return said("gradient", R"("input": {"index": 1}, "of": {"loss": {}})" + options).at("rows");
  };
  EXPECT_GT(gradients("").size(), 1u);
  EXPECT_EQ(gradients(R"(, "only": ["%0"])").size(), 1u);
  EXPECT_EQ(gradients("").at(0).at("values").at("values").size(), 2u);
  EXPECT_FALSE(gradients(R"(, "values": 0)").at(0).contains("values"));
  const std::string play = R"("config": {"data": {"name": "moons", "count": 20}}, "steps": 3)";
  EXPECT_NE(said("play/export", play).at("command").as_string().find(" --steps 3 "),
            std::string::npos);
  const auto shown = [&](const std::string& options) {
    return said("data", options + R"("first": 2)").at("examples").dump();
  };
  EXPECT_NE(shown(""), shown(R"("part": "train", )"));
  EXPECT_NE(shown(""), shown(R"("data": "moons:4,count=200", )"));
  const Json limits = asked("session").at("limits");
  EXPECT_EQ(limits.at("nodes").as_integer(), session_->limits().nodes);
  EXPECT_EQ(limits.at("values").as_integer(), session_->limits().values);
  EXPECT_EQ(limits.at("steps").as_integer(), session_->limits().steps);
  EXPECT_EQ(limits.at("file").as_unsigned(), session_->limits().file);
  EXPECT_EQ(limits.at("body").as_unsigned(), session_->limits().body);
  Session other({.folder = "runs", .version = "1.2", .threads = 3});
  const Json of_other = Json::parse(answer(other, "session", ""));
  EXPECT_EQ(of_other.at("version").as_string(), "1.2");
  EXPECT_EQ(of_other.at("threads").as_integer(), 3);
  EXPECT_EQ(of_other.at("folder").as_string(), "runs");
}

// Whatever its outputs are.
TEST_F(ViewForward, LabelsHaveProbabilitiesAndEqualTokensTheirOrder) {
  const auto spoken = [&](const std::string& task, const std::vector<double>& numbers) {
    OpenModel open = model_of({{"x", f32({3})}}, [](std::span<const Value> in) {
      return std::vector<Value>{in[0] + in[0]};
    });
    open.model.config = R"({"data": {"task": ")" + task + R"(", "class_names": ["a", "b", "c"]}})";
    const std::string id = session_->add(std::move(open))->id;
    return forward(*session_, {.subject = {id, InputSpec{InputSpec::Numbers{numbers}}}}).spoken;
  };
  const Spoken labels = spoken("multilabel", {0, 0, 1000});
  EXPECT_EQ(labels.probabilities, (std::vector<float>{0.5, 0.5, 1}));
  EXPECT_FALSE(labels.chosen);
  const Spoken one = spoken("classification", {0, 7, 7});
  EXPECT_EQ(one.chosen, 1);
  EXPECT_EQ(one.label, "b");
  const Spoken tokens = spoken("next_token", {1, 2, 2});
  ASSERT_EQ(tokens.likeliest.size(), 3u);
  EXPECT_EQ(tokens.likeliest[0].first, 1);
  EXPECT_EQ(tokens.likeliest[1].first, 2);
  // NaN is no prediction, as in the tool.
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(spoken("classification", {1, kNan, 3}).chosen, std::nullopt);
  const Spoken odd = spoken("next_token", {9, kNan, kNan});
  EXPECT_EQ(odd.chosen, std::nullopt);
  std::vector<std::int64_t> order;
  for (const auto& [token, text] : odd.likeliest) order.push_back(token);
  EXPECT_EQ(order, (std::vector<std::int64_t>{1, 2, 0}));
}

TEST_F(ViewForward, AGradientIsOfTheOutputAndTheValuesThatAreNamed) {
  OpenModel open{.name = "named"};
  const Function f = trace("f", {{"x", {Dtype::kF64, {2}}}}, [](std::span<const Value> in) {
    return std::vector<Value>{in[0] * floor(in[0]), in[0] * in[0], cast(in[0], Dtype::kI32),
                              floor(in[0])};
  });
  Function::Parts parts{f.name(), f.inputs(), f.nodes(), f.outputs(), f.types()};
  const char* const names[] = {"a", "b", "c", "e"};
  for (std::size_t i = 0; i < 4; ++i) parts.outputs[i].name = names[i];
  open.model.function = Function(std::move(parts));
  const std::string id = session_->add(std::move(open))->id;
  const auto of = [&](const std::string& output, std::int64_t element = 0) {
    return gradient(*session_, {.subject = {id, InputSpec{InputSpec::Named{{{"x", {3, 5}}}}}},
                                .output = element,
                                .name = output,
                                .only = {"%x"}});
  };
  const Gradients whole = of("a");
  ASSERT_EQ(whole.rows.size(), 1u);
  EXPECT_TRUE(whole.rows[0].values->elements.same_bits(Tensor::from<double>({2}, {3, 0})));
  // No gradient flows back through a floor.
  const auto& from = whole.rows[0].from;
  EXPECT_TRUE(std::any_of(from.begin(), from.end(),
                          [](const auto& user) { return user.rule.starts_with("none: "); }));
  EXPECT_TRUE(of("e").rows.empty());
  EXPECT_TRUE(of("b", 1).rows.at(0).values->elements.same_bits(Tensor::from<double>({2}, {0, 10})));
  EXPECT_THROW(of("d"), Error);
  EXPECT_THROW(of("a", -1), Error);
  EXPECT_THROW(of("c"), Error);
  const auto loss = [&](const std::optional<std::vector<double>>& target) {
    return gradient(*session_,
                    {.subject = {"r0", InputSpec{InputSpec::Numbers{{3, 5}}}}, .target = target});
  };
  EXPECT_NO_THROW(loss({{1}}));
  for (const std::vector<double>& wrong :
       {std::vector<double>{0.5}, std::vector<double>{-1}, std::vector<double>{0, 1}})
    EXPECT_THROW(loss(wrong), Error);
  EXPECT_THROW(loss({}), Error);
}

TEST_F(ViewForward, EachResultOfAnOpIsOfThatOp) {
  const Function f = trace("two", {{"x", f32({2})}}, [](std::span<const Value> in) {
    return std::vector<Value>{barrier(std::vector<Value>{in[0], -in[0]})[1]};
  });
  const std::string id = session_->add({.name = "two", .model = {f, {}, ""}})->id;
  const Subject subject{id, InputSpec{InputSpec::Numbers{{1, 3}}}};
  const std::vector<ForwardRow> rows =
      forward(*session_, {.subject = subject, .only = {"%1", "%2"}}).rows;
  ASSERT_EQ(rows.size(), 2u);
  for (const ForwardRow& row : rows) EXPECT_EQ(row.trace.op, "barrier") << row.trace.value;
  EXPECT_EQ(to_doubles(rows[1].values->elements), (std::vector<double>{-1, -3}));
}

TEST_F(ViewForward, AModelIsDescribed) {
  const auto described = [&](std::int64_t inputs) {
    const nn::Mlp net = nn::mlp({inputs, 2}, relu);
    OpenModel open{.name = "net"};
    open.model = {net.function(), net.init(Key(1)), ""};
    return model_json(open);
  };
  const Json square = described(64), line = described(63);
  EXPECT_EQ(square.at("picture").dump(), R"({"height":8,"width":8})");
  EXPECT_TRUE(line.at("picture").is_null());
  EXPECT_EQ(square.at("parameters").as_integer(), 64 * 2 + 2);
  EXPECT_EQ(square.at("bytes").as_integer(), 4 * (64 * 2 + 2));
  // A table of 64 columns is no picture.
  const nn::Mlp net = nn::mlp({64, 2}, relu);
  OpenModel table{.name = "table", .config = DataConfig{}};
  table.model = {net.function(), net.init(Key(1)), ""};
  EXPECT_FALSE(model_json(table).at("picture").is_null());
  table.config->feature_names.assign(64, "a");
  EXPECT_TRUE(model_json(table).at("picture").is_null());
  table.config->target_names = {"b", "c"};
  table.model.note = "a note";
  const Json said = model_json(table);
  EXPECT_EQ(said.at("targets").dump(), R"(["b","c"])");
  EXPECT_TRUE(said.at("classes").is_null());
  EXPECT_EQ(said.at("note").as_string(), "a note");
  EXPECT_EQ(said.at("ops").as_integer(), 1);
  EXPECT_EQ(said.at("inputs").size(), 1u);
  EXPECT_EQ(said.at("outputs").at(0).at("shape").dump(), "[2]");
  // So are examples of that many numbers, unless these have names.
  const auto shown = [](std::int64_t count, std::vector<std::string> names) {
    Dataset data;
    data.feature_names = std::move(names);
    data.inputs = Tensor::zeros(f32({1, count}));
    data.targets = Tensor::zeros({Dtype::kI32, {1}});
    return to_json(ShownExamples{std::make_shared<Dataset>(std::move(data)), "test", {}})
        .at("picture");
  };
  EXPECT_EQ(shown(64, {}).dump(), R"({"height":8,"width":8})");
  for (const std::int64_t count : {49, 65}) EXPECT_TRUE(shown(count, {}).is_null()) << count;
  EXPECT_TRUE(shown(64, std::vector<std::string>(64, "a")).is_null());
  // Two ops of one scope are told apart.
  OpenModel twice{.name = "twice"};
  twice.model.function =
      trace("twice", {{"w", f32({2, 2})}, {"x", f32({2})}}, [](std::span<const Value> in) {
        const Builder::Scope scope(in[0].builder(), "block");
        return std::vector<Value>{linear(linear(in[1], in[0]), in[0])};
      });
  EXPECT_EQ(model_json(twice).at("layers").dump(), R"(["%0","%1"])");
}

TEST_F(ViewForward, WhatIsNamedStaysOpenAndTheRestIsBounded) {
  const std::string path = (folder_ / "moons/model.safetensors").string();
  const std::string table = "csv:" + path + ",target=a";
  Session session({.paths = {path}, .data = {table}, .limits = {.models = 2}});
  EXPECT_THROW(session.close("m0"), Error);
  EXPECT_EQ(session.model("m0")->origin, Origin::kNamed);
  EXPECT_EQ(session.model("m0")->data, table);
  for (int i = 0; i < 2; ++i)
    session.add({.origin = Origin::kDropped, .model = session.model("m0")->model});
  EXPECT_THROW(session.add({.origin = Origin::kDropped}), Error);
  session.close("m1");
  EXPECT_NO_THROW(session.add({.origin = Origin::kDropped}));
  EXPECT_THROW(session.close("m99"), Error);
  EXPECT_NO_THROW(session.check_data(table));
  EXPECT_NO_THROW(session.check_data("moons:1,count=100000"));
  EXPECT_THROW(session.check_data("moons:1,count=100001"), Error);
  EXPECT_THROW(session.check_data("moons:1,count=18446744073709551617"), Error);
  EXPECT_THROW(session.check_data("csv:" + path + ",target=b"), Error);
}

TEST_F(ViewForward, DroppedFilesAreRead) {
  const std::string before = std::filesystem::temp_directory_path().string();
  const std::filesystem::path temporary = folder_ / "temporary";
  std::filesystem::create_directory(temporary);
  setenv("TMPDIR", temporary.c_str(), 1);
  const auto bytes_of = [](const std::vector<std::byte>& b) {
    return std::span<const std::byte>(b);
  };
  std::ifstream file(folder_ / "moons/model.safetensors", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  const auto open = session_->open("a.safetensors", bytes);
  EXPECT_EQ(open->id, "m0");
  EXPECT_EQ(open->hash(), session_->model("r0")->hash());
  const std::vector<Tensor> tensors{Tensor::from<float>({2}, {1, 2})};
  const std::vector<std::byte> npz = serialize_npz({{"a", tensors[0]}});
  const auto arrays = session_->open("b.npz", bytes_of(npz));
  EXPECT_FALSE(arrays->has_function);
  EXPECT_EQ(arrays->hash(), hash_of_numbers(tensors));
  // Weights alone.
  const std::vector<std::byte> weights =
      serialize_safetensors({{{"w", Tensor::from<float>({1}, {1})}}, {}});
  EXPECT_FALSE(session_->open("w.safetensors", bytes_of(weights))->has_function);
  for (const char* name : {"a.safetensors", "b.npz", "c.onnx", "d.txt", ""}) {
    try {
      session_->open(name, bytes.first(bytes.size() / 2));
      ADD_FAILURE() << name;
    } catch (const Error& e) {  // it names no file of this machine
      EXPECT_EQ(std::string(e.what()).find(temporary.string()), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(session_->models().size(), 4u);
  // A model of a newer version is not taken for weights alone.
  const std::vector<std::byte> newer =
      serialize_safetensors({{}, {{"limpid.format", "2"}, {"limpid.function", "function f() {}"}}});
  EXPECT_THROW(session_->open("newer.safetensors", bytes_of(newer)), Error);
  // An ONNX file has a Function: no other reader tries it.
  const ModelFormat onnx{.load = [](const std::filesystem::path&, const Dimensions&) -> Model {
                           throw Error(ErrorCode::kFormat, "broken");
                         },
                         .save = nullptr};
  EXPECT_THROW(Session({.onnx = &onnx}).open("w.onnx", bytes_of(weights)), Error);
  Session small({.limits = {.file = bytes.size()}});
  EXPECT_NO_THROW(small.open("a.safetensors", bytes));
  Session smaller({.limits = {.file = bytes.size() - 1}});
  EXPECT_THROW(smaller.open("a.safetensors", bytes), Error);
  session_->close("m0");
  EXPECT_THROW(session_->model("m0"), Error);
  setenv("TMPDIR", before.c_str(), 1);
  EXPECT_TRUE(std::filesystem::is_empty(temporary));
}

}  // namespace
}  // namespace limpid::view
