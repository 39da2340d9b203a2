// Types of a graph's inputs; the sizes of dynamic dimensions come from the caller.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/onnx/import/detail/importer.h"

namespace limpid::onnx::detail {
namespace {

// The type of a given value, if it matches the declared type.
Type given_type(const ValueContents& input, const Tensor& value) {
  const Dtype dtype = dtype_of_element_type(input.element_type);
  if (value.dtype() != dtype)
    throw Error(ErrorCode::kDtype,
                fmt::format("input {}: expected {}, got {}", in_quotes(input.name), name(dtype),
                            to_string(value.type())));
  const Shape& shape = value.shape();
  bool fits = !input.dims || input.dims->size() == shape.rank();
  for (std::size_t i = 0; fits && input.dims && i < shape.rank(); ++i)
    fits = (*input.dims)[i].size.value_or(shape[i]) == shape[i];
  if (!fits)
    throw Error(ErrorCode::kShape, fmt::format("input {}: {} does not fit its declaration",
                                               in_quotes(input.name), to_string(value.type())));
  return value.type();
}

}  // namespace

std::string dimension_name(const ValueContents& input, std::size_t axis) {
  const std::string& name = (*input.dims)[axis].name;
  return name.empty() ? fmt::format("{}.{}", input.name, axis) : name;
}

void check_dimensions(std::span<const ValueContents* const> inputs,
                      const std::map<std::string, std::int64_t>& sizes) {
  std::set<std::string> names;
  for (const ValueContents* input : inputs)
    for (std::size_t i = 0; input->dims && i < input->dims->size(); ++i)
      if (!(*input->dims)[i].size) names.insert(dimension_name(*input, i));
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(in_quotes(name));
  for (const auto& [name, size] : sizes)
    if (!names.contains(name))
      throw Error(
          ErrorCode::kInvalidArgument,
          fmt::format("there is no dynamic dimension {}, expected one of: {}", in_quotes(name),
                      shown.empty() ? "none" : fmt::format("{}", fmt::join(shown, ", "))));
}

std::vector<const ValueContents*> data_inputs(const GraphContents& graph) {
  std::set<std::string_view> initialized;
  for (const auto& [name, tensor] : graph.initializers) initialized.insert(name);
  std::vector<const ValueContents*> inputs;
  for (const ValueContents& input : graph.inputs)
    if (!initialized.contains(input.name)) inputs.push_back(&input);
  return inputs;
}

Type input_type(const ValueContents& input, const ImportOptions& options,
                std::vector<std::string>& missing) {
  if (!input.is_tensor)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("input {} is not a tensor", in_quotes(input.name)));
  const auto known = options.known.find(input.name);
  if (known != options.known.end()) return given_type(input, known->second);
  const Dtype dtype = dtype_of_element_type(input.element_type);
  if (!input.dims) {
    missing.push_back(fmt::format("all dimensions of input {}", in_quotes(input.name)));
    return {dtype, {}};
  }
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < input.dims->size(); ++i) {
    const Dimension& dim = (*input.dims)[i];
    const std::string name = dimension_name(input, i);
    const auto given = options.dimensions.find(name);
    if (!dim.size && given == options.dimensions.end())
      missing.push_back(
          fmt::format("{} (axis {} of input {})", in_quotes(name), i, in_quotes(input.name)));
    else
      dims.push_back(dim.size ? *dim.size : given->second);
  }
  return {dtype, Shape(dims)};
}

}  // namespace limpid::onnx::detail
