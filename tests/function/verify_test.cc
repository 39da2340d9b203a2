// The verifier, the builder and the interpreter with invalid arguments.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"

namespace limpid {
namespace {

// x -> exp -> exp -> ... -> exp
Function::Parts chain(int length) {
  Function::Parts parts;
  const Type type{Dtype::kF32, {2}};
  parts.name = "chain";
  parts.inputs = {{"x", type}};
  parts.types = {type};
  for (int i = 0; i < length; ++i) {
    parts.nodes.push_back({&op::exp, {i}, {}, i + 1, ""});
    parts.types.push_back(type);
  }
  parts.outputs = {{"", length}};
  return parts;
}

std::string complaint(Function::Parts parts) {
  try {
    verify(Function(std::move(parts)));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Verify, AcceptsWhatIsWellFormed) { EXPECT_EQ(complaint(chain(20)), ""); }

TEST(Verify, ShowsTheOpsAroundTheFault) {
  Function::Parts parts = chain(20);
  parts.types[11] = {Dtype::kF32, {3}};
  const std::string text = complaint(std::move(parts));
  EXPECT_NE(
      text.find("function 'chain', op 10: exp: the op gives f32[2], the function says f32[3]"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("\n> %10 = exp(%9) : f32[3]"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  %5 = "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  %15 = "), std::string::npos) << text;
  EXPECT_EQ(text.find("%4 = "), std::string::npos) << text;
  // Near the first op, all of those before it.
  for (const std::size_t op : {1, 5}) {
    Function::Parts other = chain(20);
    other.types[op + 1] = {Dtype::kF32, {3}};
    EXPECT_NE(complaint(std::move(other)).find("\n  %0 = exp(%x) : "), std::string::npos) << op;
  }
}

TEST(Verify, RefusesUseBeforeDefinition) {
  Function::Parts parts = chain(5);
  parts.nodes[2].inputs = {4};
  EXPECT_NE(complaint(std::move(parts)).find("uses value 4 before it is made"), std::string::npos);
  parts = chain(5);
  parts.nodes[2].inputs = {-1};
  const std::string text = complaint(std::move(parts));
  EXPECT_NE(text.find("uses value -1 before it is made"), std::string::npos);
  EXPECT_NE(text.find("\n> %2 = exp(%-2) : f32[2]"), std::string::npos) << text;
}

TEST(Verify, RefusesANodeWithoutAnOp) {
  Function::Parts parts = chain(5);
  parts.nodes[2].op = nullptr;
  EXPECT_NE(complaint(std::move(parts)).find("op 2: a node has no op"), std::string::npos);
}

TEST(Verify, RefusesOutputsThatAreNotThere) {
  for (const ValueId value : {9, 6, -1}) {
    Function::Parts parts = chain(5);
    parts.outputs = {{"", value}};
    EXPECT_NE(complaint(std::move(parts)).find(fmt::format("output {} does not exist", value)),
              std::string::npos);
  }
}

TEST(Verify, RefusesAnInputOfAnotherType) {
  for (const Type& type : {Type{Dtype::kF32, {3}}, Type{Dtype::kF64, {2}}}) {
    Function::Parts parts = chain(5);
    parts.inputs[0].type = type;
    EXPECT_EQ(complaint(std::move(parts)), "function 'chain': input 0 has another type");
  }
}

TEST(Verify, RefusesValuesThatNothingMakes) {
  Function::Parts gap = chain(2);  // value 1 is no input and no result
  gap.types.push_back(gap.types[0]);
  gap.nodes[0].first_output = 2;
  gap.nodes[1].first_output = 3;
  gap.nodes[1].inputs = {2};
  EXPECT_NE(complaint(std::move(gap)).find("op 0: results are misnumbered"), std::string::npos);
  Function::Parts none = chain(0);
  none.types.clear();
  none.outputs.clear();
  EXPECT_EQ(complaint(std::move(none)), "function 'chain': input 0 has another type");
}

TEST(Function, NamesTheOutputsThatThereAre) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {}}}},
                           [](std::span<const Value> in) {
                             return std::vector{in[0], exp(in[0])};
                           },
                           {"same", "larger"});
  EXPECT_EQ(f.output_index("same"), 0U);
  EXPECT_EQ(f.output_index("larger"), 1U);
  try {
    (void)f.output_index("other");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kNotFound);
    EXPECT_STREQ(e.what(), "no entry 'other'; there are: same, larger");
  }
}

