// Value: a symbolic tensor inside a Function that is being built (JAX: a tracer). Operators and
// functions of limpid/ops take Values and add ops to the Function. A Value has a type, but no
// elements.
#pragma once

#include <cstdint>

#include "limpid/core/params.h"
#include "limpid/core/type.h"

namespace limpid {

class Builder;

// The index of a value in its Function: inputs first, then the results of the ops, in order.
using ValueId = std::int32_t;

// Through this a Value finds its Builder while the Builder is active. Values may outlive their
// Builder, so these objects are reused but never freed.
namespace detail {
struct TracePlace;
}

class Value {
 public:
  // No value. Gradient rules return it for zero; optional arguments default to it.
  Value() = default;
  Value(Builder* builder, ValueId id);

  // Returned by value: a reference into the Function would not survive the next op.
  Type type() const;
  Shape shape() const { return type().shape; }
  Dtype dtype() const { return type().dtype; }
  std::size_t rank() const { return shape().rank(); }

  // Whether there is a value.
  explicit operator bool() const { return place_ != nullptr; }
  // The Builder of the value. Throws kInvalidArgument if its Function is already finished.
  Builder& builder() const;
  ValueId id() const { return id_; }
  // Whether both are one value of one Function. Values of two Functions may have the same id.
  bool same_as(const Value& other) const {
    return place_ == other.place_ && trace_ == other.trace_ && id_ == other.id_;
  }

 private:
  const detail::TracePlace* place_ = nullptr;
  ValueId id_ = -1;
  std::uint64_t trace_ = 0;  // the number of the Builder, as its place may be reused
};

// The result of comparing Values: a Value of dtype bool, not a C++ bool.
class Comparison : public Value {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  Comparison(Value result) : Value(result) {}
  // Elements are unknown while code is traced. Instead of branching, write select(a == b, x, y).
  explicit operator bool() const = delete;
};

// Values by name: the parameters of a model while its Function is being built.
using Args = Named<Value>;

}  // namespace limpid
