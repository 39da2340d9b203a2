#include "limpid/transforms/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/number_text.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/detail/bodies.h"
#include "limpid/transforms/detail/unbatched.h"
#include "limpid/transforms/rewrite.h"
#include "limpid/transforms/scan.h"
#include "limpid/transforms/simplify.h"
#include "limpid/transforms/vmap.h"

namespace limpid {
namespace {

constexpr int kMostOperandsOfCode = 1 << 16;

std::vector<Type> output_types(const Function& f) {
  std::vector<Type> types;
  for (const Output& o : f.outputs()) types.push_back(f.type(o.value));
  return types;
}

// Throws if a Function of a call does not take these inputs.
void check_inputs(const Call& call, std::string_view which, const Function& f,
                  std::span<const Type> inputs) {
  if (f.inputs().size() != inputs.size())
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: '{}' takes {}, the call has {}", where(call), which,
                    counted(static_cast<std::int64_t>(f.inputs().size()), "input"), inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!(f.inputs()[i].type == inputs[i]))
      throw Error(detail::code_of_types(f.inputs()[i].type, inputs[i]),
                  fmt::format("{}: input {} of '{}' is {}, expected {}", where(call), i, which,
                              to_string(inputs[i]), to_string(f.inputs()[i].type)));
}

void check_truth(const Call& call, std::string_view which, const Type& type) {
  if (!(type == Type{Dtype::kBool, {}}))
    throw Error(type.dtype == Dtype::kBool ? ErrorCode::kShape : ErrorCode::kDtype,
                fmt::format("{}: {} is {}, expected bool[]", where(call), which, to_string(type)));
}

// a where a scalar is true, else b.
Value chosen(const Value& truth, const Value& a, const Value& b) {
  return select(broadcast(truth, a.shape()), a, b);
}

// ---- cond

constexpr AttributeSpec kCondAttributes[] = {{"no", AttributeKind::kFunction},
                                             {"yes", AttributeKind::kFunction}};

const Function& yes_of(const Attributes& attributes) {
  return attributes.get<Nested>("yes").function();
}
const Function& no_of(const Attributes& attributes) {
  return attributes.get<Nested>("no").function();
}

std::vector<Type> cond_types(const Call& call) {
  detail::check_depth(call);
  check_truth(call, "the predicate", call.inputs[0]);
  const Function& yes = yes_of(call.attributes);
  const Function& no = no_of(call.attributes);
  check_inputs(call, "yes", yes, call.inputs.subspan(1));
  check_inputs(call, "no", no, call.inputs.subspan(1));
  const std::vector<Type> types = output_types(yes), others = output_types(no);
  if (types.size() != others.size())
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: 'yes' gives {}, 'no' {}", where(call),
                    counted(static_cast<std::int64_t>(types.size()), "result"), others.size()));
  if (types.empty())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected a result of both functions", where(call)));
  for (std::size_t i = 0; i < types.size(); ++i)
    if (!(types[i] == others[i]))
      throw Error(detail::code_of_types(types[i], others[i]),
                  fmt::format("{}: result {} is {} from 'yes' and {} from 'no'", where(call), i,
                              to_string(types[i]), to_string(others[i])));
  return types;
}

std::vector<Value> cond_body(std::span<const Value> inputs, const Attributes& attributes) {
  Builder& builder = innermost(inputs, "cond");
  std::vector<Value> a = builder.inline_function(yes_of(attributes), inputs.subspan(1));
  const std::vector<Value> b = builder.inline_function(no_of(attributes), inputs.subspan(1));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = chosen(inputs[0], a[i], b[i]);
  return a;
}

std::vector<Tensor> cond_evaluation(const Call& call, std::span<const Tensor> inputs) {
  const bool truth = inputs[0].values<bool>()[0];
  return interpret(truth ? yes_of(call.attributes) : no_of(call.attributes), inputs.subspan(1));
}

Attributes cond_attributes(const Function& yes, const Function& no) {
  return {{"no", Nested(no)}, {"yes", Nested(yes)}};
}

