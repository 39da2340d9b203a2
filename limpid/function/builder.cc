#include "limpid/function/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/number_text.h"
#include "limpid/core/stop_check.h"
#include "limpid/function/signature.h"

namespace limpid {

// ---- where Values find their Builder

namespace detail {

struct TracePlace {
  std::atomic<Builder*> builder = nullptr;
  std::atomic<std::uint64_t> number = 0;
  std::thread::id thread;  // in which the Builder began; under the mutex of all places
};

namespace {

// Never destroyed: Values of static duration may use it after the end of main.
struct Places {
  std::mutex mutex;
  std::vector<TracePlace*> all, free;
  std::uint64_t builders = 0;
};
Places& places() {
  static auto* const all = new Places;
  return *all;
}

TracePlace* take_place(Builder* builder, std::uint64_t& number) {
  Places& all = places();
  const std::lock_guard lock(all.mutex);
  if (all.free.empty()) all.free.push_back(all.all.emplace_back(new TracePlace));
  TracePlace* const place = all.free.back();
  all.free.pop_back();
  number = ++all.builders;
  place->builder = builder;
  place->thread = std::this_thread::get_id();
  place->number = number;
  return place;
}

// Returns whether another Builder is active that began in this thread.
bool give_place_back(TracePlace* place) {
  Places& all = places();
  const std::lock_guard lock(all.mutex);
  place->builder = nullptr;
  all.free.push_back(place);
  return std::any_of(all.all.begin(), all.all.end(), [](const TracePlace* other) {
    return other->builder && other->thread == std::this_thread::get_id();
  });
}

}  // namespace
}  // namespace detail

Value::Value(Builder* builder, ValueId id)
    : place_(builder->place_), id_(id), trace_(builder->number_) {}

Builder& Value::builder() const {
  Builder* const builder = place_ ? place_->builder.load(std::memory_order_relaxed) : nullptr;
  if (!builder || place_->number.load(std::memory_order_relaxed) != trace_)
    throw Error(ErrorCode::kInvalidArgument,
                place_ ? "value: its Function is complete, so the Value can no longer be used; "
                         "return it from the traced code, and use the result of the call"
                       : "value: expected a Value of a Function, got a default-constructed one");
  return *builder;
}

Type Value::type() const { return builder().type(id_); }

// ---- Builder

Builder::Builder(std::string name) : place_(detail::take_place(this, number_)) {
  parts_.name = std::move(name);
}

Builder::Builder(std::string name, Builder& around) : Builder(std::move(name)) {
  around_ = &around;
  scope_around_ = around.scope_of_op();
}

Builder::~Builder() { end(); }

void Builder::end() {
  if (!place_) return;
  const bool others = detail::give_place_back(std::exchange(place_, nullptr));
  // The Builders of a thread need not be nested: while one is active, the mode stays the default.
  thread_local std::optional<DefaultFloatMode> mode_of_others;
  mode_of_others.reset();
  mode_.reset();
  if (others) mode_of_others.emplace();
}

Value Builder::own(const Value& value) {
  Builder& other = value.builder();
  if (&other == this) return value;
  if (!around_ || other.number_ > number_)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("a Value of function '{}' is not a value of function '{}'; make it an argument",
                    other.parts_.name, parts_.name));
  return capture(value);
}

Value Builder::capture(const Value& outer) {
  for (const Captured& c : captured_)
    if (c.outer.same_as(outer)) return {this, c.id};
  // Constants are made again here, so that rules about constants see them.
  if (const Node* maker = outer.builder().maker(outer.id()); maker && maker->inputs.empty()) {
    const Node node = *maker;
    return call(*node.op, {},
                node.attributes)[static_cast<std::size_t>(outer.id() - node.first_output)];
  }
  parts_.types.push_back(outer.type());
  captured_.push_back({outer, static_cast<ValueId>(parts_.types.size()) - 1});
  return {this, captured_.back().id};
}

std::vector<Value> Builder::captured() const {
  std::vector<Value> outer;
  for (const Captured& c : captured_) outer.push_back(c.outer);
  return outer;
}

