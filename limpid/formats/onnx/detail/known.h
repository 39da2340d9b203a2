// Values that are known while a Function is being written: those that constants and given inputs
// lead to. Leans on function.
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
  // An input of the function whose value is given.
  void give(Value input, Tensor value);

  bool is_known(Value value) { return unknown_input(value) < 0; }
  // The first input without a value that it depends on; -1 where it is known.
  ValueId unknown_input(Value value);

  // By the reference arithmetic, once. Requires is_known(value). Throws kUnsupported where that
  // takes more memory or time than shapes and conditions do.
  Tensor value(Value value);

  // The given inputs that were needed so far.
  const std::set<ValueId>& used() const { return used_; }

 private:
  void evaluate(Builder& builder, ValueId id);

  std::vector<ValueId> unknown_;  // of each value so far
  std::map<ValueId, Tensor> values_;
  std::map<ValueId, Tensor> given_;
  std::set<ValueId> used_;
  std::int64_t elements_ = 0;
  std::int64_t flops_ = 0;
};

}  // namespace limpid::onnx::detail
