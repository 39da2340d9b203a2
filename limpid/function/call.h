// Calls: call a Function like a C++ function, and trace code as a Function inside another one. The
// transformations of code (limpid/transforms/of_code.h) are built on this.
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "limpid/function/builder.h"
#include "limpid/function/groups.h"

namespace limpid {

// Inlines f into the Function that the arguments belong to. Throws what inline_function throws.
std::vector<Value> call(const Function& f, std::span<const Value> arguments);

// Runs the Function. The first call compiles it, and the Function keeps the plan. Defined in
// limpid/compile/compiled.cc.
std::vector<Tensor> run(const Function& f, std::span<const Tensor> arguments);

namespace detail {

// Collects arguments in the order of a Function's inputs. A group fills the next inputs by name.
template <class T>
class InOrder {
 public:
  explicit InOrder(const Function& f) : f_(f) {}

  void add(const Named<T>& group) {
    for (std::size_t i = 0; i < group.size(); ++i)
      all_.push_back(all_.size() < f_.inputs().size()
                         ? group.at(f_.inputs()[all_.size()].name)
                         : (group.begin() + static_cast<std::ptrdiff_t>(i))->second);
  }
  template <class... Parts>
  void add(const std::tuple<Parts...>& parts) {
    std::apply([&](const auto&... each) { (add(each), ...); }, parts);
  }
  void add(const T& one) { all_.push_back(one); }
  const std::vector<T>& all() const { return all_; }

 private:
  const Function& f_;
  std::vector<T> all_;
};

// Names for the inputs of code. A leaf of a group has its name in the group, after the position of
// the argument if the name is taken. Any other argument is named by its position.
class InputNames {
 public:
  template <class... Trees>
  explicit InputNames(const Trees&... arguments) {
    std::size_t position = 0;
    (add(std::to_string(position++), arguments), ...);
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  template <class Tree>
  void add(const std::string& position, const Tree& tree) {
    if constexpr (kIsNamed<Tree>) {
      for (const auto& [name, leaf] : tree) add_name(position, name);
    } else if constexpr (kIsTuple<Tree>) {
      std::size_t part = 0;
      std::apply(
          [&](const auto&... parts) { (add(position + "." + std::to_string(part++), parts), ...); },
          tree);
    } else {
      add_name("", position);
    }
  }
  void add_name(const std::string& position, std::string name);

  std::vector<std::string> all_;
  std::set<std::string> taken_;
};

// The result of tracing code.
template <class Result>
struct TracedCode {
  Function function;            // its inputs: the leaves of the arguments, then `captured`
  std::vector<Value> captured;  // Values of the Functions around
  Result result;                // its structure and names; its Values are no longer valid
};

// The type of an argument while code is traced: a Value in place of every leaf.
struct ToValue {
  template <class Leaf>
  Value operator()(const Leaf&) const {
    return {};
  }
};
template <class Tree>
using Inside = decltype(map_leaves(ToValue(), std::declval<const Tree&>()));

}  // namespace detail

// Code that can be called with such arguments and returns Values, Args or tuples of these.
template <class Code, class... Arguments>
concept CodeOn = std::invocable<const Code&, detail::Inside<Arguments>...> &&
    ValueGroup<std::invoke_result_t<const Code&, detail::Inside<Arguments>...>>;

namespace detail {

// Runs the code once on inputs with the given types, one for each leaf of the arguments.
template <class Code, class... Arguments>
auto trace_code(Builder& builder, const Code& code, const std::vector<Type>& types,
                const Arguments&... arguments) {
  const std::vector<std::string> names = InputNames(arguments...).all();
  std::size_t next = 0;
  const auto input = [&](const auto&) {
    const std::size_t i = next++;
    return builder.input(names[i], types[i]);
  };
  const std::tuple<Inside<Arguments>...> inputs{map_leaves(input, arguments)...};
  auto result = std::apply(code, inputs);
  Function f = builder.finish(leaves_of(result));
  return TracedCode<decltype(result)>{std::move(f), builder.captured(), std::move(result)};
}

// The same inside the Function that the arguments belong to.
template <class Code, ValueGroup... Arguments>
auto trace_inside(const Code& code, const std::vector<Type>& types, const Arguments&... arguments) {
  Builder builder("code", innermost(leaves_of(arguments...), "a call of code"));
  return trace_code(builder, code, types, arguments...);
}

std::vector<Type> types_of(std::span<const Value> values);

}  // namespace detail

template <class... Arguments>
auto Function::operator()(const Arguments&... arguments) const {
  if constexpr ((ValueGroup<Arguments> && ...)) {
    detail::InOrder<Value> in_order(*this);
    (in_order.add(arguments), ...);
    return Results<Value>(call(*this, in_order.all()));
  } else {
    static_assert((TensorGroup<Arguments> && ...),
                  "a Function takes Values and Args, or else tensors, numbers, Keys and Params");
    detail::InOrder<Tensor> in_order(*this);
    const auto to_tensor = [](const auto& leaf) { return Tensor(tensor_of(leaf)); };
    (in_order.add(map_leaves(to_tensor, arguments)), ...);
    return Results<Tensor>(run(*this, in_order.all()));
  }
}

}  // namespace limpid
