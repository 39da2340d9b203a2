#include "limpid/nn/init.h"

#include <fmt/format.h>

#include <cmath>

#include "limpid/compile/executable.h"
#include "limpid/core/enum_names.h"
#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/params.h"
#include "limpid/function/builder.h"
#include "limpid/ops/ops.h"

namespace limpid::nn {
namespace {

struct Fans {
  double in, out;
};

Fans fans_of(const Shape& shape) {
  if (shape.rank() < 2)
    throw Error(ErrorCode::kShape,
                fmt::format("init: expected a weight (out, in, ...), got {}", to_string(shape)));
  std::int64_t receptive = 1;
  for (std::size_t d = 2; d < shape.rank(); ++d) receptive *= shape[d];
  return {static_cast<double>(shape[1] * receptive), static_cast<double>(shape[0] * receptive)};
}

// Compiled, as weights are large; the bits are those of the interpreter.
Tensor draw(Key key, const std::function<Value(Value)>& code) {
  const Function f = trace("init", {{"key", {Dtype::kI64, {}}}}, [&](std::span<const Value> in) {
    return std::vector<Value>{code(in[0])};
  });
  const std::vector<Tensor> inputs{key_tensor(key)};
  return compile(f)(inputs).front();
}

Tensor draw_normal(Key key, const Shape& shape, double std) {
  return draw(key, [&](Value k) { return limpid::normal(k, shape) * std; });
}

// A uniform distribution on [-a, a) has the standard deviation a / sqrt 3.
Tensor draw_uniform(Key key, const Shape& shape, double std) {
  const double a = std * std::sqrt(3.0);
  return draw(key, [&](Value k) { return (uniform(k, shape) * 2.0 - 1.0) * a; });
}

Tensor draw_truncated(Key key, const Shape& shape, double std) {
  constexpr double kPhiOf2 = 0.97724986805182079;
  return draw(key, [&](Value k) {
    return normal_quantile(uniform(k, shape) * (2 * kPhiOf2 - 1) + (1 - kPhiOf2)) * std;
  });
}

// Modified Gram-Schmidt, applied twice, on the shorter side of a matrix of normal random numbers;
// in double, in a fixed order.
Tensor draw_orthogonal(Key key, const Shape& shape, double gain) {
  fans_of(shape);
  const auto out = static_cast<std::size_t>(shape[0]);
  const std::size_t in = out == 0 ? 0 : static_cast<std::size_t>(shape.elements()) / out;
  const std::size_t count = std::min(out, in);
  const std::size_t length = std::max(out, in);
  const Tensor drawn =
      draw_normal(key, {static_cast<std::int64_t>(count), static_cast<std::int64_t>(length)}, 1);
  const std::span<const float> values = drawn.values<float>();
  std::vector<double> v(values.begin(), values.end());
  const auto row = [&](std::size_t i) { return std::span<double>(v).subspan(i * length, length); };
  const auto dot = [](std::span<const double> a, std::span<const double> b) {
    double sums[4] = {};
    for (std::size_t i = 0; i < a.size(); ++i) sums[i % 4] += a[i] * b[i];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
  };
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double d = dot(row(i), row(j));
        for (std::size_t k = 0; k < length; ++k) row(i)[k] -= d * row(j)[k];
      }
      const double norm = std::sqrt(dot(row(i), row(i)));
      for (double& x : row(i)) x /= norm;
    }
  return Tensor::generate<float>(shape, [&](std::span<float> result) {
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t i = 0; i < in; ++i)
        result[o * in + i] = static_cast<float>(gain * (out <= in ? row(o)[i] : row(i)[o]));
  });
}

}  // namespace

Tensor Init::operator()(Key key, const Shape& shape) const {
  const DefaultFloatMode mode;
  const auto xavier = [&] {
    const Fans f = fans_of(shape);
    return scale * std::sqrt(2 / (f.in + f.out));
  };
  const auto by_fan_in = [&] { return scale / std::sqrt(fans_of(shape).in); };
  switch (scheme) {
    case Scheme::kConstant:
      return Tensor::generate<float>(shape, [&](std::span<float> out) {
        for (float& x : out) x = static_cast<float>(scale);
      });
    case Scheme::kNormal:
      return draw_normal(key, shape, scale);
    case Scheme::kTruncatedNormal:
      return draw_truncated(key, shape, scale);
    case Scheme::kXavierUniform:
      return draw_uniform(key, shape, xavier());
    case Scheme::kXavierNormal:
      return draw_normal(key, shape, xavier());
    case Scheme::kKaimingUniform:
    case Scheme::kLecunUniform:
      return draw_uniform(key, shape, by_fan_in());
    case Scheme::kKaimingNormal:
    case Scheme::kLecunNormal:
      return draw_normal(key, shape, by_fan_in());
    case Scheme::kOrthogonal:
      return draw_orthogonal(key, shape, scale);
  }
  throw Error(ErrorCode::kInternal, "init: unknown scheme");
}

Init zeros() { return {Init::Scheme::kConstant, 0}; }
Init constant(double value) { return {Init::Scheme::kConstant, value}; }
Init normal(double std) { return {Init::Scheme::kNormal, std}; }
Init truncated_normal(double std) { return {Init::Scheme::kTruncatedNormal, std}; }
Init xavier_uniform(double gain) { return {Init::Scheme::kXavierUniform, gain}; }
Init xavier_normal(double gain) { return {Init::Scheme::kXavierNormal, gain}; }
Init kaiming_uniform(double gain) { return {Init::Scheme::kKaimingUniform, gain}; }
Init kaiming_normal(double gain) { return {Init::Scheme::kKaimingNormal, gain}; }
Init lecun_uniform() { return {Init::Scheme::kLecunUniform, 1}; }
Init lecun_normal() { return {Init::Scheme::kLecunNormal, 1}; }
Init orthogonal(double gain) { return {Init::Scheme::kOrthogonal, gain}; }
Init depth_scaled_normal(std::int64_t layers, double std) {
  return normal(std / std::sqrt(2.0 * static_cast<double>(layers)));
}

namespace {

using Make = Init (*)(double gain);
struct NamedInit {
  std::string_view name;
  Make make;
};

constexpr NamedInit kInits[] = {
    {"he", kaiming_normal},
    {"he-uniform", kaiming_uniform},
    {"xavier", xavier_normal},
    {"xavier-uniform", xavier_uniform},
    {"lecun", [](double) { return lecun_normal(); }},
    {"lecun-uniform", [](double) { return lecun_uniform(); }},
    {"orthogonal", orthogonal},
    {"normal", [](double) { return normal(0.02); }},
    {"truncated-normal", [](double) { return truncated_normal(); }},
    {"zeros", [](double) { return zeros(); }},
};

}  // namespace

Init init_from_name(std::string_view name, double gain) {
  for (const NamedInit& i : kInits)
    if (i.name == name) return i.make(gain);
  refuse_name("init", init_names(), name);
}

std::vector<std::string> init_names() {
  std::vector<std::string> names;
  for (const NamedInit& i : kInits) names.emplace_back(i.name);
  return names;
}

}  // namespace limpid::nn
