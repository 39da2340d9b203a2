// Builder: writes a Function down, op by op, checking types as it goes. trace() is the usual way to
// one.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "limpid/function/function.h"

namespace limpid {

class Builder {
 public:
  // Begins a Function of this name.
  explicit Builder(std::string name);
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

  // The Function that was written. Throws kInvalidArgument for values of another Builder, or where
  // the names, if there are any, are not as many as the outputs.
  Function finish(std::span<const Value> outputs, std::vector<std::string> output_names = {});

  // Of a value; good until the next op is written.
  const Type& type(ValueId id) const { return parts_.types[static_cast<std::size_t>(id)]; }
  const std::string& scope() const { return scope_; }
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
  Function::Parts parts_;
  std::set<std::string> input_names_;
  std::string scope_;
};

// The results of one op, and the result of an op that has one, written where its inputs are.
std::vector<Value> call(const Op& op, std::span<const Value> inputs, Attributes attributes = {});
Value call1(const Op& op, std::initializer_list<Value> inputs, Attributes attributes = {});

// Runs C++ code once on Values of the given types, and returns the Function that it wrote.
Function trace(std::string name, std::vector<Input> inputs,
               const std::function<std::vector<Value>(std::span<const Value>)>& code,
               std::vector<std::string> output_names = {});

// The body of a composition's call as a Function of its inputs, named "0", "1", ...
Function body_of(const Call& call);

}  // namespace limpid
