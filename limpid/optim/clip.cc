#include "limpid/optim/clip.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/norm.h"
#include "limpid/ops/reduce.h"
#include "limpid/optim/detail/check_scalar.h"

namespace limpid::optim {
namespace {

void require_positive(double limit, std::string_view what) {
  if (!(limit > 0))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: the limit is {}, expected a positive number", what, limit));
}

Value squares_of(const Args& gradients) {
  Value squares;
  for (const auto& [name, g] : gradients) squares = squares ? squares + sum(g * g) : sum(g * g);
  return squares;
}

}  // namespace

Value global_norm(const Args& gradients) {
  if (gradients.empty())
    throw Error(ErrorCode::kInvalidArgument, "global_norm: there are no gradients");
  const Value unit = unit_for_squares(squares_of(gradients));
  return sqrt(squares_of(scaled(gradients, unit))) / unit;
}

Args clip_by_value(const Args& gradients, double limit) {
  require_positive(limit, "clip_by_value");
  Args clipped;
  for (const auto& [name, g] : gradients)
    clipped.set(name, minimum(maximum(g, number_like(g, -limit)), number_like(g, limit)));
  return clipped;
}

Args clip_by_global_norm(const Args& gradients, double limit) {
  return scaled(gradients, global_norm_scale(global_norm(gradients), limit));
}

Value global_norm_scale(Value norm, double limit) {
  require_positive(limit, "clip_by_global_norm");
  return minimum(limit / (norm + 1e-6), number_like(norm, 1));
}

void detail::check_scalar(std::string_view what, const Value& value) {
  if (value.rank() > 0)
    throw Error(ErrorCode::kShape, fmt::format("optimizer: {}: expected one number, got {}", what,
                                               to_string(value.type())));
}

Args scaled(const Args& gradients, Value scale) {
  detail::check_scalar("scale of the gradients", scale);
  Args all;
  for (const auto& [name, g] : gradients) all.set(name, g * scale);
  return all;
}

}  // namespace limpid::optim
