// Model-local functions, branches and loops are replaced by their contents.
#include <algorithm>
#include <cmath>

#include "tests/onnx/models.h"

namespace limpid::testing {
namespace {

// A function of the domain "own" from x to y, without nodes; they are of this version of ONNX.
::onnx::FunctionProto& add_own(::onnx::ModelProto& model, const std::string& name,
                               std::int64_t version = 18) {
  ::onnx::FunctionProto& f = *model.add_functions();
  f.set_name(name);
  f.set_domain("own");
  f.add_input("x");
  f.add_output("y");
  f.add_opset_import()->set_version(version);
  return f;
}

// With an attribute: y = leaky ReLU of x with the slope `slope`.
::onnx::FunctionProto& add_leaky(::onnx::ModelProto& model) {
  ::onnx::FunctionProto& f = add_own(model, "Leaky");
  f.add_attribute("slope");
  auto& node = add_node(f, "LeakyRelu", {"x"}, {"y"});
  auto& alpha = add_attribute(node, "alpha", ::onnx::AttributeProto::FLOAT);
  alpha.set_ref_attr_name("slope");
  return f;
}

::onnx::ModelProto model_with_own_domain() {
  ::onnx::ModelProto model = empty_model();
  auto& own = *model.add_opset_import();
  own.set_domain("own");
  own.set_version(1);
  add_input(*model.mutable_graph(), "x", kFloat, {"2"});
  add_output(*model.mutable_graph(), "y");
  return model;
}

const Tensor kX = Tensor::from<float>({2}, {-8, 8});

TEST(Functions, AttributesReachTheBody) {
  ::onnx::ModelProto model = model_with_own_domain();
  add_leaky(model);
  auto& call = add_node(*model.mutable_graph(), "Leaky", {"x"}, {"y"});
  call.set_domain("own");
  set_real(call, "slope", 0.25f);
  EXPECT_EQ(numbers(import(model), {kX}), (std::vector<float>{-2, 8}));
}

TEST(Functions, WithoutTheAttributeTheOperatorsDefaultHolds) {
  ::onnx::ModelProto model = model_with_own_domain();
  add_leaky(model);
  add_node(*model.mutable_graph(), "Leaky", {"x"}, {"y"}).set_domain("own");
  EXPECT_NEAR(numbers(import(model), {kX})[0], -0.08f, 1e-6);
}

// Fields of later versions of the format than this library's messages have.
constexpr int kAttributeDefaults = 11, kOverloadOfANode = 8, kOverloadOfAFunction = 13;

TEST(Functions, HaveDefaultsOfTheirOwn) {
  ::onnx::ModelProto model = model_with_own_domain();
  ::onnx::AttributeProto slope;
  slope.set_name("slope");
  slope.set_type(::onnx::AttributeProto::FLOAT);
  slope.set_f(0.5f);
  ::onnx::FunctionProto& f = add_leaky(model);
  f.clear_attribute();
  f.mutable_unknown_fields()->AddLengthDelimited(kAttributeDefaults, slope.SerializeAsString());
  auto& call = add_node(*model.mutable_graph(), "Leaky", {"x"}, {"y"});
  call.set_domain("own");
  EXPECT_EQ(numbers(import(model), {kX}), (std::vector<float>{-4, 8}));
  set_real(call, "slope", 0.25f);
  EXPECT_EQ(numbers(import(model), {kX}), (std::vector<float>{-2, 8}));
}

TEST(Functions, OfOneNameAreToldApartByTheirOverload) {
  ::onnx::ModelProto model = model_with_own_domain();
  for (const auto& [overload, op] : {std::pair{"first", "Neg"}, std::pair{"second", "Abs"}}) {
    ::onnx::FunctionProto& f = *model.add_functions();
    f.set_name("F");
    f.set_domain("own");
    f.add_input("a");
    f.add_output("b");
    f.add_opset_import()->set_version(18);
    f.mutable_unknown_fields()->AddLengthDelimited(kOverloadOfAFunction, overload);
    add_node(f, op, {"a"}, {"b"});
  }
  auto& call = add_node(*model.mutable_graph(), "F", {"x"}, {"y"});
  call.set_domain("own");
  call.mutable_unknown_fields()->AddLengthDelimited(kOverloadOfANode, "second");
  EXPECT_EQ(numbers(import(model), {kX}), (std::vector<float>{8, 8}));
}

TEST(Functions, CallOneAnotherAndPassTheirAttributesOn) {
  ::onnx::ModelProto model = model_with_own_domain();
  add_leaky(model);
  ::onnx::FunctionProto& twice = *model.add_functions();
  twice.set_name("Twice");
  twice.set_domain("own");
  twice.add_input("a");
  twice.add_output("c");
  twice.add_attribute("s");
  for (const auto& [in, out] : {std::pair{"a", "b"}, std::pair{"b", "c"}}) {
    auto& call = add_node(twice, "Leaky", {in}, {out});
    call.set_domain("own");
    add_attribute(call, "slope", ::onnx::AttributeProto::FLOAT).set_ref_attr_name("s");
  }
  auto& call = add_node(*model.mutable_graph(), "Twice", {"x"}, {"y"});
  call.set_domain("own");
  set_real(call, "s", 0.5f);
  EXPECT_EQ(numbers(import(model), {kX}), (std::vector<float>{-2, 8}));
}

// Its nodes mean what they mean in the version that the function imports: before 13, a Softmax was
// over all dimensions from the axis on.
TEST(Functions, HaveTheirOwnVersion) {
  ::onnx::ModelProto model = model_with_own_domain();
  ::onnx::FunctionProto& f = add_own(model, "Shares", 12);
  set_integer(add_node(f, "Softmax", {"x"}, {"y"}), "axis", 0);
  add_integers(*model.mutable_graph(), "row", {1, 2});
  add_node(*model.mutable_graph(), "Reshape", {"x", "row"}, {"h"});
  auto& call = add_node(*model.mutable_graph(), "Shares", {"h"}, {"y"});
  call.set_domain("own");
  const Tensor x = Tensor::zeros({Dtype::kF32, {2}});
  EXPECT_EQ(numbers(import(model), {x}), (std::vector<float>{0.5f, 0.5f}));

  // An operator that the version of the model does not have.
  ::onnx::ModelProto old = model_with_own_domain();
  old.mutable_opset_import(0)->set_version(9);
  add_node(add_own(old, "Same"), "CastLike", {"x", "x"}, {"y"});
  add_node(*old.mutable_graph(), "Same", {"x"}, {"y"}).set_domain("own");
  EXPECT_EQ(numbers(import(old), {kX}), (std::vector<float>{-8, 8}));
}

// An attribute that a call passes on, though it was not given one, has the default of the operator;
// an input that was left out is so in what the function calls.
TEST(Functions, PassOnWhatTheyWereNotGiven) {
  ::onnx::ModelProto model = model_with_own_domain();
  add_leaky(model).add_input("unused");
  ::onnx::FunctionProto& outer = *model.add_functions();
  outer.set_name("Outer");
  outer.set_domain("own");
  outer.add_input("a");
  outer.add_input("none");
  outer.add_output("c");
  outer.add_attribute("s");
  auto& inner = add_node(outer, "Leaky", {"a", "none"}, {"c"});
  inner.set_domain("own");
  add_attribute(inner, "slope", ::onnx::AttributeProto::FLOAT).set_ref_attr_name("s");
  add_node(*model.mutable_graph(), "Outer", {"x"}, {"y"}).set_domain("own");
  EXPECT_NEAR(numbers(import(model), {kX})[0], -0.08f, 1e-6);
}

// F0 calls F1, F1 calls F2, ...
TEST(Functions, InFunctionsEndSomewhere) {
  ::onnx::ModelProto model = model_with_own_domain();
  for (int i = 0; i < 70; ++i) {
    ::onnx::FunctionProto& f = add_own(model, "F" + std::to_string(i));
    if (i == 69)
      add_node(f, "Relu", {"x"}, {"y"});
    else
      add_node(f, "F" + std::to_string(i + 1), {"x"}, {"y"}).set_domain("own");
  }
  add_node(*model.mutable_graph(), "F0", {"x"}, {"y"}).set_domain("own");
  expect_error(ErrorCode::kUnsupported, "graphs and functions are nested more than 64 levels deep",
               [&] { import(model); });
}

// A chain is looked at with a stack that does not grow with it, whoever's thread it is.
TEST(Functions, InAChainOfThousandsNeedLittleStack) {
  ::onnx::ModelProto model = model_with_own_domain();
  constexpr int kFunctions = 15'000;
  for (int i = 0; i < kFunctions; ++i)
    add_node(add_own(model, "F" + std::to_string(i)), "F" + std::to_string(i + 1), {"x"}, {"y"})
        .set_domain("own");
  add_node(*model.mutable_graph(), "F0", {"x"}, {"y"}).set_domain("own");
  std::string message;
  std::pair run{&model, &message};
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{1} << 20), 0);
  pthread_t thread;
  const auto imported = [](void* data) -> void* {
    const auto& [from, to] = *static_cast<decltype(run)*>(data);
    try {
      import(*from);
    } catch (const Error& e) {
      *to = e.what();
    }
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, imported, &run), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  // All of them are looked at before the first is called.
  EXPECT_NE(message.find("operators that Limpid does not have: own.F15000"), message.npos)
      << message;
}