// The scopes that surrounding code has entered since this Function began, then its own.
std::string Builder::scope_of_op() const {
  if (!around_) return scope_;
  std::string entered = around_->scope_of_op();
  if (!scope_around_.empty()) {
    if (!is_at_or_below(entered, scope_around_)) return scope_;
    entered.erase(0, scope_around_.size() + 1);
  }
  if (entered.empty()) return scope_;
  return scope_.empty() ? entered : Args::join(entered, scope_);
}

Value Builder::input(std::string name, const Type& type) {
  if (!parts_.nodes.empty() || !captured_.empty())
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("function '{}': input '{}' is added after an op or a value of the code around",
                    parts_.name, name));
  if (!input_names_.insert(name).second)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("function '{}': two inputs are named '{}'", parts_.name, name));
  parts_.inputs.push_back({std::move(name), type});
  parts_.types.push_back(type);
  return {this, static_cast<ValueId>(parts_.types.size()) - 1};
}

std::vector<Value> Builder::call(const Op& op, std::span<const Value> inputs,
                                 Attributes attributes) {
  throw_if_stopped();
  Node node{&op, {}, std::move(attributes), 0, scope_of_op()};
  std::vector<Type> types;
  for (const Value& v : inputs) {
    node.inputs.push_back(own_input(op, v).id());
    types.push_back(type(node.inputs.back()));
  }
  node.first_output = static_cast<ValueId>(parts_.types.size());
  const Call call{op, types, {}, node.attributes, node.scope};
  check_signature(call);
  std::vector<Value> results;
  for (Type& t : op.types(call)) {
    parts_.types.push_back(t);
    results.emplace_back(this, static_cast<ValueId>(parts_.types.size()) - 1);
  }
  parts_.nodes.push_back(std::move(node));
  return results;
}

Value Builder::own_input(const Op& op, const Value& value) {
  try {
    return own(value);
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("{}: {}", op.name, e.what()));
  }
}

const Node* Builder::maker(ValueId id) const {
  for (const Captured& c : captured_)
    if (c.id == id) return nullptr;
  const auto after = std::upper_bound(parts_.nodes.begin(), parts_.nodes.end(), id,
                                      [](ValueId v, const Node& n) { return v < n.first_output; });
  return after == parts_.nodes.begin() ? nullptr : &*std::prev(after);
}

std::vector<Value> Builder::inline_function(const Function& function,
                                            std::span<const Value> arguments) {
  if (arguments.size() != function.inputs().size())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("function '{}' takes {}, got {}", function.name(),
                            counted(static_cast<std::int64_t>(function.inputs().size()), "input"),
                            arguments.size()));
  std::vector<Value> values;
  for (const Value& v : arguments) values.push_back(own(v));
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!(values[i].type() == function.inputs()[i].type))
      throw Error(values[i].type().dtype == function.inputs()[i].type.dtype ? ErrorCode::kShape
                                                                            : ErrorCode::kDtype,
                  fmt::format("function '{}': input '{}': expected {}, got {}", function.name(),
                              function.inputs()[i].name, to_string(function.inputs()[i].type),
                              to_string(values[i].type())));
  for (const Node& node : function.nodes()) {
    const Scope scope(*this, node.scope);
    std::vector<Value> in;
    for (ValueId id : node.inputs) in.push_back(values[static_cast<std::size_t>(id)]);
    for (const Value& v : call(*node.op, in, node.attributes)) values.push_back(v);
  }
  std::vector<Value> results;
  for (const Output& o : function.outputs())
    results.push_back(values[static_cast<std::size_t>(o.value)]);
  return results;
}

Function Builder::finish(std::span<const Value> outputs, std::vector<std::string> output_names) {
  if (!place_)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("function '{}' is already complete", parts_.name));
  if (!output_names.empty() && output_names.size() != outputs.size())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("function '{}': expected a name for each of its {} outputs, got {}",
                            parts_.name, outputs.size(), output_names.size()));
  output_names.resize(outputs.size());
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    try {
      ids.push_back(own(outputs[i]).id());
    } catch (const Error& e) {
      throw Error(e.code(), fmt::format("function '{}': output {}: {}", parts_.name, i, e.what()));
    }
  }
  if (!captured_.empty()) number_captured_as_inputs(ids);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    parts_.outputs.push_back({std::move(output_names[i]), ids[i]});
  end();
  Function::Parts parts = std::move(parts_);
  parts_.name = parts.name;  // for the message of a second call
  return Function(std::move(parts));
}

