#include "limpid/formats/onnx/example_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/float_mode.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/onnx/import/detail/importer.h"
#include "limpid/formats/onnx/onnx.h"
#include "limpid/function/builder.h"
#include "limpid/ops/shape.h"
#include "limpid/transforms/simplify.h"
#include "limpid/transforms/unbatch.h"

namespace limpid::onnx {
namespace {

using detail::ModelContents;
using detail::ValueContents;

[[noreturn]] void unsupported(const std::string& what) {
  throw Error(ErrorCode::kUnsupported, what);
}

// The dynamic dimension that is the batch: its axis in each data input that has it.
struct Batch {
  std::map<std::string, std::size_t> axes;  // by input
  std::set<std::string> names;              // under which its size is given
};

// The leading dimension of the first input that has a dynamic one without a size in `dimensions`,
// and the dimensions of its name in the other inputs. Where it has no name, their leading ones
// without a name.
Batch batch_of(const std::vector<const ValueContents*>& inputs,
               const std::map<std::string, std::int64_t>& dimensions) {
  Batch batch;
  std::optional<std::string> wanted;
  const auto is_open = [&](const ValueContents& input, std::size_t axis) {
    return !(*input.dims)[axis].size && !dimensions.contains(dimension_name(input, axis));
  };
  for (const ValueContents* input : inputs)
    if (!wanted && input->dims && !input->dims->empty() && is_open(*input, 0))
      wanted = input->dims->front().name;
  if (!wanted) return batch;
  for (const ValueContents* input : inputs) {
    const std::size_t rank = input->dims ? input->dims->size() : 0;
    const std::size_t axes = wanted->empty() ? std::min<std::size_t>(rank, 1) : rank;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if ((*input->dims)[axis].name != *wanted || !is_open(*input, axis)) continue;
      batch.axes.emplace(input->name, axis);
      batch.names.insert(dimension_name(*input, axis));
    }
  }
  return batch;
}

Imported import(const ModelContents& contents, ImportOptions options, const Batch& batch,
                std::int64_t size) {
  for (const std::string& name : batch.names) options.dimensions[name] = size;
  Imported imported = detail::Importer(contents, options).run();
  if (imported.random) unsupported("it draws random numbers");
  return imported;
}

// Metadata that save_onnx was given under this key, such as the tokenizer and the names of columns
// and classes.
std::string config_of(const Imported& imported) {
  for (const auto& [key, value] : imported.metadata)
    if (key == kConfigKey) return value;
  return {};
}

// The function of one example, proved from those of two batches.
Model proved(const ModelContents& contents, const ImportOptions& options, const Batch& batch) {
  // Primes, as unbatch wants them, which few other dimensions have as a factor.
  constexpr std::int64_t kSizes[] = {11, 13};
  std::optional<Model> model;
  for (const std::int64_t size : kSizes) {
    Imported imported = import(contents, options, batch, size);
    std::vector<std::optional<std::int64_t>> axes;
    for (const Input& input : imported.function.inputs()) {
      const auto found = batch.axes.find(input.name);
      axes.push_back(found == batch.axes.end() ? std::nullopt
                                               : std::optional<std::int64_t>(found->second));
    }
    Model of_one{unbatch(imported.function, axes, size), std::move(imported.params),
                 config_of(imported)};
    if (model && !(model->function == of_one.function))
      unsupported("its function depends on the batch size");
    model = std::move(of_one);
  }
  return *std::move(model);
}

bool leads_with_one(const Shape& shape) { return shape.rank() > 0 && shape[0] == 1; }

// f with the leading dimension of 1 taken from its data inputs and outputs, if there are inputs and
// all have one.
Function without_leading_ones(const Function& f, const Params& params) {
  std::vector<Input> inputs = f.inputs();
  bool any = false;
  for (Input& input : inputs) {
    if (params.find(input.name)) continue;
    if (!leads_with_one(input.type.shape)) return f;
    input.type.shape = input.type.shape.erase(0);
    any = true;
  }
  if (!any) return f;
  std::vector<std::string> names;
  for (const Output& output : f.outputs()) {
    if (!leads_with_one(f.type(output.value).shape)) return f;
    names.push_back(output.name);
  }
  const auto code = [&](std::span<const Value> in) {
    std::vector<Value> arguments(in.begin(), in.end());
    for (std::size_t i = 0; i < arguments.size(); ++i)
      arguments[i] = reshape(arguments[i], f.inputs()[i].type.shape);
    std::vector<Value> results = arguments.front().builder().inline_function(f, arguments);
    for (Value& y : results) y = reshape(y, y.shape().erase(0));
    return results;
  };
  return simplify(trace(f.name(), inputs, code, names));
}

// The function as the graph has it, for a batch of 1 where the batch is left open.
Model as_it_is(const ModelContents& contents, const ImportOptions& options, const Batch& batch) {
  Imported imported = import(contents, options, batch, 1);
  Function function = without_leading_ones(imported.function, imported.params);
  return {std::move(function), std::move(imported.params), config_of(imported)};
}

Model model_of(const ModelContents& contents,
               const std::map<std::string, std::int64_t>& dimensions) {
  detail::check_operators(contents);
  detail::check_dimensions(detail::data_inputs(contents.graph), dimensions);
  const ImportOptions options{.dimensions = dimensions, .known = {}};
  const Batch batch = batch_of(detail::data_inputs(contents.graph), dimensions);
  if (batch.names.empty()) return as_it_is(contents, options, batch);
  try {
    return proved(contents, options, batch);
  } catch (const Error& e) {
    // An error that every batch size has is thrown again; any other concerns this size only.
    Model model = as_it_is(contents, options, batch);
    model.note = fmt::format("the model runs on a batch of 1: {}", e.what());
    return model;
  }
}

// Sizes of the dynamic dimensions that the inputs have. Throws kShape where two inputs have one
// dimension in two sizes.
void add_dimensions(std::map<std::string, std::int64_t>& dimensions, const ValueContents& input,
                    const Tensor& tensor) {
  if (!input.dims || input.dims->size() != tensor.shape().rank()) return;  // the importer says so
  for (std::size_t axis = 0; axis < input.dims->size(); ++axis) {
    if ((*input.dims)[axis].size) continue;
    const std::string name = dimension_name(input, axis);
    const auto [known, added] = dimensions.emplace(name, tensor.shape()[axis]);
    if (!added && known->second != tensor.shape()[axis])
      throw Error(ErrorCode::kShape,
                  fmt::format("dimension {} is {}, but input {} is {}", in_quotes(name),
                              known->second, in_quotes(input.name), to_string(tensor.type())));
  }
}

// "f32[batch, 3]", as the file declares it.
std::string declared(const ValueContents& input) {
  std::vector<std::string> dims;
  if (!input.dims) return fmt::format("{} of any rank", in_quotes(input.name));
  for (std::size_t axis = 0; axis < input.dims->size(); ++axis) {
    const std::optional<std::int64_t>& size = (*input.dims)[axis].size;
    dims.push_back(size ? std::to_string(*size) : dimension_name(input, axis));
  }
  return fmt::format("{} {}[{}]", in_quotes(input.name),
                     name(detail::dtype_of_element_type(input.element_type)),
                     fmt::join(dims, ", "));
}

void check_names(const std::vector<const ValueContents*>& expected, const Params& inputs) {
  std::vector<std::string> all, missing, unknown;
  std::set<std::string_view> names;
  for (const ValueContents* input : expected) {
    names.insert(input->name);
    all.push_back(declared(*input));
    if (!inputs.find(input->name)) missing.push_back(in_quotes(input->name));
  }
  for (const auto& [name, tensor] : inputs)
    if (!names.contains(name)) unknown.push_back(in_quotes(name));
  if (missing.empty() && unknown.empty()) return;
  constexpr std::size_t kShown = 8;
  const auto list = [](std::vector<std::string> items) {
    if (items.size() > kShown) {
      const std::size_t left = items.size() - kShown;
      items.resize(kShown);
      items.push_back(fmt::format("and {} more", left));
    }
    return fmt::format("{}", fmt::join(items, ", "));
  };
  std::string what = "it takes " + list(all);
  if (!missing.empty()) what += "; missing: " + list(missing);
  if (!unknown.empty()) what += "; unknown: " + list(unknown);
  throw Error(ErrorCode::kInvalidArgument, what);
}

Model model_for(const ModelContents& contents, const Params& inputs,
                const std::map<std::string, std::int64_t>& dimensions) {
  detail::check_operators(contents);
  const std::vector<const ValueContents*> expected = detail::data_inputs(contents.graph);
  check_names(expected, inputs);
  detail::check_dimensions(expected, dimensions);
  ImportOptions options{.dimensions = dimensions, .known = {}};
  for (const ValueContents* input : expected) {
    const Tensor& tensor = inputs.at(input->name);
    add_dimensions(options.dimensions, *input, tensor);
    options.known.emplace(input->name, tensor);
  }
  Imported imported = import(contents, options, {}, 1);
  return {imported.function, std::move(imported.params), config_of(imported)};
}

Model checked(Model model) {
  check_model(model);
  return model;
}

// The result of `read` on the file; errors get the file's name.
template <class Read>
Model load(const std::filesystem::path& path, const Read& read) {
  const DefaultFloatMode mode;
  const ModelContents contents = detail::load_contents(path);
  return detail::naming(path, [&] { return checked(read(contents)); });
}

}  // namespace

Model load_onnx_model(const std::filesystem::path& path,
                      const std::map<std::string, std::int64_t>& dimensions) {
  return load(path, [&](const ModelContents& contents) { return model_of(contents, dimensions); });
}

Model parse_onnx_model(std::span<const std::byte> bytes,
                       const std::map<std::string, std::int64_t>& dimensions) {
  const DefaultFloatMode mode;
  detail::Budget budget(bytes.size());
  detail::ExternalData external_data(std::nullopt, budget);
  return checked(model_of(detail::read_model(bytes, budget, external_data), dimensions));
}

Model load_onnx_model_for(const std::filesystem::path& path, const Params& inputs,
                          const std::map<std::string, std::int64_t>& dimensions) {
  return load(
      path, [&](const ModelContents& contents) { return model_for(contents, inputs, dimensions); });
}

}  // namespace limpid::onnx
