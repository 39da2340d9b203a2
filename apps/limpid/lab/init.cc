#include "apps/limpid/lab/init.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "limpid/compile/executable.h"
#include "limpid/core/statistics.h"
#include "limpid/function/builder.h"
#include "limpid/nn/activation.h"
#include "limpid/nn/init.h"
#include "limpid/ops/ops.h"

namespace limpid::lab {
namespace {

constexpr std::int64_t kRows = 64;

using LayerCode = Value (*)(Value x, Value weight);

Value relu_layer(Value x, Value w) { return relu(linear(x, w)); }
Value tanh_layer(Value x, Value w) { return tanh(linear(x, w)); }
Value gelu_layer(Value x, Value w) { return gelu(linear(x, w)); }
Value residual_layer(Value x, Value w) { return x + linear(relu(x), w); }

struct Scheme {
  std::string layer, name;
  LayerCode code;
  nn::Init init;
};

std::vector<Scheme> schemes(const SpreadOptions& o) {
  const double root2 = std::numbers::sqrt2;
  const double tanh_gain = nn::activation_from_name("tanh").gain;
  const double gelu_gain = nn::activation_from_name("gelu").gain;
  return {
      {"ReLU", "normal, std 0.01", relu_layer, nn::normal(0.01)},
      {"ReLU", "truncated normal, std 0.02", relu_layer, nn::truncated_normal(0.02)},
      {"ReLU", "normal, std 1", relu_layer, nn::normal(1)},
      {"ReLU", "LeCun normal", relu_layer, nn::lecun_normal()},
      {"ReLU", "Xavier normal", relu_layer, nn::xavier_normal()},
      {"ReLU", "He normal", relu_layer, nn::kaiming_normal(root2)},
      {"ReLU", "He uniform", relu_layer, nn::kaiming_uniform(root2)},
      {"ReLU", "orthogonal, gain sqrt 2", relu_layer, nn::orthogonal(root2)},
      {"GELU", "He normal, GELU's gain", gelu_layer, nn::kaiming_normal(gelu_gain)},
      {"tanh", "normal, std 1", tanh_layer, nn::normal(1)},
      {"tanh", "LeCun normal", tanh_layer, nn::lecun_normal()},
      {"tanh", "Xavier uniform", tanh_layer, nn::xavier_uniform()},
      {"tanh", "Xavier normal, tanh's gain", tanh_layer, nn::xavier_normal(tanh_gain)},
      {"x + W relu(x)", "He normal", residual_layer, nn::kaiming_normal(root2)},
      {"x + W relu(x)", "He's std / sqrt(2 layers)", residual_layer,
       nn::depth_scaled_normal(o.layers, root2 / std::sqrt(static_cast<double>(o.width)))},
  };
}

double std_of(const Tensor& t) {
  const Statistics s = statistics(t);
  return s.nans + s.infs > 0 ? std::numeric_limits<double>::infinity() : s.std;
}

std::vector<double> stds_of(const Scheme& scheme, const SpreadOptions& o) {
  Tensor x = nn::normal(1)(Key(o.seed), {kRows, o.width});
  const Shape square{o.width, o.width};
  const Executable layer = compile(trace(
      "layer", {{"x", x.type()}, {"w", {Dtype::kF32, square}}},
      [&](std::span<const Value> in) { return std::vector<Value>{scheme.code(in[0], in[1])}; }));
  std::vector<double> stds;
  for (std::uint64_t l = 0; l < static_cast<std::uint64_t>(o.layers); ++l) {
    x = layer(std::vector<Tensor>{x, scheme.init(Key(o.seed + 1).fold_in(l), square)})[0];
    stds.push_back(std_of(x));
  }
  return stds;
}

// Counted from 1.
std::set<std::size_t> shown_layers(std::size_t layers) {
  std::set<std::size_t> shown;
  for (std::size_t l : {1, 2, 5}) shown.insert(std::min(l, layers));
  for (std::size_t fifth = 1; fifth <= 5; ++fifth)
    shown.insert(std::max<std::size_t>(1, fifth * layers / 5));
  return shown;
}

}  // namespace

std::vector<Spread> spreads(const SpreadOptions& options) {
  std::vector<Spread> result;
  for (const Scheme& s : schemes(options)) result.push_back({s.layer, s.name, stds_of(s, options)});
  return result;
}

Table to_table(std::span<const Spread> spreads) {
  Table table{{{"layer"}}, {}};
  if (spreads.empty()) return table;
  const std::set<std::size_t> shown = shown_layers(spreads[0].stds.size());
  for (std::size_t l : shown) table.columns.push_back({fmt::format("{}", l), Align::kRight});
  for (const Spread& s : spreads) {
    std::vector<std::string> row{fmt::format("{}, {}", s.layer, s.scheme)};
    for (std::size_t l : shown) {
      const double std = s.stds[l - 1];
      row.push_back(std::isfinite(std) ? fmt::format("{:.2g}", std) : "over");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<report::Chart> charts_of(std::span<const Spread> spreads) {
  std::vector<report::Chart> charts;
  for (const Spread& s : spreads) {
    auto found = std::find_if(charts.begin(), charts.end(),
                              [&](const report::Chart& c) { return c.title == s.layer; });
    if (found == charts.end())
      found = charts.insert(found, {s.layer, "layer", "standard deviation", {}, /*log_y=*/true});
    report::Series series{s.scheme, {}};
    for (std::size_t l = 0; l < s.stds.size(); ++l)
      series.points.push_back({static_cast<double>(l + 1), s.stds[l]});
    found->series.push_back(std::move(series));
  }
  return charts;
}

}  // namespace limpid::lab
