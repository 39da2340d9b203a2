#include "limpid/data/synthetic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "limpid/core/arithmetic.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/nn/init.h"

namespace limpid {
namespace {

constexpr float kPi = std::numbers::pi_v<float>;

struct Point {
  float x, y;
};

Point on_circle(float radius, float angle) {
  return {radius * arithmetic::cos(angle), radius * arithmetic::sin(angle)};
}

// ---- the sets: row i, from its t

struct PlaneRule {  // classes of points in the plane
  std::string_view name;
  double noise;
  std::int64_t count;
  Point (*point)(std::size_t i, float t);
  std::int32_t (*label)(std::size_t i);
  std::int64_t classes = 2;
};

std::int32_t alternate(std::size_t i) { return static_cast<std::int32_t>(i % 2); }
Point corner(std::size_t i, float) {
  return {static_cast<float>(i / 2 % 2), static_cast<float>(i % 2)};
}

constexpr PlaneRule kShapes[] = {
    {"xor", 0, 4, corner, [](std::size_t i) -> std::int32_t { return (i / 2 % 2) != (i % 2); }},
    {"and", 0, 4, corner, [](std::size_t i) -> std::int32_t { return i % 4 == 3; }},
    {"or", 0, 4, corner, [](std::size_t i) -> std::int32_t { return i % 4 != 0; }},
    {"spiral", 0.02, 1000,
     [](std::size_t i, float t) {
       return on_circle(t, 3 * kPi * t + (alternate(i) != 0 ? kPi : 0.0f));
     },
     alternate},
    {"moons", 0.1, 1000,
     [](std::size_t i, float t) {
       const Point p = on_circle(1, kPi * t);
       return alternate(i) != 0 ? Point{1 - p.x, 0.5f - p.y} : p;
     },
     alternate},
    {"circles", 0.05, 1000,
     [](std::size_t i, float t) { return on_circle(alternate(i) != 0 ? 0.5f : 1.0f, 2 * kPi * t); },
     alternate},
    {"arms", 0.02, 1000,
     [](std::size_t i, float t) {
       return on_circle(t, 2 * kPi * t + 2 * kPi / 3 * static_cast<float>(i % 3));
     },
     [](std::size_t i) { return static_cast<std::int32_t>(i % 3); }, 3},
};

struct CurveRule {  // a function of one number
  std::string_view name;
  std::string_view target;
  float low, width;  // where x lies
  float (*function)(float x);
};

constexpr CurveRule kCurves[] = {
    {"sine", "sin(x)", -kPi, 2 * kPi, [](float x) { return arithmetic::sin(x); }},
    {"abs", "|x|", -1, 2, [](float x) { return std::abs(x); }},
};
constexpr std::int64_t kCurveCount = 1000;

// ---- drawing

std::int64_t checked_count(std::int64_t count, std::string_view name) {
  if (count < 0 || count > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: expected 0 to 2^31 - 1 rows, got {}", name, count));
  return count;
}

// Normal random numbers times `deviation`; if that is 0, none are drawn.
class Noise {
 public:
  Noise(Key key, const Shape& shape, double deviation, std::string_view name) {
    if (!(deviation >= 0) || std::isinf(deviation))
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: expected a noise of 0 or more, got {}", name, deviation));
    if (deviation > 0) numbers_ = nn::normal(deviation)(key, shape);
  }
  float operator[](std::size_t i) const {
    return numbers_.elements() == 0 ? 0.0f : numbers_.values<float>()[i];
  }

 private:
  Tensor numbers_;
};

Dataset draw(const PlaneRule& rule, Key key, const SyntheticOptions& options) {
  const std::int64_t count = checked_count(options.count.value_or(rule.count), rule.name);
  const Key ts = key.fold_in(0);
  const Shape shape{count, 2};
  const Noise noise(key.fold_in(1), shape, options.noise.value_or(rule.noise), rule.name);
  Dataset data;
  data.inputs = Tensor::generate<float>(shape, [&](std::span<float> out) {
    for (std::size_t i = 0; 2 * i < out.size(); ++i) {
      const Point point = rule.point(i, ts.uniform(i));
      out[2 * i] = point.x + noise[2 * i];
      out[2 * i + 1] = point.y + noise[2 * i + 1];
    }
  });
  data.targets = Tensor::generate<std::int32_t>(Shape{count}, [&](std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = rule.label(i);
  });
  data.classes = rule.classes;
  data.name = rule.name;
  data.feature_names = {"x", "y"};
  return data;
}

Dataset draw(const CurveRule& rule, Key key, const SyntheticOptions& options) {
  const std::int64_t count = checked_count(options.count.value_or(kCurveCount), rule.name);
  const Key ts = key.fold_in(0);
  const Shape shape{count, 1};
  const Noise noise(key.fold_in(1), shape, options.noise.value_or(0), rule.name);
  Dataset data;
  data.inputs = Tensor::generate<float>(shape, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = rule.low + rule.width * ts.uniform(i);
  });
  data.targets = Tensor::generate<float>(shape, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = rule.function(data.inputs.values<float>()[i]) + noise[i];
  });
  data.task = Task::kRegression;
  data.name = rule.name;
  data.feature_names = {"x"};
  data.target_names = {std::string(rule.target)};
  return data;
}

}  // namespace

std::vector<std::string_view> synthetic_names() {
  std::vector<std::string_view> names;
  for (const PlaneRule& rule : kShapes) names.push_back(rule.name);
  for (const CurveRule& rule : kCurves) names.push_back(rule.name);
  return names;
}

Dataset synthetic(std::string_view name, Key key, const SyntheticOptions& options) {
  const DefaultFloatMode mode;
  for (const PlaneRule& rule : kShapes)
    if (rule.name == name) return draw(rule, key, options);
  for (const CurveRule& rule : kCurves)
    if (rule.name == name) return draw(rule, key, options);
  throw Error(ErrorCode::kNotFound,
              fmt::format("there is no synthetic data set {}; expected one of: {}", in_quotes(name),
                          fmt::join(synthetic_names(), ", ")));
}

Split synthetic_split(std::string_view name, std::uint64_t seed, const SyntheticOptions& options) {
  const Key key(seed);
  SyntheticOptions none = options;
  none.count = 0;
  return {.train = synthetic(name, key.fold_in(0), options),
          .validation = synthetic(name, key, none),
          .test = synthetic(name, key.fold_in(1), options)};
}

}  // namespace limpid
