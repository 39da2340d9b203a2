#include "apps/limpid/lab/activations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "limpid/core/number_text.h"
#include "limpid/core/statistics.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/ops/reduce.h"
#include "limpid/transforms/grad.h"

namespace limpid::lab {
namespace {

report::Series series_of(std::string name, const std::vector<double>& x,
                         const std::vector<double>& y) {
  report::Series series{std::move(name), {}};
  for (std::size_t i = 0; i < y.size(); ++i) series.points.push_back({x[i], y[i]});
  return series;
}

std::string bound_text(double bound) { return std::isfinite(bound) ? short_number(bound) : ""; }

}  // namespace

ActivationCurve curve_of(const nn::Activation& activation, std::int64_t steps, double step) {
  ActivationCurve curve{activation, {}, {}, {}};
  for (std::int64_t i = -steps; i <= steps; ++i) curve.x.push_back(static_cast<double>(i) * step);
  const Tensor x = Tensor::from({2 * steps + 1}, curve.x);
  const Function f = trace("f", {{"x", x.type()}}, [&](std::span<const Value> in) {
    const Value y = activation.apply(in[0]);
    return std::vector<Value>{sum(y), y};
  });
  const std::vector<Tensor> inputs{x};
  curve.y = to_doubles(interpret(f, inputs)[1]);
  if (activation.steepest > 0) curve.slope = to_doubles(interpret(grad(f, {0}), inputs)[0]);
  return curve;
}

std::vector<ActivationCurve> activation_curves() {
  std::vector<ActivationCurve> curves;
  for (const std::string& name : nn::activation_names())
    curves.push_back(curve_of(nn::activation_from_name(name), 256, 1.0 / 32));
  return curves;
}

Table to_table(std::span<const ActivationCurve> curves) {
  Table table{{{"activation"},
               {"lowest", Align::kRight},
               {"highest", Align::kRight},
               {"steepest", Align::kRight},
               {"measured", Align::kRight},
               {"flat below", Align::kRight},
               {"flat above", Align::kRight},
               {"derivative"}},
              {}};
  for (const ActivationCurve& c : curves) {
    const nn::Activation& a = c.activation;
    double measured = 0;
    for (double slope : c.slope) measured = std::max(measured, std::fabs(slope));
    const bool flat = c.slope.empty();  // everywhere
    table.rows.push_back({std::string(a.name), bound_text(a.low), bound_text(a.high),
                          short_number(a.steepest), flat ? "" : short_number(measured),
                          flat ? "" : bound_text(a.flat_below),
                          flat ? "" : bound_text(a.flat_above), std::string(a.derivative)});
  }
  return table;
}

std::vector<report::Chart> charts_of(std::span<const ActivationCurve> curves) {
  std::vector<report::Chart> charts;
  for (const ActivationCurve& c : curves) {
    report::Chart chart{std::string(c.activation.name), "x", "y", {series_of("value", c.x, c.y)}};
    if (!c.slope.empty()) chart.series.push_back(series_of("slope", c.x, c.slope));
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace limpid::lab
