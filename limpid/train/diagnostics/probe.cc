#include "limpid/train/diagnostics/probe.h"

#include <algorithm>
#include <optional>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/nn/activation.h"
#include "limpid/ops/attention_weights.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/grad.h"
#include "limpid/transforms/rewrite.h"

namespace limpid::train {
namespace {

constexpr std::size_t kActivationNumbers = 5, kAttentionNumbers = 3;

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
void each_number(AttentionStatistics& s, const F& f) {
  for (double* number : {&s.entropy, &s.lowest_head, &s.highest_head}) f(*number);
}
template <class F>
void each_number(std::vector<LayerStatistics>& layers, const F& f) {
  for (LayerStatistics& layer : layers) {
    for (ParameterStatistics& p : layer.parameters) each_number(p, f);
    for (ActivationStatistics& a : layer.activations) each_number(a, f);
    for (AttentionStatistics& a : layer.attention) each_number(a, f);
  }
}

// ---- observed values

// The activation that a node computes, under any op name: hard_tanh is a clamp.
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
  const Node* attention = nullptr;   // its weights are observed, not its result
};

// The node that computes a value; nullptr for an input.
const Node* maker_of(const Function& loss, ValueId id) {
  if (static_cast<std::size_t>(id) < loss.inputs().size()) return nullptr;
  return &*std::partition_point(loss.nodes().begin(), loss.nodes().end(), [&](const Node& n) {
    return n.first_output + static_cast<ValueId>(loss.output_count(n)) <= id;
  });
}

// Both operands have the shape of the sum, so neither is a parameter or was broadcast.
bool is_residual(const Function& loss, const Node& node) {
  const auto is_whole = [&](ValueId id) {
    const Node* const maker = maker_of(loss, id);
    return maker && maker->op->role != Role::kRepeat;
  };
  return node.op == &op::add && is_whole(node.inputs[0]) && is_whole(node.inputs[1]);
}

// Whether a value is (N, channels, ...): a convolution, or made from one element by element. Its
// units are its channels then; those of other values are their last dimension.
bool has_channels(const Function& loss, ValueId id) {
  const Type type = loss.type(id);
  while (const Node* const node = maker_of(loss, id)) {
    if (node->op->role == Role::kConvolution) return true;
    if (!node->op->elementwise) return false;
    const auto same = std::find_if(node->inputs.begin(), node->inputs.end(), [&](ValueId input) {
      const Node* const of_input = maker_of(loss, input);
      return loss.type(input) == type && of_input && of_input->op->role != Role::kRepeat;
    });
    if (same == node->inputs.end()) return false;
    id = *same;
  }
  return false;
}

// A product, convolution, norm, activation, residual or attention in a layer, of values with a
// batch dimension.
std::optional<Observed> observed(const Function& loss, const Node& node) {
  if (node.scope.empty() || node.inputs.empty()) return {};
  const Type& type = loss.type(node.first_output);
  if (!is_floating(type.dtype) || type.shape.rank() < 2 || type.shape.elements() == 0) return {};
  const nn::Activation* activation = activation_of(node);
  Observed o{std::string(activation ? activation->name : node.op->name), node.first_output,
             node.inputs[0], activation};
  if (node.op->role == Role::kLinear || node.op->role == Role::kNorm ||
      node.op->role == Role::kConvolution)
    return o;
  if (node.op->role == Role::kAttention) {
    o.attention = &node;
    return o;
  }
  if (is_residual(loss, node)) {
    o.op = "residual";
    return o;
  }
  return activation ? std::optional(o) : std::nullopt;
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

void add_activation_statistics(const nn::Activation* activation, bool channels, Value x, Value y,
                               std::vector<Value>& to) {
  add_mean_and_std(y, to);
  to.push_back(share(y == number_like(y, 0)));
  // The largest of each unit over the rows, and of a channel over its positions.
  Value largest = abs(y);
  if (channels)
    largest = max(max(reshape(largest, {y.shape()[0], y.shape()[1],
                                        y.shape().elements() / y.shape()[0] / y.shape()[1]}),
                      -1),
                  0);
  else
    largest = max(reshape(largest, {y.shape().elements() / y.shape().back(), y.shape().back()}), 0);
  to.push_back(share(largest == number_like(largest, 0)));
  if (!activation) {
    to.push_back(constant(y.builder(), 0, Dtype::kF64));
    return;
  }
  to.push_back(share(logical_or(
      x<number_like(x, activation->flat_below), x> number_like(x, activation->flat_above))));
}

void add_attention_statistics(std::span<const Value> in, const Attributes& attributes,
                              std::vector<Value>& to) {
  const Value weights = attention_weights(in, attributes);
  const Value zero = number_like(weights, 0);
  const auto positive = weights > zero;
  const Value entropy = -sum(
      select(positive, weights * log(select(positive, weights, number_like(weights, 1))), zero),
      -1);
  const Value seen = sum(cast(positive, weights.dtype()), -1);
  const Value counts = cast(seen > number_like(seen, 1), weights.dtype());
  // For queries that see only one key both are 0.
  const Value most = log(maximum(seen, number_like(seen, 1))) + (number_like(seen, 1) - counts);
  const Value shares = entropy / most;
  // (heads): the mean over everything else.
  const std::size_t rank = shares.rank();
  const std::int64_t queries = shares.shape().back();
  const std::int64_t heads = rank > 1 ? shares.shape()[rank - 2] : 1;
  const Shape apart{shares.shape().elements() / (heads * queries), heads, queries};
  const auto by_head = [&](const Value& v) { return sum(sum(reshape(v, apart), 2), 0); };
  const Value count = by_head(counts);
  const Value of_heads = by_head(shares) / maximum(count, number_like(count, 1));
  for (const Value& v : {mean(of_heads), min(of_heads, 0), max(of_heads, 0)})
    to.push_back(cast(v, Dtype::kF64));
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

// The loss, followed by the statistics of everything observed, in node order.
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
    for (const Observed& o : all) {
      if (!o.attention) {
        add_activation_statistics(o.activation, has_channels(loss, o.value), value(o.input),
                                  value(o.value), outputs);
        continue;
      }
      std::vector<Value> operands;
      for (ValueId id : o.attention->inputs) operands.push_back(value(id));
      add_attention_statistics(operands, o.attention->attributes, outputs);
    }
    return outputs;
  });
}

}  // namespace

