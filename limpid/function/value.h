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

class Value {
 public:
  // No value at all: what a gradient rule returns for a zero.
  Value() = default;
  Value(Builder* builder, ValueId id) : builder_(builder), id_(id) {}

  // By value: a reference into the Function would not outlive the next op.
  Type type() const;
  Shape shape() const { return type().shape; }
  Dtype dtype() const { return type().dtype; }
  std::size_t rank() const { return shape().rank(); }

  explicit operator bool() const { return builder_ != nullptr; }
  Builder& builder() const { return *builder_; }
  ValueId id() const { return id_; }

 private:
  Builder* builder_ = nullptr;
  ValueId id_ = -1;
};

// Values under names: the parameters of a model while its Function is being written.
using Args = Named<Value>;

}  // namespace limpid
