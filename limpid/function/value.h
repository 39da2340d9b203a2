// Value: a name for a tensor inside a Function that is being written. Operators and functions of
// limpid/ops take Values and write the ops down; the tensors come later.
#pragma once

#include <cstdint>

#include "limpid/core/params.h"
#include "limpid/core/type.h"

namespace limpid {

class Builder;

// The number of a value in its Function: the inputs first, then the results of the ops in their
// order.
using ValueId = std::int32_t;

// Where the Builder of a Value is found while it writes. A Value outlives its Builder, so this
// does, too: places are used again and never freed.
namespace detail {
struct TracePlace;
}

class Value {
 public:
  // No value at all: what a gradient rule returns for a zero.
  Value() = default;
  Value(Builder* builder, ValueId id);

  // By value: a reference into the Function would not outlive the next op.
  Type type() const;
  Shape shape() const { return type().shape; }
  Dtype dtype() const { return type().dtype; }
  std::size_t rank() const { return shape().rank(); }

  // Whether there is a value.
  explicit operator bool() const { return place_ != nullptr; }
  // Throws kInvalidArgument where the Function of the value is already written.
  Builder& builder() const;
  ValueId id() const { return id_; }

 private:
  const detail::TracePlace* place_ = nullptr;
  ValueId id_ = -1;
  std::uint32_t trace_ = 0;  // the number of the Builder: its place may have another one later
};

// What comparing Values gives: a Value (bool), and no bool of C++.
class Comparison : public Value {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor)
  Comparison(Value result) : Value(result) {}
  // Elements are not known while code is traced: write select(a == b, x, y).
  explicit operator bool() const = delete;
};

// Values under names: the parameters of a model while its Function is being written.
using Args = Named<Value>;

}  // namespace limpid
