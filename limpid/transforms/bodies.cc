// What the ops that hold Functions share.
#include "limpid/transforms/detail/bodies.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/function/text.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/control.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/rewrite.h"
#include "limpid/transforms/scan.h"
#include "limpid/transforms/simplify.h"

namespace limpid::detail {

void check_depth(const Call& call) {
  for (const auto& [name, attribute] : call.attributes)
    if (const auto* nested = std::get_if<Nested>(&attribute);
        nested && nested->depth() >= kMostDepth)
      throw Error(
          ErrorCode::kUnsupported,
          fmt::format("{}: more than {} functions inside each other", where(call), kMostDepth));
}

ErrorCode code_of_types(const Type& expected, const Type& given) {
  return expected.dtype == given.dtype ? ErrorCode::kShape : ErrorCode::kDtype;
}

Value zeros_of(Builder& builder, const Type& type) {
  return broadcast(constant(builder, Tensor::zeros({type.dtype, {}})), type.shape);
}

void check_unrolled(const Function& body, std::int64_t copies) {
  constexpr std::int64_t kMostOps = std::int64_t{1} << 20;
  const auto ops =
      static_cast<std::int64_t>(body.nodes().size() + body.outputs().size() + body.inputs().size());
  if (product_or_most(copies, ops) > kMostOps)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("scan: {} steps of '{}', of {} ops, cannot be written one by one: more "
                            "than {} ops",
                            copies, body.name(), ops, kMostOps));
}

std::int64_t flops_of(const Function& f) {
  std::int64_t total = 0;
  for (const Node& node : f.nodes()) {
    const Function::CallTypes types = f.call_types(node);
    total = sum_or_most(total, node.op->flops({*node.op, types.inputs, types.outputs,
                                               node.attributes, node.scope}));
  }
  return total;
}

void copy_node(Builder& builder, const Node& node, std::vector<Value>& values) {
  const Builder::Scope scope(builder, node.scope);
  std::vector<Value> inputs;
  for (const ValueId id : node.inputs) inputs.push_back(values[static_cast<std::size_t>(id)]);
  auto at = values.begin() + node.first_output;
  for (const Value& v : builder.call(*node.op, inputs, node.attributes)) *at++ = v;
}

namespace {

bool any_result(const Function& f, const Node& node, const std::vector<bool>& marks) {
  const auto first = marks.begin() + node.first_output;
  const auto last = first + static_cast<std::ptrdiff_t>(f.output_count(node));
  return std::find(first, last, true) != last;
}

}  // namespace

namespace {

// Which inputs of a call of scan its marked results need, and, as further marks, which carries. A
// carry is needed if it is read after the loop, or in a step by what is needed.
std::vector<bool> needs_of_scan(const Attributes& attributes, std::size_t inputs,
                                std::vector<bool>& given) {
  const Function& body = attributes.get<Nested>("body").function();
  const auto carries = static_cast<std::size_t>(attributes.integer("carries"));
  std::vector<bool> taken(inputs, false);
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<bool> needed(body.types().size(), false);
    for (std::size_t o = 0; o < given.size(); ++o)
      if (given[o]) needed[static_cast<std::size_t>(body.outputs()[o].value)] = true;
    mark_needed(body, needed);
    for (std::size_t i = 0; i < inputs; ++i) taken[i] = needed[i];
    for (std::size_t c = 0; c < carries; ++c) {
      changed = changed || (taken[c] && !given[c]);
      given[c] = given[c] || taken[c];
      taken[c] = given[c];
    }
  }
  // A call has an input.
  if (std::find(taken.begin(), taken.end(), true) == taken.end()) {
    taken.assign(inputs, true);
    given.assign(given.size(), true);
  }
  return taken;
}

std::vector<bool> needs_of_cond(const Attributes& attributes, std::size_t inputs,
                                const std::vector<bool>& given) {
  std::vector<bool> taken(inputs, false);
  taken[0] = true;
  for (const char* const name : {"no", "yes"}) {
    const Function& f = attributes.get<Nested>(name).function();
    std::vector<bool> needed(f.types().size(), false);
    for (std::size_t o = 0; o < given.size(); ++o)
      if (given[o]) needed[static_cast<std::size_t>(f.outputs()[o].value)] = true;
    mark_needed(f, needed);
    for (std::size_t i = 1; i < inputs; ++i) taken[i] = taken[i] || needed[i - 1];
  }
  return taken;
}

std::vector<bool> results_of(const Function& f, const Node& node, const std::vector<bool>& marks) {
  const auto first = marks.begin() + node.first_output;
  return {first, first + static_cast<std::ptrdiff_t>(f.output_count(node))};
}

}  // namespace

void mark_needed(const Function& f, std::vector<bool>& needed) {
  for (std::size_t i = f.nodes().size(); i-- > 0;) {
    const Node& node = f.nodes()[i];
    if (!any_result(f, node, needed)) continue;
    std::vector<bool> given = results_of(f, node, needed), taken(node.inputs.size(), true);
    if (node.op == &op::scan) taken = needs_of_scan(node.attributes, taken.size(), given);
    if (node.op == &op::cond) taken = needs_of_cond(node.attributes, taken.size(), given);
    for (std::size_t in = 0; in < taken.size(); ++in)
      if (taken[in]) needed[static_cast<std::size_t>(node.inputs[in])] = true;
  }
}

