// Model-local functions, branches and loops are replaced by their contents.
#include <algorithm>
#include <cmath>

#include "tests/onnx/models.h"
#include "tests/refusals.h"

namespace limpid::testing {
namespace {

using Numbers = std::vector<float>;

const Tensor kX = Tensor::from<float>({2}, {-8, 8});

void expect_refused_model(ErrorCode code, const ::onnx::ModelProto& model,
                          int line = __builtin_LINE()) {
  expect_refused(
      code, [&] { import(model); }, line);
}

// ---- functions

// y = leaky ReLU of x with an attribute for its slope.
const std::string kLeaky =
    own_function("Leaky <slope> (x) => (y) { y = LeakyRelu <alpha : float = @slope> (x) }");

// One that calls it.
::onnx::ModelProto calling(const std::string& call, const std::string& more = "") {
  return model_of("(float[2] x) => (y) { y = " + call + " }" + kLeaky + more);
}

TEST(Functions, AttributesReachTheBody) {
  EXPECT_EQ(numbers(import(calling("own.Leaky <slope = 0.25> (x)")), {kX}), (Numbers{-2, 8}));
  // Without it, the operator's default holds.
  EXPECT_NEAR(numbers(import(calling("own.Leaky (x)")), {kX})[0], -0.08f, 1e-6);
}

// Fields of later versions of the format than this library's messages have.
constexpr int kAttributeDefaults = 11, kOverloadOfANode = 8, kOverloadOfAFunction = 13;

TEST(Functions, HaveDefaultsOfTheirOwn) {
  ::onnx::AttributeProto slope;
  slope.set_name("slope");
  slope.set_type(::onnx::AttributeProto::FLOAT);
  slope.set_f(0.5f);
  for (const auto& [call, first] :
       {std::pair{"own.Leaky (x)", -4.0f}, {"own.Leaky <slope = 0.25> (x)", -2.0f}}) {
    ::onnx::ModelProto model = calling(call);
    ::onnx::FunctionProto& f = *model.mutable_functions(0);
    f.clear_attribute();
    f.mutable_unknown_fields()->AddLengthDelimited(kAttributeDefaults, slope.SerializeAsString());
    EXPECT_EQ(numbers(import(model), {kX}), (Numbers{first, 8}));
  }
}

TEST(Functions, OfOneNameAreToldApartByTheirOverload) {
  ::onnx::ModelProto model = model_of("(float[2] x) => (y) { y = own.F(x) }" +
                                      own_function("F (a) => (b) { b = Neg(a) }") +
                                      own_function("F (a) => (b) { b = Abs(a) }"));
  for (const int i : {0, 1})
    model.mutable_functions(i)->mutable_unknown_fields()->AddLengthDelimited(
        kOverloadOfAFunction, i == 0 ? "first" : "second");
  model.mutable_graph()->mutable_node(0)->mutable_unknown_fields()->AddLengthDelimited(
      kOverloadOfANode, "second");
  EXPECT_EQ(numbers(import(model), {kX}), (Numbers{8, 8}));
}

TEST(Functions, CallOneAnotherAndPassTheirAttributesOn) {
  const std::string twice = own_function(
      "Twice <s> (a) => (c) { b = own.Leaky <slope : float = @s> (a) c = own.Leaky <slope : float "
      "= @s> (b) }");
  EXPECT_EQ(numbers(import(calling("own.Twice <s = 0.5> (x)", twice)), {kX}), (Numbers{-2, 8}));
}

// Its nodes mean what they mean in the version that the function imports: before 13, a Softmax was
// over all dimensions from the axis on.
TEST(Functions, HaveTheirOwnVersion) {
  const ::onnx::ModelProto model = model_of(
      "(float[2] x) => (y) <int64[2] row = {1, 2}> { h = Reshape(x, row) y = "
      "own.SplitRatio(h) }" +
      own_function("SplitRatio (x) => (y) { y = Softmax <axis = 0> (x) }", 12));
  EXPECT_EQ(numbers(import(model), {Tensor::zeros({Dtype::kF32, {2}})}), (Numbers{0.5f, 0.5f}));
  // An operator that the version of the model does not have.
  const ::onnx::ModelProto old =
      model_of("(float[2] x) => (y) { y = own.Same(x) }" +
                   own_function("Same (x) => (y) { y = CastLike(x, x) }"),
               9);
  EXPECT_EQ(numbers(import(old), {kX}), (Numbers{-8, 8}));
}

// An attribute that a call passes on, though it was not given one, has the default of the operator;
// an input that was left out is so in what the function calls.
TEST(Functions, PassOnWhatTheyWereNotGiven) {
  ::onnx::ModelProto model = calling(
      "own.Outer (x)",
      own_function("Outer <s> (a, none) => (c) { c = own.Leaky <slope : float = @s> (a, none) }"));
  model.mutable_functions(0)->add_input("unused");
  EXPECT_NEAR(numbers(import(model), {kX})[0], -0.08f, 1e-6);
}

// A graph that calls F0; each function has this body with the name of the next one for N, and the
// last one has another.
::onnx::ModelProto chain(int count, const std::string& body, const std::string& last) {
  std::string text = "(float[2] x) => (y) { y = own.F0(x) }";
  for (int i = 0; i < count; ++i) {
    std::string nodes = i + 1 == count ? last : body;
    for (std::size_t at; (at = nodes.find('@')) != std::string::npos;)
      nodes.replace(at, 1, "own.F" + std::to_string(i + 1));
    text += own_function("F" + std::to_string(i) + " (x) => (y) { " + nodes + " }");
  }
  return model_of(text);
}

TEST(Functions, InFunctionsEndSomewhere) {
  expect_refused_model(ErrorCode::kUnsupported, chain(70, "y = @(x)", "y = Relu(x)"));
}

// A chain is looked at with a stack that does not grow with it, whoever's thread it is.
TEST(Functions, InAChainOfThousandsNeedLittleStack) {
  const ::onnx::ModelProto model = chain(15'000, "y = @(x)", "y = @(x)");
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{1} << 20), 0);
  pthread_t thread;
  // All of them are looked at before the first is called.
  const auto imported = [](void* data) -> void* {
    expect_refused_model(ErrorCode::kUnsupported, *static_cast<const ::onnx::ModelProto*>(data));
    return nullptr;
  };
  ::onnx::ModelProto given = model;
  ASSERT_EQ(pthread_create(&thread, &attributes, imported, &given), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

TEST(Functions, AreRefusedWhereTheyDoNotFit) {
  // More inputs than it takes, a value of the graph, and itself.
  expect_refused_model(ErrorCode::kFormat, calling("own.Leaky (x, x)"));
  expect_refused_model(ErrorCode::kFormat,
                       calling("own.Peek ()", own_function("Peek () => (y) { y = Relu(x) }")));
  expect_refused_model(ErrorCode::kFormat,
                       calling("own.F (x)", own_function("F (x) => (y) { y = own.F(x) }")));
}

// F0 calls F1 twice, F1 calls F2 twice, ...: two to the power of 40 nodes.
TEST(Functions, ThatGrowWithoutBoundAreRefused) {
  expect_refused_model(ErrorCode::kUnsupported, chain(40, "h = @(x) y = @(h)", "y = Relu(x)"));
}

// ---- If

// A branch of one operator.
std::string branch(const std::string& name, const std::string& op, const std::string& values = "") {
  return name + "_branch = " + name + " () => (z) " + values + " { z = " + op + " }";
}
// x f32[2], and an If of a condition that is an input.
::onnx::ModelProto choosing(const std::string& then, const std::string& other,
                            const std::string& values = "") {
  ::onnx::ModelProto model =
      model_of("(float[2] x, bool condition) => (y) " + values + " { y = If (condition) <" +
               branch("then", then) + ", " + branch("else", other) + "> }");
  model.mutable_graph()->mutable_node(0)->set_name("branch");
  return model;
}

Numbers chosen(const ::onnx::ModelProto& model, bool condition) {
  return numbers(import(model), {kX, Tensor::scalar(condition)});
}

TEST(If, TakesTheBranchThatIsKnownAndNeedsNothingOfTheOther) {
  EXPECT_EQ(numbers(import(model_of("(float[2] x) => (y) <bool no = {0}> { y = If (no) <" +
                                    branch("then", "Unheard(x)") + ", " + branch("else", "Neg(x)") +
                                    "> }")),
                    {kX}),
            (Numbers{8, -8}));
}

TEST(If, OfAnUnknownConditionIsASelectOfBothBranches) {
  const ::onnx::ModelProto model = choosing("Relu(x)", "Neg(x)");
  EXPECT_EQ(chosen(model, true), (Numbers{0, 8}));
  EXPECT_EQ(chosen(model, false), (Numbers{8, -8}));
}

// A NaN or infinity of the branch not taken does not reach the result.
TEST(If, TakesNothingFromTheOtherBranch) {
  EXPECT_EQ(chosen(choosing("Log(x)", "Neg(x)"), false), (Numbers{8, -8}));  // of -8: NaN
}

// Types that differ, an operator that is missing, and a condition of two or of no bools.
TEST(If, OfBranchesOrConditionsThatDoNotFitIsRefused) {
  expect_refused_model(ErrorCode::kUnsupported,
                       choosing("Neg(x)", "Reshape(x, row)", "<int64[2] row = {1, 2}>"));
  expect_refused_model(ErrorCode::kUnsupported, choosing("Unheard(x)", "Neg(x)"));
  ::onnx::ModelProto model = choosing("Neg(x)", "Relu(x)");
  add_input(*model.mutable_graph(), "two", kBool, {"2"});
  for (const char* const condition : {"two", "x"}) {
    model.mutable_graph()->mutable_node(0)->set_input(0, condition);
    expect_refused_model(ErrorCode::kDtype, model);
  }
  for (const int more : {0, 1}) {  // one branch has more outputs
    ::onnx::ModelProto uneven = choosing("Neg(x)", "Neg(x)");
    add_output(*uneven.mutable_graph()->mutable_node(0)->mutable_attribute(more)->mutable_g(), "z");
    expect_refused_model(ErrorCode::kFormat, uneven);
  }
}

// A condition that takes too much arithmetic at import is as one that is not known.
TEST(If, OfAConditionThatIsDearIsACond) {
  const ::onnx::ModelProto model = model_of(
      "(float[2] x) => (y) <int64[1] many = {3000000}, float zero = {0}> { zeros = "
      "ConstantOfShape(many) sum = ReduceSum <keepdims = 0> (zeros) none = Greater(sum, "
      "zero) y = If (none) <" +
      branch("then", "Relu(x)") + ", " + branch("else", "Neg(x)") + "> }");
  const std::vector<std::string> ops = ops_of(import(model));
  EXPECT_NE(std::find(ops.begin(), ops.end(), "cond"), ops.end());
  EXPECT_EQ(numbers(import(model), {kX}), (Numbers{8, -8}));
}

// However many follow one another, none is inside of another.
TEST(If, ManyAreNotNested) {
  std::string nodes, from = "x";
  for (int i = 0; i < 70; ++i) {
    const std::string to = "x" + std::to_string(i);
    nodes += to + " = If (yes) <" + branch("then", "Neg(" + from + ")") + ", " +
             branch("else", "Neg(" + from + ")") + "> ";
    from = to;
  }
  EXPECT_EQ(
      numbers(import(model_of("(float[2] x) => (x69) <bool yes = {1}> { " + nodes + "}")), {kX}),
      (Numbers{-8, 8}));
}

TEST(If, HasConstantsInItsBranches) {
  const ::onnx::ModelProto model =
      model_of("(float[2] x, bool condition) => (y) { y = If (condition) <" +
               branch("then", "Mul(x, factor)", "<float factor = {3}>") + ", " +
               branch("else", "Mul(x, factor)", "<float factor = {-3}>") + "> }");
  EXPECT_EQ(chosen(model, true), (Numbers{-24, 24}));
  EXPECT_EQ(chosen(model, false), (Numbers{24, -24}));
}

// Both branches use the same names, and the inner If those of the enclosing graphs.
TEST(If, InsideOfAnotherSeesTheValuesAroundIt) {
  const onnx::Imported imported = import(model_of(
      "(float[2] x, bool condition, bool[1] second) => (y) { y = If (condition) <then_branch = a "
      "() => (w) { z = Add(x, x) w = If (second) <then_branch = b () => (v) { v = Mul(z, x) }, "
      "else_branch = c () => (v) { v = Neg(z) }> }, " +
      branch("else", "Relu(x)") + "> }"));
  const auto run = [&](bool first, bool second) {
    return numbers(imported, {kX, Tensor::scalar(first), Tensor::from<bool>({1}, {second})});
  };
  EXPECT_EQ(run(true, true), (Numbers{128, 128}));
  EXPECT_EQ(run(true, false), (Numbers{16, -16}));
  EXPECT_EQ(run(false, true), (Numbers{0, 8}));
}

// Cases that branches guard against in other programs are defined here: integer division by zero
// and an index of no row.
TEST(If, RunsABranchThatItsConditionGuards) {
  const onnx::Imported imported = import(model_of(
      "(int64[1] n) => (a, b) <int64[1] twelve = {12}, int64[1] zero = {0}, int64[3] table = {5, "
      "6, 7}> { positive = Greater(n, zero) a, b = If (positive) <then_branch = t () => (c, d) { c "
      "= Div(twelve, n) d = Gather(table, n) }, else_branch = e () => (c, d) { c = Identity(n) d = "
      "Identity(zero) }> }"));
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
  const onnx::Imported imported = import(model_of(
      "(float[1, 4] x) => (score) <float limit = {2}, float[1, 1] mean = {0.5}, float[1, 1] "
      "deviation = {4}, float[4, 1] weight = {1, -1, 2, 0.5}> { most = ReduceMax <keepdims = 0> "
      "(x) loud = Greater(most, limit) n = If (loud) <then_branch = t () => (scaled) { centred = "
      "Sub(x, mean) scaled = Div(centred, deviation) }, else_branch = e () => (same) { same = "
      "Identity(x) }> logit = MatMul(n, weight) score = Sigmoid(logit) }"));
  const auto score = [&](const Numbers& x) {
    return numbers(imported, {Tensor::from<float>({1, 4}, x)})[0];
  };
  const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_NEAR(score({1, 2, 0, 1}), sigmoid(-0.5f), 1e-6);
  EXPECT_NEAR(score({4.5f, 0.5f, 0.5f, 0.5f}), sigmoid(1), 1e-6);
}

// ---- Loop

// Adds x to itself `turns` times (without a count: endlessly), collecting each sum.
::onnx::ModelProto looping(std::optional<std::int64_t> turns, const std::string& outputs = "all",
                           const std::string& more = "", const std::string& go_on = "go_on") {
  ::onnx::ModelProto model = model_of(
      "(float[2] x) => (" + outputs + ") <int64 turns = {" + std::to_string(turns.value_or(0)) +
      "}, int64 one = {1}, bool never = {0}> { last, all = Loop (turns, " + more +
      ", x) <body = b (int64 turn, bool go_on, float[2] sum) => (" + go_on +
      ", next, seen) { next = Add(sum, x) seen = Identity(next) more = Less(turn, one) "
      "}> }");
  if (!turns) model.mutable_graph()->mutable_node(0)->set_input(0, "");
  return model;
}
::onnx::GraphProto& body_of(::onnx::ModelProto& model) {
  return *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
}

TEST(Loop, IsWrittenOutTurnByTurn) {
  EXPECT_EQ(numbers(import(looping(3)), {kX}), (Numbers{-16, 16, -24, 24, -32, 32}));
}

// As a condition that is false before the first turn.
TEST(Loop, OfNoTurnsGivesNothing) {
  for (const auto& model : {looping(0, "all, last"), looping(3, "all, last", "never")}) {
    const auto results = interpret(import(model).function, std::vector<Tensor>{kX});
    EXPECT_EQ(to_string(results[0].type()), "f32[0, 2]");
    EXPECT_TRUE(results[1].same_bits(kX));
  }
}

// The body's condition ends it before its count.
TEST(Loop, EndsWhereItsBodySaysSo) {
  EXPECT_EQ(numbers(import(looping(5, "all", "", "more")), {kX}), (Numbers{-16, 16, -24, 24}));
}

TEST(Loop, WhoseBodyDoesNotFitIsRefused) {
  const auto refused = [](int turns, ErrorCode code, const auto& change) {
    ::onnx::ModelProto model = looping(turns);
    change(body_of(model));
    expect_refused_model(code, model);
  };
  const auto drop = [](int count) {
    return [count](::onnx::GraphProto& body) {
      for (int i = 0; i < count; ++i) body.mutable_output()->RemoveLast();
    };
  };
  refused(1, ErrorCode::kFormat, drop(2));
  refused(1, ErrorCode::kFormat, drop(1));
  refused(0, ErrorCode::kFormat, drop(1));
  refused(1, ErrorCode::kDtype,
          [](::onnx::GraphProto& body) { body.mutable_output(0)->set_name("next"); });
  refused(1, ErrorCode::kFormat,
          [](::onnx::GraphProto& body) { body.mutable_input()->RemoveLast(); });
}

// Without outputs of its turns, it gives what it carries; of no turns, those have their own type.
TEST(Loop, GivesWhatItCarries) {
  ::onnx::ModelProto model = looping(3, "last");
  model.mutable_graph()->mutable_node(0)->mutable_output()->RemoveLast();
  EXPECT_EQ(numbers(import(model), {kX}), (Numbers{-32, 32}));
  ::onnx::ModelProto none = looping(0);
  body_of(none).mutable_output(2)->set_name("turn");
  const onnx::Imported imported = import(none);
  EXPECT_EQ(to_string(imported.function.type(imported.function.outputs()[0].value)), "i64[0]");
}

TEST(Loop, OfManyTurnsIsAScan) {
  const onnx::Imported imported = import(looping(20));
  const std::vector<std::string> ops = ops_of(imported);
  EXPECT_NE(std::find(ops.begin(), ops.end(), "scan"), ops.end());
  const Numbers all = numbers(imported, {kX});
  ASSERT_EQ(all.size(), 40u);
  for (std::size_t i = 0; i < 40; ++i)
    EXPECT_EQ(all[i], (i % 2 == 0 ? -8.0f : 8.0f) * static_cast<float>(2 + i / 2));
}

TEST(Loop, OfUnknownTurnsIsAWhileLoop) {
  const ::onnx::ModelProto model = model_of(
      "(float[2] x, int64 turns, bool start) => (last) { last = Loop (turns, start, x) <body = b "
      "(int64 turn, bool go_on, float[2] sum) => (more, next) <float most = {30}> { next = "
      "Add(sum, "
      "x) size = ReduceMax <keepdims = 0> (next) more = Less(size, most) }> }");
  const onnx::Imported imported = import(model);
  const std::vector<std::string> ops = ops_of(imported);
  EXPECT_NE(std::find(ops.begin(), ops.end(), "while_loop"), ops.end());
  const auto last = [&](std::int64_t turns, bool start) {
    return numbers(imported, {kX, Tensor::scalar(turns), Tensor::scalar(start)});
  };
  EXPECT_EQ(last(2, true), (Numbers{-24, 24}));
  EXPECT_EQ(last(100, true), (Numbers{-32, 32}));
  EXPECT_EQ(last(100, false), (Numbers{-8, 8}));
  EXPECT_EQ(last(-1, true), (Numbers{-8, 8}));
}

// A carried value that grows has no type of its own.
TEST(Loop, WhoseTypesChangeIsUnrolledOrRefused) {
  const auto growing = [](const std::string& turns) {
    return model_of("(float[2] x" + std::string(turns.empty() ? ", int64 turns" : "") +
                    ") => (last) <bool go = {1}" +
                    (turns.empty() ? "" : ", int64 turns = {" + turns + "}") +
                    "> { last = Loop (turns, go, x) <body = b (int64 turn, bool go_on, float[n] s) "
                    "=> (go_on, next) { next = Concat <axis = 0> (s, x) }> }");
  };
  EXPECT_EQ(numbers(import(growing("10")), {kX}).size(), 22u);
  expect_refused_model(ErrorCode::kUnsupported, growing(""));
}

TEST(Loop, WithoutEndIsRefused) {
  for (const auto turns : {std::optional<std::int64_t>(), std::optional(std::int64_t{1} << 62)})
    expect_refused_model(ErrorCode::kUnsupported, looping(turns));
}

}  // namespace
}  // namespace limpid::testing