// Of the Function that was chosen.
PreparedGradient cond_gradient(const Call& call, std::span<const bool> wanted) {
  std::vector<std::size_t> active;
  for (std::size_t i = 1; i < wanted.size(); ++i)
    if (wanted[i] && is_floating(call.inputs[i].dtype)) active.push_back(i - 1);
  if (active.empty())
    return {call.attributes,
            [](const GradientCall& c) { return std::vector<Value>(c.inputs.size()); }};
  const Attributes attributes = cond_attributes(detail::gradients(yes_of(call.attributes), active),
                                                detail::gradients(no_of(call.attributes), active));
  return {call.attributes, [attributes, active](const GradientCall& c) {
            std::vector<Value> inputs(c.inputs.begin(), c.inputs.end());
            Builder& builder = innermost(inputs, "cond");
            for (std::size_t o = 0; o < c.outputs.size(); ++o)
              inputs.push_back(c.cotangents[o] ? c.cotangents[o]
                                               : detail::zeros_of(builder, c.outputs[o].type()));
            const std::vector<Value> results = builder.call(op::cond, inputs, attributes);
            std::vector<Value> answers(c.inputs.size());
            for (std::size_t i = 0; i < active.size(); ++i) answers[active[i] + 1] = results[i];
            return answers;
          }};
}

// A predicate for each example computes both.
std::vector<Value> cond_batching(const BatchingCall& c) {
  if (c.batched[0]) return {};
  std::vector<std::optional<std::int64_t>> axes;
  std::vector<bool> batched(c.batched.begin() + 1, c.batched.end());
  for (const bool b : batched) axes.push_back(b ? std::optional<std::int64_t>(0) : std::nullopt);
  const Function& yes = yes_of(c.attributes);
  const Function& no = no_of(c.attributes);
  const std::vector<bool> of_yes = dependents(yes, batched), of_no = dependents(no, batched);
  std::vector<bool> shared;
  for (std::size_t o = 0; o < yes.outputs().size(); ++o)
    shared.push_back(!of_yes[static_cast<std::size_t>(yes.outputs()[o].value)] &&
                     !of_no[static_cast<std::size_t>(no.outputs()[o].value)]);
  // vmap gives every output the batch; one that has none is taken from the Function itself.
  const auto mapped = [&](const Function& f) {
    const Function all = vmap(f, axes, c.size);
    return simplify(trace(f.name(), all.inputs(), [&](std::span<const Value> in) {
      Builder& builder = in.front().builder();
      std::vector<Value> results = builder.inline_function(all, in);
      for (std::size_t o = 0; o < results.size(); ++o)
        if (shared[o]) results[o] = detail::value_of(builder, f, f.outputs()[o].value, in);
      return results;
    }));
  };
  std::vector<Value> results =
      c.builder.call(op::cond, c.inputs, cond_attributes(mapped(yes), mapped(no)));
  for (std::size_t o = 0; o < results.size(); ++o)
    if (shared[o]) results[o] = broadcast(results[o], results[o].shape().insert(0, c.size));
  return results;
}

struct UnbatchedChoice {
  detail::Unbatched yes, no;
};
std::optional<UnbatchedChoice> unbatched_choice(const ExampleCall& c) {
  if (c.inner[0]) return {};
  const Function& if_true = yes_of(c.call.attributes);
  const Function& if_false = no_of(c.call.attributes);
  std::vector<Type> types;
  for (const Input& i : if_true.inputs()) types.push_back(i.type);
  for (std::vector<Inner>& all : detail::readings(c, 1, types)) {
    const std::span<const Inner> inner = std::span(all).subspan(1);
    auto yes = detail::unbatched(if_true, inner, {}, c.size);
    if (!yes) continue;
    auto no = detail::unbatched(if_false, inner, yes->outputs, c.size);
    if (!no) continue;
    yes = detail::unbatched(if_true, inner, no->outputs, c.size);
    if (no->outputs != yes->outputs) continue;
    c.inner = all;
    return UnbatchedChoice{*std::move(yes), *std::move(no)};
  }
  return {};
}
ExampleResults cond_example_axis(const ExampleCall& c) {
  auto one = unbatched_choice(c);
  return one ? ExampleResults(std::move(one->yes.outputs)) : std::nullopt;
}
std::optional<Attributes> cond_for_one(const ExampleCall& c, std::span<const Type>) {
  const auto one = unbatched_choice(c);
  if (!one) return {};
  return cond_attributes(one->yes.function, one->no.function);
}

std::int64_t cond_flops(const Call& call) {
  return std::max(detail::flops_of(yes_of(call.attributes)),
                  detail::flops_of(no_of(call.attributes)));
}

