#include "limpid/core/statistics.h"

#include <cmath>
#include <limits>

#include "limpid/core/float_mode.h"
#include "limpid/core/half.h"
#include "limpid/core/visit_dtype.h"

namespace limpid {
namespace {

double number_of(Bf16 v) { return to_f32(v); }
double number_of(F16 v) { return to_f32(v); }
template <class T>
double number_of(T v) {
  return static_cast<double>(v);
}

template <class T>
std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> result;
  result.reserve(static_cast<std::size_t>(tensor.elements()));
  for (T v : tensor.values<T>()) result.push_back(number_of(v));
  return result;
}

}  // namespace

std::vector<double> to_doubles(const Tensor& tensor) {
  const DefaultFloatMode mode;
  return visit(tensor.dtype(), [&]<class T>(std::type_identity<T>) { return numbers<T>(tensor); });
}

std::vector<std::int64_t> place_of(std::int64_t element, const Shape& shape) {
  std::vector<std::int64_t> place(shape.rank());
  for (std::size_t d = shape.rank(); d-- > 0;) {
    place[d] = element % shape[d];
    element /= shape[d];
  }
  return place;
}

Statistics statistics(const Tensor& tensor) {
  const DefaultFloatMode mode;
  const std::vector<double> all = to_doubles(tensor);
  Statistics s;
  s.count = static_cast<std::int64_t>(all.size());
  s.min = s.max = s.mean = s.std = std::numeric_limits<double>::quiet_NaN();
  std::int64_t zeros = 0;
  std::int64_t finite = 0;
  double sum = 0;
  for (double v : all) {
    zeros += v == 0;
    s.nans += std::isnan(v);
    s.infs += std::isinf(v);
    if (!std::isfinite(v)) continue;
    ++finite;
    sum += v;
    s.min = std::fmin(s.min, v);
    s.max = std::fmax(s.max, v);
  }
  if (!all.empty()) s.zero_share = static_cast<double>(zeros) / static_cast<double>(all.size());
  if (finite == 0) return s;
  s.mean = sum / static_cast<double>(finite);
  double squares = 0;
  for (double v : all)
    if (std::isfinite(v)) squares += (v - s.mean) * (v - s.mean);
  s.std = std::sqrt(squares / static_cast<double>(finite));
  return s;
}

}  // namespace limpid
