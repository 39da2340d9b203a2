// Attributes: the constants of a call (an axis, a shape, a rate), by name. Compares equal if all
// bits are equal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "limpid/core/tensor.h"

namespace limpid {

class Function;

// A Function as an attribute: what an op with a body, such as scan, computes. Cheap to copy.
class Nested {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  Nested(Function function);

  const Function& function() const { return *function_; }
  // How many Functions deep it is: 1 if it holds no other.
  int depth() const { return depth_; }
  bool operator==(const Nested& other) const;  // whether the Functions are equal

 private:
  std::shared_ptr<const Function> function_;
  int depth_ = 1;
};

// One constant of a call.
using Attribute =
    std::variant<bool, std::int64_t, double, std::vector<std::int64_t>, Dtype, Tensor, Nested>;

// The type of an attribute, in the order of the variant's alternatives.
enum class AttributeKind : std::uint8_t {
  kBool,
  kInteger,
  kReal,
  kIntegers,
  kDtype,
  kTensor,
  kFunction
};

// "bool", "integer", ..., for messages.
std::string_view name(AttributeKind kind);

class Attributes {
 public:
  using Entry = std::pair<std::string, Attribute>;

  Attributes() = default;
  // Entries in any order; if a name is repeated, the last one counts.
  Attributes(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) set(e.first, e.second);
  }

  // Adds or replaces an entry. Entries stay sorted by name. find() returns nullptr if there is no
  // such name.
  void set(std::string name, Attribute value);
  const Attribute* find(std::string_view name) const;

  // Throws kInvalidArgument if the attribute is missing or of another type.
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
  bool operator==(const Attributes& other) const;  // the same names, and values equal bit for bit

 private:
  [[noreturn]] static void throw_missing(std::string_view name);

  std::vector<Entry> entries_;
};

// A shape as an attribute: its dimensions as integers.
inline Attribute shape_attribute(const Shape& shape) {
  return std::vector<std::int64_t>(shape.begin(), shape.end());
}

}  // namespace limpid
