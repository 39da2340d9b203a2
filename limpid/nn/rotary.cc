#include "limpid/nn/rotary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/ops/ops.h"

namespace limpid::nn {
namespace {

// Both are series of IEEE operations: results of the C library's functions depend on the library.
double natural_log(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // in [1/2, 1)
  const double z = (mantissa - 1) / (mantissa + 1);  // log m = 2 atanh z
  double sum = 0;
  for (int k = 41; k >= 1; k -= 2) sum = sum * z * z + 1.0 / k;
  constexpr double kLog2 = 0.69314718055994531;
  return 2 * z * sum + exponent * kLog2;
}
double exponential(double x) {
  // e^x = (e^(x / 1024))^1024, the inner one by Taylor.
  const double r = x / 1024;
  double sum = 1;
  for (int k = 8; k >= 1; --k) sum = 1 + r / k * sum;
  for (int i = 0; i < 10; ++i) sum *= sum;
  return sum;
}

double scaled(double frequency, const RotaryScaling& scaling) {
  constexpr double kTurn = 6.2831853071795865;
  const double turns = static_cast<double>(scaling.context) * frequency / kTurn;
  const double stays = std::clamp((turns - scaling.low) / (scaling.high - scaling.low), 0.0, 1.0);
  return frequency * (stays + (1 - stays) / scaling.factor);
}

}  // namespace

void check_rotary(std::int64_t head, double base, const std::optional<RotaryScaling>& scaling) {
  if (head < 2 || head % 2 != 0 || !(base > 1))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("rotary: expected an even head size and a base above 1, got {} and {}",
                            head, base));
  if (scaling && !(scaling->factor >= 1 && scaling->low >= 0 && scaling->high > scaling->low &&
                   scaling->context >= 1))
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("rotary: expected a scaling factor of at least 1, frequency factors with low < "
                    "high and a context of at least 1, got {}, {} and {}, and {}",
                    scaling->factor, scaling->low, scaling->high, scaling->context));
}

std::vector<float> rotary_frequencies(std::int64_t head, double base,
                                      const std::optional<RotaryScaling>& scaling,
                                      std::span<const double> divisors) {
  const DefaultFloatMode mode;
  check_rotary(head, base, scaling);
  check_divisors(head, divisors);
  const double log_base = natural_log(base);
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < head / 2; ++i) {
    const double share = 2 * static_cast<double>(i) / static_cast<double>(head);
    double frequency = exponential(-share * log_base);
    if (scaling) frequency = scaled(frequency, *scaling);
    if (!divisors.empty()) frequency /= divisors[static_cast<std::size_t>(i)];
    frequencies.push_back(static_cast<float>(frequency));
  }
  return frequencies;
}

void check_divisors(std::int64_t head, std::span<const double> divisors) {
  const auto fits = [](double divisor) { return divisor > 0 && std::isfinite(divisor); };
  if (!divisors.empty() && (static_cast<std::int64_t>(divisors.size()) != head / 2 ||
                            !std::all_of(divisors.begin(), divisors.end(), fits)))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("rotary: expected a divisor above 0 for each of {} pairs, got {} "
                            "divisors",
                            head / 2, divisors.size()));
}

double exact_power(double a, double b) {
  const DefaultFloatMode mode;
  return exponential(b * natural_log(a));
}
double exact_log(double x) {
  const DefaultFloatMode mode;
  return natural_log(x);
}

RotaryAngles rotary_angles(Value positions, const std::vector<float>& frequencies) {
  const Builder::Scope scope(positions.builder(), "rotary_emb");
  const auto pairs = static_cast<std::int64_t>(frequencies.size());
  const std::int64_t rows = positions.shape()[0];
  const Value steps = constant(positions.builder(), Tensor::from<float>({pairs}, frequencies));
  const Value column = reshape(cast(positions, Dtype::kF32), {rows, 1});
  // Named, as compilers differ in which operand of a product they make first, and a hash has the
  // order.
  const Value each = broadcast(steps, {rows, pairs});
  const Value angles = broadcast(column, {rows, pairs}) * each;
  return {cos(angles), sin(angles)};
}

}  // namespace limpid::nn