std::vector<Example> cond_examples() {
  std::vector<Example> examples;
  for (const Dtype d : {Dtype::kF32, Dtype::kF64}) {
    const Type row{d, {3}};
    const std::vector<Input> inputs{{"x", row}, {"y", row}};
    const Function yes = trace("yes", inputs, [](std::span<const Value> in) {
      return std::vector<Value>{tanh(in[0] * in[1]),
                                cast(in[0] > number_like(in[0], 0), Dtype::kI32)};
    });
    const Function no = trace("no", inputs, [](std::span<const Value> in) {
      return std::vector<Value>{in[1], cast(in[1] > number_like(in[1], 0), Dtype::kI32)};
    });
    examples.push_back({{{Dtype::kBool, {}}, row, row}, cond_attributes(yes, no)});
    examples.push_back({{{Dtype::kBool, {}}, row, row}, cond_attributes(no, yes)});
  }
  return examples;
}

// ---- while_loop

constexpr AttributeSpec kWhileAttributes[] = {{"body", AttributeKind::kFunction},
                                              {"carries", AttributeKind::kInteger},
                                              {"condition", AttributeKind::kFunction},
                                              {"limit", AttributeKind::kInteger}};

struct WhileParts {
  explicit WhileParts(const Attributes& attributes)
      : condition(attributes.get<Nested>("condition").function()),
        body(attributes.get<Nested>("body").function()),
        carries(static_cast<std::size_t>(attributes.integer("carries"))),
        limit(attributes.integer("limit")) {}

  Function condition, body;
  std::size_t carries;
  std::int64_t limit;
};

Attributes while_attributes(const Function& condition, const Function& body, std::size_t carries,
                            std::int64_t limit) {
  return {{"body", Nested(body)},
          {"carries", static_cast<std::int64_t>(carries)},
          {"condition", Nested(condition)},
          {"limit", limit}};
}

std::vector<Type> while_types(const Call& call) {
  for (const char* const count : {"carries", "limit"})
    if (call.attributes.integer(count) < 0)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: attribute '{}' is {}, expected at least 0", where(call), count,
                              call.attributes.integer(count)));
  detail::check_depth(call);
  const WhileParts loop(call.attributes);
  check_inputs(call, "body", loop.body, call.inputs);
  check_inputs(call, "condition", loop.condition, call.inputs);
  const std::vector<Type> truth = output_types(loop.condition);
  if (truth.size() != 1)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: expected 1 result of the condition, got {}", where(call), truth.size()));
  check_truth(call, "the condition", truth[0]);
  const std::vector<Type> types = output_types(loop.body);
  if (types.size() != loop.carries || loop.carries > call.inputs.size() || types.empty())
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: a body with a carry of {} takes {} and gives {}", where(call),
                    loop.carries, counted(static_cast<std::int64_t>(call.inputs.size()), "input"),
                    types.size()));
  for (std::size_t i = 0; i < types.size(); ++i)
    if (!(types[i] == call.inputs[i]))
      throw Error(detail::code_of_types(call.inputs[i], types[i]),
                  fmt::format("{}: carry {} is {} before a step of '{}' and {} after it; its type "
                              "must not change",
                              where(call), i, to_string(call.inputs[i]), loop.body.name(),
                              to_string(types[i])));
  return types;
}

// A scan of as many steps as there may be: those after the last one change nothing.
std::vector<Value> while_body(std::span<const Value> inputs, const Attributes& attributes) {
  const WhileParts loop(attributes);
  constexpr std::int64_t kMostSteps = std::int64_t{1} << 31;
  if (loop.limit > kMostSteps)
    throw Error(ErrorCode::kUnsupported,
                "while_loop: without a limit to its steps it has no gradient, and is not written "
                "step by step");
  Builder& builder = innermost(inputs, "while_loop");
  std::vector<Input> step_inputs{{"goes on", {Dtype::kBool, {}}}};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    step_inputs.push_back({std::to_string(i), inputs[i].type()});
  const Function step = trace("step", step_inputs, [&](std::span<const Value> in) {
    Builder& b = in[0].builder();
    const std::span<const Value> carry = in.subspan(1);
    std::vector<Value> results{
        logical_and(in[0], b.inline_function(loop.condition, carry).front())};
    const std::vector<Value> next = b.inline_function(loop.body, carry);
    for (std::size_t i = 0; i < next.size(); ++i)
      results.push_back(chosen(results[0], next[i], carry[i]));
    return results;
  });
  std::vector<Value> carry{constant(builder, Tensor::scalar(true))};
  carry.insert(carry.end(), inputs.begin(),
               inputs.begin() + static_cast<std::ptrdiff_t>(loop.carries));
  const Scanned all = scan(step, carry, {}, inputs.subspan(loop.carries), {.length = loop.limit});
  return {all.carry.begin() + 1, all.carry.end()};
}

