// Evaluates chains of constants, lazily.
#include <algorithm>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/formats/onnx/import/detail/known_values.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/constant.h"

namespace limpid::onnx::detail {
namespace {

// The limit for all values of a model. Shapes, axes and masks need far less.
constexpr std::int64_t kMostElements = std::int64_t{1} << 21;
constexpr std::int64_t kMostFlops = std::int64_t{1} << 27;

std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

}  // namespace

void KnownValues::give(Value input, Tensor value) { given_.emplace(input.id(), std::move(value)); }

ValueId KnownValues::unknown_input(Value value) {
  // Values are numbered in creation order: a call's inputs have smaller numbers.
  for (auto id = static_cast<ValueId>(unknown_.size()); id <= value.id(); ++id) {
    const limpid::Node* maker = value.builder().maker(id);
    ValueId unknown = -1;
    if (!maker)
      unknown = given_.contains(id) ? -1 : id;
    else
      for (const ValueId in : maker->inputs) unknown = std::max(unknown, unknown_[index(in)]);
    unknown_.push_back(unknown);
  }
  return unknown_[index(value.id())];
}

Tensor KnownValues::value(Value value) {
  std::set<ValueId> wanted{value.id()};
  std::vector<ValueId> order;
  while (!wanted.empty()) {
    const ValueId id = *wanted.rbegin();
    wanted.erase(id);
    if (values_.contains(id)) continue;
    order.push_back(id);
    if (const limpid::Node* maker = value.builder().maker(id))
      wanted.insert(maker->inputs.begin(), maker->inputs.end());
  }
  for (auto id = order.rbegin(); id != order.rend(); ++id) evaluate(value.builder(), *id);
  return values_.at(value.id());
}

void KnownValues::evaluate(Builder& builder, ValueId id) {
  if (values_.contains(id)) return;  // another result of a call that was evaluated
  const limpid::Node* maker = builder.maker(id);
  if (!maker) {
    used_.insert(id);
    values_.emplace(id, given_.at(id));
    return;
  }
  if (maker->op == &op::constant) {
    values_.emplace(id, maker->attributes.get<Tensor>("value"));
    return;
  }
  std::vector<Tensor> inputs;
  std::vector<Type> in;
  for (const ValueId v : maker->inputs) {
    inputs.push_back(values_.at(v));
    in.push_back(inputs.back().type());
  }
  Call call{*maker->op, in, {}, maker->attributes, maker->scope};
  const std::vector<Type> out = maker->op->types(call);
  for (const Type& t : out) elements_ = sum_or_most(elements_, t.shape.elements());
  const Call typed{*maker->op, in, out, maker->attributes, maker->scope};
  flops_ = sum_or_most(flops_, maker->op->flops(typed));
  if (elements_ > kMostElements || flops_ > kMostFlops)
    throw Error(ErrorCode::kUnsupported,
                "computing its shapes at import takes too much arithmetic");
  std::vector<Tensor> results = interpret_call(typed, inputs);
  for (std::size_t i = 0; i < results.size(); ++i)
    values_.emplace(maker->first_output + static_cast<ValueId>(i), std::move(results[i]));
}

}  // namespace limpid::onnx::detail
