// grad, value_and_grad, jvp and vmap of code on Values. Each returns an object that can be called
// like the code, on Values and Args, inside other code; compile() makes a function on tensors of
// it. Values that the code captures become inputs implicitly, as in JAX.
//
//   auto step = compile([&](const Args& p, Value x, Value y) {
//     const auto [value, gradients] = value_and_grad(loss)(p, x, y);
//     return std::tuple{p - 0.1 * gradients, value};
//   });
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "limpid/function/call.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/jvp.h"
#include "limpid/transforms/vmap.h"

namespace limpid {

// Code on Values; not a Function.
template <class T>
concept Code = !std::convertible_to<T, Function>;

namespace detail {

[[noreturn]] void throw_names_of_no_group();
[[noreturn]] void throw_names_of_several();
// Throws kDtype if an output is not f32 or f64, so that it has no tangent.
void check_tangents(const Function& f);
// The common size of the values along `axes`. Throws kShape, naming two values, if sizes differ.
std::int64_t batch_size(std::span<const Value> values,
                        std::span<const std::optional<std::int64_t>> axes);
// The types of the values without those dimensions.
std::vector<Type> types_without(std::span<const Value> values,
                                std::span<const std::optional<std::int64_t>> axes);
void check_axes(std::size_t axes, std::size_t arguments);

// Trees with the structure of the arguments, whose leaves are positions among all leaves.
template <class... Arguments>
auto positions_of(const Arguments&... arguments) {
  std::size_t next = 0;
  const auto count = [&](const auto&) { return next++; };
  return std::tuple<decltype(map_leaves(count, arguments))...>{map_leaves(count, arguments)...};
}

template <class Tree>
std::vector<std::size_t> flat(const Tree& positions) {
  std::vector<std::size_t> all;
  const auto add = [&](std::size_t position) {
    all.push_back(position);
    return 0;
  };
  map_leaves(add, positions);
  return all;
}

// The tree; if there are names, the part of the group that they select.
template <class Tree>
Tree part_of(const Tree& tree, const std::vector<std::string>& names) {
  if (names.empty()) return tree;
  if constexpr (kIsNamed<Tree>)
    return tree.only(names);
  else
    throw_names_of_no_group();
}

// Explains a call on tensors.
struct OnValues {
  template <TensorGroup First, TensorGroup... Others>
  void operator()(const First&, const Others&...) const {
    static_assert(
        !TensorGroup<First>,
        "grad, value_and_grad, jvp and vmap of code are called on Values, inside code; on "
        "tensors write compile(grad(code))(x)");
  }
};

// The positions to differentiate with respect to: those of one argument, or a tuple for several.
template <std::size_t... chosen, class Positions>
auto choose(const Positions& positions, const std::vector<std::string>& names) {
  if constexpr (sizeof...(chosen) == 1)
    return part_of(std::get<chosen...>(positions), names);
  else if (!names.empty())
    throw_names_of_several();
  else
    return std::tuple{std::get<chosen>(positions)...};
}

// Code, and the arguments with respect to which it is differentiated.
template <class Code, std::size_t... chosen>
class CodeAndGrad : OnValues {
 public:
  using OnValues::operator();
  CodeAndGrad(Code code, std::vector<std::string> names)
      : code_(std::move(code)), names_(std::move(names)) {}

  // Returns the results of the code, and the gradient of its first Value, with the structure of the
  // chosen arguments.
  template <ValueGroup... Arguments>
  requires CodeOn<Code, Arguments...>
  auto operator()(const Arguments&... arguments) const {
    std::vector<Value> values = leaves_of(arguments...);
    const auto traced = trace_inside(code_, types_of(values), arguments...);
    const auto by = choose<chosen...>(positions_of(arguments...), names_);
    values.insert(values.end(), traced.captured.begin(), traced.captured.end());
    const std::vector<Value> out = call(limpid::value_and_grad(traced.function, flat(by)), values);
    std::size_t next = 0;
    // In this order: each call advances `next`.
    auto value = with_leaves(traced.result, out, next);
    auto gradient = with_leaves(by, out, next);
    return std::tuple{std::move(value), std::move(gradient)};
  }

 private:
  Code code_;
  std::vector<std::string> names_;
};

template <class Code, std::size_t... chosen>
class CodeGrad : OnValues {
 public:
  using OnValues::operator();
  explicit CodeGrad(CodeAndGrad<Code, chosen...> both) : both_(std::move(both)) {}

  template <ValueGroup... Arguments>
  requires CodeOn<Code, Arguments...>
  auto operator()(const Arguments&... arguments) const { return std::get<1>(both_(arguments...)); }

 private:
  CodeAndGrad<Code, chosen...> both_;
};

// Appends the positions that have tangents, and the tangents. A group of tangents may omit names.
void add_tangents(std::size_t position, const Value& tangent, std::vector<std::size_t>& by,
                  std::vector<Value>& tangents);
void add_tangents(const Named<std::size_t>& positions, const Args& tangent,
                  std::vector<std::size_t>& by, std::vector<Value>& tangents);
template <class... Positions, class... Tangents>
void add_tangents(const std::tuple<Positions...>& positions, const std::tuple<Tangents...>& tangent,
                  std::vector<std::size_t>& by, std::vector<Value>& tangents) {
  static_assert(sizeof...(Positions) == sizeof...(Tangents),
                "jvp: the tangents must have the form of the arguments");
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (add_tangents(std::get<i>(positions), std::get<i>(tangent), by, tangents), ...);
  }
  (std::index_sequence_for<Positions...>());
}

template <class Code>
class CodeJvp : OnValues {
 public:
  using OnValues::operator();
  explicit CodeJvp(Code code) : code_(std::move(code)) {}

