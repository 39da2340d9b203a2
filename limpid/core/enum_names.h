// Names of enumerations: one table for each, from which names are written, read and listed. An
// enumeration has names where a function `enum_names` takes its value:
//
//   enum class Norm { kLayer, kRms };
//   constexpr EnumNames<2> enum_names(Norm) { return {"norm", {"layer", "rms"}}; }
//
// Outside of the namespace limpid it also needs `using limpid::name`. Depends on error.h.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "limpid/core/error.h"

namespace limpid {

// The names of an enumeration with `count` values.
template <std::size_t count>
struct EnumNames {
  std::string_view what;          // of what they are names, for messages
  std::string_view names[count];  // in the order of the values
};

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  enum_names(value);
};

// The name of a value.
template <NamedEnum E>
constexpr std::string_view name(E value) {
  return enum_names(value).names[static_cast<std::size_t>(value)];
}

// The names of all values, in their order.
template <NamedEnum E>
std::vector<std::string> all_names() {
  const auto table = enum_names(E{});
  return {std::begin(table.names), std::end(table.names)};
}

// nullopt for another name.
template <NamedEnum E>
constexpr std::optional<E> find_name(std::string_view name) {
  const auto table = enum_names(E{});
  for (std::size_t i = 0; i < std::size(table.names); ++i)
    if (table.names[i] == name) return static_cast<E>(i);
  return {};
}

// "one of layer, rms": what a message expects.
std::string one_of(const std::vector<std::string>& names);

// Throws "norm: expected one of layer, rms, got 'group'".
[[noreturn]] void refuse_name(std::string_view what, const std::vector<std::string>& names,
                              std::string_view got, ErrorCode code = ErrorCode::kNotFound);

// Throws kNotFound for another name, as refuse_name() does.
template <NamedEnum E>
E from_name(std::string_view name) {
  if (const std::optional<E> value = find_name<E>(name)) return *value;
  refuse_name(enum_names(E{}).what, all_names<E>(), name);
}

}  // namespace limpid
