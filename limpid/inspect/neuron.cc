#include "limpid/inspect/neuron.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/half.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/inspect/table.h"

namespace limpid {
namespace {

constexpr std::size_t kTermsInLine = 16;
constexpr std::size_t kLargestTerms = 8;

// ---- finding the neuron

std::vector<const Node*> linear_nodes(const Function& f) {
  std::vector<const Node*> nodes;
  for (const Node& node : f.nodes())
    if (node.op->role == Role::kLinear) nodes.push_back(&node);
  return nodes;
}

// The name of a layer: its scope, or its value's name if it has no scope or shares it.
std::string layer_name(const Function& f, const std::vector<const Node*>& all, const Node& node) {
  const auto alike =
      std::count_if(all.begin(), all.end(), [&](const Node* n) { return n->scope == node.scope; });
  return node.scope.empty() || alike > 1 ? value_name(f, node.first_output) : node.scope;
}

const Node& find_layer(const Function& f, std::string_view layer) {
  const std::vector<const Node*> all = linear_nodes(f);
  std::vector<std::string> names;
  for (const Node* node : all) {
    names.push_back(layer_name(f, all, *node));
    if (names.back() == layer || value_name(f, node->first_output) == layer) return *node;
  }
  if (names.empty())
    throw Error(ErrorCode::kNotFound,
                fmt::format("no layer {}: the function has no linear op", in_quotes(layer)));
  throw Error(ErrorCode::kNotFound, fmt::format("no layer {}: the layers are {}", in_quotes(layer),
                                                fmt::join(names, ", ")));
}

// ---- its numbers

double number_at(const Tensor& tensor, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  if (tensor.dtype() == Dtype::kBf16) return static_cast<double>(to_f32(tensor.values<Bf16>()[at]));
  return tensor.dtype() == Dtype::kF32 ? static_cast<double>(tensor.values<float>()[at])
                                       : tensor.values<double>()[at];
}

// The op that takes z alone and keeps its shape.
const Node* activation_of(const Function& f, ValueId z) {
  for (const Node& node : f.nodes())
    if (node.inputs.size() == 1 && node.inputs.front() == z && f.output_count(node) == 1 &&
        f.type(node.first_output) == f.type(z))
      return &node;
  return nullptr;
}

// ---- its text

// Six digits, with a point or an exponent, in parentheses where negative.
std::string factor(double number) {
  std::string text = short_number(number);
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return std::signbit(number) && !std::isnan(number) ? "(" + text + ")" : text;
}

std::string product_text(const Neuron::Term& term) {
  return factor(term.weight) + " * " + factor(term.input);
}

std::string one_line(const Neuron& neuron) {
  std::vector<std::string> parts;
  for (const Neuron::Term& term : neuron.terms) parts.push_back(product_text(term));
  if (neuron.bias) parts.push_back(factor(*neuron.bias));
  std::string text = fmt::format("z = {} = {}", fmt::join(parts, " + "), short_number(neuron.z));
  if (!neuron.activation.empty())
    text += fmt::format("; {} {}", neuron.activation, short_number(neuron.activated));
  return text + "\n";
}

// The terms by decreasing |product|; equal ones keep their order, and a NaN comes first.
std::vector<Neuron::Term> by_size(std::vector<Neuron::Term> terms) {
  const auto size = [](const Neuron::Term& t) {
    return std::isnan(t.product()) ? HUGE_VAL : std::abs(t.product());
  };
  std::stable_sort(terms.begin(), terms.end(),
                   [&](const Neuron::Term& a, const Neuron::Term& b) { return size(a) > size(b); });
  return terms;
}

std::string many_lines(const Neuron& neuron) {
  const std::vector<Neuron::Term> terms = by_size(neuron.terms);
  Table table{{{"input", Align::kRight}, {"weight * input"}, {"", Align::kRight}}, {}};
  for (std::size_t i = 0; i < kLargestTerms; ++i)
    table.rows.push_back(
        {std::to_string(terms[i].index), product_text(terms[i]), short_number(terms[i].product())});
  double rest = 0;
  for (std::size_t i = kLargestTerms; i < terms.size(); ++i) rest += terms[i].product();
  table.rows.push_back(
      {"", fmt::format("and {} more", terms.size() - kLargestTerms), short_number(rest)});
  if (neuron.bias) table.rows.push_back({"", "bias", short_number(*neuron.bias)});
  table.rows.push_back({"", "z", short_number(neuron.z)});
  if (!neuron.activation.empty())
    table.rows.push_back({"", neuron.activation, short_number(neuron.activated)});
  return to_text(table);
}

}  // namespace

Neuron explain_neuron(const Observation& run, std::string_view layer, std::int64_t index,
                      std::int64_t row) {
  const DefaultFloatMode mode;
  const Function& f = run.function;
  const Node& node = find_layer(f, layer);
  const Tensor& x = run[node.inputs[0]];
  const Tensor& weight = run[node.inputs[1]];
  const std::int64_t neurons = weight.shape()[0];
  const std::int64_t features = weight.shape()[1];
  if (index < 0 || index >= neurons)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("layer {} has {} neurons: expected an index of 0 to {}, got {}",
                            in_quotes(layer), neurons, neurons - 1, index));
  const std::int64_t rows = run[node.first_output].elements() / neurons;
  if (row < -1 || row >= rows || rows == 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("layer {} has {} rows, got row {}", in_quotes(layer), rows, row));
  if (row == -1) row = rows - 1;