  template <ValueGroup... Arguments>
  auto operator()(const Arguments&... arguments) const {
    static_assert(sizeof...(Arguments) % 2 == 0,
                  "jvp: call it with the arguments of the code and then a tangent for each");
    if constexpr (sizeof...(Arguments) % 2 == 0) {
      const std::tuple<const Arguments&...> all(arguments...);
      constexpr std::size_t kCount = sizeof...(Arguments) / 2;
      return [&]<std::size_t... i>(std::index_sequence<i...>) {
        return moved(std::tuple{std::get<kCount + i>(all)...}, std::get<i>(all)...);
      }
      (std::make_index_sequence<kCount>());
    }
  }

 private:
  template <class Tangents, class... Arguments>
  requires CodeOn<Code, Arguments...>
  auto moved(const Tangents& tangents, const Arguments&... arguments) const {
    std::vector<Value> values = leaves_of(arguments...);
    const auto traced = trace_inside(code_, types_of(values), arguments...);
    check_tangents(traced.function);
    values.insert(values.end(), traced.captured.begin(), traced.captured.end());
    std::vector<std::size_t> by;
    add_tangents(positions_of(arguments...), tangents, by, values);
    const std::vector<Value> out = call(limpid::jvp(traced.function, by), values);
    std::size_t next = 0;
    auto value = with_leaves(traced.result, out, next);
    auto tangent = with_leaves(traced.result, out, next);
    return ValueAndTangent<decltype(value)>{std::move(value), std::move(tangent)};
  }

  Code code_;
};

template <class Code>
class CodeVmap : OnValues {
 public:
  using OnValues::operator();
  CodeVmap(Code code, std::vector<std::optional<std::int64_t>> in_axes)
      : code_(std::move(code)), in_axes_(std::move(in_axes)) {}

  template <ValueGroup... Arguments>
  requires CodeOn<Code, Arguments...>
  auto operator()(const Arguments&... arguments) const {
    if (!in_axes_.empty()) check_axes(in_axes_.size(), sizeof...(Arguments));
    std::vector<Value> values = leaves_of(arguments...);
    std::vector<std::optional<std::int64_t>> axes;
    std::size_t position = 0;
    const auto add_axes = [&](const auto& argument) {
      axes.resize(axes.size() + leaves_of(argument).size(),
                  in_axes_.empty() ? std::optional<std::int64_t>(0) : in_axes_[position]);
      ++position;
    };
    (add_axes(arguments), ...);
    const std::int64_t size = batch_size(values, axes);
    const auto traced = trace_inside(code_, types_without(values, axes), arguments...);
    values.insert(values.end(), traced.captured.begin(), traced.captured.end());
    axes.resize(values.size());  // captured Values are shared
    const std::vector<Value> out = call(limpid::vmap(traced.function, axes, size), values);
    std::size_t next = 0;
    return with_leaves(traced.result, out, next);
  }

 private:
  Code code_;
  std::vector<std::optional<std::int64_t>> in_axes_;
};

}  // namespace detail

// Code that returns a std::tuple of the results of `code`, whose first Value is the loss, and the
// gradient of the loss with respect to the first argument. For other arguments give positions:
// value_and_grad<0, 2>(code) returns a std::tuple of gradients. With names, the gradient is with
// respect to a part of the argument, which must be a group: {"layers.2"} selects all names below
// it. Throws as value_and_grad of Functions, and kNotFound for a name that is not in the group.
template <std::size_t first = 0, std::size_t... others, Code C>
auto value_and_grad(C code, std::vector<std::string> names = {}) {
  return detail::CodeAndGrad<C, first, others...>(std::move(code), std::move(names));
}

// Only the gradient.
template <std::size_t first = 0, std::size_t... others, Code C>
auto grad(C code, std::vector<std::string> names = {}) {
  return detail::CodeGrad<C, first, others...>(
      value_and_grad<first, others...>(std::move(code), std::move(names)));
}

// Code to call with the arguments of `code`, then a tangent for each. Returns a ValueAndTangent of
// the results. A group of tangents may omit names: their tangents are zero. To hold an argument
// fixed, capture it. Throws as jvp of Functions, kNotFound for an unknown name, kDtype if a result
// is not f32 or f64.
template <Code C>
auto jvp(C code) {
  return detail::CodeJvp<C>(std::move(code));
}

// Code that maps `code` over a batch, as jax.vmap. in_axes gives the batch axis of each argument,
// or nullopt for an argument that the whole batch shares; default: axis 0 for all. Captured Values
// are shared. Results have a leading batch dimension. Throws as vmap of Functions, and kShape if
// batch sizes differ.
template <Code C>
auto vmap(C code, std::vector<std::optional<std::int64_t>> in_axes = {}) {
  return detail::CodeVmap<C>(std::move(code), std::move(in_axes));
}

}  // namespace limpid
