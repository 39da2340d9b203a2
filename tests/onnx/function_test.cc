// Model-local functions, branches and loops: what is written in their place.
#include "tests/onnx/models.h"

namespace limpid::testing {
namespace {

// A function of the domain "own" with an attribute: y = alpha-leaky ReLU of x, plus z where given.
::onnx::FunctionProto& add_leaky(::onnx::ModelProto& model) {
  ::onnx::FunctionProto& f = *model.add_functions();
  f.set_name("Leaky");
  f.set_domain("own");
  f.add_input("x");
  f.add_output("y");
  f.add_attribute("slope");
  f.add_opset_import()->set_version(18);
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

TEST(Functions, SeeNothingOfTheGraph) {
  ::onnx::ModelProto model = model_with_own_domain();
  ::onnx::FunctionProto& f = *model.add_functions();
  f.set_name("Peek");
  f.set_domain("own");
  f.add_output("y");
  add_node(f, "Relu", {"x"}, {"y"});
  add_node(*model.mutable_graph(), "Peek", {}, {"y"}).set_domain("own");
  expect_error(ErrorCode::kFormat, "nothing before it makes 'x'", [&] { import(model); });
}

TEST(Functions, ThatCallThemselvesAreRefused) {
  ::onnx::ModelProto model = model_with_own_domain();
  ::onnx::FunctionProto& f = *model.add_functions();
  f.set_name("F");
  f.set_domain("own");
  f.add_input("x");
  f.add_output("y");
  add_node(f, "F", {"x"}, {"y"}).set_domain("own");
  add_node(*model.mutable_graph(), "F", {"x"}, {"y"}).set_domain("own");
  expect_error(ErrorCode::kFormat, "the function calls itself", [&] { import(model); });
}

// F0 calls F1 twice, F1 calls F2 twice, ...: two to the power of 40 nodes.
TEST(Functions, ThatGrowWithoutBoundAreRefused) {
  ::onnx::ModelProto model = model_with_own_domain();
  for (int i = 0; i < 40; ++i) {
    ::onnx::FunctionProto& f = *model.add_functions();
    f.set_name("F" + std::to_string(i));
    f.set_domain("own");
    f.add_input("x");
    f.add_output("y");
    f.add_opset_import()->set_version(18);
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

TEST(If, OfAnUnknownConditionIsRefused) {
  expect_error(ErrorCode::kUnsupported,
               "If 'branch': what it is depends on the values of input 'condition'",
               [&] { import(branching(true)); });
}

// Adds x to itself `turns` times (without a count: for ever), collecting each sum.
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

TEST(Loop, WithoutEndIsRefused) {
  for (const auto turns : {std::optional<std::int64_t>(), std::optional<std::int64_t>(1)}) {
    ::onnx::ModelProto model = looping(turns ? std::int64_t{1} << 62 : turns);
    expect_error(ErrorCode::kUnsupported, "nodes", [&] { import(model); });
  }
}

}  // namespace
}  // namespace limpid::testing