TEST(Functions, TakeNoMoreThanTheirInputs) {
  ::onnx::ModelProto model = model_with_own_domain();
  add_leaky(model);
  add_node(*model.mutable_graph(), "Leaky", {"x", "x"}, {"y"}).set_domain("own");
  expect_error(ErrorCode::kFormat, "the function takes 1 inputs, got 2", [&] { import(model); });
}

TEST(Functions, SeeNothingOfTheGraph) {
  ::onnx::ModelProto model = model_with_own_domain();
  ::onnx::FunctionProto& f = *model.add_functions();
  f.set_name("Peek");
  f.set_domain("own");
  f.add_output("y");
  add_node(f, "Relu", {"x"}, {"y"});
  add_node(*model.mutable_graph(), "Peek", {}, {"y"}).set_domain("own");
  expect_error(ErrorCode::kFormat, "no earlier node computes 'x'", [&] { import(model); });
}

TEST(Functions, ThatCallThemselvesAreRefused) {
  ::onnx::ModelProto model = model_with_own_domain();
  ::onnx::FunctionProto& f = add_own(model, "F");
  add_node(f, "F", {"x"}, {"y"}).set_domain("own");
  add_node(*model.mutable_graph(), "F", {"x"}, {"y"}).set_domain("own");
  expect_error(ErrorCode::kFormat, "the function is recursive", [&] { import(model); });
}

