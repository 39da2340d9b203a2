// A Function of a batch of any size N, though a Function's shapes are known: the same Function at
// three sizes, which must be alike but for numbers that are constant + factor * N. Leans on
// function and transforms.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "limpid/function/function.h"

namespace limpid::onnx::detail {

// constant + factor * N.
struct Number {
  std::int64_t constant = 0;
  std::int64_t factor = 0;

  bool operator==(const Number&) const = default;
  bool is(std::int64_t number) const { return factor == 0 && constant == number; }
};
using Numbers = std::vector<Number>;

Number operator*(Number a, std::int64_t b);
Number operator+(Number a, Number b);
// Throws kUnsupported for N times N.
Number product(const Numbers& numbers);

class AnyBatch {
 public:
  // A Function as it is: no number depends on N.
  explicit AnyBatch(Function function);
  // A Function of one example; `batched` says which inputs get a dimension N in front.
  AnyBatch(const Function& of_one, const std::vector<bool>& batched);

  // Replaces compositions by their bodies where `wanted` holds.
  void expand(const std::function<bool(const Call&)>& wanted);

  // Throws kUnsupported where the three are not alike. To be called after the last expand().
  void check() const;

  // One of the three: names, ops and dtypes are those of all.
  const Function& function() const { return at_[0]; }
  Numbers shape(ValueId id) const;
  // Attributes of a node by its number; those that are no integers are function()'s.
  Number integer(std::size_t node, std::string_view name) const;
  Numbers integers(std::size_t node, std::string_view name) const;

 private:
  template <class Read>
  Number fit(const Read& read) const;

  static constexpr std::array<std::int64_t, 3> kSizes = {5, 7, 11};
  std::array<Function, 3> at_;
};

}  // namespace limpid::onnx::detail
