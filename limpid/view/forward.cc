#include "limpid/view/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

#include "limpid/core/error.h"
#include "limpid/core/stop_check.h"
#include "limpid/function/builder.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/softmax.h"
#include "limpid/train/loop/metrics.h"

namespace limpid::view {
namespace {

// The number of elements whose bits differ.
std::int64_t differing(const Tensor& a, const Tensor& b) {
  const std::size_t size = size_of(a.dtype());
  std::int64_t count = 0;
  for (std::size_t at = 0; at < a.bytes().size(); at += size)
    count += std::memcmp(a.bytes().data() + at, b.bytes().data() + at, size) != 0;
  return count;
}

// The class names of a model, if it is a classification.
Spoken spoken_of(const Computed& computed, std::int64_t most) {
  Spoken spoken;
  const Function& f = computed.run.function;
  for (const Output& o : f.outputs())
    spoken.outputs.push_back(
        {o.name, values_of(computed.run[o.value], {}, std::max<std::int64_t>(most, 1))});
  const std::optional<DataConfig>& config = computed.ready.open->config;
  if (!config || f.outputs().size() != 1 || config->task == Task::kRegression) return spoken;
  const Tensor& logits = computed.run[f.outputs()[0].value];
  if (logits.dtype() != Dtype::kF32 || logits.shape().rank() == 0 || logits.elements() == 0)
    return spoken;
  const std::int64_t width = logits.shape().back(), rows = logits.elements() / width;
  spoken.row = counted_rows(computed.ready, rows) - 1;
  const Tensor row = logits.reshape({rows, width}).rows(spoken.row, 1);
  spoken.probabilities = probabilities_of_last(config->task, row);
  if (config->task == Task::kMultiLabel) return spoken;
  const auto last = row.values<float>();
  const std::optional<std::size_t> chosen = train::prediction_of(last);
  if (chosen) {
    spoken.chosen = static_cast<std::int64_t>(*chosen);
    spoken.label = class_name_of(*config, *spoken.chosen);
  }
  if (config->task != Task::kNextToken) return spoken;
  constexpr std::size_t kNamed = 12;
  for (const std::int64_t token : largest_of(last, kNamed))
    spoken.likeliest.emplace_back(token, class_name_of(*config, token));
  return spoken;
}

// The op that made a value; null for an input.
const Node* maker_of(const Function& f, ValueId id) {
  for (const Node& node : f.nodes())
    if (node.first_output <= id &&
        id < node.first_output + static_cast<ValueId>(f.output_count(node)))
      return &node;
  return nullptr;
}

// Whether each value depends on the example: the others are computed from parameters and constants.
std::vector<bool> varying(const Function& f, const Params& params) {
  std::vector<bool> varies;
  for (const Input& input : f.inputs()) varies.push_back(!params.find(input.name));
  for (const Node& node : f.nodes()) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId id) { return varies[static_cast<std::size_t>(id)]; });
    varies.insert(varies.end(), f.output_count(node), any);
  }
  return varies;
}

// The layer whose neurons are the elements of a value, in their order; empty if there is none.
// Looks through ops whose other operands do not depend on the example, such as norms.
std::string source_of(const Function& f, const Params& params, ValueId id) {
  const std::vector<bool> varies = varying(f, params);
  const auto is_fixed = [&](ValueId other) { return !varies[static_cast<std::size_t>(other)]; };
  const auto is_linear = [](const Node& n) { return n.op->role == Role::kLinear; };
  while (const Node* const maker = maker_of(f, id)) {
    if (is_linear(*maker)) {
      const auto before = std::count_if(&f.nodes().front(), maker, is_linear);
      return layers_of(f)[static_cast<std::size_t>(before)];
    }
    if (maker->inputs.empty() ||
        !std::all_of(maker->inputs.begin() + 1, maker->inputs.end(), is_fixed))
      break;
    const Shape &to = f.type(id).shape, &from = f.type(maker->inputs.front()).shape;
    if (to.rank() == 0 || from.rank() == 0 || to.back() != from.back()) break;
    id = maker->inputs.front();
  }
  return "";
}

}  // namespace

std::string class_name_of(const DataConfig& data, std::int64_t number) {
  const auto at = static_cast<std::size_t>(number);
  if (at < data.class_names.size()) return data.class_names[at];
  const auto token = static_cast<std::int32_t>(number);
  if (data.tokenizer && token < data.tokenizer->size()) return token_text(*data.tokenizer, token);
  return std::to_string(number);
}