  Neuron neuron;
  neuron.layer = layer_name(f, linear_nodes(f), node);
  neuron.index = index;
  neuron.row = row;
  neuron.rows = rows;
  neuron.dtype = x.dtype();
  for (std::int64_t i = 0; i < features; ++i)
    neuron.terms.push_back(
        {i, number_at(weight, index * features + i), number_at(x, row * features + i)});
  if (node.inputs.size() == 3) neuron.bias = number_at(run[node.inputs[2]], index);
  neuron.z = number_at(run[node.first_output], row * neurons + index);
  if (const Node* next = activation_of(f, node.first_output)) {
    neuron.activation = next->op->name;
    neuron.activated = number_at(run[next->first_output], row * neurons + index);
  }
  return neuron;
}

NeuronPlace parse_neuron_place(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const char* const last = text.data() + text.size();
  if (colon != std::string_view::npos && colon > 0) {
    NeuronPlace place{.layer = std::string(text.substr(0, colon))};
    const auto [end, error] = std::from_chars(text.data() + colon + 1, last, place.index);
    if (error == std::errc{} && end == last) return place;
  }
  throw Error(ErrorCode::kParse,
              fmt::format("neuron {}: expected LAYER:INDEX, as in layers.1:5", in_quotes(text)));
}

std::string to_text(const Neuron& neuron) {
  const std::string row =
      neuron.rows == 1 ? "" : fmt::format(", row {} of {}", neuron.row, neuron.rows);
  const std::string title = fmt::format("{}:{}{}\n", printable(neuron.layer), neuron.index, row);
  return title + (neuron.terms.size() <= kTermsInLine ? one_line(neuron) : many_lines(neuron));
}

Json to_json(const Neuron& neuron) {
  const auto number = [&](double x) -> Json {
    if (neuron.dtype != Dtype::kF32 || !std::isfinite(x)) return x;
    return as_printed(static_cast<float>(x));
  };
  Json terms = Json::array();
  for (const Neuron::Term& t : neuron.terms)
    terms.push_back({{"index", t.index}, {"weight", number(t.weight)}, {"input", number(t.input)}});
  Json document{{"layer", neuron.layer},
                {"index", neuron.index},
                {"row", neuron.row},
                {"terms", std::move(terms)}};
  if (neuron.bias) document["bias"] = number(*neuron.bias);
  document["z"] = number(neuron.z);
  if (!neuron.activation.empty())
    document["activation"] = {{"op", neuron.activation}, {"value", number(neuron.activated)}};
  return document;
}

}  // namespace limpid