TEST(Verify, RefusesResultsThatAreMisnumbered) {
  Function::Parts backwards = chain(5);
  backwards.nodes[3].first_output = 1;
  EXPECT_NE(complaint(std::move(backwards)).find("results are misnumbered"), std::string::npos);
  Function::Parts outside = chain(5);
  outside.nodes[4].first_output = 9;
  EXPECT_NE(complaint(std::move(outside)).find("results are misnumbered"), std::string::npos);
}

TEST(Function, CountsTheResultsOfACopiedNode) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2, 4}}}}, [](std::span<const Value> x) {
    return std::vector{exp(barrier(std::vector{exp(x[0]), x[0]})[1])};
  });
  for (const Node& node : f.nodes()) {
    const Node copy = node;
    EXPECT_EQ(f.output_count(copy), f.output_count(node));
    EXPECT_EQ(f.output_count(copy), node.op == &op::exp ? 1U : 2U);
    EXPECT_EQ(f.call_types(copy).outputs.size(), f.output_count(copy));
  }
  // Nodes of a temporary are copies.
  for (const Node& node : Function(f).nodes()) EXPECT_GT(f.output_count(node), 0U);
}

TEST(Verify, RefusesStrangeAttributes) {
  Function::Parts parts = chain(5);
  parts.nodes[1].attributes.set("axis", std::int64_t{0});
  EXPECT_NE(complaint(std::move(parts)).find("there is no attribute 'axis'"), std::string::npos);
}

