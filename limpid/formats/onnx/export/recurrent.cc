// Export of recurrent layers as RNN, LSTM and GRU. A layer is a product with all of x and a scan of
// its steps; a scan whose body is that of a layer is written as its operator, any other by its
// steps.
#include <algorithm>
#include <array>
#include <optional>

#include "limpid/formats/onnx/export/detail/export_op.h"
#include "limpid/formats/onnx/export/detail/recurrent_layers.h"
#include "limpid/nn/detail/recurrence.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/rewrite.h"
#include "limpid/transforms/scan.h"

namespace limpid::onnx::detail {
namespace {

using List = std::vector<std::int64_t>;
using nn::detail::Recurrence;
using nn::detail::Recurrent;

// ---- the layer as one op, in the functions that are being written

// Where the steps and the examples of x and y are.
enum class Axes : std::uint8_t { kSteps, kStepsExamples, kExamplesSteps };

constexpr AttributeSpec kLayerAttributes[] = {
    {"axes", AttributeKind::kInteger}, {"bias", AttributeKind::kBool},
    {"kind", AttributeKind::kInteger}, {"reverse", AttributeKind::kBool},
    {"state", AttributeKind::kBool},   {"zeros", AttributeKind::kBool}};

struct Layer {
  Recurrent kind = Recurrent::kRnn;
  Axes axes = Axes::kSteps;
  bool bias = false, reverse = false;
  bool state = false;  // whether the last state is a result, too
  bool zeros = false;  // whether the first state is not an input, but zeros

  explicit Layer(const Attributes& a)
      : kind(static_cast<Recurrent>(a.integer("kind"))),
        axes(static_cast<Axes>(a.integer("axes"))),
        bias(a.get<bool>("bias")),
        reverse(a.get<bool>("reverse")),
        state(a.get<bool>("state")),
        zeros(a.get<bool>("zeros")) {}
  Layer() = default;