ProbeFunction probe_function(const Function& loss, std::size_t parameters) {
  // The statistics of a layer are grouped at the end; until then each has outputs of its own.
  enum class Kind { kParameter, kActivation, kAttention };  // in the order of their numbers
  struct Part {
    std::string layer;
    Kind kind;
    std::size_t index;  // of the parameter, or of the first output of the observed value
  };
  std::vector<Part> parts;
  std::size_t next_output = 1;  // after the loss
  std::vector<Observed> all;
  ProbeFunction probe;
  for (std::size_t i = 0; i < parameters; ++i) {
    const std::string& name = loss.inputs()[i].name;
    LayerStatistics& layer = layer_named(probe.layers, layer_of(name));
    layer.parameters.push_back({name});
    parts.push_back({layer.name, Kind::kParameter, i});
  }
  const auto add = [&](const std::string& scope, const Observed& o) {
    LayerStatistics& layer = layer_named(probe.layers, scope);
    if (o.attention)
      layer.attention.emplace_back();
    else
      layer.activations.push_back({o.op});
    const Kind kind = o.attention ? Kind::kAttention : Kind::kActivation;
    parts.push_back({layer.name, kind, next_output});
    next_output += o.attention ? kAttentionNumbers : kActivationNumbers;
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
    std::vector<Value> outputs;
    for (const LayerStatistics& layer : probe.layers)
      for (const Kind kind : {Kind::kParameter, Kind::kActivation, Kind::kAttention})
        for (const Part& part : parts) {
          if (part.layer != layer.name || part.kind != kind) continue;
          if (kind == Kind::kParameter)
            add_parameter_statistics(in[part.index], results[first_gradient + part.index],
                                     in[n + part.index], outputs);
          else
            std::copy_n(results.begin() + static_cast<std::ptrdiff_t>(part.index),
                        kind == Kind::kActivation ? kActivationNumbers : kAttentionNumbers,
                        std::back_inserter(outputs));
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
