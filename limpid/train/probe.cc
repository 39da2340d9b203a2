#include "limpid/train/probe.h"

#include <algorithm>
#include <optional>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/nn/activation.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/rewrite.h"

namespace limpid::train {
namespace {

// Calls f for every number of the statistics, in the order of the Function's outputs.
template <class F>
void each_number(ParameterStatistics& s, const F& f) {
  for (double* number : {&s.mean, &s.std, &s.norm, &s.gradient_norm, &s.update_norm}) f(*number);
}
template <class F>
void each_number(ActivationStatistics& s, const F& f) {
  for (double* number : {&s.mean, &s.std, &s.zero_share, &s.dead_share, &s.saturated_share})
    f(*number);
}
template <class F>
void each_number(std::vector<LayerStatistics>& layers, const F& f) {
  for (LayerStatistics& layer : layers) {
    for (ParameterStatistics& p : layer.parameters) each_number(p, f);
    for (ActivationStatistics& a : layer.activations) each_number(a, f);
  }
}

// ---- what is observed on the way

// The activation that a node calls, whatever its op is called: hard_tanh is a clamp.
const nn::Activation* activation_of(const Node& node) {
  struct Known {
    const nn::Activation* activation;
    Function function;
  };
  static const std::vector<Known> all = [] {
    std::vector<Known> known;
    for (const std::string& name : nn::activation_names()) {
      const nn::Activation& a = nn::activation_from_name(name);
      known.push_back({&a, trace(name, {{"x", {Dtype::kF32, {}}}}, [&](std::span<const Value> in) {
                         return std::vector<Value>{a.apply(in[0])};
                       })});
    }
    return known;
  }();
  for (const Known& k : all)
    if (k.function.nodes().size() == 1 && k.function.nodes()[0].op == node.op &&
        k.function.nodes()[0].attributes == node.attributes)
      return k.activation;
  return nullptr;
}

struct Observed {
  std::string op;
  ValueId value;
  ValueId input;                     // the node's first
  const nn::Activation* activation;  // or nullptr
};

// A product, norm or activation in a layer, of values with a batch dimension.
std::optional<Observed> observed(const Function& loss, const Node& node) {
  if (node.scope.empty() || node.inputs.empty()) return {};
  const Type& type = loss.type(node.first_output);
  if (!is_floating(type.dtype) || type.shape.rank() < 2 || type.shape.elements() == 0) return {};
  const nn::Activation* activation = activation_of(node);
  const KernelKind kind = node.op->kernel.kind;
  if (!activation && kind != KernelKind::kLinear && kind != KernelKind::kLayerNorm &&
      kind != KernelKind::kRmsNorm)
    return {};
  return Observed{std::string(activation ? activation->name : node.op->name), node.first_output,
                  node.inputs[0], activation};
}

// ---- statistics in ops, each an f64 scalar

Value share(Value condition) { return mean(cast(condition, Dtype::kF64)); }
Value l2_norm(Value x) { return cast(sqrt(sum(x * x)), Dtype::kF64); }

void add_mean_and_std(Value x, std::vector<Value>& to) {
  const Value m = mean(x);
  const Value d = x - broadcast(m, x.shape());
  to.push_back(cast(m, Dtype::kF64));
  to.push_back(cast(sqrt(mean(d * d)), Dtype::kF64));
}

void add_activation_statistics(const nn::Activation* activation, Value x, Value y,
                               std::vector<Value>& to) {
  add_mean_and_std(y, to);
  to.push_back(share(y == number_like(y, 0)));
  const std::int64_t units = y.shape()[y.rank() - 1];
  const Value rows = reshape(y, {y.shape().elements() / units, units});
  const Value largest = max(abs(rows), 0);
  to.push_back(share(largest == number_like(largest, 0)));
  if (!activation) {
    to.push_back(constant(y.builder(), 0, Dtype::kF64));
    return;
  }
  to.push_back(share(logical_or(
      x<number_like(x, activation->flat_below), x> number_like(x, activation->flat_above))));
}

// Those of a parameter, its gradient and its change.
void add_parameter_statistics(Value parameter, Value gradient, Value next, std::vector<Value>& to) {
  add_mean_and_std(parameter, to);
  for (Value v : {parameter, gradient, next - parameter}) to.push_back(l2_norm(v));
}

// ---- layers

std::string layer_of(const std::string& parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

LayerStatistics& layer_named(std::vector<LayerStatistics>& layers, const std::string& name) {
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const LayerStatistics& l) { return l.name == name; });
  return found != layers.end() ? *found : layers.emplace_back(LayerStatistics{name, {}, {}});
}

// The loss, and behind it the statistics of everything observed, in the order of the nodes.
Function with_activations(const Function& loss, const std::vector<Observed>& all) {
  return trace("loss", loss.inputs(), [&](std::span<const Value> in) {
    Builder& builder = in[0].builder();
    std::vector<Value> values(in.begin(), in.end());
    rewrite_nodes(builder, loss, values,
                  [](Builder& b, const Node& node, std::span<const Value> inputs) {
                    return b.call(*node.op, inputs, node.attributes);
                  });
    const auto value = [&](ValueId id) { return values[static_cast<std::size_t>(id)]; };
    std::vector<Value> outputs{value(loss.outputs()[0].value)};
    const Builder::Scope scope(builder, "probe");
    for (const Observed& o : all)
      add_activation_statistics(o.activation, value(o.input), value(o.value), outputs);
    return outputs;
  });
}

}  // namespace