// Captured values are numbered in the order of their use, but a Function's inputs come first.
void Builder::number_captured_as_inputs(std::vector<ValueId>& outputs) {
  std::vector<ValueId> renumbered(parts_.types.size(), -1);
  ValueId next = 0;
  for (std::size_t i = 0; i < parts_.inputs.size(); ++i) renumbered[i] = next++;
  for (const Captured& c : captured_) {
    std::string name = fmt::format("captured.{}", next);
    while (!input_names_.insert(name).second) name = "captured." + name;
    parts_.inputs.push_back({name, type(c.id)});
    renumbered[static_cast<std::size_t>(c.id)] = next++;
  }
  for (ValueId& id : renumbered)
    if (id < 0) id = next++;
  std::vector<Type> types(parts_.types.size());
  for (std::size_t i = 0; i < types.size(); ++i)
    types[static_cast<std::size_t>(renumbered[i])] = parts_.types[i];
  parts_.types = std::move(types);
  const auto renumber = [&](ValueId& id) { id = renumbered[static_cast<std::size_t>(id)]; };
  for (Node& node : parts_.nodes) {
    if (static_cast<std::size_t>(node.first_output) < renumbered.size())
      renumber(node.first_output);
    for (ValueId& id : node.inputs) renumber(id);
  }
  for (ValueId& id : outputs) renumber(id);
}

Builder::Scope::Scope(Builder& builder, std::string_view name)
    : builder_(builder), outer_(builder.scope_) {
  if (name.empty()) return;
  // Each part is a group within another for those who show it: of a line of text, 50,000 were more
  // than a page can draw.
  constexpr std::size_t kMostCharacters = 4'096, kMostParts = 256;
  std::string scope = Named<Value>::join(outer_, name);
  const auto dots = static_cast<std::size_t>(std::count(scope.begin(), scope.end(), '.'));
  if (scope.size() > kMostCharacters || dots >= kMostParts)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("expected a scope of at most {} characters and {} parts, got {} and {}",
                            kMostCharacters, kMostParts, scope.size(), dots + 1));
  builder_.scope_ = std::move(scope);
}

Builder& innermost(std::span<const Value> values, std::string_view what) {
  Builder* found = nullptr;
  for (const Value& v : values) {
    if (!v) continue;
    try {
      Builder& builder = v.builder();
      if (!found || builder.number() > found->number()) found = &builder;
    } catch (const Error& e) {
      throw Error(e.code(), fmt::format("{}: {}", what, e.what()));
    }
  }
  if (!found)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: expected at least one argument that is a value of a function", what));
  return *found;
}

std::vector<Value> call(const Op& op, std::span<const Value> inputs, Attributes attributes) {
  return innermost(inputs, op.name).call(op, inputs, std::move(attributes));
}

Value call1(const Op& op, std::initializer_list<Value> inputs, Attributes attributes) {
  return call(op, std::span<const Value>(inputs.begin(), inputs.size()), std::move(attributes))
      .front();
}

Function trace(std::string name, std::vector<Input> inputs,
               const std::function<std::vector<Value>(std::span<const Value>)>& code,
               std::vector<std::string> output_names) {
  Builder builder(std::move(name));
  std::vector<Value> values;
  for (Input& i : inputs) values.push_back(builder.input(std::move(i.name), i.type));
  const std::vector<Value> outputs = code(values);
  return builder.finish(outputs, std::move(output_names));
}

Function body_of(const Call& call) {
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    inputs.push_back({std::to_string(i), call.inputs[i]});
  return trace(std::string(call.op.name), std::move(inputs), [&](std::span<const Value> values) {
    return call.op.body(values, call.attributes);
  });
}

}  // namespace limpid
