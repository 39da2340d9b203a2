#include "limpid/function/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

#include "limpid/core/error.h"
#include "limpid/function/nested.h"
#include "limpid/function/signature.h"
#include "limpid/function/text.h"

namespace limpid {

std::string where(const Call& call) {
  return call.scope.empty() ? std::string(call.op.name)
                            : fmt::format("{} '{}'", call.op.name, call.scope);
}

Nested::Nested(Function function)
    : function_(std::make_shared<const Function>(std::move(function))) {
  for (const Node& node : function_->nodes())
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<Nested>(&attribute))
        depth_ = std::max(depth_, inner->depth_ + 1);
}

bool Nested::operator==(const Nested& other) const {
  return function_ == other.function_ || *function_ == *other.function_;
}

namespace detail {

struct Kept {
  std::mutex mutex;
  std::map<std::type_index, std::shared_ptr<const void>> made;
};

}  // namespace detail

Function::Function(Parts parts)
    : parts_(std::make_shared<const Parts>(std::move(parts))),
      kept_(std::make_shared<detail::Kept>()) {}

std::shared_ptr<const void> Function::keep(
    std::type_index type, const std::function<std::shared_ptr<const void>()>& make) const {
  const std::lock_guard lock(kept_->mutex);
  std::shared_ptr<const void>& made = kept_->made[type];
  if (!made) made = make();
  return made;
}

std::vector<std::vector<ValueId>> last_reads(const Function& function) {
  constexpr std::size_t kOutput = std::numeric_limits<std::size_t>::max();
  const std::vector<Node>& nodes = function.nodes();
  std::vector<std::size_t> last(function.types().size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (std::size_t r = 0; r < function.output_count(nodes[i]); ++r)
      last[static_cast<std::size_t>(nodes[i].first_output) + r] = i;
    for (const ValueId id : nodes[i].inputs) last[static_cast<std::size_t>(id)] = i;
  }
  for (const Output& o : function.outputs()) last[static_cast<std::size_t>(o.value)] = kOutput;
  std::vector<std::vector<ValueId>> released(nodes.size());
  for (std::size_t v = 0; v < last.size(); ++v)
    if (last[v] < nodes.size()) released[last[v]].push_back(static_cast<ValueId>(v));
  return released;
}

template <class T>
void Results<T>::throw_not_one(std::size_t count) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("expected 1 result, got {}; select one with [i]", count));
}
template class Results<Value>;
template class Results<Tensor>;

std::size_t Function::output_count(const Node& node) const {
  // Computed from value numbers, so that it also works on a copy of a node.
  const auto next =
      std::upper_bound(nodes().begin(), nodes().end(), node.first_output,
                       [](ValueId first, const Node& n) { return first < n.first_output; });
  const ValueId end =
      next != nodes().end() ? next->first_output : static_cast<ValueId>(types().size());
  return static_cast<std::size_t>(end - node.first_output);
}

std::size_t Function::input_index(std::string_view name) const {
  for (std::size_t i = 0; i < inputs().size(); ++i)
    if (inputs()[i].name == name) return i;
  std::vector<std::string> names;
  for (const Input& i : inputs()) names.push_back(i.name);
  throw_missing(name, names);
}

std::size_t Function::output_index(std::string_view name) const {
  for (std::size_t i = 0; i < outputs().size(); ++i)
    if (outputs()[i].name == name) return i;
  std::vector<std::string> names;
  for (const Output& o : outputs()) names.push_back(o.name);
  throw_missing(name, names);
}

Function::CallTypes Function::call_types(const Node& node) const {
  CallTypes result;
  for (ValueId id : node.inputs) result.inputs.push_back(type(id));
  for (std::size_t i = 0; i < output_count(node); ++i)
    result.outputs.push_back(type(node.first_output + static_cast<ValueId>(i)));
  return result;
}

std::string value_name(const Function& function, ValueId id) {
  const auto inputs = static_cast<ValueId>(function.inputs().size());
  if (id >= 0 && id < inputs)
    return "%" + quoted_name(function.inputs()[static_cast<std::size_t>(id)].name);
  return fmt::format("%{}", id - inputs);
}

namespace {

// The lines of a Function's text around one node.
std::string context(const Function& f, std::size_t node) {
  constexpr std::size_t kAround = 5;
  std::string text;
  const std::size_t begin = node > kAround ? node - kAround : 0;
  for (std::size_t i = begin; i < std::min(f.nodes().size(), node + kAround + 1); ++i)
    text += fmt::format("\n{} {}", i == node ? '>' : ' ',
                        node_text(f, f.nodes()[i], {.bodies = false}));
  return text;
}

// Throws if the results of nodes are not numbered in ascending order: no other check makes sense
// then.
void verify_numbers(const Function& f) {
  const auto values = static_cast<ValueId>(f.types().size());
  auto last = static_cast<ValueId>(f.inputs().size());
  for (std::size_t i = 0; i < f.nodes().size(); ++i) {
    const ValueId first = f.nodes()[i].first_output;
    if (first < last || first > values)
      throw Error(ErrorCode::kInternal,
                  fmt::format("function '{}', op {}: results are misnumbered", f.name(), i));
    last = first;
  }
}

// Throws if node i uses a value that is defined later, or has result types other than its op's.
void verify_node(const Function& f, std::size_t i) {
  const Node& node = f.nodes()[i];
  if (!node.op) throw Error(ErrorCode::kInternal, "a node has no op");
  for (ValueId id : node.inputs)
    if (id < 0 || id >= node.first_output)
      throw Error(ErrorCode::kInternal,
                  fmt::format("{} uses value {} before it is made", node.op->name, id));
  const Function::CallTypes types = f.call_types(node);
  const Call call{*node.op, types.inputs, {}, node.attributes, node.scope};
  check_signature(call);
  for (const Function& nested : nested_functions(node.attributes)) verify(nested);
  const std::vector<Type> expected = node.op->types(call);
  if (expected != types.outputs)
    throw Error(ErrorCode::kInternal,
                fmt::format("{}: the op gives {}, the function says {}", where(call),
                            types_text(expected), types_text(types.outputs)));
}

}  // namespace

void verify(const Function& function) {
  const auto inputs = static_cast<ValueId>(function.inputs().size());
  const auto values = static_cast<ValueId>(function.types().size());
  for (ValueId i = 0; i < inputs; ++i)
    if (i >= values || !(function.type(i) == function.inputs()[static_cast<std::size_t>(i)].type))
      throw Error(ErrorCode::kInternal,
                  fmt::format("function '{}': input {} has another type", function.name(), i));
  verify_numbers(function);
  ValueId next = inputs;
  for (std::size_t i = 0; i < function.nodes().size(); ++i) {
    try {
      if (function.nodes()[i].first_output != next)
        throw Error(ErrorCode::kInternal, "results are misnumbered");
      verify_node(function, i);
      next += static_cast<ValueId>(function.output_count(function.nodes()[i]));
    } catch (const Error& e) {
      throw Error(e.code(), fmt::format("function '{}', op {}: {}{}", function.name(), i, e.what(),
                                        context(function, i)));
    }
  }
  if (next != values)
    throw Error(ErrorCode::kInternal,
                fmt::format("function '{}': {} types, but its inputs and ops have {} values",
                            function.name(), values, next));
  for (const Output& o : function.outputs())
    if (o.value < 0 || o.value >= values)
      throw Error(ErrorCode::kInternal,
                  fmt::format("function '{}': output {} does not exist", function.name(), o.value));
}

}  // namespace limpid
