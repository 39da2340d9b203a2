// Calls: a Function is called like a function of C++, and code is traced as a Function inside of
// another one, which is what transformations of code stand on.
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

// Writes the Function into that of the arguments. Throws what inline_function throws.
std::vector<Value> call(const Function& f, std::span<const Value> arguments);

// Runs the Function, compiled once and kept with it. Defined in limpid/compile/compiled.cc.
std::vector<Tensor> run(const Function& f, std::span<const Tensor> arguments);

namespace detail {

// Arguments in the order of a Function's inputs, as they are given one after the other.
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

// Names for the inputs of code: a group's own, or behind the position of the argument where an
// earlier one has the name; of others the position.
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

// What code becomes.
template <class Result>
struct TracedCode {
  Function function;            // its inputs: the leaves of the arguments, then `captured`
  std::vector<Value> captured;  // Values of the Functions around
  Result result;                // for the names in it: its Values are of the past
};

// The type of the arguments that code sees: a Value in the place of every leaf.
struct ToValue {
  template <class Leaf>
  Value operator()(const Leaf&) const {
    return {};
  }
};
template <class Tree>
using Inside = decltype(map_leaves(ToValue(), std::declval<const Tree&>()));

}  // namespace detail

// Code that takes arguments of these forms, and gives Values, Args or tuples of them.
template <class Code, class... Arguments>
concept CodeOn = std::invocable<const Code&, detail::Inside<Arguments>...> &&
    ValueGroup<std::invoke_result_t<const Code&, detail::Inside<Arguments>...>>;

namespace detail {

// Runs the code once on inputs of the given types, as many as the arguments have leaves.
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

// The same inside of the Function under way, in which the arguments are Values.
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