ProbeFunction probe_function(const Function& loss, std::size_t parameters) {
  // The numbers of a layer stand together in the end; until then each has its own outputs.
  struct Part {
    std::string layer;
    bool is_parameter;
    std::size_t index;  // of the parameter, or of what is observed
  };
  std::vector<Part> parts;
  std::vector<Observed> all;
  ProbeFunction probe;
  for (std::size_t i = 0; i < parameters; ++i) {
    const std::string& name = loss.inputs()[i].name;
    LayerStatistics& layer = layer_named(probe.layers, layer_of(name));
    layer.parameters.push_back({name});
    parts.push_back({layer.name, true, i});
  }
  const auto add = [&](const std::string& scope, const Observed& o) {
    LayerStatistics& layer = layer_named(probe.layers, scope);
    layer.activations.push_back({o.op});
    parts.push_back({layer.name, false, all.size()});
    all.push_back(o);
  };
  for (const Node& node : loss.nodes())
    if (const auto o = observed(loss, node)) {
      if (all.empty() && is_floating(loss.type(o->input).dtype))
        add(node.scope, {"input", o->input, o->input, nullptr});
      add(node.scope, *o);
    }

  std::vector<std::size_t> wrt(parameters);
  for (std::size_t i = 0; i < parameters; ++i) wrt[i] = i;
  const Function with_gradients = value_and_grad(with_activations(loss, all), wrt);
  std::vector<Input> inputs = loss.inputs();
  for (std::size_t i = 0; i < parameters; ++i)
    inputs.push_back({"next." + loss.inputs()[i].name, loss.inputs()[i].type});

  probe.function = trace("probe", inputs, [&](std::span<const Value> in) {
    const std::size_t n = loss.inputs().size();
    const std::vector<Value> results = in[0].builder().inline_function(with_gradients, in.first(n));
    const std::size_t first_gradient = results.size() - parameters;
    constexpr std::size_t kNumbers = 5;  // of each activation
    std::vector<Value> outputs;
    for (const LayerStatistics& layer : probe.layers)
      for (const Part& part : parts) {
        if (part.layer != layer.name) continue;
        if (part.is_parameter)
          add_parameter_statistics(in[part.index], results[first_gradient + part.index],
                                   in[n + part.index], outputs);
        else
          std::copy_n(results.begin() + static_cast<std::ptrdiff_t>(1 + kNumbers * part.index),
                      kNumbers, std::back_inserter(outputs));
      }
    return outputs;
  });
  return probe;
}

Probe::Probe(const Function& loss, std::size_t parameters, ThreadPool* pool)
    : Probe(probe_function(loss, parameters), pool) {}

Probe::Probe(ProbeFunction probe, ThreadPool* pool)
    : layers_(std::move(probe.layers)),
      workspace_(compile(probe.function), pool),
      numbers_(probe.function.outputs().size()) {}

std::vector<LayerStatistics> Probe::operator()(std::span<const void* const> inputs) {
  std::vector<void*> outputs;
  for (double& n : numbers_) outputs.push_back(&n);
  workspace_.run(inputs, outputs);
  auto number = numbers_.begin();
  each_number(layers_, [&](double& field) { field = *number++; });
  return layers_;
}

}  // namespace limpid::train
