#include "limpid/ops/draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/ops/along_axis.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/random.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/ops/sort.h"

namespace limpid {
namespace {

void require_key(const Value& key, std::string_view what) {
  if (key.dtype() != Dtype::kI64)
    throw Error(ErrorCode::kDtype, fmt::format("{}: expected a key, an i64 scalar, got {}", what,
                                               to_string(key.type())));
  if (key.rank() != 0)
    throw Error(ErrorCode::kShape,
                fmt::format("{}: expected one key, a scalar, got {}", what, to_string(key.type())));
}

Value whole_number(const Value& like, std::int64_t number) {
  return broadcast(constant(like.builder(), Tensor::scalar(number)), like.shape());
}

// 63 random bits as i64, from two words each.
Value long_words(const Value& key, const Shape& shape) {
  const std::size_t last = shape.rank();
  const Value words = random_bits(key, shape.insert(last, 2));
  const auto word = [&](std::int64_t i) {
    return reshape(slice(words, static_cast<std::int64_t>(last), i, i + 1), shape);
  };
  const Value one = broadcast(constant(key.builder(), 1, Dtype::kI32), shape);
  const Value high = cast(shift_right(word(0), one), Dtype::kI64);
  // As an unsigned number: an i32 below 0 stands for itself plus 2^32.
  const Value low = cast(word(1), Dtype::kI64);
  const Value unsigned_low =
      select(low < whole_number(low, 0), low + whole_number(low, std::int64_t{1} << 32), low);
  return high * whole_number(high, std::int64_t{1} << 32) + unsigned_low;
}

// p, or equal probabilities, as logits (n).
Value logits_of(const Value& p, std::int64_t n) {
  if (p.shape() != Shape{n})
    throw Error(ErrorCode::kShape,
                fmt::format("choice: expected probabilities of shape [{}], got {}", n,
                            to_string(p.type())));
  return log(p);
}

}  // namespace

Value randint(Value key, const Shape& shape, std::int64_t low, std::int64_t high, Dtype dtype) {
  require_key(key, "randint");
  if (dtype != Dtype::kI32 && dtype != Dtype::kI64)
    throw Error(ErrorCode::kDtype,
                fmt::format("randint: expected i32 or i64, got {}", name(dtype)));
  using Limits = std::numeric_limits<std::int32_t>;
  const bool fits =
      dtype == Dtype::kI64 || (low >= Limits::min() && high <= std::int64_t{Limits::max()} + 1);
  std::int64_t span = 0;
  if (low >= high || !fits || __builtin_sub_overflow(high, low, &span))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("randint: expected low < high, both of {}, got {} and {}", name(dtype),
                            low, high));
  const Value bits = long_words(key, shape);
  return cast(fmod(bits, whole_number(bits, span)) + whole_number(bits, low), dtype);
}

Value bernoulli(Value key, Value p, const Shape& shape) {
  require_key(key, "bernoulli");
  return uniform(key, shape) < broadcast(p, shape);
}

Value gumbel(Value key, const Shape& shape) {
  require_key(key, "gumbel");
  const Value words = random_bits(key, shape);
  const Value nine = broadcast(constant(key.builder(), 9, Dtype::kI32), shape);
  const Value u = (cast(shift_right(words, nine), Dtype::kF32) + 0.5) * 0x1p-23;
  return -log(-log(u));
}

Value categorical(Value key, Value logits, std::int64_t axis, const std::optional<Shape>& shape) {
  require_key(key, "categorical");
  const std::size_t a = normalize_axis(axis, logits.rank(), "categorical");
  std::vector<std::int64_t> order;
  for (std::size_t d = 0; d < logits.rank(); ++d)
    if (d != a) order.push_back(static_cast<std::int64_t>(d));
  order.push_back(static_cast<std::int64_t>(a));
  const Value last = a + 1 == logits.rank() ? logits : transpose(logits, order);
  const std::int64_t classes = last.shape().back();
  const Shape rest = last.shape().erase(last.rank() - 1);
  const Shape drawn = shape ? *shape : rest;
  if (drawn.rank() < rest.rank() ||
      !std::equal(rest.begin(), rest.end(), drawn.end() - rest.rank()))
    throw Error(ErrorCode::kShape,
                fmt::format("categorical: expected a shape that ends with {}, the logits' without "
                            "the classes, got {}",
                            to_string(rest), to_string(drawn)));
  const Shape all = drawn.insert(drawn.rank(), classes);
  return argmax(broadcast(last, all) + cast(gumbel(key, all), last.dtype()), -1);
}

Value permutation(Value key, std::int64_t n) {
  require_key(key, "permutation");
  if (n < 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("permutation: expected 0 or more, got {}", n));
  return argsort(long_words(key, {n}));
}

Value permutation(Value key, Value x, std::int64_t axis) {
  const std::size_t a = normalize_axis(axis, x.rank(), "permutation");
  return gather_along(x, permutation(key, x.shape()[a]), axis);
}

Value choice(Value key, std::int64_t n, const Shape& shape, bool replace, Value p) {
  require_key(key, "choice");
  const std::int64_t count = shape.elements();
  if ((n < 1 && count > 0) || n < 0)
    throw Error(ErrorCode::kInvalidArgument, "choice: expected something to choose from, got none");
  if (!replace && count > n)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("choice: expected at most {} without replacement, got {}", n, count));
  if (replace)
    return p            ? categorical(key, logits_of(p, n), -1, shape)
           : count == 0 ? broadcast(constant(key.builder(), 0, Dtype::kI32), shape)
                        : randint(key, shape, 0, n);
  // The largest logits with Gumbel noise, one after the other, are draws without replacement.
  const Value order = p ? argsort(logits_of(p, n) + cast(gumbel(key, {n}), p.dtype()), -1, true)
                        : permutation(key, n);
  return reshape(slice(order, 0, 0, count), shape);
}

Value truncated_normal(Value key, double lower, double upper, const Shape& shape) {
  require_key(key, "truncated_normal");
  constexpr double kFarthest = 6.5;
  if (!(lower < upper))
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("truncated_normal: expected lower < upper, got {} and {}", lower, upper));
  if (lower > kFarthest || upper < -kFarthest)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("truncated_normal: expected bounds around numbers within {} of 0, got {} "
                    "and {}",
                    kFarthest, lower, upper));
  // Probabilities of the upper tail are near 1 and rounded there.
  if (lower > 0) return -truncated_normal(key, -upper, -lower, shape);
  const auto bound = [&](double number) {
    return constant(key.builder(), std::clamp(number, -8.0, 8.0), Dtype::kF32);
  };
  const Value from = ndtr(bound(lower)), to = ndtr(bound(upper));
  const Value u = uniform(key, shape);
  const Value p = broadcast(from, shape) + u * broadcast(to - from, shape);
  const Value within = maximum(minimum(p, number_like(p, 1 - 0x1p-24)), number_like(p, 0x1p-36));
  return maximum(minimum(normal_quantile(within), broadcast(bound(upper), shape)),
                 broadcast(bound(lower), shape));
}

}  // namespace limpid
