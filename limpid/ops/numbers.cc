#include "limpid/ops/numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/ops/trigonometric.h"

namespace limpid {
namespace {

constexpr double kBeyondAll = std::numeric_limits<double>::infinity();

Value everywhere(const Value& x, bool truth) {
  return broadcast(constant(x.builder(), Tensor::scalar(truth)), x.shape());
}

// bf16 and f16, which are for storage only, as f32.
Value computed_with(const Value& x) {
  return is_floating(x.dtype()) && !is_computed_with(x.dtype()) ? cast(x, Dtype::kF32) : x;
}

// Whether the sign bit is set; of a NaN false.
Value is_negative(const Value& x) {
  const Value zero = number_like(x, 0);
  return logical_or(x < zero, logical_and(x == zero, 1.0 / x < zero));
}

// The square root of the sum of squares over the last axis.
Value root_of_squares(const Value& x) {
  const bool narrow = x.dtype() == Dtype::kF32;
  const double most = narrow ? 0x1p100 : 0x1p960, step = narrow ? 0x1p80 : 0x1p550;
  const Value plain = sum(x * x, -1);
  const auto number = [&](double n) { return number_like(plain, n); };
  const Value of_small = select(plain < number(1 / most), number(step), number(1));
  const Value unit = select(plain <= number(most), of_small, number(1 / step));
  const Value scaled = x * expand_axis(unit, x.shape(), -1);
  const Value total = sum(scaled * scaled, -1);
  const Value none = total == number(0);
  return select(none, number(0), sqrt(select(none, number(1), total)) / unit);
}

}  // namespace

Value remainder(Value a, Value b) {
  const Value rest = fmod(a, b);
  b = broadcast(b, rest.shape());
  const Value zero = number_like(rest, 0);
  const Value turned = logical_and(rest != zero, (rest < zero) != (b < zero));
  return select(turned, rest + b, rest);
}
Value remainder(Value a, double b) { return remainder(a, number_like(a, b)); }

Value isnan(Value x) {
  const Value y = computed_with(x);
  return is_floating(y.dtype()) ? y != y : everywhere(y, false);
}
Value isinf(Value x) {
  if (!is_floating(x.dtype())) return everywhere(x, false);
  const Value y = abs(computed_with(x));
  return y == number_like(y, kBeyondAll);
}
Value isfinite(Value x) {
  if (!is_floating(x.dtype())) return everywhere(x, true);
  const Value y = abs(computed_with(x));
  return y < number_like(y, kBeyondAll);
}

// The quotient is the one of the smaller by the larger, so neither it nor its slope overflows.
Value atan2(Value y, Value x) {
  const Shape shape = common_shape(y.shape(), x.shape(), "atan2");
  y = broadcast(y, shape);
  x = broadcast(x, shape);
  const Value zero = number_like(x, 0), one = number_like(x, 1);
  const Value left = is_negative(x), below = is_negative(y);
  const Value both_infinite = logical_and(isinf(x), isinf(y));
  const Value steep = abs(x) < abs(y);
  const Value origin = logical_and(x == zero, y == zero);
  const Value unit_y = select(both_infinite, sign(y), y);
  const Value unit_x = select(both_infinite, sign(x), x);
  const Value divisor = select(origin, one, select(steep, unit_y, unit_x));
  const Value quotient = select(origin, zero, select(steep, unit_x, unit_y)) / divisor;
  const auto with_sign = [&](double angle) {
    return select(below, number_like(x, -angle), number_like(x, angle));
  };
  const Value angle = atan(quotient);
  // At the origin, and for y = 0 on the right, the zero has the sign of y.
  const Value on_the_right = select(origin, with_sign(0), angle);
  const Value of_flat = select(left, angle + with_sign(std::numbers::pi), on_the_right);
  const Value of_origin = select(left, with_sign(std::numbers::pi), with_sign(0));
  const Value elsewhere = select(steep, with_sign(std::numbers::pi / 2) - angle, of_flat);
  return select(logical_or(isnan(x), isnan(y)), x + y, select(origin, of_origin, elsewhere));
}

Value masked_fill(Value x, Value mask, double value) {
  return select(broadcast(mask, x.shape()), number_like(x, value), x);
}

Value with_axes_last(Value x, const std::vector<std::int64_t>& axes) {
  const Shape shape = x.shape();
  std::vector<bool> chosen(shape.rank());
  for (const std::int64_t axis : axes) {
    const std::size_t a = normalize_axis(axis, shape.rank(), "axis");
    if (chosen[a]) throw Error(ErrorCode::kShape, "axis: expected different axes, got one twice");
    chosen[a] = true;
  }
  std::vector<std::int64_t> order, dims;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < shape.rank(); ++d)
    if (!chosen[d]) {
      order.push_back(static_cast<std::int64_t>(d));
      dims.push_back(shape[d]);
    }
  for (std::size_t d = 0; d < shape.rank(); ++d)
    if (chosen[d]) {
      order.push_back(static_cast<std::int64_t>(d));
      count *= shape[d];
    }
  dims.push_back(count);
  std::vector<std::int64_t> in_place(shape.rank());
  std::iota(in_place.begin(), in_place.end(), 0);
  return reshape(order == in_place ? x : transpose(x, order), Shape(dims));
}

Value norm(Value x, const std::optional<std::vector<std::int64_t>>& axes, double order,
           bool keepdims) {
  if (!is_computed_with(x.dtype()))
    throw Error(ErrorCode::kDtype,
                fmt::format("norm: expected f32 or f64, got {}", to_string(x.type())));
  if (!(order > 0 || order == -kBeyondAll))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("norm: expected a positive order or an infinite one, got {}", order));
  const Shape shape = x.shape();
  std::vector<std::int64_t> all(shape.rank());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::int64_t>& over = axes ? *axes : all;
  const Value rows = with_axes_last(x, over);
  const auto of_powers = [&] {
    const Value total = sum(power(abs(rows), order), -1);
    const Value none = total == number_like(total, 0);
    const Value root = power(select(none, number_like(total, 1), total), 1 / order);
    return select(none, number_like(total, 0), root);
  };
  const Value length = order == 2             ? root_of_squares(rows)
                       : order == 1           ? sum(abs(rows), -1)
                       : order == kBeyondAll  ? max(abs(rows), -1)
                       : order == -kBeyondAll ? min(abs(rows), -1)
                                              : of_powers();
  if (!keepdims) return length;
  Shape kept = shape;
  for (const std::int64_t axis : over)
    kept = kept.replace(normalize_axis(axis, kept.rank(), "axis"), 1);
  return reshape(length, kept);
}

}  // namespace limpid