std::vector<Tensor> while_evaluation(const Call& call, std::span<const Tensor> inputs) {
  const WhileParts loop(call.attributes);
  std::vector<Tensor> values(inputs.begin(), inputs.end());
  for (std::int64_t step = 0; step < loop.limit; ++step) {
    if (!interpret(loop.condition, values)[0].values<bool>()[0]) break;
    const std::vector<Tensor> next = interpret(loop.body, values);
    std::copy(next.begin(), next.end(), values.begin());
  }
  values.resize(loop.carries);
  return values;
}

// A truth for each example, for all its elements.
Value along(const Value& truths, const Shape& shape) {
  std::vector<std::int64_t> dims(shape.rank(), 1);
  dims[0] = shape[0];
  return broadcast(reshape(truths, Shape(dims)), shape);
}

// An example whose condition is false keeps its carry while others go on.
std::vector<Value> while_batching(const BatchingCall& c) {
  const WhileParts loop(c.attributes);
  std::vector<bool> batched(c.batched.begin(), c.batched.end());
  const auto grow = [&](const std::vector<bool>& all) {
    bool changed = false;
    for (std::size_t i = 0; i < loop.carries; ++i) {
      changed = changed || (all[i] && !batched[i]);
      batched[i] = batched[i] || all[i];
    }
    return changed;
  };
  bool own = false;  // whether each example has its own number of steps
  for (bool changed = true; changed;) {
    const std::vector<bool> depends = dependents(loop.body, batched);
    own = dependents(loop.condition,
                     batched)[static_cast<std::size_t>(loop.condition.outputs()[0].value)];
    std::vector<bool> after(loop.carries, own);
    for (std::size_t i = 0; i < loop.carries; ++i)
      after[i] = own || depends[static_cast<std::size_t>(loop.body.outputs()[i].value)];
    changed = grow(after);
  }
  std::vector<std::optional<std::int64_t>> axes;
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < batched.size(); ++i) {
    axes.push_back(batched[i] ? std::optional<std::int64_t>(0) : std::nullopt);
    inputs.push_back(batched[i] ? batched_input(c, i) : c.inputs[i]);
  }
  const Function test = own ? vmap(loop.condition, axes, c.size) : Function();
  const Function all = vmap(loop.body, axes, c.size);
  const std::vector<Input>& types = all.inputs();
  const Function condition = trace("condition", types, [&](std::span<const Value> in) {
    Builder& b = in.front().builder();
    if (!own)
      return std::vector<Value>{
          detail::value_of(b, loop.condition, loop.condition.outputs()[0].value, in)};
    const Value some = sum(cast(b.inline_function(test, in).front(), Dtype::kF32), 0);
    return std::vector<Value>{some > number_like(some, 0)};
  });
  const Function body = trace(loop.body.name(), types, [&](std::span<const Value> in) {
    Builder& b = in.front().builder();
    std::vector<Value> next = b.inline_function(all, in);
    const Value truths = own ? b.inline_function(test, in).front() : Value();
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (own)
        next[i] = select(along(truths, next[i].shape()), next[i], in[i]);
      else if (!batched[i])
        next[i] = detail::value_of(b, loop.body, loop.body.outputs()[i].value, in);
    }
    return next;
  });
  std::vector<Value> results = c.builder.call(
      op::while_loop, inputs,
      while_attributes(simplify(condition), simplify(body), loop.carries, loop.limit));
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!batched[i]) results[i] = broadcast(results[i], results[i].shape().insert(0, c.size));
  return results;
}

// Examples take their own numbers of steps: not looked into.
ExampleResults while_example_axis(const ExampleCall&) { return {}; }

std::int64_t while_flops(const Call& call) {
  const WhileParts loop(call.attributes);
  return product_or_most(
      loop.limit,
      sum_or_most(sum_or_most(detail::flops_of(loop.body), detail::flops_of(loop.condition)), 1));
}

std::vector<Example> while_examples() {
  std::vector<Example> examples;
  for (const Dtype d : {Dtype::kF32, Dtype::kF64}) {
    const Type row{d, {2}};
    const std::vector<Input> inputs{{"n", {Dtype::kI32, {}}}, {"h", row}, {"w", row}};
    const Function below = trace("below", inputs, [](std::span<const Value> in) {
      return std::vector<Value>{in[0] < number_like(in[0], 3)};
    });
    const Function step = trace("step", inputs, [](std::span<const Value> in) {
      return std::vector<Value>{in[0] + 1, tanh(in[1] * in[2])};
    });
    const Function always = trace("always", {{"h", row}}, [](std::span<const Value> in) {
      const Value total = sum(in[0]);
      return std::vector<Value>{total > number_like(total, -1e30)};
    });
    const Function halve = trace("halve", {{"h", row}}, [](std::span<const Value> in) {
      return std::vector<Value>{in[0] * 0.5};
    });
    for (const std::int64_t limit : {4, 2})
      examples.push_back(
          {{{Dtype::kI32, {}}, row, row}, while_attributes(below, step, 2, limit), -1, 1, 6});
    examples.push_back({{row}, while_attributes(always, halve, 1, 3)});
  }
  return examples;
}

}  // namespace

