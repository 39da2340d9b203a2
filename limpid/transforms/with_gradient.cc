#include "limpid/transforms/with_gradient.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/function/call.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/vmap.h"

namespace limpid::detail {
namespace {

// One batch that a call stands in.
struct Level {
  std::int64_t size;
  std::uint64_t batched;
  bool has(std::size_t input) const { return (batched >> input & 1) != 0; }
};

std::vector<Level> levels_of(const Attributes& attributes) {
  const auto& all = attributes.get<std::vector<std::int64_t>>("vmaps");
  std::vector<Level> levels;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2)
    levels.push_back({all[i], static_cast<std::uint64_t>(all[i + 1])});
  return levels;
}

// The code under the vmaps of all levels. Where `sums` are given, results of inputs that a level
// does not batch are summed over it: they are cotangents of what the whole batch shares.
std::vector<Value> under(std::span<const Level> levels, CodeOnValues code,
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
  const Function one = trace("with_gradient", inputs, [&](std::span<const Value> in) {
    return under(levels.subspan(1), code, in, sum_shared);
  });
  std::vector<Value> results = call(vmap(one, axes, level.size), values);
  if (sum_shared)
    for (std::size_t i = 0; i < results.size(); ++i)
      if (!level.has(i)) results[i] = sum(results[i], 0);
  return results;
}

}  // namespace

std::vector<Type> composed_types(const Call& call) {
  const Function body = body_of(call);
  std::vector<Type> types;
  for (const Output& o : body.outputs()) types.push_back(body.type(o.value));
  if (types.size() != 1)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: the body gives {} Values, 1 is expected", where(call), types.size()));
  return types;
}

std::vector<Value> composed_body(CodeOnValues body, std::span<const Value> inputs,
                                 const Attributes& attributes) {
  return under(levels_of(attributes), body, inputs, false);
}

std::vector<Value> composed_gradient(CodeOnValues gradient, const GradientCall& call) {
  std::vector<Value> values(call.inputs.begin(), call.inputs.end());
  values.push_back(call.outputs[0]);
  values.push_back(call.cotangents[0]);
  std::vector<Level> levels = levels_of(call.attributes);
  for (Level& level : levels) level.batched |= std::uint64_t{3} << call.inputs.size();
  std::vector<Value> cotangents = under(levels, gradient, values, true);
  if (cotangents.size() != call.inputs.size())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("with_gradient: the gradient gives {} cotangents, {} are expected",
                            cotangents.size(), call.inputs.size()));
  for (std::size_t i = 0; i < cotangents.size(); ++i)
    if (!(cotangents[i].type() == call.inputs[i].type()))
      throw Error(ErrorCode::kShape,
                  fmt::format("with_gradient: the cotangent of input {} is {}, {} is expected", i,
                              to_string(cotangents[i].type()), to_string(call.inputs[i].type())));
  return cotangents;
}

std::vector<Value> composed_batching(const Op& op, const BatchingCall& c) {
  std::uint64_t batched = 0;
  for (std::size_t i = 0; i < c.batched.size(); ++i) batched |= std::uint64_t{c.batched[i]} << i;
  std::vector<std::int64_t> levels{c.size, static_cast<std::int64_t>(batched)};
  const auto& inner = c.attributes.get<std::vector<std::int64_t>>("vmaps");
  levels.insert(levels.end(), inner.begin(), inner.end());
  return c.builder.call(op, c.inputs, {{"vmaps", std::move(levels)}});
}

std::int64_t composed_flops(const Call& call) { return flops_of_body(call); }

std::vector<Example> no_examples() { return {}; }

}  // namespace limpid::detail
