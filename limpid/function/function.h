// Function: a pure function from tensors to tensors. It has typed inputs, ops in SSA form, and
// outputs. It is immutable and cheap to copy. It is the only graph: every other operation
// transforms a Function or runs one.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "limpid/function/op.h"

namespace limpid {

// One use of an op. Its results are the values first_output, first_output + 1, ...
struct Node {
  const Op* op = nullptr;
  std::vector<ValueId> inputs;
  Attributes attributes;
  ValueId first_output = 0;
  std::string scope;  // the layer of the op, "layers.0"; only for display and messages

  bool operator==(const Node&) const = default;
};

// An input of a Function.
struct Input {
  std::string name;
  Type type;

  bool operator==(const Input&) const = default;
};

// An output of a Function.
struct Output {
  std::string name;  // may be empty
  ValueId value = 0;

  bool operator==(const Output&) const = default;
};

// The results of a Function, in the order of its outputs. A single result converts to T.
template <class T>
class Results : public std::vector<T> {
 public:
  explicit Results(std::vector<T> all) : std::vector<T>(std::move(all)) {}
  // The only result. Throws kInvalidArgument unless there is exactly one.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator T() const {
    if (this->size() != 1) throw_not_one(this->size());
    return this->front();
  }

 private:
  [[noreturn]] static void throw_not_one(std::size_t count);
};

namespace detail {
struct Kept;
}

class Function {
 public:
  // The contents of a Function.
  struct Parts {
    std::string name;
    std::vector<Input> inputs;
    std::vector<Node> nodes;
    std::vector<Output> outputs;
    std::vector<Type> types;  // of every value, by ValueId

    bool operator==(const Parts&) const = default;
  };

  // The empty function.
  Function() : Function(Parts{}) {}
  // From the parts that a Builder made. For parts from elsewhere, call verify() on the result.
  explicit Function(Parts parts);

  // Calls the Function; include limpid/function/call.h. On Values and Args it is inlined into their
  // Function and gives Results<Value>. On tensors, Params, numbers and Keys it runs and gives
  // Results<Tensor>. The first run compiles it; the plan is kept as long as a copy of the Function
  // exists. A group of n tensors fills the next n inputs, by name. Throws kInvalidArgument for a
  // wrong number of arguments, kNotFound for an unknown name, kShape or kDtype for wrong types.
  template <class... Arguments>
  auto operator()(const Arguments&... arguments) const;
  // A cache: calls `make` at the first call for T, and keeps its result, a shared_ptr<const T>,
  // with the Function and its copies.
  template <class T, class Make>
  std::shared_ptr<const T> keep(const Make& make) const {
    return std::static_pointer_cast<const T>(keep(typeid(T), [&]() -> std::shared_ptr<const void> {
      return std::shared_ptr<const T>(make());
    }));
  }

  const std::string& name() const { return parts_->name; }
  // These return copies if the Function is a temporary, so that `for (const Input& i :
  // model.function().inputs())` is safe.
  const std::vector<Input>& inputs() const& { return parts_->inputs; }
  std::vector<Input> inputs() && { return parts_->inputs; }
  const std::vector<Node>& nodes() const& { return parts_->nodes; }
  std::vector<Node> nodes() && { return parts_->nodes; }
  const std::vector<Output>& outputs() const& { return parts_->outputs; }
  std::vector<Output> outputs() && { return parts_->outputs; }
  const std::vector<Type>& types() const { return parts_->types; }
  const Type& type(ValueId id) const { return parts_->types[static_cast<std::size_t>(id)]; }
  std::size_t output_count(const Node& node) const;

  // The position of the input or output with that name. Throws kNotFound.
  std::size_t input_index(std::string_view name) const;
  std::size_t output_index(std::string_view name) const;

  // Whether name, inputs, ops, attributes (bit for bit), scopes and outputs are equal.
  bool operator==(const Function& other) const { return *parts_ == *other.parts_; }

  // The input and output types of a node, for the rules of its op.
  struct CallTypes {
    std::vector<Type> inputs;
    std::vector<Type> outputs;
  };
  CallTypes call_types(const Node& node) const;

 private:
  std::shared_ptr<const void> keep(std::type_index type,
                                   const std::function<std::shared_ptr<const void>()>& make) const;

  std::shared_ptr<const Parts> parts_;
  std::shared_ptr<detail::Kept> kept_;
};

// For each node, the values that neither a later node nor an output reads.
std::vector<std::vector<ValueId>> last_reads(const Function& function);

// Throws if a Function is not well-formed: if a value is used before it is defined, a type differs
// from the one its op's rule gives, or an attribute is unknown. The first line of the message
// states the fault; the next lines show the ops around it.
void verify(const Function& function);

// "%x" for an input, "%12" for the result numbered 12 after the inputs.
std::string value_name(const Function& function, ValueId id);

}  // namespace limpid
