#include "limpid/train/diagnostics/find_nonfinite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"

namespace limpid::train {
namespace {

enum class Kind : std::uint8_t { kFinite, kInfinite, kNan };

Kind kind_of(const Tensor& tensor) {
  if (!is_floating(tensor.dtype())) return Kind::kFinite;
  Kind kind = Kind::kFinite;
  for (double v : to_doubles(tensor)) {
    if (std::isnan(v)) return Kind::kNan;
    if (std::isinf(v)) kind = Kind::kInfinite;
  }
  return kind;
}

// One run with all its values, the inputs first, and which of them are finite.
struct Replay {
  const Function& function;
  std::vector<Tensor> values;
  std::vector<Kind> kinds;
  std::vector<const Node*> makers;  // nullptr for inputs

  Replay(const Function& f, std::span<const Tensor> inputs)
      : function(f), values(inputs.begin(), inputs.end()), makers(inputs.size()) {
    interpret(f, inputs, [&](const Node& node, std::size_t, const Tensor& value) {
      values.push_back(value);
      makers.push_back(&node);
    });
    for (const Tensor& v : values) kinds.push_back(kind_of(v));
  }

  Kind kind(ValueId id) const { return kinds[static_cast<std::size_t>(id)]; }
  const Tensor& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }

  // The operands that a value's NaNs or infinities come from: NaNs before infinities. Constants of
  // the Function, such as a mask, are not blamed.
  std::vector<ValueId> culprits(const Node& node) const {
    std::vector<ValueId> found;
    for (const Kind wanted : {Kind::kNan, Kind::kInfinite}) {
      for (ValueId id : node.inputs) {
        const Node* maker = makers[static_cast<std::size_t>(id)];
        if (kind(id) == wanted && !(maker && maker->inputs.empty())) found.push_back(id);
      }
      if (!found.empty()) break;
    }
    return found;
  }

  // The first of the values that made an output not finite.
  std::optional<ValueId> origin() const {
    std::vector<ValueId> open;
    for (const Output& o : function.outputs())
      if (kind(o.value) != Kind::kFinite) open.push_back(o.value);
    std::vector<bool> seen(values.size());
    std::optional<ValueId> first;
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (seen[static_cast<std::size_t>(id)]) continue;
      seen[static_cast<std::size_t>(id)] = true;
      if (!first || id < *first) first = id;
      if (const Node* maker = makers[static_cast<std::size_t>(id)])
        for (ValueId culprit : culprits(*maker)) open.push_back(culprit);
    }
    return first;
  }
};

void describe_value(const Tensor& value, NonFiniteOrigin& origin) {
  const std::vector<double> numbers = to_doubles(value);
  const auto finite = [](double v) { return std::isfinite(v); };
  const auto first = std::find_if_not(numbers.begin(), numbers.end(), finite);
  origin.type = value.type();
  origin.number = *first;
  origin.index = place_of(first - numbers.begin(), value.shape());
  origin.count = std::count_if(first, numbers.end(), [&](double v) { return !finite(v); });
}

// The op that made a value; for a composition, the op of its body that did.
void describe_op(const Replay& replay, const Node& node, NonFiniteOrigin& origin) {
  origin.ops.emplace_back(node.op->name);
  std::vector<Tensor> operands;
  for (ValueId id : node.inputs) operands.push_back(replay.value(id));
  // A loop is not opened: its body has all of its steps.
  if (node.op->body && !node.op->evaluation) {
    const Function::CallTypes types = replay.function.call_types(node);
    const Function body =
        body_of({*node.op, types.inputs, types.outputs, node.attributes, node.scope});
    const Replay inside(body, operands);
    const std::optional<ValueId> id = inside.origin();
    // The body may return an operand unchanged; then the call itself is the answer.
    const Node* maker = id ? inside.makers[static_cast<std::size_t>(*id)] : nullptr;
    if (maker) return describe_op(inside, *maker, origin);
  }
  for (std::size_t i = 0; i < operands.size(); ++i)
    origin.operands.push_back(
        {value_name(replay.function, node.inputs[i]), operands[i].type(), statistics(operands[i])});
}

std::string operand_text(const NonFiniteOrigin::Operand& o) {
  const Statistics& s = o.statistics;
  std::string text = fmt::format("{} {} had min {:.4g}, mean {:.4g}, std {:.4g}, max {:.4g}",
                                 in_quotes(o.value), to_string(o.type), unsigned_nan(s.min),
                                 unsigned_nan(s.mean), unsigned_nan(s.std), unsigned_nan(s.max));
  if (s.nans + s.infs > 0) text += fmt::format(" and {} NaN, {} infinite", s.nans, s.infs);
  return text;
}

}  // namespace

std::optional<NonFiniteOrigin> find_nonfinite(const Function& function,
                                              std::span<const Tensor> inputs) {
  const Replay replay(function, inputs);
  const std::optional<ValueId> id = replay.origin();
  if (!id) return {};
  NonFiniteOrigin origin;
  origin.value = value_name(function, *id);
  describe_value(replay.value(*id), origin);
  if (const Node* maker = replay.makers[static_cast<std::size_t>(*id)]) {
    origin.layer = maker->scope;
    describe_op(replay, *maker, origin);
  }
  return origin;
}

std::string to_text(const NonFiniteOrigin& origin) {
  const std::string place =
      fmt::format("{} at [{}] ({} of {} elements of {} {} not finite)", unsigned_nan(origin.number),
                  fmt::join(origin.index, ", "), origin.count, origin.type.shape.elements(),
                  to_string(origin.type), origin.count == 1 ? "is" : "are");
  if (origin.ops.empty())
    return fmt::format("the input {} held {}", in_quotes(origin.value), place);
  std::string text = fmt::format("{}", fmt::join(origin.ops, " > "));
  if (!origin.layer.empty()) text += fmt::format(" in {}", in_quotes(origin.layer));
  text += " gave " + place;
  std::vector<std::string> operands;  // each once: a square has its operand twice
  for (const NonFiniteOrigin::Operand& operand : origin.operands)
    if (const std::string said = operand_text(operand);
        std::find(operands.begin(), operands.end(), said) == operands.end())
      operands.push_back(said);
  if (!operands.empty())
    text += fmt::format("; its input{} {}", operands.size() == 1 ? "" : "s",
                        fmt::join(operands, ", and "));
  return text;
}

}  // namespace limpid::train
