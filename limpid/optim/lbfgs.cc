#include "limpid/optim/lbfgs.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/numbers.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/control.h"
#include "limpid/transforms/grad.h"

namespace limpid::optim {
namespace {

Value inner(const Value& a, const Value& b) { return sum(a * b, 0); }
Value times(const Value& scalar, const Value& x) { return broadcast(scalar, x.shape()) * x; }

class Lbfgs {
 public:
  Lbfgs(const Function& loss, std::span<const Value> shared, const LbfgsOptions& options)
      : slopes_(value_and_grad(loss, {0})), shared_(shared), o_(options) {}

  LbfgsResult run(const Value& x) const {
    const std::int64_t n = x.shape()[0];
    Args carry = evaluated(x);
    const auto zeros = [&](const Shape& shape) {
      return broadcast(constant(x.builder(), 0, x.dtype()), shape);
    };
    carry.set("s", zeros({o_.history, n}));
    carry.set("y", zeros({o_.history, n}));
    carry.set("rho", zeros({o_.history}));
    carry.set("scale", zeros({}));
    carry.set("steps", count(x, 0));
    carry.set("evaluations", count(x, 1));
    carry.set("status", select(is_flat(carry), status(x, LbfgsStatus::kGradient),
                               status(x, LbfgsStatus::kMaxSteps)));
    const Args last = while_loop(
        [&](const Args& c) {
          return Value(c.at("status") == status(c.at("x"), LbfgsStatus::kMaxSteps));
        },
        [&](const Args& c) { return step(c); }, carry, {.limit = o_.max_steps});
    return {last.at("x"),     last.at("f"),           last.at("g"),
            last.at("steps"), last.at("evaluations"), last.at("status")};
  }

 private:
  static Value count(const Value& like, std::int32_t n) {
    return constant(like.builder(), Tensor::scalar(n));
  }
  static Value status(const Value& like, LbfgsStatus s) {
    return count(like, static_cast<std::int32_t>(s));
  }
  static Value number(const Value& like, double n) {
    return constant(like.builder(), n, like.dtype());
  }

  // x, the loss f and its gradient g there.
  Args evaluated(const Value& x) const {
    std::vector<Value> in{x};
    in.insert(in.end(), shared_.begin(), shared_.end());
    const std::vector<Value> out = call(slopes_, in);
    Args at;
    at.set("x", x);
    at.set("f", out[0]);
    at.set("g", out.back());
    return at;
  }

  Value is_flat(const Args& at) const {
    const Value largest = max(abs(at.at("g")), 0);
    return largest <= number(largest, o_.gradient_tolerance);
  }

  // Algorithm 7.4. A pair that is not there has a rho of 0.
  Value direction(const Args& c) const {
    const Value s = c.at("s"), y = c.at("y"), rho = c.at("rho");
    const std::vector<Value> steps = unstack(s, 0), changes = unstack(y, 0), each = unstack(rho, 0);
    Value q = c.at("g");
    std::vector<Value> alphas(steps.size());
    for (std::size_t i = steps.size(); i-- > 0;) {
      alphas[i] = each[i] * inner(steps[i], q);
      q = q - times(alphas[i], changes[i]);
    }
    // At first a step of length 1.
    const Value scale = c.at("scale"), none = scale == number(scale, 0);
    q = times(select(none, 1.0 / maximum(norm(c.at("g")), 1.0), scale), q);
    for (std::size_t i = 0; i < steps.size(); ++i)
      q = q + times(alphas[i] - each[i] * inner(changes[i], q), steps[i]);
    return -q;
  }

  // The minimum of the cubic through two points and their slopes, as a part of the way; the middle
  // if it is near an end, or if there is none.
  static Value part_of_way(const Args& c) {
    const Value width = c.at("far.a") - c.at("near.a");
    const Value d0 = c.at("near.d"), d1 = c.at("far.d");
    const Value middle = d0 + d1 - 3.0 * (c.at("near.f") - c.at("far.f")) / (-width);
    const Value root = sign(width) * sqrt(middle * middle - d0 * d1);
    const Value part = 1.0 - (d1 + root - middle) / (d1 - d0 + 2.0 * root);
    const Value inside = logical_and(part >= number(part, 0.1), part <= number(part, 0.9));
    return select(inside, part, number(part, 0.5));
  }

