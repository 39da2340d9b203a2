// Attributes: the constants of a call (an axis, a shape, a rate), by name. A value; equality is
// equality of bits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "limpid/core/tensor.h"

namespace limpid {

// One constant of a call.
using Attribute =
    std::variant<bool, std::int64_t, double, std::vector<std::int64_t>, Dtype, Tensor>;

// The alternative of Attribute that a name of an op takes, in the variant's order.
enum class AttributeKind : std::uint8_t { kBool, kInteger, kReal, kIntegers, kDtype, kTensor };

// "bool", "integer", ...: for messages.
std::string_view name(AttributeKind kind);

class Attributes {
 public:
  using Entry = std::pair<std::string, Attribute>;

  Attributes() = default;
  // In any order; of two with one name the later.
  Attributes(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) set(e.first, e.second);
  }

  // Entries stay sorted by name.
  void set(std::string name, Attribute value);
  const Attribute* find(std::string_view name) const;

  // Throws kInvalidArgument where the attribute is missing or of another kind.
  template <class T>
  const T& get(std::string_view name) const {
    const Attribute* found = find(name);
    const T* value = found ? std::get_if<T>(found) : nullptr;
    if (!value) throw_missing(name);
    return *value;
  }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  Shape shape(std::string_view name) const { return Shape(get<std::vector<std::int64_t>>(name)); }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  bool operator==(const Attributes& other) const;  // the same names and, bit for bit, values

 private:
  [[noreturn]] static void throw_missing(std::string_view name);

  std::vector<Entry> entries_;
};

// The integers of a shape as an attribute.
inline Attribute shape_attribute(const Shape& shape) {
  return std::vector<std::int64_t>(shape.begin(), shape.end());
}

}  // namespace limpid