// F0 calls F1 twice, F1 calls F2 twice, ...: two to the power of 40 nodes.
TEST(Functions, ThatGrowWithoutBoundAreRefused) {
  ::onnx::ModelProto model = model_with_own_domain();
  for (int i = 0; i < 40; ++i) {
    ::onnx::FunctionProto& f = add_own(model, "F" + std::to_string(i));
    if (i == 39) {
      add_node(f, "Relu", {"x"}, {"y"});
      break;
    }
    const std::string next = "F" + std::to_string(i + 1);
    add_node(f, next, {"x"}, {"h"}).set_domain("own");
    add_node(f, next, {"h"}, {"y"}).set_domain("own");
  }
  add_node(*model.mutable_graph(), "F0", {"x"}, {"y"}).set_domain("own");
  expect_error(ErrorCode::kUnsupported, "nodes", [&] { import(model); });
}

// ---- If and Loop

::onnx::ModelProto branching(bool condition_is_input) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  if (condition_is_input)
    add_input(graph, "condition", kBool, {});
  else
    add_initializer(graph, "condition", kBool, {}).add_int32_data(0);
  auto& node = add_node(graph, "If", {"condition"}, {"y"}, "branch");
  for (const auto& [branch, op] :
       {std::pair{"then_branch", "Unheard"}, std::pair{"else_branch", "Neg"}}) {
    auto& inner = set_graph(node, branch);
    add_node(inner, op, {"x"}, {"z"});  // x of the graph around it
    add_output(inner, "z");
  }
  add_output(graph, "y");
  return model;
}

