// The arguments and results of code. While code is traced they are Values, Args, and std::tuples of
// these. When it runs they are tensors, numbers, Keys, Params, and std::tuples of these. Both are
// trees (JAX: pytrees); transformations of code work on the leaves.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/value.h"

namespace limpid {

// The result of jvp: the value of the code, and its tangent (directional derivative).
template <class Result>
struct ValueAndTangent {
  Result value;
  Result tangent;
};

namespace detail {

template <class T>
inline constexpr bool kIsNamed = false;
template <class T>
inline constexpr bool kIsNamed<Named<T>> = true;
template <class T>
inline constexpr bool kIsTuple = false;
template <class... T>
inline constexpr bool kIsTuple<std::tuple<T...>> = true;
template <class T>
inline constexpr bool kIsTangent = false;
template <class T>
inline constexpr bool kIsTangent<ValueAndTangent<T>> = true;

template <class T>
inline constexpr bool kHoldsValues = std::convertible_to<const T&, Value> || std::same_as<T, Args>;
template <class... T>
inline constexpr bool kHoldsValues<std::tuple<T...>> = (kHoldsValues<T> && ...);
template <class T>
inline constexpr bool kHoldsValues<ValueAndTangent<T>> = kHoldsValues<T>;

template <class T>
inline constexpr bool kHoldsTensors = std::convertible_to<const T&, Tensor> ||
                                      (std::is_arithmetic_v<T> && !std::same_as<T, bool>) ||
                                      std::same_as<T, Key> || std::same_as<T, Params>;
template <class... T>
inline constexpr bool kHoldsTensors<std::tuple<T...>> = (kHoldsTensors<T> && ...);

}  // namespace detail

// An argument or result of code while it is traced.
template <class T>
concept ValueGroup = detail::kHoldsValues<T>;
// An argument of code when it runs. A floating-point number becomes an f32 scalar, an integer an
// i32 scalar, a Key an i64 scalar. Throws kInvalidArgument for an integer that i32 has not.
template <class T>
concept TensorGroup = detail::kHoldsTensors<T>;

// An argument as a tensor.
inline const Tensor& tensor_of(const Tensor& tensor) { return tensor; }
inline Tensor tensor_of(std::floating_point auto number) {
  const DefaultFloatMode mode;
  return Tensor::scalar(static_cast<float>(number));
}
inline Tensor tensor_of(std::integral auto number) {
  const auto wide = static_cast<std::int64_t>(number);
  const auto narrow = static_cast<std::int32_t>(wide);
  if (narrow != wide || (wide < 0 && std::is_unsigned_v<decltype(number)>))
    throw Error(ErrorCode::kInvalidArgument,
                "expected an integer of 32 bits, got " + std::to_string(number));
  return Tensor::scalar(narrow);
}
inline Tensor tensor_of(const Key& key) {
  return Tensor::scalar(static_cast<std::int64_t>(key.bits()));
}

// Applies f to every leaf and keeps the structure of the tree. Visits leaves from left to right.
template <class F, class Tree>
auto map_leaves(const F& f, const Tree& tree) {
  if constexpr (detail::kIsNamed<Tree>) {
    return tree.map(f);
  } else if constexpr (detail::kIsTuple<Tree>) {
    return std::apply(
        [&](const auto&... parts) {
          // Braces fix the order of evaluation; parentheses do not.
          return std::tuple<decltype(map_leaves(f, parts))...>{map_leaves(f, parts)...};
        },
        tree);
  } else if constexpr (detail::kIsTangent<Tree>) {
    return ValueAndTangent<decltype(map_leaves(f, tree.value))>{map_leaves(f, tree.value),
                                                                map_leaves(f, tree.tangent)};
  } else {
    return f(tree);
  }
}

// The leaves of the trees, from left to right.
template <ValueGroup... Trees>
std::vector<Value> leaves_of(const Trees&... trees) {
  std::vector<Value> leaves;
  const auto add = [&](const Value& v) {
    leaves.push_back(v);
    return 0;
  };
  (map_leaves(add, trees), ...);
  return leaves;
}

// A tree with the structure of `form`, whose leaves are leaves[next], leaves[next + 1], ...;
// advances `next` past them.
template <class Leaf, class Tree>
auto with_leaves(const Tree& form, const std::vector<Leaf>& leaves, std::size_t& next) {
  return map_leaves([&](const auto&) { return leaves[next++]; }, form);
}

}  // namespace limpid