namespace {

// The needed values of f, from those of its inputs.
void copy_needed(Builder& builder, const Function& f, const std::vector<bool>& needed,
                 std::vector<Value>& values) {
  values.resize(f.types().size());
  for (const Node& node : f.nodes()) {
    if (!any_result(f, node, needed)) continue;
    const Builder::Scope scope(builder, node.scope);
    std::vector<Value> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(values[static_cast<std::size_t>(id)]);
    std::vector<Value> results = pruned(builder, node, inputs, results_of(f, node, needed));
    if (results.empty()) results = builder.call(*node.op, inputs, node.attributes);
    std::copy(results.begin(), results.end(), values.begin() + node.first_output);
  }
}

}  // namespace

Value value_of(Builder& builder, const Function& f, ValueId id, std::span<const Value> inputs) {
  std::vector<bool> needed(f.types().size(), false);
  needed[static_cast<std::size_t>(id)] = true;
  mark_needed(f, needed);
  std::vector<Value> values(inputs.begin(), inputs.end());
  copy_needed(builder, f, needed, values);
  return values[static_cast<std::size_t>(id)];
}

namespace {

// The part of f that gives some of its outputs, with some of its inputs. They must be enough.
Function part_of(const Function& f, const std::vector<bool>& inputs,
                 const std::vector<bool>& outputs) {
  std::vector<bool> needed(f.types().size(), false);
  for (std::size_t o = 0; o < outputs.size(); ++o)
    if (outputs[o]) needed[static_cast<std::size_t>(f.outputs()[o].value)] = true;
  mark_needed(f, needed);
  Builder builder(f.name());
  std::vector<Value> values(f.inputs().size()), results;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) values[i] = builder.input(f.inputs()[i].name, f.inputs()[i].type);
  copy_needed(builder, f, needed, values);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o]) continue;
    results.push_back(values[static_cast<std::size_t>(f.outputs()[o].value)]);
    names.push_back(f.outputs()[o].name);
  }
  return builder.finish(results, std::move(names));
}

bool all_of(const std::vector<bool>& marks) {
  return std::find(marks.begin(), marks.end(), false) == marks.end();
}
std::int64_t count_of(const std::vector<bool>& marks, std::size_t begin, std::size_t end) {
  return std::count(marks.begin() + static_cast<std::ptrdiff_t>(begin),
                    marks.begin() + static_cast<std::ptrdiff_t>(end), true);
}

std::vector<Value> call_of_part(Builder& builder, const Node& node, std::span<const Value> inputs,
                                const std::vector<bool>& taken, const std::vector<bool>& given,
                                Attributes attributes) {
  std::vector<Value> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (taken[i]) operands.push_back(inputs[i]);
  std::vector<Value> results(given.size());
  std::size_t next = 0;
  const std::vector<Value> made = builder.call(*node.op, operands, std::move(attributes));
  for (std::size_t o = 0; o < given.size(); ++o)
    if (given[o]) results[o] = made[next++];
  return results;
}

std::vector<Value> pruned_scan(Builder& builder, const Node& node, std::span<const Value> inputs,
                               std::vector<bool> given) {
  const std::vector<bool> taken = needs_of_scan(node.attributes, inputs.size(), given);
  if (all_of(given) && all_of(taken)) return {};
  const Function& body = node.attributes.get<Nested>("body").function();
  const auto carries = static_cast<std::size_t>(node.attributes.integer("carries"));
  const auto scanned = static_cast<std::size_t>(node.attributes.integer("scanned"));
  Attributes attributes = node.attributes;
  attributes.set("body", Nested(part_of(body, taken, given)));
  attributes.set("carries", count_of(taken, 0, carries));
  attributes.set("scanned", count_of(taken, carries, carries + scanned));
  return call_of_part(builder, node, inputs, taken, given, std::move(attributes));
}

std::vector<Value> pruned_cond(Builder& builder, const Node& node, std::span<const Value> inputs,
                               const std::vector<bool>& given) {
  const std::vector<bool> taken = needs_of_cond(node.attributes, inputs.size(), given);
  if (all_of(given) && all_of(taken)) return {};
  const Function& yes = node.attributes.get<Nested>("yes").function();
  const Function& no = node.attributes.get<Nested>("no").function();
  const std::vector<bool> operands(taken.begin() + 1, taken.end());
  return call_of_part(builder, node, inputs, taken, given,
                      {{"no", Nested(part_of(no, operands, given))},
                       {"yes", Nested(part_of(yes, operands, given))}});
}

}  // namespace

std::vector<Value> pruned(Builder& builder, const Node& node, std::span<const Value> inputs,
                          const std::vector<bool>& needed) {
  if (node.op == &op::scan) return pruned_scan(builder, node, inputs, needed);
  if (node.op == &op::cond) return pruned_cond(builder, node, inputs, needed);
  return {};
}

bool has_gradient(const Function& f, std::size_t input) {
  try {
    vjp(f, {input});
    return true;
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kNoGradient) throw;
    return false;
  }
}

Function gradients(const Function& f, const std::vector<std::size_t>& wrt) {
  std::vector<std::size_t> by = wrt;
  Function both;
  try {
    both = vjp(f, by);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kNoGradient) throw;
    std::erase_if(by, [&](std::size_t i) { return !has_gradient(f, i); });
    both = vjp(f, by);
  }
  return simplify(trace(f.name(), both.inputs(), [&](std::span<const Value> in) {
    Builder& builder = in.front().builder();
    const std::vector<Value> all = builder.inline_function(both, in);
    std::vector<Value> results;
    std::size_t next = f.outputs().size();
    for (const std::size_t i : wrt) {
      const bool has = std::find(by.begin(), by.end(), i) != by.end();
      results.push_back(has ? all[next++] : zeros_of(builder, f.inputs()[i].type));
    }
    return results;
  }));
}

}  // namespace limpid::detail
