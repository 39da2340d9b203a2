// Values that are known while a Function is being built: those computed from constants and given
// inputs. Depends on function.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "limpid/function/builder.h"

namespace limpid::onnx::detail {

class KnownValues {
 public:
  // Gives the value of an input of the function.
  void give(Value input, Tensor value);

  bool is_known(Value value) { return unknown_input(value) < 0; }
  // The first input without a value that this value depends on; -1 if it is known.
  ValueId unknown_input(Value value);

  // Computes a value by the reference arithmetic, once. Requires is_known(value). Throws
  // kUnsupported if that takes more memory or time than shapes and conditions should.
  Tensor value(Value value);

  // The given inputs whose values were used so far.
  const std::set<ValueId>& used() const { return used_; }

 private:
  void evaluate(Builder& builder, ValueId id);

  std::vector<ValueId> unknown_;  // unknown_input() of each value so far
  std::map<ValueId, Tensor> values_;
  std::map<ValueId, Tensor> given_;
  std::set<ValueId> used_;
  std::int64_t elements_ = 0;
  std::int64_t flops_ = 0;
};

}  // namespace limpid::onnx::detail
