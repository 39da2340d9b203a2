#include "apps/limpid/lab/approximation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "apps/limpid/lab/fit.h"
#include "apps/limpid/lab/perceptron.h"
#include "limpid/core/arithmetic.h"
#include "limpid/core/number_text.h"
#include "limpid/core/statistics.h"

namespace limpid::lab {
namespace {

constexpr std::int64_t kPoints = 101;

// kPoints of [-reach, reach] in equal steps.
Tensor grid(double reach) {
  return Tensor::generate<float>({kPoints, 1}, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(-reach + 2 * reach * static_cast<double>(i) /
                                               static_cast<double>(kPoints - 1));
  });
}

Tensor mapped(const Tensor& x, float (*f)(float)) {
  return Tensor::generate<float>(x.shape(), [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(x.values<float>()[i]);
  });
}

auto hidden_layer(std::int64_t in, std::int64_t units, const std::string& activation) {
  return nn::sequential(nn::Linear{in, units}, nn::activation_from_name(activation).apply,
                        nn::Linear{units, 1});
}

Value squared(Value prediction, Value target) { return mse_loss(prediction, target); }
Value cross_entropy(Value logit, Value target) {
  return binary_cross_entropy_with_logits(logit, target);
}

struct Curve {
  std::string name;
  float (*f)(float);
  double reach;
  std::string activation;
  std::int64_t steps;
};

Approximation fit_curve(const Curve& c, std::int64_t units, Key key) {
  const Tensor x = grid(c.reach);
  const Task task{x, mapped(x, c.f), squared};
  const optim::Schedule schedule{optim::Schedule::Kind::kCosine, 0.02, c.steps};
  const Fitted fitted =
      fit(hidden_layer(1, units, c.activation), task, optim::Adam{}, schedule, key);
  const double error = largest_difference(to_doubles(fitted.predictions), to_doubles(task.y));
  return {c.name, units,  c.activation, c.steps,           fitted.loss,
          error,  task.x, task.y,       fitted.predictions};
}

Approximation fit_xor(std::int64_t units, Key key) {
  const Task task{corners(), targets_of(truth_table_from_name("XOR")).reshape({4, 1}),
                  cross_entropy};
  const optim::Schedule schedule{optim::Schedule::Kind::kConstant, 0.05, 500};
  const Fitted fitted = fit(hidden_layer(2, units, "tanh"), task, optim::Adam{}, schedule, key);
  const Tensor probabilities = mapped(fitted.predictions, arithmetic::sigmoid);
  const double error = largest_difference(to_doubles(probabilities), to_doubles(task.y));
  return {"XOR", units, "tanh", 500, fitted.loss, error, task.x, task.y, fitted.predictions};
}

report::Series series_of(std::string name, const Tensor& x, const Tensor& y) {
  report::Series series{std::move(name), {}};
  const std::vector<double> xs = to_doubles(x), ys = to_doubles(y);
  for (std::size_t i = 0; i < xs.size(); ++i) series.points.push_back({xs[i], ys[i]});
  return series;
}

}  // namespace

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(a[i] - b[i]);
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
  }
  return largest;
}

std::vector<Approximation> approximations(const ApproximationOptions& options) {
  const Curve absolute{"abs(x) on [-1, 1]", std::fabs, 1, "relu", 2000};
  const Curve sine{"sin(x) on [-2 pi, 2 pi]", arithmetic::sin, 2 * std::numbers::pi, "tanh", 4000};
  using Units = std::vector<std::int64_t>;
  const auto units = [&](const Units& usual) {
    return options.units ? Units{*options.units} : usual;
  };
  std::vector<Approximation> rows;
  for (std::int64_t n : units({1, 4})) rows.push_back(fit_xor(n, Key(options.seed + 1)));
  for (std::int64_t n : units({1, 4}))
    rows.push_back(fit_curve(absolute, n, Key(options.seed + 3)));
  for (std::int64_t n : units({2, 32})) rows.push_back(fit_curve(sine, n, Key(options.seed + 2)));
  return rows;
}

Table to_table(std::span<const Approximation> rows) {
  Table table{{{"task"},
               {"hidden units"},
               {"steps", Align::kRight},
               {"loss", Align::kRight},
               {"largest error", Align::kRight}},
              {}};
  for (const Approximation& r : rows)
    table.rows.push_back({r.task, fmt::format("{} {}", r.units, r.activation),
                          fmt::format("{}", r.steps), fmt::format("{:.2g}", unsigned_nan(r.loss)),
                          fmt::format("{:.2g}", unsigned_nan(r.error))});
  return table;
}

std::vector<report::Chart> charts_of(std::span<const Approximation> rows) {
  std::vector<report::Chart> charts;
  for (const Approximation& r : rows) {
    if (r.x.shape()[1] != 1) continue;
    if (charts.empty() || charts.back().title != r.task)
      charts.push_back({r.task, "x", "y", {series_of("target", r.x, r.y)}});
    charts.back().series.push_back(
        series_of(fmt::format("{} {}", r.units, r.activation), r.x, r.predictions));
  }
  return charts;
}

}  // namespace limpid::lab