TEST(If, TakesTheBranchThatIsKnownAndNeedsNothingOfTheOther) {
  EXPECT_EQ(numbers(import(branching(false)), {kX}), (std::vector<float>{8, -8}));
}

// ---- If of a condition that depends on the values of an input

// An operator of inputs in a branch, whose output is `out`.
void add_branch(::onnx::NodeProto& node, const std::string& branch, const std::string& op,
                const std::vector<std::string>& inputs, const std::string& out = "z") {
  auto& inner = set_graph(node, branch);
  add_node(inner, op, inputs, {out});
  add_output(inner, out);
}

// x f32[2] and a condition as inputs, and an If without branches.
::onnx::ModelProto choosing(::onnx::NodeProto*& node) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  add_input(graph, "condition", kBool, {});
  node = &add_node(graph, "If", {"condition"}, {"y"}, "branch");
  add_output(graph, "y");
  return model;
}

std::vector<float> chosen(const ::onnx::ModelProto& model, bool condition) {
  return numbers(import(model), {kX, Tensor::scalar(condition)});
}

TEST(If, OfAnUnknownConditionIsASelectOfBothBranches) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = choosing(node);
  add_branch(*node, "then_branch", "Relu", {"x"});
  add_branch(*node, "else_branch", "Neg", {"x"});
  EXPECT_EQ(chosen(model, true), (std::vector<float>{0, 8}));
  EXPECT_EQ(chosen(model, false), (std::vector<float>{8, -8}));
}

// A NaN or infinity of the branch not taken does not reach the result.
TEST(If, TakesNothingFromTheOtherBranch) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = choosing(node);
  add_branch(*node, "then_branch", "Log", {"x"});  // of -8: NaN
  add_branch(*node, "else_branch", "Neg", {"x"});
  EXPECT_EQ(chosen(model, false), (std::vector<float>{8, -8}));
}

TEST(If, OfBranchesWithTwoTypesSaysBoth) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = choosing(node);
  auto& graph = *model.mutable_graph();
  add_integers(graph, "row", {1, 2});
  add_branch(*node, "then_branch", "Neg", {"x"});
  add_branch(*node, "else_branch", "Reshape", {"x", "row"});
  expect_error(ErrorCode::kUnsupported,
               "If 'branch': output 0 is f32[2] in then_branch and f32[1, 2] in else_branch",
               [&] { import(model); });
}

TEST(If, OfAnUnknownConditionNeedsBothBranches) {
  expect_error(ErrorCode::kUnsupported,
               "If 'branch': then_branch: 'Unheard' with the output 'z': Limpid does not have this "
               "operator (both branches are computed, as the condition depends on the values of an "
               "input)",
               [&] { import(branching(true)); });
}

// A condition that takes too much arithmetic at import is as one that is not known.
TEST(If, OfAConditionThatIsDearIsASelectOfBothBranches) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = choosing(node);
  auto& graph = *model.mutable_graph();
  add_integers(graph, "many", {3'000'000});
  add_initializer(graph, "zero", kFloat, {}).add_float_data(0);
  add_branch(*node, "then_branch", "Relu", {"x"});
  add_branch(*node, "else_branch", "Neg", {"x"});
  node->set_input(0, "none");
  const ::onnx::NodeProto last = *node;
  graph.clear_node();
  add_node(graph, "ConstantOfShape", {"many"}, {"zeros"});
  set_integer(add_node(graph, "ReduceSum", {"zeros"}, {"sum"}), "keepdims", 0);
  add_node(graph, "Greater", {"sum", "zero"}, {"none"});
  *graph.add_node() = last;
  const std::vector<std::string> ops = ops_of(import(model));
  EXPECT_NE(std::find(ops.begin(), ops.end(), "select"), ops.end());
  EXPECT_EQ(chosen(model, true), (std::vector<float>{8, -8}));
}