  Attributes attributes() const {
    return {{"axes", static_cast<std::int64_t>(axes)},
            {"bias", bias},
            {"kind", static_cast<std::int64_t>(kind)},
            {"reverse", reverse},
            {"state", state},
            {"zeros", zeros}};
  }
  std::size_t states() const { return kind == Recurrent::kLstm ? 2 : 1; }
  // The place of the first state, and of w_ih, w_hh, b_ih, b_hh, among the inputs.
  std::size_t first_weight() const { return zeros ? 1 : 1 + states(); }
};

// Inputs: x, the first state unless it is zeros, w_ih, w_hh, and b_ih, b_hh with bias. Results: y,
// and the last state if asked for.
std::vector<Type> layer_types(const Call& call) {
  const Layer layer(call.attributes);
  const Shape& x = call.inputs[0].shape;
  const std::int64_t hidden = call.inputs[layer.first_weight() + 1].shape[1];
  std::vector<Type> types{{Dtype::kF32, x.replace(x.rank() - 1, hidden)}};
  Shape state{hidden};
  if (layer.axes != Axes::kSteps) state = {x[layer.axes == Axes::kStepsExamples ? 1 : 0], hidden};
  if (layer.state) types.resize(1 + layer.states(), {Dtype::kF32, state});
  return types;
}

// Only x and the first state depend on the batch, and a layer in a batch has none around it: others
// are not made into this op.
std::vector<Value> layer_batching(const BatchingCall& call) {
  Layer layer(call.attributes);
  layer.axes = Axes::kExamplesSteps;
  std::vector<Value> inputs(call.inputs.begin(), call.inputs.end());
  for (std::size_t i = 0; i < layer.first_weight(); ++i)
    if (!call.batched[i]) inputs[i] = broadcast(inputs[i], inputs[i].shape().insert(0, call.size));
  return call.builder.call(recurrent_layer, inputs, layer.attributes());
}

}  // namespace

constinit const Op recurrent_layer{.name = "recurrent_layer",
                                   .formula = "the steps of an RNN, LSTM or GRU",
                                   .shapes = "x [..., steps, in] -> y [..., steps, hidden]",
                                   .min_inputs = 3,
                                   .max_inputs = 7,
                                   .attributes = kLayerAttributes,
                                   .types = layer_types,
                                   .gradient = no_gradient("it is only written"),
                                   .batching = batching(layer_batching),
                                   .flops = {},
                                   .onnx = {},
                                   .examples = {}};

namespace {

// ---- finding layers

// Whether the Functions compute the same in the same order, whatever the names.
bool same_computation(const Function& a, const Function& b) {
  if (a.types() != b.types() || a.inputs().size() != b.inputs().size() ||
      a.nodes().size() != b.nodes().size() || a.outputs().size() != b.outputs().size())
    return false;
  for (std::size_t i = 0; i < a.nodes().size(); ++i) {
    const Node &x = a.nodes()[i], &y = b.nodes()[i];
    if (x.op != y.op || x.inputs != y.inputs || !(x.attributes == y.attributes)) return false;
  }
  for (std::size_t i = 0; i < a.outputs().size(); ++i)
    if (a.outputs()[i].value != b.outputs()[i].value) return false;
  return true;
}

// The body of a layer's scan with these inputs: the state, a step's part of the gates, weights.
Function step_of_layer(Recurrent kind, const std::vector<Type>& inputs) {
  Builder builder("step");
  std::vector<Value> in;
  for (const Type& type : inputs) in.push_back(builder.input(std::to_string(in.size()), type));
  const std::size_t states = kind == Recurrent::kLstm ? 2 : 1;
  Recurrence r;
  r.kind = kind;
  r.w_hh = in[states + 1];
  if (in.size() > states + 2) r.b_hh = in[states + 2];
  const nn::detail::RecurrentState next =
      step_of(r, in[states], {in[0], states > 1 ? in[1] : Value()});
  std::vector<Value> out{next.h};
  if (states > 1) out.push_back(next.c);
  out.push_back(next.h);
  return builder.finish(out);
}

class LayerFinder {
 public:
  LayerFinder(const Function& function, const std::vector<bool>& batched)
      : f_(function),
        depends_(dependents(function, batched)),
        is_batched_(std::find(batched.begin(), batched.end(), true) != batched.end()) {
    makers_.resize(f_.types().size());
    used_.resize(f_.types().size());
    for (const Node& node : f_.nodes()) {
      for (std::size_t i = 0; i < f_.output_count(node); ++i)
        makers_[index(node.first_output) + i] = &node;
      for (const ValueId id : node.inputs) used_[index(id)] = true;
    }
    for (const Output& output : f_.outputs()) used_[index(output.value)] = true;
  }

