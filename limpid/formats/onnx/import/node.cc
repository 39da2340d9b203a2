// The inputs and attributes of a node.
#include "limpid/formats/onnx/import/detail/node.h"

#include <fmt/format.h>

#include "limpid/core/in_quotes.h"
#include "limpid/formats/onnx/import/detail/importer.h"
#include "limpid/ops/arithmetic.h"

namespace limpid::onnx {

using detail::AttributeContents;

void Node::fail(ErrorCode code, std::string_view what) const {
  throw Error(code, std::string(what));
}

Builder& Node::builder() const { return importer_.builder(); }

// ---- inputs

std::size_t Node::input_count() const { return contents_.inputs.size(); }

bool Node::has_input(std::size_t i) const {
  return i < contents_.inputs.size() && !contents_.inputs[i].empty() &&
         static_cast<bool>(optional_input(i));
}

Value Node::input(std::size_t i) const {
  const Value value = optional_input(i);
  if (!value) fail(ErrorCode::kFormat, fmt::format("input {} is missing", i));
  return value;
}

Value Node::optional_input(std::size_t i) const {
  if (i >= contents_.inputs.size() || contents_.inputs[i].empty()) return {};
  const Value value = scope_.find(contents_.inputs[i]);
  if (value) return importer_.here(value);
  // Within a function, the call may have omitted an input that a node of the body takes.
  if (!scope_.may_be_left_out(contents_.inputs[i]))
    fail(ErrorCode::kFormat,
         fmt::format("no earlier node computes {}", in_quotes(contents_.inputs[i])));
  return value;
}

Values Node::inputs(std::size_t least) const {
  if (contents_.inputs.size() < least)
    fail(ErrorCode::kFormat,
         fmt::format("expected {1} or more inputs, got {0}", contents_.inputs.size(), least));
  Values values;
  for (std::size_t i = 0; i < contents_.inputs.size(); ++i) values.push_back(input(i));
  return values;
}

bool Node::is_known(std::size_t i) const { return has_input(i) && is_known(input(i)); }
bool Node::is_known(Value value) const { return importer_.known(value).is_known(value); }

Tensor Node::known(std::size_t i) const { return known(input(i)); }

Tensor Node::known(Value value) const {
  const ValueId unknown = importer_.known(value).unknown_input(value);
  if (unknown >= 0)
    fail(ErrorCode::kUnsupported,
         fmt::format("it depends on the values of input {}, which are unknown at import",
                     in_quotes(importer_.input_name(value, unknown))));
  return importer_.known(value).value(value);
}

std::vector<std::int64_t> Node::known_integers(std::size_t i) const {
  const Value value = input(i);
  if (value.rank() > 1 || (value.dtype() != Dtype::kI32 && value.dtype() != Dtype::kI64))
    fail(value.rank() > 1 ? ErrorCode::kShape : ErrorCode::kDtype,
         fmt::format("input {} is {}, expected a vector of integers", i, to_string(value.type())));
  const Tensor tensor = known(value);
  std::vector<std::int64_t> numbers;
  if (tensor.dtype() == Dtype::kI64)
    for (const std::int64_t n : tensor.values<std::int64_t>()) numbers.push_back(n);
  else
    for (const std::int32_t n : tensor.values<std::int32_t>()) numbers.push_back(n);
  return numbers;
}

std::int64_t Node::known_integer(std::size_t i) const {
  const Value value = input(i);
  if (value.shape().elements() != 1 ||
      (value.dtype() != Dtype::kI32 && value.dtype() != Dtype::kI64))
    fail(value.shape().elements() != 1 ? ErrorCode::kShape : ErrorCode::kDtype,
         fmt::format("input {} is {}, expected one integer", i, to_string(value.type())));
  const Tensor tensor = known(value);
  return tensor.dtype() == Dtype::kI64 ? tensor.item<std::int64_t>() : tensor.item<std::int32_t>();
}

double Node::known_real(std::size_t i) const {
  const Value value = input(i);
  if (value.shape().elements() != 1)
    fail(ErrorCode::kShape,
         fmt::format("input {} is {}, expected one number", i, to_string(value.type())));
  return known(cast(value, Dtype::kF64)).item<double>();
}

bool Node::known_bool(std::size_t i) const {
  const Value value = input(i);
  if (value.dtype() != Dtype::kBool || value.shape().elements() != 1)
    fail(ErrorCode::kDtype,
         fmt::format("input {} is {}, expected one bool", i, to_string(value.type())));
  return known(value).item<bool>();
}

// ---- attributes

const AttributeContents* Node::find(std::string_view name) const {
  for (const AttributeContents& a : contents_.attributes) {
    if (a.name != name) continue;
    if (a.reference.empty()) return &a;
    const auto given = scope_.attributes().find(a.reference);
    return given == scope_.attributes().end() ? nullptr : given->second;
  }
  return nullptr;
}

bool Node::has(std::string_view name) const { return find(name) != nullptr; }

template <class T>
const T& Node::get(std::string_view name) const {
  const AttributeContents* found = find(name);
  if (!found) fail(ErrorCode::kFormat, fmt::format("attribute {} is missing", in_quotes(name)));
  const T* value = std::get_if<T>(&found->value);
  if (!value)
    fail(ErrorCode::kFormat, fmt::format("attribute {} has the wrong type", in_quotes(name)));
  return *value;
}

std::int64_t Node::integer(std::string_view name) const { return get<std::int64_t>(name); }
std::int64_t Node::integer(std::string_view name, std::int64_t otherwise) const {
  return has(name) ? integer(name) : otherwise;
}
bool Node::flag(std::string_view name, bool otherwise) const {
  return integer(name, otherwise ? 1 : 0) != 0;
}
double Node::real(std::string_view name) const { return get<double>(name); }
double Node::real(std::string_view name, double otherwise) const {
  return has(name) ? real(name) : otherwise;
}
std::string Node::text(std::string_view name, std::string_view otherwise) const {
  return has(name) ? get<std::string>(name) : std::string(otherwise);
}
std::vector<std::int64_t> Node::integers(std::string_view name) const {
  return get<std::vector<std::int64_t>>(name);
}
std::vector<double> Node::reals(std::string_view name) const {
  return get<std::vector<double>>(name);
}
std::vector<std::string> Node::texts(std::string_view name) const {
  return get<std::vector<std::string>>(name);
}
Tensor Node::tensor(std::string_view name) const { return get<Tensor>(name); }

Dtype Node::dtype(std::string_view name) const {
  return detail::dtype_of_element_type(integer(name));
}
Dtype Node::dtype(std::string_view name, Dtype otherwise) const {
  return has(name) ? dtype(name) : otherwise;
}

std::optional<std::vector<std::int64_t>> Node::known_integers(std::string_view attribute,
                                                              std::size_t input) const {
  if (has(attribute)) return integers(attribute);
  if (has_input(input)) return known_integers(input);
  return std::nullopt;
}

// ---- outputs, graphs

std::size_t Node::output_count() const { return contents_.outputs.size(); }

bool Node::wants_output(std::size_t i) const {
  return i < contents_.outputs.size() && !contents_.outputs[i].empty();
}

Values Node::inline_graph(std::string_view attribute, std::span<const Value> arguments) const {
  return importer_.graph(*get<std::shared_ptr<const detail::GraphContents>>(attribute), scope_,
                         arguments);
}

TracedGraph Node::trace_graph(std::string_view attribute, const GraphInputs& arguments,
                              const GraphResults& finish) const {
  return importer_.trace(*get<std::shared_ptr<const detail::GraphContents>>(attribute), scope_,
                         arguments, finish);
}

void Node::is_random() const { importer_.is_random(); }

}  // namespace limpid::onnx