TEST(Verify, KeepsTheKindOfAFault) {
  const auto code_of = [](Function::Parts parts) {
    try {
      verify(Function(std::move(parts)));
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::kIo;
  };
  Function::Parts strange = chain(5), untyped = chain(5);
  strange.nodes[1].attributes.set("axis", std::int64_t{0});
  untyped.types[3] = {Dtype::kF32, {3}};
  EXPECT_EQ(code_of(std::move(strange)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(std::move(untyped)), ErrorCode::kInternal);
}

TEST(Builder, SaysWhatKindOfAttributeAnOpTakes) {
  const auto complaint_of = [](const Op& op, int inputs, Dtype dtype,
                               const Attributes& attributes) -> std::string {
    try {
      Builder b("f");
      const Value x = b.input("x", {dtype, {2, 2}});
      b.call(op, std::vector<Value>(static_cast<std::size_t>(inputs), x), attributes);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
      return e.what();
    }
    return "";
  };
  const std::int64_t one = 1;
  EXPECT_EQ(complaint_of(op::matmul, 2, Dtype::kF32, {{"transpose_a", one}, {"transpose_b", true}}),
            "matmul: attribute 'transpose_a' must be true or false");
  EXPECT_EQ(complaint_of(op::sum, 1, Dtype::kF32, {{"axis", 1.0}}),
            "sum: attribute 'axis' must be an integer");
  EXPECT_EQ(complaint_of(op::elu, 1, Dtype::kF32, {{"alpha", one}}),
            "elu: attribute 'alpha' must be a real number");
  EXPECT_EQ(complaint_of(op::reshape, 1, Dtype::kF32, {{"shape", one}}),
            "reshape: attribute 'shape' must be a list of integers");
  EXPECT_EQ(complaint_of(op::cast, 1, Dtype::kF32, {{"dtype", one}}),
            "cast: attribute 'dtype' must be a dtype");
  EXPECT_EQ(complaint_of(op::constant, 0, Dtype::kF32, {{"value", one}}),
            "constant: attribute 'value' must be a tensor");
}

TEST(Builder, SaysHowManyInputsAnOpTakes) {
  const auto complaint_of = [](const auto& code) -> std::string {
    Builder b("f");
    const Value x = b.input("x", {Dtype::kF32, {2, 2}});
    try {
      code(x);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(complaint_of([](const Value& x) { call(op::linear, std::vector{x}); }),
            "linear: takes 2 to 3 inputs, got 1");
  EXPECT_EQ(complaint_of([](const Value& x) {
              call(op::linear, std::vector{x, x, x, x});
            }),
            "linear: takes 2 to 3 inputs, got 4");
  EXPECT_EQ(complaint_of([](const Value& x) {
              call(op::exp, std::vector{x, x});
            }),
            "exp: takes 1 input, got 2");
  EXPECT_EQ(complaint_of([](const Value&) { call(op::exp, {}); }),
            "exp: expected at least one argument that is a value of a function");
}

TEST(Verify, CountsTheTypesOfAFunctionWithoutOps) {
  const Type x{Dtype::kF32, {2}};
  EXPECT_NO_THROW(verify(Function({"f", {{"x", x}}, {}, {{"", 0}}, {x}})));
  EXPECT_THROW(verify(Function({"f", {{"x", x}}, {}, {{"", 1}}, {x, x}})), Error);
}

TEST(Builder, RefusesValuesOfAnotherFunction) {
  Builder one("one");
  Builder other("other");
  const Value a = one.input("a", {Dtype::kF32, {}});
  const Value b = other.input("b", {Dtype::kF32, {}});
  const auto code_of = [](const auto& code) {
    try {
      code();
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::kInternal;
  };
  EXPECT_EQ(code_of([&] { a + b; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of([&] { -Value(); }), ErrorCode::kInvalidArgument);
}

// What a Function that is complete leaves is used again.
TEST(Builder, ItsValuesAreNoneOfTheFunctionBefore) {
  const auto first_value = [](Builder& b) { return b.input("x", {Dtype::kF32, {}}); };
  Value before;
  {
    Builder past("past");
    before = first_value(past);
  }
  Builder now("now");
  const Value value = first_value(now);
  EXPECT_EQ(value.id(), before.id());
  EXPECT_TRUE(value.same_as(value));
  EXPECT_FALSE(value.same_as(before));
}

TEST(Builder, TakesInputsBeforeOpsAndEndsOnce) {
  const auto complaint_of = [](const auto& code) -> std::string {
    try {
      code();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
      return e.what();
    }
    return "";
  };
  Builder b("f");
  const Value x = b.input("x", {Dtype::kF32, {2}});
  EXPECT_EQ(complaint_of([&] {
              b.input("x", {Dtype::kF32, {2}});
            }),
            "function 'f': two inputs are named 'x'");
  const Value y = exp(x);
  EXPECT_EQ(complaint_of([&] {
              b.input("late", {Dtype::kF32, {2}});
            }),
            "function 'f': input 'late' is added after an op or a value of the code around");
  Builder inner("inner", b);
  inner.inline_function(trace("same", {{"x", {Dtype::kF32, {2}}}},
                              [](std::span<const Value> in) { return std::vector<Value>{in[0]}; }),
                        std::vector<Value>{y});
  EXPECT_EQ(complaint_of([&] {
              inner.input("late", {Dtype::kF32, {2}});
            }),
            "function 'inner': input 'late' is added after an op or a value of the code around");
  for (const std::vector<std::string>& names : {std::vector<std::string>{"y"}, {"y", "x", "z"}})
    EXPECT_EQ(complaint_of([&] {
                b.finish(std::vector<Value>{y, x}, names);
              }),
              "function 'f': expected a name for each of its 2 outputs, got " +
                  std::to_string(names.size()));
  const Function f = b.finish(std::vector<Value>{y});
  EXPECT_EQ(f.inputs().size(), 1u);
  EXPECT_EQ(complaint_of([&] { b.finish(std::vector<Value>{}); }),
            "function 'f' is already complete");
}

TEST(Builder, SaysWhetherTheShapeOrTheDtypeOfAnArgumentIsWrong) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}},
                           [](std::span<const Value> in) { return std::vector<Value>{-in[0]}; });
  for (const auto& [given, code] : {std::pair{Type{Dtype::kF64, {2}}, ErrorCode::kDtype},
                                    std::pair{Type{Dtype::kF32, {3}}, ErrorCode::kShape}}) {
    Builder b("g");
    const Value x = b.input("x", given);
    try {
      b.inline_function(f, std::vector<Value>{x});
      ADD_FAILURE() << to_string(given);
    } catch (const Error& e) {
      EXPECT_EQ(name(e.code()), name(code));
      EXPECT_EQ(e.what(), "function 'f': input 'x': expected f32[2], got " + to_string(given));
    }
  }
}

TEST(Interpret, NamesTheInputThatDoesNotFit) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}},
                           [](std::span<const Value> in) { return std::vector<Value>{-in[0]}; });
  const auto complaint_of = [&](std::vector<Tensor> inputs) -> std::string {
    try {
      interpret(f, inputs);
    } catch (const Error& e) {
      return std::string(name(e.code())) + ": " + e.what();
    }
    return "";
  };
  EXPECT_EQ(complaint_of({}), "invalid argument: function 'f' takes 1 input, got 0");
  EXPECT_EQ(complaint_of({Tensor::zeros({Dtype::kF32, {3}})}),
            "shape: function 'f': input 'x': expected f32[2], got f32[3]");
  EXPECT_EQ(complaint_of({Tensor::zeros({Dtype::kF64, {2}})}),
            "dtype: function 'f': input 'x': expected f32[2], got f64[2]");
}

}  // namespace
}  // namespace limpid
