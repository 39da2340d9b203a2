#include "limpid/optim/schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/params.h"

namespace limpid::optim {
namespace {

// cos(pi t) for t in [0, 1], by the Taylor series on the first half: f64 sums and products in a
// fixed order.
double cos_pi(double t) {
  if (t > 0.5) return -cos_pi(1 - t);
  constexpr double kPi = 3.14159265358979323846;
  const double square = kPi * t * (kPi * t);
  double sum = 1;
  for (int k = 22; k > 0; k -= 2) sum = 1 - sum * square / (k * (k - 1));
  return sum;
}

// From `first` at t = 0 to `last` at t = 1.
double half_cosine(double first, double last, double t) {
  return last + (first - last) * (1 + cos_pi(std::min(t, 1.0))) / 2;
}

double one_cycle(double rate, double done, double length) {
  constexpr double kRising = 0.3, kFirst = 25, kLast = 1e4;
  const double first = rate / kFirst, last = first / kLast;
  const double peak = kRising * length - 1;
  if (done <= peak) return half_cosine(first, rate, done / peak);
  return half_cosine(rate, last, (done - peak) / std::max(1.0, length - 1 - peak));
}

// x^n for n >= 0, by squaring.
double power(double x, std::int64_t n) {
  double result = 1;
  for (; n > 0; n /= 2, x *= x)
    if (n % 2 == 1) result *= x;
  return result;
}

}  // namespace

double Schedule::at(std::int64_t step) const {
  if (step < 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("schedule: expected a step of 0 or more, got {}", step));
  if (every < 1)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("schedule: expected at least 1 step between two decays, got {}", every));
  const DefaultFloatMode mode;
  if (step < warmup) return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const std::int64_t length = steps - warmup;
  const std::int64_t done = step - warmup;
  const double whole = static_cast<double>(length);
  switch (kind) {
    case Kind::kConstant:
      return rate;
    case Kind::kLinear:
      if (length <= 0) return rate;
      return rate * static_cast<double>(std::max<std::int64_t>(length - done, 0)) / whole;
    case Kind::kStep:
      return rate * power(factor, done / every);
    case Kind::kCosine:
      if (length <= 0) return rate;
      return rate * (1 + cos_pi(static_cast<double>(std::min(done, length)) / whole)) / 2;
    case Kind::kOneCycle:
      if (length <= 0) return rate;
      return one_cycle(rate, static_cast<double>(done), whole);
  }
  return rate;
}

}  // namespace limpid::optim