std::vector<float> probabilities_of_last(Task task, const Tensor& logits) {
  const std::int64_t width = logits.shape().back();
  const Tensor rows = logits.reshape({logits.elements() / width, width});
  const std::vector<Tensor> last{rows.rows(rows.shape()[0] - 1, 1)};
  const Function f =
      trace("probabilities", {{"logits", last[0].type()}}, [&](std::span<const Value> in) {
        return std::vector<Value>{task == Task::kMultiLabel ? sigmoid(in[0]) : softmax(in[0])};
      });
  const Tensor result = compile(f)(last).front();
  return {result.values<float>().begin(), result.values<float>().end()};
}

std::vector<std::int64_t> largest_of(std::span<const float> numbers, std::size_t most) {
  std::vector<std::int64_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  most = std::min(most, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      const float x = numbers[static_cast<std::size_t>(a)];
                      const float y = numbers[static_cast<std::size_t>(b)];
                      if (std::isnan(x) || std::isnan(y))
                        return std::isnan(x) && std::isnan(y) ? a < b : std::isnan(x);
                      return x != y ? x > y : a < b;
                    });
  order.resize(most);
  return order;
}

ExampleFacts facts_of(const Dataset& data, std::int64_t row) {
  ExampleFacts facts{.target = {}, .label = {}, .size = data.size()};
  if (data.target_type().shape.elements() == 0) return facts;
  facts.target = to_doubles(data.targets_of(row, 1));
  if (data.has_classes()) {
    const auto last = static_cast<std::size_t>(data.counted(row) - 1);
    facts.label = class_name_of(data, static_cast<std::int64_t>(facts.target.at(last)));
  }
  return facts;
}

Forward forward(Session& session, const ForwardRequest& request) {
  const auto began = std::chrono::steady_clock::now();
  const Computed computed = compute(session, request.subject);
  std::vector<Tensor> before;
  if (request.compare) before = session.values(computed.run.function, computed.ready.inputs);
  Forward result;
  const Function& f = computed.run.function;
  const std::int64_t most = std::min(request.values, session.limits().values);
  std::int64_t left = session.limits().shown;
  const auto add = [&](TraceRow trace, ValueId id) {
    throw_if_stopped();
    ForwardRow row{.trace = std::move(trace)};
    if (most > 0 && left > 0) row.values = values_of(computed.run[id], {}, std::min(most, left));
    left -= std::min(most, computed.run[id].elements());
    if (request.compare)
      row.changed = differing(computed.run[id], before[static_cast<std::size_t>(id)]);
    result.rows.push_back(std::move(row));
  };
  if (request.only.empty()) {
    std::vector<TraceRow> rows = trace_rows(computed.run, computed.ready.model.params);
    // Rows are in the order of the values, without parameters.
    std::size_t next = 0;
    for (std::size_t i = 0; i < f.types().size() && next < rows.size(); ++i) {
      const bool parameter =
          i < f.inputs().size() && computed.ready.model.params.find(f.inputs()[i].name);
      if (!parameter) add(std::move(rows[next++]), static_cast<ValueId>(i));
    }
  }
  for (const std::string& value : request.only) {
    const ValueId id = value_of_name(f, value);
    TraceRow trace{value, "", "input", f.type(id), statistics(computed.run[id])};
    for (const Node& node : f.nodes())
      if (node.first_output <= id &&
          id < node.first_output + static_cast<ValueId>(f.output_count(node)))
        trace.layer = node.scope, trace.op = node.op->name;
    add(std::move(trace), id);
  }
  result.spoken = spoken_of(computed, most);
  if (computed.ready.known)
    result.example = facts_of(*computed.ready.known->data, computed.ready.known->index);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return result;
}