namespace op {

constinit const Op cond =
    complete({.name = "cond",
              .formula = "yes(operands) if the predicate is true, else no(operands)",
              .shapes = "bool [], operands [...] -> the results of yes and no [...]",
              .min_inputs = 1,
              .max_inputs = kMostOperandsOfCode,
              .attributes = kCondAttributes,
              .types = cond_types,
              .body = cond_body,
              .evaluation = cond_evaluation,
              .gradient = gradient_prepared(cond_gradient),
              .batching = batching_or_body(cond_batching),
              .example_axis = cond_example_axis,
              .example_attributes = cond_for_one,
              .flops = cond_flops,
              .onnx = {},
              .source = "JAX, jax.lax.cond",
              .examples = cond_examples});

constinit const Op while_loop =
    complete({.name = "while_loop",
              .formula = "carry = body(carry, shared) while condition(carry, shared), at most "
                         "limit times",
              .shapes = "carry [...], shared [...] -> carry [...]",
              .min_inputs = 1,
              .max_inputs = kMostOperandsOfCode,
              .attributes = kWhileAttributes,
              .types = while_types,
              .body = while_body,
              .evaluation = while_evaluation,
              .gradient = gradient_through_body(),
              .smooth = kKinked,
              .batching = batching(while_batching),
              .example_axis = while_example_axis,
              .flops = while_flops,
              .onnx = {},
              .source = "JAX, jax.lax.while_loop",
              .examples = while_examples});

}  // namespace op

std::vector<Value> cond(Value predicate, const Function& yes, const Function& no,
                        std::span<const Value> operands) {
  std::vector<Value> inputs{predicate};
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  return call(op::cond, inputs, cond_attributes(yes, no));
}

std::vector<Value> while_loop(const Function& condition, const Function& body,
                              std::span<const Value> carry, std::span<const Value> shared,
                              const WhileOptions& options) {
  std::vector<Value> inputs(carry.begin(), carry.end());
  inputs.insert(inputs.end(), shared.begin(), shared.end());
  return call(op::while_loop, inputs,
              while_attributes(condition, body, carry.size(), options.limit));
}

namespace detail {
namespace {

// A Function of these inputs, which calls f on the first `kept` of them and on those from `at` on.
Function with_inputs_at(const Function& f, const std::vector<Type>& types, std::size_t kept,
                        std::size_t at) {
  Builder builder(f.name());
  std::vector<Value> in;
  for (std::size_t i = 0; i < types.size(); ++i)
    in.push_back(builder.input(std::to_string(i), types[i]));
  std::vector<Value> arguments(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(kept));
  const auto first = in.begin() + static_cast<std::ptrdiff_t>(at);
  arguments.insert(arguments.end(), first,
                   first + static_cast<std::ptrdiff_t>(f.inputs().size() - kept));
  return builder.finish(builder.inline_function(f, arguments), output_names(f));
}

std::vector<Value> joined(std::span<const Value> a, std::span<const Value> b) {
  std::vector<Value> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

}  // namespace

std::vector<Value> cond_of(Value predicate, const Function& yes, std::span<const Value> of_yes,
                           const Function& no, std::span<const Value> of_no) {
  const std::vector<Value> operands = joined(of_yes, of_no);
  const std::vector<Type> types = types_of(operands);
  return cond(predicate, with_inputs_at(yes, types, 0, 0),
              with_inputs_at(no, types, 0, of_yes.size()), operands);
}

std::vector<Value> while_of(const Function& condition, std::span<const Value> of_condition,
                            const Function& body, std::span<const Value> of_body,
                            std::span<const Value> carry, const WhileOptions& options) {
  const std::vector<Value> shared = joined(of_condition, of_body);
  const std::vector<Type> types = types_of(joined(carry, shared));
  return while_loop(with_inputs_at(condition, types, carry.size(), carry.size()),
                    with_inputs_at(body, types, carry.size(), carry.size() + of_condition.size()),
                    carry, shared, options);
}

}  // namespace detail
}  // namespace limpid
