// Builder: constructs a Function op by op and checks types on the way. trace() is the usual way to
// use it.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limpid/core/float_mode.h"
#include "limpid/function/function.h"

namespace limpid {

// While a Builder is active, its thread rounds to nearest and keeps subnormals. So the
// floating-point mode of the surrounding program does not affect constants of the Function.
class Builder {
 public:
  // Starts a Function with this name.
  explicit Builder(std::string name);
  // Starts a Function inside the one that `around` is building. Its ops may use Values of `around`
  // and of its outer Builders: each such Value is captured, that is, becomes an additional input.
  Builder(std::string name, Builder& around);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Adds an input. Throws kInvalidArgument if the name is taken or an op was already added.
  Value input(std::string name, const Type& type);

  // Adds one op and returns its results. Throws what the op's type rule throws, and
  // kInvalidArgument for a wrong number of inputs, wrong attributes, or Values of another Builder.
  std::vector<Value> call(const Op& op, std::span<const Value> inputs, Attributes attributes = {});

  // Adds every op of `function`, applied to `arguments`, and returns the Values of its outputs.
  // Throws kInvalidArgument for a wrong number of arguments, kShape if a type differs from the
  // input's.
  std::vector<Value> inline_function(const Function& function, std::span<const Value> arguments);

  // Ends the Function and returns it; captured Values are its last inputs. The Values of this
  // Builder are invalid afterwards. Throws kInvalidArgument for Values of another Builder, and if
  // output names are given but their number is not that of the outputs.
  Function finish(std::span<const Value> outputs, std::vector<std::string> output_names = {});

  // The captured Values of outer Functions, in the order of the inputs that stand for them.
  std::vector<Value> captured() const;
  // Increases from Builder to Builder: of two active ones, the later is nested in the earlier.
  std::uint64_t number() const { return number_; }

  // The type of a value. The reference is valid until the next op is added.
  const Type& type(ValueId id) const { return parts_.types[static_cast<std::size_t>(id)]; }
  // The op that computed a value; nullptr for an input. Valid until the next op is added.
  const Node* maker(ValueId id) const;

  // For its lifetime, appends ".name" to the scope of the ops that are added. Scopes name layers:
  // "layers.0". Throws kInvalidArgument for more than 4,096 characters, or 256 parts.
  class Scope {
   public:
    Scope(Builder& builder, std::string_view name);
    ~Scope() { builder_.scope_ = std::move(outer_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Builder& builder_;
    std::string outer_;
  };

 private:
  friend class Value;
  struct Captured {
    Value outer;
    ValueId id;
  };

  void end();
  Value own(const Value& value);
  Value own_input(const Op& op, const Value& value);
  Value capture(const Value& outer);
  std::string scope_of_op() const;
  void number_captured_as_inputs(std::vector<ValueId>& outputs);

  std::optional<DefaultFloatMode> mode_{std::in_place};
  Function::Parts parts_;
  std::set<std::string> input_names_;
  std::string scope_;
  std::uint64_t number_ = 0;
  detail::TracePlace* place_ = nullptr;  // nullptr once the Function is finished
  Builder* around_ = nullptr;
  std::string scope_around_;  // the scope of `around_` at the start
  std::vector<Captured> captured_;
};

// The innermost of the active Builders that the Values belong to. Throws kInvalidArgument, with
// `what` at the start of the message, if there is none.
Builder& innermost(std::span<const Value> values, std::string_view what);

// Adds an op to the innermost() Builder of its inputs and returns its results; call1 returns the
// only result of an op that has one.
std::vector<Value> call(const Op& op, std::span<const Value> inputs, Attributes attributes = {});
Value call1(const Op& op, std::initializer_list<Value> inputs, Attributes attributes = {});

// Runs C++ code once on Values of the given types, and returns the Function of the ops that it
// called.
Function trace(std::string name, std::vector<Input> inputs,
               const std::function<std::vector<Value>(std::span<const Value>)>& code,
               std::vector<std::string> output_names = {});

// The body of a composition's call as a Function. Its inputs are named "0", "1", ...
Function body_of(const Call& call);

}  // namespace limpid