Json to_json(const Forward& forward) {
  Json rows = Json::array();
  for (const ForwardRow& row : forward.rows) {
    Json r{{"value", row.trace.value},
           {"layer", row.trace.layer},
           {"op", row.trace.op},
           {"dtype", name(row.trace.type.dtype)},
           {"shape", to_json(row.trace.type.shape)},
           {"statistics", to_json(row.trace.statistics)}};
    if (row.values) r["values"] = to_json(*row.values);
    if (row.changed) r["changed"] = *row.changed;
    rows.push_back(std::move(r));
  }
  Json outputs = Json::array();
  for (const auto& output : forward.spoken.outputs)
    outputs.push_back({{"name", output.name}, {"values", to_json(output.values)}});
  Json answer{{"outputs", outputs}};
  if (!forward.spoken.probabilities.empty()) {
    Json probabilities = Json::array();
    for (const float p : forward.spoken.probabilities)
      probabilities.push_back(number_json(static_cast<double>(p), Dtype::kF32));
    answer["probabilities"] = probabilities;
  }
  if (forward.spoken.chosen) {
    answer["class"] = *forward.spoken.chosen;
    answer["row"] = forward.spoken.row;
    answer["label"] = forward.spoken.label;
  }
  if (!forward.spoken.likeliest.empty()) {
    Json likeliest = Json::array();
    for (const auto& [number, label] : forward.spoken.likeliest)
      likeliest.push_back({{"class", number}, {"label", label}});
    answer["likeliest"] = likeliest;
  }
  Json example;
  if (forward.example) {
    Json target = Json::array();
    for (const double t : forward.example->target) target.push_back(number_json(t));
    example =
        Json{{"target", forward.example->target.empty() ? Json() : target},
             {"label", forward.example->label.empty() ? Json() : Json(forward.example->label)},
             {"size", forward.example->size}};
  }
  return {{"rows", rows}, {"answer", answer}, {"input", example}, {"seconds", forward.seconds}};
}

// ---- one neuron

ExplainedNeuron neuron(Session& session, const NeuronRequest& request) {
  const Computed computed = compute(session, request.subject);
  const Function& f = computed.run.function;
  ExplainedNeuron result;
  result.neuron = explain_neuron(computed.run, request.layer, request.index, request.row);
  result.text = to_text(result.neuron);
  for (const Node& node : f.nodes()) {
    if (node.op->role != Role::kLinear) continue;
    if (node.scope != result.neuron.layer &&
        value_name(f, node.first_output) != result.neuron.layer)
      continue;
    result.neurons = f.type(node.inputs[1]).shape[0];
    result.from = value_name(f, node.inputs[0]);
    result.source = source_of(f, computed.ready.model.params, node.inputs[0]);
    const bool data = static_cast<std::size_t>(node.inputs[0]) < f.inputs().size();
    if (data && computed.ready.open->config)
      result.names = computed.ready.open->config->feature_names;
    break;
  }
  auto& terms = result.neuron.terms;
  result.terms = static_cast<std::int64_t>(terms.size());
  const auto size = [](const Neuron::Term& t) {
    return std::isnan(t.product()) ? HUGE_VAL : std::abs(t.product());
  };
  std::stable_sort(terms.begin(), terms.end(),
                   [&](const auto& a, const auto& b) { return size(a) > size(b); });
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(0, request.most));
  for (std::size_t i = most; i < terms.size(); ++i) result.rest += terms[i].product();
  terms.resize(std::min(most, terms.size()));
  return result;
}

Json to_json(const ExplainedNeuron& explained) {
  const Neuron& n = explained.neuron;
  const auto exact = [&](double x) { return to_json(exact_of(x, n.dtype)); };
  Json terms = Json::array();
  for (const Neuron::Term& t : n.terms) {
    const auto at = static_cast<std::size_t>(t.index);
    terms.push_back({{"index", t.index},
                     {"name", at < explained.names.size() ? Json(explained.names[at]) : Json()},
                     {"weight", exact(t.weight)},
                     {"input", exact(t.input)},
                     {"product", number_json(t.product())}});
  }
  Json source;
  if (!explained.source.empty()) source = Json{{"layer", explained.source}};
  Json document{{"layer", n.layer},
                {"index", n.index},
                {"row", n.row},
                {"rows", n.rows},
                {"dtype", name(n.dtype)},
                {"neurons", explained.neurons},
                {"terms", terms},
                {"count", explained.terms},
                {"rest", number_json(explained.rest)},
                {"bias", n.bias ? exact(*n.bias) : Json()},
                {"z", exact(n.z)},
                {"activation", Json()},
                {"from", explained.from},
                {"source", source},
                {"text", explained.text}};
  if (!n.activation.empty())
    document["activation"] = Json{{"op", n.activation}, {"value", exact(n.activated)}};
  return document;
}

}  // namespace limpid::view