// However many follow one another, none is inside of another.
TEST(If, ManyAreNotNested) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x0", kFloat, {"2"});
  add_initializer(graph, "yes", kBool, {}).add_int32_data(1);
  for (int i = 0; i < 70; ++i) {
    const std::string from = "x" + std::to_string(i), to = "x" + std::to_string(i + 1);
    auto& node = add_node(graph, "If", {"yes"}, {to});
    for (const char* branch : {"then_branch", "else_branch"}) {
      auto& inner = set_graph(node, branch);
      add_node(inner, "Neg", {from}, {"y"});
      add_output(inner, "y");
    }
  }
  add_output(graph, "x70");
  EXPECT_EQ(numbers(import(model), {kX}), (std::vector<float>{-8, 8}));
}

TEST(If, OfSeveralConditionsIsRefused) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = choosing(node);
  add_input(*model.mutable_graph(), "two", kBool, {"2"});
  node->set_input(0, "two");
  add_branch(*node, "then_branch", "Neg", {"x"});
  add_branch(*node, "else_branch", "Relu", {"x"});
  expect_error(ErrorCode::kDtype, "the condition is bool[2], expected one bool",
               [&] { import(model); });
}

TEST(If, HasAsManyOutputsInBothBranches) {
  for (const char* more : {"then_branch", "else_branch"}) {
    ::onnx::NodeProto* node = nullptr;
    ::onnx::ModelProto model = choosing(node);
    for (const char* branch : {"then_branch", "else_branch"}) {
      add_branch(*node, branch, "Neg", {"x"});
      auto& graph = *node->mutable_attribute(node->attribute_size() - 1)->mutable_g();
      if (std::string(branch) == more) add_output(graph, "z");
    }
    expect_error(ErrorCode::kFormat, std::string("then_branch has ") + (more[0] == 't' ? "2" : "1"),
                 [&] { import(model); });
  }
}

// A branch's own constants.
TEST(If, HasConstantsInItsBranches) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = choosing(node);
  for (const auto& [branch, number] : {std::pair{"then_branch", 3.0f}, {"else_branch", -3.0f}}) {
    add_branch(*node, branch, "Mul", {"x", "factor"});
    auto& graph = *node->mutable_attribute(node->attribute_size() - 1)->mutable_g();
    add_initializer(graph, "factor", kFloat, {}).add_float_data(number);
  }
  EXPECT_EQ(chosen(model, true), (std::vector<float>{-24, 24}));
  EXPECT_EQ(chosen(model, false), (std::vector<float>{24, -24}));
}

TEST(If, OfAConditionThatIsNoBoolIsRefused) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = choosing(node);
  node->set_input(0, "x");
  add_branch(*node, "then_branch", "Neg", {"x"});
  add_branch(*node, "else_branch", "Relu", {"x"});
  expect_error(ErrorCode::kDtype, "the condition is f32[2], expected one bool",
               [&] { import(model); });
}

// Both branches use the same names, and the inner If those of the enclosing graphs.
TEST(If, InsideOfAnotherSeesTheValuesAroundIt) {
  ::onnx::NodeProto* node = nullptr;
  ::onnx::ModelProto model = choosing(node);
  add_input(*model.mutable_graph(), "second", kBool, {"1"});
  auto& outer = set_graph(*node, "then_branch");
  add_node(outer, "Add", {"x", "x"}, {"z"});
  auto& inner = add_node(outer, "If", {"second"}, {"w"});
  add_branch(inner, "then_branch", "Mul", {"z", "x"}, "v");
  add_branch(inner, "else_branch", "Neg", {"z"}, "v");
  add_output(outer, "w");
  add_branch(*node, "else_branch", "Relu", {"x"});
  const onnx::Imported imported = import(model);
  const auto run = [&](bool first, bool second) {
    return numbers(imported, {kX, Tensor::scalar(first), Tensor::from<bool>({1}, {second})});
  };
  EXPECT_EQ(run(true, true), (std::vector<float>{128, 128}));
  EXPECT_EQ(run(true, false), (std::vector<float>{16, -16}));
  EXPECT_EQ(run(false, true), (std::vector<float>{0, 8}));
}