  struct Found {
    Layer layer;
    std::vector<ValueId> inputs;
  };
  // What a scan is, if it is a layer.
  std::optional<Found> find(const Node& node) const {
    if (node.op != &op::scan || node.attributes.integer("scanned") != 1) return {};
    const Function& body = node.attributes.get<Nested>("body").function();
    const auto states = static_cast<std::size_t>(node.attributes.integer("carries"));
    const std::size_t shared = node.inputs.size() - std::min(node.inputs.size(), states + 1);
    if (states > 2 || shared < 1 || shared > 2 || body.outputs().size() != states + 1) return {};
    const Type& state = type(node.inputs[0]);
    const Type& weight = type(node.inputs[states + 1]);
    if (state.dtype != Dtype::kF32 || weight.dtype != Dtype::kF32 || weight.shape.rank() != 2)
      return {};
    // In a model with a batch dimension, the layer is that of one example: its state is a vector.
    if (state.shape.rank() > (is_batched_ ? 1u : 2u)) return {};
    const Node* const product = makers_[index(node.inputs[states])];
    if (!product || product->op != &op::linear || product->inputs.size() != shared + 1 ||
        type(product->inputs[1]).dtype != Dtype::kF32)
      return {};
    Found found;
    found.inputs = {product->inputs[0]};
    found.layer.zeros = std::all_of(node.inputs.begin(), node.inputs.begin() + at(states),
                                    [&](ValueId id) { return is_zeros(id); });
    if (!found.layer.zeros)
      found.inputs.insert(found.inputs.end(), node.inputs.begin(),
                          node.inputs.begin() + at(states));
    found.inputs.insert(found.inputs.end(), {product->inputs[1], node.inputs[states + 1]});
    if (shared == 2)
      found.inputs.insert(found.inputs.end(), {product->inputs[2], node.inputs[states + 2]});
    for (std::size_t i = found.inputs.size() - 2 * shared; i < found.inputs.size(); ++i)
      if (depends_[index(found.inputs[i])]) return {};
    const std::optional<Recurrent> kind = kind_of(body, states, weight);
    if (!kind) return {};
    found.layer.kind = *kind;
    found.layer.axes = state.shape.rank() == 1 ? Axes::kSteps : Axes::kStepsExamples;
    found.layer.bias = shared == 2;
    found.layer.reverse = node.attributes.get<bool>("reverse");
    for (std::size_t s = 0; s < states; ++s)
      found.layer.state = found.layer.state || used_[index(node.first_output) + s];
    return found;
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  static std::ptrdiff_t at(std::size_t i) { return static_cast<std::ptrdiff_t>(i); }
  const Type& type(ValueId id) const { return f_.type(id); }

  static std::optional<Recurrent> kind_of(const Function& body, std::size_t states,
                                          const Type& weight) {
    const std::int64_t hidden = body.inputs()[0].type.shape.back();
    std::vector<Type> types;
    for (const Input& input : body.inputs()) types.push_back(input.type);
    for (const Recurrent kind : {Recurrent::kRnn, Recurrent::kLstm, Recurrent::kGru})
      if ((kind == Recurrent::kLstm ? 2u : 1u) == states &&
          weight.shape == Shape{nn::detail::gates_of(kind) * hidden, hidden} &&
          same_computation(body, step_of_layer(kind, types)))
        return kind;
    return {};
  }

  // Whether the value is made of a constant zero, only moved and repeated.
  bool is_zeros(ValueId id) const {
    for (;;) {
      const Node* const maker = makers_[index(id)];
      if (!maker) return false;
      if (maker->op == &op::constant) {
        const auto bytes = maker->attributes.get<Tensor>("value").bytes();
        return std::all_of(bytes.begin(), bytes.end(),
                           [](std::byte b) { return b == std::byte{}; });
      }
      if (maker->op != &op::broadcast && maker->op != &op::reshape && maker->op != &op::slice)
        return false;
      id = maker->inputs[0];
    }
  }

  const Function& f_;
  std::vector<bool> depends_;
  bool is_batched_;
  std::vector<const Node*> makers_;  // by ValueId
  std::vector<bool> used_;           // by ValueId
};

}  // namespace

Function with_recurrent_layers(const Function& function, const std::vector<bool>& batched) {
  const LayerFinder finder(function, batched);
  bool any = false;
  Builder builder(function.name());
  std::vector<Value> values;
  for (const Input& i : function.inputs()) values.push_back(builder.input(i.name, i.type));
  rewrite_nodes(
      builder, function, values, [&](Builder& b, const Node& node, std::span<const Value> in) {
        const auto found = finder.find(node);
        if (!found) return b.call(*node.op, in, node.attributes);
        any = true;
        std::vector<Value> inputs;
        for (const ValueId id : found->inputs)
          inputs.push_back(values[static_cast<std::size_t>(id)]);
        const std::vector<Value> made = b.call(recurrent_layer, inputs, found->layer.attributes());
        // Those of the scan: the state, which may be unused, then y.
        std::vector<Value> results(found->layer.states(), made[0]);
        if (found->layer.state) std::copy(made.begin() + 1, made.end(), results.begin());
        results.push_back(made[0]);
        return results;
      });
  if (!any) return function;
  // Without what only the scans needed.
  return in_order_of_graph(builder.finish(outputs_of(function, values), output_names(function)));
}

namespace {

// ---- writing layers

// ONNX's order of gates in terms of PyTorch's: LSTM i f g o to i o f c, GRU r z n to z r h.
std::span<const std::int64_t> gates_in_onnx(Recurrent kind) {
  static constexpr std::int64_t kOne[] = {0}, kLstm[] = {0, 3, 1, 2}, kGru[] = {1, 0, 2};
  if (kind == Recurrent::kLstm) return kLstm;
  if (kind == Recurrent::kGru) return kGru;
  return kOne;
}

std::string gates_reordered(GraphWriter& g, Recurrent kind, const std::string& x,
                            std::int64_t parts_of_all, const List& rest, const List& shape) {
  const auto order = gates_in_onnx(kind);
  const auto gates = static_cast<std::int64_t>(order.size());
  if (gates == 1) return g.node("Reshape", {x, g.integers(shape)});
  List parts{parts_of_all * gates}, numbers;
  parts.insert(parts.end(), rest.begin(), rest.end());
  for (std::int64_t p = 0; p < parts_of_all; ++p)
    for (const std::int64_t gate : order) numbers.push_back(p * gates + gate);
  const std::string split = g.node("Reshape", {x, g.integers(parts)});
  const std::string moved =
      g.node("Gather", {split, g.integers(numbers)}, {{"axis", std::int64_t{0}}});
  return g.node("Reshape", {moved, g.integers(shape)});
}

Names write_recurrent_layer(OpCall& c) {
  GraphWriter& g = c.graph();
  const Layer layer(c.attributes());
  const std::size_t w = layer.first_weight();
  const std::int64_t hidden = c.shape(w + 1)[1].constant, in = c.shape(w)[1].constant;
  const auto gates = static_cast<std::int64_t>(gates_in_onnx(layer.kind).size());
  const auto unsqueezed = [&](const std::string& x, const List& axes) {
    return g.node("Unsqueeze", {x, g.integers(axes)});
  };
  const auto squeezed = [&](const std::string& x, const List& axes) {
    return g.node("Squeeze", {x, g.integers(axes)});
  };
  const bool alone = layer.axes == Axes::kSteps;
  std::string x = c.input(0);
  if (alone) x = unsqueezed(x, {1});
  if (layer.axes == Axes::kExamplesSteps) x = g.node("Transpose", {x}, {{"perm", List{1, 0, 2}}});
  Names inputs{x,
               gates_reordered(g, layer.kind, c.input(w), 1, {hidden, in}, {1, gates * hidden, in}),
               gates_reordered(g, layer.kind, c.input(w + 1), 1, {hidden, hidden},
                               {1, gates * hidden, hidden})};
  if (layer.bias || !layer.zeros)
    inputs.push_back(layer.bias ? gates_reordered(g, layer.kind,
                                                  g.node("Concat", {c.input(w + 2), c.input(w + 3)},
                                                         {{"axis", std::int64_t{0}}}),
                                                  2, {hidden}, {1, 2 * gates * hidden})
                                : "");
  if (!layer.zeros) {
    inputs.push_back("");  // no lengths
    for (std::size_t s = 0; s < layer.states(); ++s)
      inputs.push_back(unsqueezed(c.input(1 + s), alone ? List{0, 1} : List{0}));
  }
  std::vector<Written> attributes{{"hidden_size", hidden}};
  if (layer.reverse) attributes.push_back({"direction", std::string("reverse")});
  if (layer.kind == Recurrent::kGru) attributes.push_back({"linear_before_reset", std::int64_t{1}});
  const std::string_view name = layer.kind == Recurrent::kLstm  ? "LSTM"
                                : layer.kind == Recurrent::kGru ? "GRU"
                                                                : "RNN";
  const Names all = g.nodes(name, inputs, attributes, layer.state ? 1 + layer.states() : 1);
  // [steps, 1, examples, hidden], and [1, examples, hidden].
  Names results;
  if (layer.axes == Axes::kExamplesSteps)
    results.push_back(squeezed(g.node("Transpose", {all[0]}, {{"perm", List{2, 0, 1, 3}}}), {2}));
  else
    results.push_back(squeezed(all[0], alone ? List{1, 2} : List{1}));
  for (std::size_t s = 1; s < all.size(); ++s)
    results.push_back(squeezed(all[s], alone ? List{0, 1} : List{0}));
  return results;
}

const ExportOp kRecurrentExports[] = {{&recurrent_layer, write_recurrent_layer}};

}  // namespace

std::span<const ExportOp> recurrent_export_ops() { return kRecurrentExports; }

}  // namespace limpid::onnx::detail
