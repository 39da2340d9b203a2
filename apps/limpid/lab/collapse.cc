#include "apps/limpid/lab/collapse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "limpid/core/number_text.h"
#include "limpid/core/statistics.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/nn/init.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/bind.h"
#include "limpid/transforms/collapse.h"

namespace limpid::lab {
namespace {

constexpr std::int64_t kExamples = 101;
constexpr double kReach = 3;

// A key where the network is written for training.
using Code = Value (*)(const Args& p, Value x, std::optional<Value> key);

Value first(const Args& p, Value x) { return linear(x, p.at("w1"), p.at("b1")); }
Value second(const Args& p, Value x) { return linear(x, p.at("w2"), p.at("b2")); }
Value norm(const Args& p, Value x) {
  return batch_norm_inference(x, p.at("gamma"), p.at("beta"), p.at("mean"), p.at("var"));
}

struct Network {
  std::string_view name;
  Code code;
};

constexpr Network kNetworks[] = {
    {"linear, linear",
     [](const Args& p, Value x, std::optional<Value>) { return second(p, first(p, x)); }},
    {"linear, dropout, linear",
     [](const Args& p, Value x, std::optional<Value> key) {
       const Value h = first(p, x);
       return second(p, key ? dropout(h, *key, 0.2) : h);
     }},
    {"linear, batch norm, linear",
     [](const Args& p, Value x, std::optional<Value>) { return second(p, norm(p, first(p, x))); }},
    {"linear, batch norm, relu, linear",
     [](const Args& p, Value x, std::optional<Value>) {
       return second(p, relu(norm(p, first(p, x))));
     }},
    {"linear, relu, linear",
     [](const Args& p, Value x, std::optional<Value>) { return second(p, relu(first(p, x))); }},
};

Params params_of(const CollapseOptions& o, Key key) {
  std::uint64_t drawn = 0;
  const auto draw = [&](const Shape& shape, const nn::Init& init) {
    return init(key.fold_in(++drawn), shape);
  };
  Params params;
  params.set("w1", draw({o.hidden, o.in}, nn::lecun_normal()));
  params.set("b1", draw({o.hidden}, nn::normal(1)));
  params.set("gamma", draw({o.hidden}, nn::normal(1)));
  params.set("beta", draw({o.hidden}, nn::normal(1)));
  params.set("mean", draw({o.hidden}, nn::normal(1)));
  params.set("var", nn::constant(2)(key, {o.hidden}));
  params.set("w2", draw({o.out, o.hidden}, nn::lecun_normal()));
  params.set("b2", draw({o.out}, nn::normal(1)));
  return params;
}

// The examples, (kExamples, in).
Tensor along(const std::vector<double>& position, const Tensor& direction) {
  const auto d = direction.values<float>();
  return Tensor::generate<float>(
      {kExamples, static_cast<std::int64_t>(d.size())}, [&](std::span<float> x) {
        for (std::size_t i = 0; i < x.size(); ++i)
          x[i] = static_cast<float>(position[i / d.size()] * static_cast<double>(d[i % d.size()]));
      });
}

// The network with the parameters that it reads as constants: of x, and of a key where it is for
// training.
Function function_of(const Network& network, const Params& params, const Type& x, bool training) {
  std::vector<Input> inputs = nn::inputs_of(params);
  inputs.push_back({"x", x});
  if (training) inputs.push_back({"key", {Dtype::kI64, {}}});
  const std::size_t n = params.size();
  return bind(trace(std::string(network.name), inputs,
                    [&](std::span<const Value> in) {
                      return std::vector<Value>{
                          network.code(nn::args_of(params, in.first(n)), in[n],
                                       training ? std::optional(in[n + 1]) : std::nullopt)};
                    }),
              params);
}

Work work_of(const Function& f) {
  Work work;
  std::vector<bool> of_data(f.types().size(), false), counted(f.types().size(), false);
  std::fill_n(of_data.begin(), f.inputs().size(), true);
  for (const Node& node : f.nodes()) {
    const auto depends = [&](ValueId v) { return of_data[static_cast<std::size_t>(v)]; };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), depends)) continue;
    for (ValueId v : node.inputs) {
      if (depends(v) || counted[static_cast<std::size_t>(v)]) continue;
      work.parameters += f.type(v).shape.elements();
      counted[static_cast<std::size_t>(v)] = true;
    }
    const Function::CallTypes types = f.call_types(node);
    work.ops += 1;
    work.flops +=
        node.op->flops({*node.op, types.inputs, types.outputs, node.attributes, node.scope});
    for (std::size_t r = 0; r < f.output_count(node); ++r)
      of_data[static_cast<std::size_t>(node.first_output) + r] = true;
  }
  return work;
}

Collapse collapse_one(const Network& network, const Params& params,
                      const std::vector<double>& position, const Tensor& x) {
  const Function written = function_of(network, params, x.type(), true);
  const Collapsed collapsed = collapse(written);
  const std::vector<Tensor> one{x};
  const std::vector<Tensor> with_key{x, key_tensor(Key(0))};
  const std::vector<double> before =
      to_doubles(interpret(function_of(network, params, x.type(), false), one)[0]);
  const std::vector<double> after = to_doubles(interpret(collapsed.function, with_key)[0]);

  Collapse result{std::string(network.name),
                  work_of(written),
                  work_of(collapsed.function),
                  collapsed.done,
                  position,
                  {}};
  const std::size_t outputs = before.size() / position.size();
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (i % outputs == 0) result.y.push_back(before[i]);
    result.largest = std::max(result.largest, std::fabs(before[i]));
    result.difference = std::max(result.difference, std::fabs(before[i] - after[i]));
  }
  return result;
}

std::string change(std::int64_t before, std::int64_t after) {
  return fmt::format("{} -> {}", grouped(before), grouped(after));
}

}  // namespace

std::vector<Collapse> collapses(const CollapseOptions& options) {
  const Key key(options.seed);
  std::vector<double> position;
  for (std::int64_t i = 0; i < kExamples; ++i)
    position.push_back(kReach * (2 * static_cast<double>(i) / (kExamples - 1) - 1));
  const Tensor x = along(position, nn::normal(1)(key.fold_in(0), {options.in}));
  const Params params = params_of(options, key);
  std::vector<Collapse> rows;
  for (const Network& network : kNetworks)
    rows.push_back(collapse_one(network, params, position, x));
  return rows;
}

Table to_table(std::span<const Collapse> rows) {
  Table table{{{"network"},
               {"ops", Align::kRight},
               {"parameters", Align::kRight},
               {"FLOPs", Align::kRight},
               {"largest output", Align::kRight},
               {"largest change", Align::kRight}},
              {}};
  for (const Collapse& r : rows)
    table.rows.push_back({r.network, change(r.before.ops, r.after.ops),
                          change(r.before.parameters, r.after.parameters),
                          change(r.before.flops, r.after.flops),
                          fmt::format("{:.2g}", unsigned_nan(r.largest)),
                          fmt::format("{:.2g}", unsigned_nan(r.difference))});
  return table;
}

std::vector<report::Chart> charts_of(std::span<const Collapse> rows) {
  std::vector<report::Chart> charts;
  for (const Collapse& r : rows) {
    report::Series series{"first output", {}};
    for (std::size_t i = 0; i < r.y.size(); ++i) series.points.push_back({r.position[i], r.y[i]});
    charts.push_back({r.network, "position on a line", "first output", {std::move(series)}});
  }
  return charts;
}

}  // namespace limpid::lab
