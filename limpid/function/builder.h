// Builder: writes a Function down, op by op, checking types as it goes. trace() is the usual way to
// one.
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

// Until the Function is written its thread rounds to nearest and keeps subnormals, so that what the
// program around has set does not show in the constants of the Function.
class Builder {
 public:
  // Begins a Function of this name.
  explicit Builder(std::string name);
  // Begins one inside of the Function that `around` writes. Its ops may use the Values of `around`
  // and of other Functions under way: each of them is captured and becomes a further input.
  Builder(std::string name, Builder& around);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Throws kInvalidArgument where the name is taken or an op was already written.
  Value input(std::string name, const Type& type);

  // Writes one op. Throws what its type rule throws; kInvalidArgument for a wrong number of inputs,
  // wrong attributes, or values of another Builder.
  std::vector<Value> call(const Op& op, std::span<const Value> inputs, Attributes attributes = {});

  // Writes every op of `function`, its inputs replaced by `arguments`; returns what its outputs
  // became.
  std::vector<Value> inline_function(const Function& function, std::span<const Value> arguments);

  // The Function that was written; what was captured are its last inputs. From here on its Values
  // are of the past. Throws kInvalidArgument for values of another Builder, or where the names, if
  // there are any, are not as many as the outputs.
  Function finish(std::span<const Value> outputs, std::vector<std::string> output_names = {});

  // The Values of other Functions that were captured, in the order of the inputs that they became.
  std::vector<Value> captured() const;
  // Grows from Builder to Builder: of two under way, the later one stands inside of the other.
  std::uint32_t number() const { return number_; }

  // Of a value; good until the next op is written.
  const Type& type(ValueId id) const { return parts_.types[static_cast<std::size_t>(id)]; }
  // The op that gave a value, nullptr for an input. Good until the next op is written.
  const Node* maker(ValueId id) const;

  // While it lives, ops are written under the scope of the surrounding ones, a dot, and this name.
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
  std::uint32_t number_ = 0;
  detail::TracePlace* place_ = nullptr;  // none when the Function is written
  Builder* around_ = nullptr;
  std::string scope_around_;  // that of `around_` in the beginning
  std::vector<Captured> captured_;
};

// Of the Functions under way that the values belong to, the innermost. Throws kInvalidArgument
// where there is none; `what` opens the message.
Builder& innermost(std::span<const Value> values, std::string_view what);

// The results of one op, and the result of an op that has one, written where its inputs are:
// innermost().
std::vector<Value> call(const Op& op, std::span<const Value> inputs, Attributes attributes = {});
Value call1(const Op& op, std::initializer_list<Value> inputs, Attributes attributes = {});

// Runs C++ code once on Values of the given types, and returns the Function that it wrote.
Function trace(std::string name, std::vector<Input> inputs,
               const std::function<std::vector<Value>(std::span<const Value>)>& code,
               std::vector<std::string> output_names = {});

// The body of a composition's call as a Function of its inputs, named "0", "1", ...
Function body_of(const Call& call);

}  // namespace limpid
