#include "tests/laws/random_values.h"

#include <bit>
#include <cmath>

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

}  // namespace

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
