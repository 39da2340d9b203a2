#include "limpid/transforms/with_gradient.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>

#include "limpid/core/error.h"
#include "limpid/function/call.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/vmap.h"

namespace limpid::detail {
namespace {

// One batch around a call.
struct Level {
  std::int64_t size;
  std::set<std::size_t> batched;
  bool has(std::size_t value) const { return batched.contains(value); }
};

std::vector<Level> levels_of(const Attributes& attributes) {
  const auto& all = attributes.get<std::vector<std::int64_t>>("vmaps");
  std::vector<Level> levels;
  for (auto at = all.begin(); at != all.end();) {
    Level& level = levels.emplace_back(Level{*at++, {}});
    for (std::int64_t left = *at++; left > 0; --left)
      level.batched.insert(static_cast<std::size_t>(*at++));
  }
  return levels;
}

// The code under the vmaps of all levels. With `sum_shared`, results that belong to inputs which a
// level does not batch are summed over that level: they are cotangents of values that the whole
// batch shares. Those of integers, which are ignored, are left out: not all of them can be summed.
std::vector<Value> under(std::span<const Level> levels, const CodeOnValues& code,
                         std::span<const Value> values, bool sum_shared) {
  if (levels.empty()) return code(values);
  const Level& level = levels.front();
  std::vector<Input> inputs;
  std::vector<std::optional<std::int64_t>> axes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Type type = values[i].type();
    axes.push_back(level.has(i) ? std::optional<std::int64_t>(0) : std::nullopt);
    if (level.has(i)) type.shape = type.shape.erase(0);
    inputs.push_back({std::to_string(i), type});
  }
  // Whether a result is a Value. An empty one is a cotangent of zero.
  std::vector<bool> given;
  const Function one = trace("with_gradient", inputs, [&](std::span<const Value> in) {
    std::vector<Value> results = under(levels.subspan(1), code, in, sum_shared);
    for (Value& result : results) {
      if (sum_shared && result && !is_floating(result.dtype())) result = Value();
      given.push_back(static_cast<bool>(result));
    }
    std::erase_if(results, [](const Value& result) { return !result; });
    return results;
  });
  const std::vector<Value> batched = call(vmap(one, axes, level.size), values);
  std::vector<Value> results(given.size());
  for (std::size_t i = 0, next = 0; i < given.size(); ++i) {
    if (!given[i]) continue;
    results[i] = batched[next++];
    if (sum_shared && !level.has(i))
      results[i] = added_up(results[i], [](Value each) { return sum(each, 0); });
  }
  return results;
}

// Also of bools, which number_like() has none of.
Value zeros_like(const Value& value) {
  return broadcast(constant(value.builder(), Tensor::zeros({value.dtype(), {}})), value.shape());
}

}  // namespace

std::vector<Type> composed_types(const Call& call) {
  const Function body = body_of(call);
  std::vector<Type> types;
  for (const Output& o : body.outputs()) types.push_back(body.type(o.value));
  return types;
}

std::vector<Value> composed_body(const CodeOnValues& body, std::span<const Value> inputs,
                                 const Attributes& attributes) {
  return under(levels_of(attributes), body, inputs, false);
}

std::vector<Value> composed_gradient(const CodeOnValues& gradient, const GradientCall& call) {
  std::vector<Value> values(call.inputs.begin(), call.inputs.end());
  values.insert(values.end(), call.outputs.begin(), call.outputs.end());
  for (std::size_t o = 0; o < call.outputs.size(); ++o)
    values.push_back(call.cotangents[o] ? call.cotangents[o] : zeros_like(call.outputs[o]));
  std::vector<Level> levels = levels_of(call.attributes);
  for (Level& level : levels)
    for (std::size_t i = call.inputs.size(); i < values.size(); ++i) level.batched.insert(i);
  std::vector<Value> cotangents = under(levels, gradient, values, true);
  if (cotangents.size() != call.inputs.size())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("with_gradient: the gradient gives {} cotangents, expected {}",
                            cotangents.size(), call.inputs.size()));
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    if (!cotangents[i]) continue;
    if (!(cotangents[i].type() == call.inputs[i].type()))
      throw Error(
          cotangents[i].dtype() == call.inputs[i].dtype() ? ErrorCode::kShape : ErrorCode::kDtype,
          fmt::format("with_gradient: the cotangent of input {} is {}, expected {}", i,
                      to_string(cotangents[i].type()), to_string(call.inputs[i].type())));
    if (!is_floating(call.inputs[i].dtype())) cotangents[i] = Value();
  }
  return cotangents;
}

std::vector<Value> composed_batching(const Op& op, const BatchingCall& c) {
  std::vector<std::int64_t> levels{c.size, 0};
  for (std::size_t i = 0; i < c.batched.size(); ++i)
    if (c.batched[i]) levels.push_back(static_cast<std::int64_t>(i));
  levels[1] = static_cast<std::int64_t>(levels.size()) - 2;
  const auto& inner = c.attributes.get<std::vector<std::int64_t>>("vmaps");
  levels.insert(levels.end(), inner.begin(), inner.end());
  Attributes attributes = c.attributes;
  attributes.set("vmaps", std::move(levels));
  return c.builder.call(op, c.inputs, std::move(attributes));
}

std::int64_t composed_flops(const Call& call) { return flops_of_body(call); }

std::vector<Example> no_examples() { return {}; }

}  // namespace limpid::detail