// Cases that branches guard against in other programs are defined here: integer division by zero
// and an index of no row.
TEST(If, RunsABranchThatItsConditionGuards) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "n", kInt64, {"1"});
  add_integers(graph, "twelve", {12});
  add_integers(graph, "zero", {0});
  add_integers(graph, "table", {5, 6, 7});
  add_node(graph, "Greater", {"n", "zero"}, {"positive"});
  auto& node = add_node(graph, "If", {"positive"}, {"a", "b"});
  auto& then = set_graph(node, "then_branch");
  add_node(then, "Div", {"twelve", "n"}, {"a"});
  add_node(then, "Gather", {"table", "n"}, {"b"});
  add_output(then, "a");
  add_output(then, "b");
  auto& other = set_graph(node, "else_branch");
  add_node(other, "Identity", {"n"}, {"a"});
  add_node(other, "Identity", {"zero"}, {"b"});
  add_output(other, "a");
  add_output(other, "b");
  add_output(graph, "a");
  add_output(graph, "b");
  const onnx::Imported imported = import(model);
  const auto run = [&](std::int64_t n) {
    const auto results =
        interpret(imported.function, std::vector<Tensor>{Tensor::from<std::int64_t>({1}, {n})});
    return std::vector<std::int64_t>{results[0].item<std::int64_t>(),
                                     results[1].item<std::int64_t>()};
  };
  EXPECT_EQ(run(2), (std::vector<std::int64_t>{6, 7}));
  EXPECT_EQ(run(0), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(run(-900), (std::vector<std::int64_t>{-900, 0}));
}

// A wake-word model as openWakeWord writes it: a value computed from the features selects whether
// they are normalised by their own mean and deviation or by fixed ones, and a small network
// follows.
TEST(If, ChoosesTheNormalizationOfAWakeWordModel) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"1", "4"});
  const auto add_numbers = [&](const char* name, const std::vector<std::int64_t>& dims,
                               const std::vector<float>& values) {
    auto& tensor = add_initializer(graph, name, kFloat, dims);
    for (const float v : values) tensor.add_float_data(v);
  };
  add_numbers("limit", {}, {2});
  add_numbers("mean", {1, 1}, {0.5f});
  add_numbers("deviation", {1, 1}, {4});
  add_numbers("weight", {4, 1}, {1, -1, 2, 0.5f});
  add_node(graph, "ReduceMax", {"x"}, {"most"}).add_attribute()->CopyFrom([] {
    ::onnx::AttributeProto keep;
    keep.set_name("keepdims");
    keep.set_type(::onnx::AttributeProto::INT);
    keep.set_i(0);
    return keep;
  }());
  add_node(graph, "Greater", {"most", "limit"}, {"loud"});
  auto& node = add_node(graph, "If", {"loud"}, {"n"});
  auto& loud = set_graph(node, "then_branch");
  add_node(loud, "Sub", {"x", "mean"}, {"centred"});
  add_node(loud, "Div", {"centred", "deviation"}, {"scaled"});
  add_output(loud, "scaled");
  auto& quiet = set_graph(node, "else_branch");
  add_node(quiet, "Identity", {"x"}, {"same"});
  add_output(quiet, "same");
  add_node(graph, "MatMul", {"n", "weight"}, {"logit"});
  add_node(graph, "Sigmoid", {"logit"}, {"score"});
  add_output(graph, "score");
  const onnx::Imported imported = import(model);
  const auto score = [&](const std::vector<float>& x) {
    return numbers(imported, {Tensor::from<float>({1, 4}, x)})[0];
  };
  const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_NEAR(score({1, 2, 0, 1}), sigmoid(-0.5f), 1e-6);
  EXPECT_NEAR(score({4.5f, 0.5f, 0.5f, 0.5f}), sigmoid(1), 1e-6);
}

// Adds x to itself `turns` times (without a count: endlessly), collecting each sum.
::onnx::ModelProto looping(std::optional<std::int64_t> turns) {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", kFloat, {"2"});
  if (turns) add_integer(graph, "turns", *turns);
  auto& node = add_node(graph, "Loop", {turns ? "turns" : "", "", "x"}, {"last", "all"}, "loop");
  auto& body = set_graph(node, "body");
  add_input(body, "turn", kInt64, {});
  add_input(body, "go_on", kBool, {});
  add_input(body, "sum", kFloat, {"2"});
  add_node(body, "Add", {"sum", "x"}, {"next"});
  add_node(body, "Identity", {"next"}, {"seen"});
  add_output(body, "go_on");
  add_output(body, "next");
  add_output(body, "seen");
  add_output(graph, "all");
  return model;
}

