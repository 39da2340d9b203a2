// The verifier, the builder and the interpreter with invalid arguments.
#include <gtest/gtest.h>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/ops.h"
#include "tests/refusals.h"

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

// The fault that verify() finds, with the ops around it.
std::string fault_of(Function::Parts parts, ErrorCode code = ErrorCode::kInternal) {
  std::string fault;
  try {
    verify(Function(std::move(parts)));
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    fault = e.what();
  }
  EXPECT_NE(fault, "");
  return fault;
}

void expect_fault(Function::Parts parts, ErrorCode code = ErrorCode::kInternal) {
  const std::string fault = fault_of(std::move(parts), code);
  expect_message(fault.substr(0, fault.find('\n')));
}

TEST(Verify, AcceptsWhatIsWellFormed) { EXPECT_NO_THROW(verify(Function(chain(20)))); }

TEST(Verify, ShowsTheOpsAroundTheFault) {
  for (const std::size_t op : {1, 5, 10}) {
    Function::Parts parts = chain(20);
    parts.types[op + 1] = {Dtype::kF32, {3}};
    expect_message(fault_of(std::move(parts)));
  }
}

TEST(Verify, RefusesValuesThatAreNotThereYet) {
  for (const int input : {4, -1}) {
    Function::Parts parts = chain(5);
    parts.nodes[2].inputs = {input};
    expect_fault(std::move(parts));
  }
  for (const ValueId value : {9, 6, -1}) {
    Function::Parts parts = chain(5);
    parts.outputs = {{"", value}};
    expect_fault(std::move(parts));
  }
}

TEST(Verify, RefusesANodeWithoutAnOp) {
  Function::Parts parts = chain(5);
  parts.nodes[2].op = nullptr;
  expect_fault(std::move(parts));
}

TEST(Verify, RefusesAnInputOfAnotherType) {
  for (const Type& type : {Type{Dtype::kF32, {3}}, Type{Dtype::kF64, {2}}}) {
    Function::Parts parts = chain(5);
    parts.inputs[0].type = type;
    expect_fault(std::move(parts));
  }
  Function::Parts none = chain(0);
  none.types.clear();
  none.outputs.clear();
  expect_fault(std::move(none));
}

TEST(Verify, RefusesResultsThatAreMisnumbered) {
  Function::Parts gap = chain(2);  // value 1 is no input and no result
  gap.types.push_back(gap.types[0]);
  gap.nodes[0].first_output = 2;
  gap.nodes[1].first_output = 3;
  gap.nodes[1].inputs = {2};
  expect_fault(std::move(gap));
  Function::Parts backwards = chain(5);
  backwards.nodes[3].first_output = 1;
  expect_fault(std::move(backwards));
  Function::Parts outside = chain(5);
  outside.nodes[4].first_output = 9;
  expect_fault(std::move(outside));
}

TEST(Function, NamesTheOutputsThatThereAre) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {}}}},
                           [](std::span<const Value> in) {
                             return std::vector{in[0], exp(in[0])};
                           },
                           {"same", "larger"});
  EXPECT_EQ(f.output_index("same"), 0U);
  EXPECT_EQ(f.output_index("larger"), 1U);
  expect_refused(ErrorCode::kNotFound, [&] { (void)f.output_index("other"); });
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
  expect_fault(std::move(parts), ErrorCode::kInvalidArgument);
}

TEST(Builder, SaysWhatAnOpTakes) {
  Builder b("f");
  const Value x = b.input("x", {Dtype::kF32, {2, 2}});
  const auto refused = [&](const Op& op, std::size_t inputs, const Attributes& attributes = {}) {
    expect_refused(ErrorCode::kInvalidArgument,
                   [&] { b.call(op, std::vector<Value>(inputs, x), attributes); });
  };
  const std::int64_t one = 1;
  refused(op::matmul, 2, {{"transpose_a", one}, {"transpose_b", true}});
  refused(op::sum, 1, {{"axis", 1.0}});
  refused(op::elu, 1, {{"alpha", one}});
  refused(op::reshape, 1, {{"shape", one}});
  refused(op::cast, 1, {{"dtype", one}});
  refused(op::constant, 0, {{"value", one}});
  refused(op::linear, 1);
  refused(op::linear, 4);
  refused(op::exp, 2);
  expect_refused(ErrorCode::kInvalidArgument, [] { call(op::exp, {}); });
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
  expect_refused(ErrorCode::kInvalidArgument, [&] { a + b; });
  expect_refused(ErrorCode::kInvalidArgument, [&] { -Value(); });
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
  const auto refused = [](const auto& code) { expect_refused(ErrorCode::kInvalidArgument, code); };
  const Type two{Dtype::kF32, {2}};
  Builder b("f");
  const Value x = b.input("x", two);
  refused([&] { b.input("x", two); });
  const Value y = exp(x);
  refused([&] { b.input("late", two); });
  Builder inner("inner", b);
  inner.inline_function(trace("same", {{"x", two}},
                              [](std::span<const Value> in) { return std::vector<Value>{in[0]}; }),
                        std::vector<Value>{y});
  refused([&] { inner.input("late", two); });
  for (const std::vector<std::string>& names : {std::vector<std::string>{"y"}, {"y", "x", "z"}})
    refused([&] { b.finish(std::vector<Value>{y, x}, names); });
  const Function f = b.finish(std::vector<Value>{y});
  EXPECT_EQ(f.inputs().size(), 1u);
  refused([&] { b.finish(std::vector<Value>{}); });
}

TEST(Builder, SaysWhetherTheShapeOrTheDtypeOfAnArgumentIsWrong) {
  const Function f = trace("f", {{"x", {Dtype::kF32, {2}}}},
                           [](std::span<const Value> in) { return std::vector<Value>{-in[0]}; });
  for (const auto& [type, code] : {std::pair{Type{Dtype::kF64, {2}}, ErrorCode::kDtype},
                                   std::pair{Type{Dtype::kF32, {3}}, ErrorCode::kShape}}) {
    const Type given = type;
    Builder b("g");
    const Value x = b.input("x", given);
    expect_refused(code, [&] { b.inline_function(f, std::vector<Value>{x}); });
    expect_refused(code, [&] { interpret(f, std::vector{Tensor::zeros(given)}); });
  }
  expect_refused(ErrorCode::kInvalidArgument, [&] { interpret(f, {}); });
}

}  // namespace
}  // namespace limpid