  // Algorithms 3.5 and 3.6 in one loop: "near" is the best point so far, which has enough decrease;
  // once there is a bracket, a point as wanted is between it and "far".
  Args search(const Args& c, const Value& d, const Value& slope) const {
    const Value x0 = c.at("x"), f0 = c.at("f"), zero = number(f0, 0);
    Args carry;
    const auto set = [](Args& to, const std::string& which, const Value& a, const Value& f,
                        const Value& by) {
      to.set(which + ".a", a);
      to.set(which + ".f", f);
      to.set(which + ".d", by);
    };
    set(carry, "near", zero, f0, slope);
    set(carry, "far", zero, f0, slope);
    carry.set("g", c.at("g"));
    carry.set("a", number(f0, 1));
    carry.set("bracket", constant(f0.builder(), Tensor::scalar(false)));
    carry.set("done", constant(f0.builder(), Tensor::scalar(false)));
    carry.set("evaluations", count(f0, 0));
    return while_loop(
        [](const Args& s) { return logical_not(s.at("done")); },
        [&](const Args& s) {
          const Value a = s.at("a");
          const Args at = evaluated(x0 + times(a, d));
          const Value f = at.at("f"), by = inner(at.at("g"), d);
          const Value bound = f0 + number(f0, o_.sufficient_decrease) * a * slope;
          const Value enough = logical_and(f <= bound, f < s.at("near.f"));
          const Value flat = abs(by) <= number(f0, -o_.curvature) * slope;
          const Value width = s.at("far.a") - s.at("near.a");
          const Value behind =
              select(s.at("bracket"), by * width >= number(f0, 0), by >= number(f0, 0));
          const Value turned = logical_and(enough, behind);
          const auto choose = [&](const char* of) {
            const std::string far = std::string("far.") + of, near = std::string("near.") + of;
            const Value here = of[0] == 'a' ? a : of[0] == 'f' ? f : by;
            return select(enough, select(turned, s.at(near), s.at(far)), here);
          };
          Args next = s;
          set(next, "far", choose("a"), choose("f"), choose("d"));
          set(next, "near", select(enough, a, s.at("near.a")), select(enough, f, s.at("near.f")),
              select(enough, by, s.at("near.d")));
          next.set("g", select(enough, at.at("g"), s.at("g")));
          const Value bracket =
              logical_or(s.at("bracket"), logical_or(logical_not(enough), turned));
          next.set("bracket", bracket);
          const Value between =
              next.at("near.a") + part_of_way(next) * (next.at("far.a") - next.at("near.a"));
          next.set("a", select(bracket, between, 2.0 * a));
          next.set("done", logical_and(enough, flat));
          next.set("evaluations", s.at("evaluations") + count(a, 1));
          return next;
        },
        carry, {.limit = o_.max_line_search});
  }

  Args step(const Args& c) const {
    const Value x = c.at("x"), g = c.at("g");
    const Value wanted = direction(c), wanted_slope = inner(wanted, g);
    // Rounding may leave no descent: then along the gradient.
    const Value descends = wanted_slope < number(wanted_slope, 0);
    const Value d = select(broadcast(descends, x.shape()), wanted, -g);
    const Value slope = select(descends, wanted_slope, -inner(g, g));
    const Args found = search(c, d, slope);
    const Value length = found.at("near.a"), moved = length > number(length, 0);
    const Value s = times(length, d), y = found.at("g") - g;
    const Value sy = inner(s, y), yy = inner(y, y);
    const double epsilon = std::numeric_limits<double>::epsilon();
    const Value curved = sy > number(yy, epsilon) * yy;
    const auto appended = [&](const Value& all, const Value& one) {
      const std::int64_t rows = all.shape()[0];
      const Value rest = slice(all, 0, 1, rows);
      const Value with = concatenate({rest, reshape(one, one.shape().insert(0, 1))}, 0);
      return select(curved, with, all);
    };
    Args next;
    next.set("x", x + s);
    next.set("f", found.at("near.f"));
    next.set("g", found.at("g"));
    next.set("s", appended(c.at("s"), s));
    next.set("y", appended(c.at("y"), y));
    next.set("rho", appended(c.at("rho"), 1.0 / select(curved, sy, number(sy, 1))));
    next.set("scale", select(curved, sy / select(curved, yy, number(yy, 1)), c.at("scale")));
    next.set("steps", c.at("steps") + count(x, 1));
    next.set("evaluations", c.at("evaluations") + found.at("evaluations"));
    const Value f0 = c.at("f"), f = next.at("f");
    const Value size = maximum(maximum(abs(f0), abs(f)), 1.0);
    const Value slow = f0 - f <= number(f, o_.value_tolerance) * size;
    const Value going = select(slow, status(x, LbfgsStatus::kValue), c.at("status"));
    const Value flat = select(is_flat(next), status(x, LbfgsStatus::kGradient), going);
    next.set("status", select(moved, flat, status(x, LbfgsStatus::kLineSearch)));
    return next;
  }

  Function slopes_;
  std::span<const Value> shared_;
  LbfgsOptions o_;
};

}  // namespace

LbfgsResult lbfgs(const Function& loss, Value x, std::span<const Value> shared,
                  const LbfgsOptions& options) {
  if (x.rank() != 1)
    throw Error(ErrorCode::kShape,
                fmt::format("lbfgs: expected a vector to begin with, got {}", to_string(x.type())));
  const LbfgsOptions& o = options;
  const bool fits = o.history > 0 && o.max_steps >= 0 && o.max_line_search > 0 &&
                    o.gradient_tolerance >= 0 && o.value_tolerance >= 0 &&
                    o.sufficient_decrease > 0 && o.sufficient_decrease < o.curvature &&
                    o.curvature < 1;
  if (!fits)
    throw Error(
        ErrorCode::kInvalidArgument,
        "lbfgs: expected a history and evaluations of at least 1, tolerances of at least 0, "
        "and 0 < sufficient_decrease < curvature < 1");
  return Lbfgs(loss, shared, options).run(x);
}

}  // namespace limpid::optim
