#include "tests/laws/random_values.h"

#include <bit>
#include <cmath>
#include <limits>

#include "limpid/function/text.h"

namespace limpid::laws {
namespace {

template <class T>
bool same_reals(const Tensor& a, const Tensor& b) {
  const auto x = a.values<T>();
  const auto y = b.values<T>();
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::isnan(x[i]) && std::isnan(y[i])) &&
        std::bit_cast<Bits>(x[i]) != std::bit_cast<Bits>(y[i]))
      return false;
  return true;
}

template <class T>
Tensor special(const Shape& shape, Key key) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNumbers[] = {0,
                                 -0.0,
                                 1e-45,
                                 -1e-45,
                                 1.17549435e-38,
                                 1,
                                 -1,
                                 88.73,
                                 -104,
                                 3.4e38,
                                 -3.4e38,
                                 kInf,
                                 -kInf,
                                 std::numeric_limits<double>::quiet_NaN()};
  return Tensor::generate<T>(shape, [&](std::span<T> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<T>(kNumbers[key.below(std::size(kNumbers), i)]);
  });
}

}  // namespace

std::vector<Tensor> special_inputs(std::vector<Tensor> inputs, Key key) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape shape = inputs[i].shape();
    if (inputs[i].dtype() == Dtype::kF32) inputs[i] = special<float>(shape, key.fold_in(i));
    if (inputs[i].dtype() == Dtype::kF64) inputs[i] = special<double>(shape, key.fold_in(i));
  }
  return inputs;
}

std::string example_text(const Op& op, const Example& example) {
  return std::string(op.name) + " " + types_text(example.inputs);
}

bool same_numbers(const Tensor& a, const Tensor& b) {
  if (!(a.type() == b.type())) return false;
  if (a.dtype() == Dtype::kF32) return same_reals<float>(a, b);
  if (a.dtype() == Dtype::kF64) return same_reals<double>(a, b);
  return a.same_bits(b);
}

}  // namespace limpid::laws