TEST(Loop, IsWrittenOutTurnByTurn) {
  EXPECT_EQ(numbers(import(looping(3)), {kX}), (std::vector<float>{-16, 16, -24, 24, -32, 32}));
}

TEST(Loop, OfNoTurnsGivesNothing) {
  const onnx::Imported imported = import(looping(0));
  EXPECT_EQ(to_string(imported.function.type(imported.function.outputs()[0].value)), "f32[0, 2]");
}

// As a condition that is false before the first turn.
TEST(Loop, WhoseConditionIsFalseDoesNotBegin) {
  ::onnx::ModelProto model = looping(3);
  auto& graph = *model.mutable_graph();
  add_initializer(graph, "never", kBool, {}).add_int32_data(0);
  graph.mutable_node(0)->set_input(1, "never");
  add_output(graph, "last");
  const onnx::Imported imported = import(model);
  const auto results = interpret(imported.function, std::vector<Tensor>{kX});
  EXPECT_EQ(to_string(results[0].type()), "f32[0, 2]");
  EXPECT_TRUE(results[1].same_bits(kX));
}

// The body's condition ends it before its count.
TEST(Loop, EndsWhereItsBodySaysSo) {
  ::onnx::ModelProto model = looping(5);
  auto& body = *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  add_integer(*model.mutable_graph(), "one", 1);
  add_node(body, "Less", {"turn", "one"}, {"more"});
  body.mutable_output(0)->set_name("more");
  EXPECT_EQ(numbers(import(model), {kX}), (std::vector<float>{-16, 16, -24, 24}));
}

TEST(Loop, WhoseBodyDoesNotFitIsRefused) {
  const auto refused = [](int turns, ErrorCode code, std::string_view why, const auto& change) {
    ::onnx::ModelProto model = looping(turns);
    change(*model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g());
    expect_error(code, why, [&] { import(model); });
  };
  constexpr ErrorCode kFormat = ErrorCode::kFormat;
  const auto drop = [](int count) {
    return [count](::onnx::GraphProto& body) {
      for (int i = 0; i < count; ++i) body.mutable_output()->RemoveLast();
    };
  };
  refused(1, kFormat, "the body has 1 outputs, expected 2 or more", drop(2));
  refused(1, kFormat, "1 scan outputs, the body gives 0", drop(1));
  refused(0, kFormat, "1 scan outputs, the body gives 0", drop(1));
  refused(1, ErrorCode::kDtype, "the body's condition is f32[2], expected one bool",
          [](::onnx::GraphProto& body) { body.mutable_output(0)->set_name("next"); });
  refused(1, kFormat, "has 2 inputs, expected 3",
          [](::onnx::GraphProto& body) { body.mutable_input()->RemoveLast(); });
}

// Without outputs of its turns, it gives what it carries; of no turns, those have their own type.
TEST(Loop, GivesWhatItCarries) {
  ::onnx::ModelProto model = looping(3);
  auto& graph = *model.mutable_graph();
  graph.mutable_node(0)->mutable_output()->RemoveLast();
  graph.mutable_output(0)->set_name("last");
  EXPECT_EQ(numbers(import(model), {kX}), (std::vector<float>{-32, 32}));
  ::onnx::ModelProto none = looping(0);
  auto& body = *none.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  body.mutable_output(2)->set_name("turn");
  const onnx::Imported imported = import(none);
  EXPECT_EQ(to_string(imported.function.type(imported.function.outputs()[0].value)), "i64[0]");
}

TEST(Loop, WithoutEndIsRefused) {
  for (const auto turns : {std::optional<std::int64_t>(), std::optional<std::int64_t>(1)}) {
    ::onnx::ModelProto model = looping(turns ? std::int64_t{1} << 62 : turns);
    expect_error(ErrorCode::kUnsupported, "nodes", [&] { import(model); });
  }
}

}  // namespace
}  // namespace limpid::testing
