// Function: a pure function from tensors to tensors. Typed inputs, ops in SSA form, outputs;
// immutable, cheap to copy. There is no second graph: everything that can be done is a
// transformation of this, or a run of it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "limpid/function/op.h"

namespace limpid {

// One op at work: results are the values first_output, first_output + 1, ...
struct Node {
  const Op* op = nullptr;
  std::vector<ValueId> inputs;
  Attributes attributes;
  ValueId first_output = 0;
  std::string scope;  // the layer it was written in, "layers.0"; for people and messages only

  bool operator==(const Node&) const = default;
};

// What a Function takes.
struct Input {
  std::string name;
  Type type;

  bool operator==(const Input&) const = default;
};

// What it gives.
struct Output {
  std::string name;  // may be empty
  ValueId value = 0;

  bool operator==(const Output&) const = default;
};

// What a Function gives, in the order of its outputs. Of a single output it is that.
template <class T>
class Results : public std::vector<T> {
 public:
  explicit Results(std::vector<T> all) : std::vector<T>(std::move(all)) {}
  // Throws kInvalidArgument unless there is exactly one.
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
  // All there is to a Function.
  struct Parts {
    std::string name;
    std::vector<Input> inputs;
    std::vector<Node> nodes;
    std::vector<Output> outputs;
    std::vector<Type> types;  // of every value

    bool operator==(const Parts&) const = default;
  };

  // The empty function.
  Function() : Function(Parts{}) {}
  // Takes what a Builder wrote. Parts of another origin go through verify().
  explicit Function(Parts parts);

  // On Values and Args: written into the Function under way, giving Results<Value>. On tensors,
  // Params, numbers and Keys: run, giving Results<Tensor>; it is compiled at the first call, and
  // that is kept as long as a copy of the Function exists. A group fills the next inputs, as many
  // as it has names, by name. Include limpid/function/call.h. Throws kInvalidArgument for other
  // numbers of arguments, kNotFound for other names, kShape or kDtype for other types.
  template <class... Arguments>
  auto operator()(const Arguments&... arguments) const;
  // What `make` gave at the first call: kept with the Function and its copies.
  std::shared_ptr<const void> keep(const std::function<std::shared_ptr<const void>()>& make) const;

  const std::string& name() const { return parts_->name; }
  // Of a temporary, copies: `for (const Input& i : model.function().inputs())` is safe.
  const std::vector<Input>& inputs() const& { return parts_->inputs; }
  std::vector<Input> inputs() && { return parts_->inputs; }
  const std::vector<Node>& nodes() const& { return parts_->nodes; }
  std::vector<Node> nodes() && { return parts_->nodes; }
  const std::vector<Output>& outputs() const& { return parts_->outputs; }
  std::vector<Output> outputs() && { return parts_->outputs; }
  const std::vector<Type>& types() const { return parts_->types; }
  const Type& type(ValueId id) const { return parts_->types[static_cast<std::size_t>(id)]; }
  std::size_t output_count(const Node& node) const;

  // Position of the input or output of that name. Throws kNotFound.
  std::size_t input_index(std::string_view name) const;
  std::size_t output_index(std::string_view name) const;

  // The same inputs, ops, attributes (bit for bit), scopes and outputs.
  bool operator==(const Function& other) const { return *parts_ == *other.parts_; }

  // The call that a node makes, for its op's rules. The spans live as long as `types` below does.
  struct CallTypes {
    std::vector<Type> inputs;
    std::vector<Type> outputs;
  };
  CallTypes call_types(const Node& node) const;

 private:
  std::shared_ptr<const Parts> parts_;
  std::shared_ptr<detail::Kept> kept_;
};

// Throws where a Function is not well formed: a value used before it is made, a type that the op's
// rule does not give, an attribute too many. The message's first line says what; the lines after it
// show the ops around the fault.
void verify(const Function& function);

// "%x" for an input, "%12" for the result numbered 12 after the inputs.
std::string value_name(const Function& function, ValueId id);

}  // namespace limpid
