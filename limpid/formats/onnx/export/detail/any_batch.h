// A Function for any batch size N, although shapes of a Function are static: it compares the
// Function at three batch sizes, which may differ only in integers of the form constant + factor *
// N. Depends on function and transforms.
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
// The product. Throws kUnsupported if it contains N * N.
Number product(const Numbers& numbers);

class AnyBatch {
 public:
  // A Function without a batch: no number depends on N.
  explicit AnyBatch(const Function& function);
  // The batch of a Function of one example; `batched` marks the inputs that get a leading dimension
  // N.
  AnyBatch(const Function& of_one, const std::vector<bool>& batched);

  // Replaces the compositions for which `wanted` is true by their bodies.
  void expand(const std::function<bool(const Call&)>& wanted);

  // Throws kUnsupported if the three Functions do not match. Call it after the last expand().
  void check() const;

  // One of the three Functions: names, ops and dtypes are the same in all.
  const Function& function() const { return at_[0]; }
  Numbers shape(ValueId id) const;
  // Integer attributes of a node, by its index. Take other attributes from function().
  Number integer(std::size_t node, std::string_view name) const;
  Numbers integers(std::size_t node, std::string_view name) const;

 private:
  template <class Read>
  Number fit(const Read& read) const;

  static constexpr std::array<std::int64_t, 3> kSizes = {5, 7, 11};
  std::array<Function, 3> at_;
};

}  // namespace limpid::onnx::detail
