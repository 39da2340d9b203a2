#include "limpid/formats/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "limpid/compile/predictor.h"
#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/safetensors.h"
#include "limpid/function/builder.h"
#include "limpid/function/nested.h"
#include "limpid/function/text.h"
#include "limpid/transforms/bind.h"

namespace limpid {
namespace {

constexpr std::string_view kFormatKey = "limpid.format";
constexpr std::string_view kFunctionKey = "limpid.function";
constexpr std::string_view kConfigKey = "limpid.config";
constexpr std::string_view kInputsKey = "limpid.inputs";
constexpr std::string_view kCheckpointKey = "limpid.checkpoint";
constexpr std::string_view kFormat = "1";

// nullptr if the file does not have that key.
const std::string* find_metadata(const Safetensors& file, std::string_view key) {
  for (const auto& [name, value] : file.metadata)
    if (name == key) return &value;
  return nullptr;
}

std::vector<const Input*> inputs_without_tensor(const Model& model) {
  std::unordered_set<std::string_view> tensors;  // there may be very many
  for (const auto& [name, tensor] : model.params) tensors.insert(name);
  std::vector<const Input*> left;
  for (const Input& input : model.function.inputs())
    if (!tensors.contains(input.name)) left.push_back(&input);
  return left;
}

std::string names_in_quotes(const std::vector<const Input*>& inputs) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> names;
  for (const Input* input : inputs) {
    if (names.size() == kShown) {
      names.push_back(fmt::format("and {} more", inputs.size() - kShown));
      break;
    }
    names.push_back(in_quotes(input->name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// "'x' f32[2], 'h' f32[4]".
std::string list_of(const std::vector<const Input*>& inputs) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> all;
  for (const Input* input : inputs) {
    if (all.size() == kShown) {
      all.push_back(fmt::format("and {} more", inputs.size() - kShown));
      break;
    }
    all.push_back(fmt::format("{} {}", in_quotes(input->name), to_string(input->type)));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

void check_tensors(const Model& model) {
  std::unordered_map<std::string_view, const Input*> inputs;
  for (const Input& input : model.function.inputs()) inputs.emplace(input.name, &input);
  for (const auto& [name, tensor] : model.params) {
    const auto found = inputs.find(name);
    if (found == inputs.end())
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("tensor {} is not an input of the function", in_quotes(name)));
    const Input* const input = found->second;
    if (!(input->type == tensor.type()))
      throw Error(input->type.dtype == tensor.dtype() ? ErrorCode::kShape : ErrorCode::kDtype,
                  fmt::format("tensor {} is {}, the function expects {}", in_quotes(name),
                              to_string(tensor.type()), to_string(input->type)));
  }
}

// The largest value that any op makes, also inside of compositions. Bodies are inlined one at a
// time: all at once, a short text could need much memory.
std::uint64_t largest_value(const Function& f) {
  std::uint64_t largest = 0;
  for (const Node& node : f.nodes()) {
    const Function::CallTypes types = f.call_types(node);
    for (const Type& type : types.outputs) largest = std::max<std::uint64_t>(largest, type.bytes());
    const std::vector<Function> nested = nested_functions(node.attributes);
    for (const Function& step : nested) largest = std::max(largest, largest_value(step));
    if (node.op->body && nested.empty())
      largest = std::max(largest, largest_value(body_of({*node.op, types.inputs, types.outputs,
                                                         node.attributes, node.scope})));
  }
  return largest;
}

// Of a checkpoint, which has a model's metadata as well, the values of its step. Of any other file,
// all tensors.
Params values_of(const Safetensors& file) {
  if (!find_metadata(file, kCheckpointKey)) return file.tensors;
  Params values;
  for (const char* part : {"params", "non_trainable"}) values.merge("", file.tensors.within(part));
  return values;
}

Model model_of(const Safetensors& file) {
  const std::string* text = find_metadata(file, kFunctionKey);
  if (!text)
    throw Error(ErrorCode::kFormat, fmt::format("is a safetensors file, but not a Limpid model: no "
                                                "{} in its metadata",
                                                kFunctionKey));
  const std::string* format = find_metadata(file, kFormatKey);
  if (!format || *format != kFormat)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} is {}, expected {}", kFormatKey,
                            format ? in_quotes(*format) : "missing", in_quotes(kFormat)));
  const std::string* config = find_metadata(file, kConfigKey);
  const std::string* inputs = find_metadata(file, kInputsKey);
  const std::string expected = inputs ? *inputs : "1";
  Model model{parse_function(*text), values_of(file), config ? *config : ""};
  verify(model.function);
  check_model(model);
  const std::vector<const Input*> left = inputs_without_tensor(model);
  if (std::to_string(left.size()) != expected)
    throw Error(
        ErrorCode::kFormat,
        fmt::format("expected {} data inputs, got {} inputs without a tensor: {}",
                    inputs ? in_quotes(expected) : expected, left.size(), names_in_quotes(left)));
  return model;
}

// ---- running

Error misfit(const Model& model, const Input& input, const Tensor& got) {
  return {got.dtype() == input.type.dtype ? ErrorCode::kShape : ErrorCode::kDtype,
          fmt::format("predict with '{}': input {} is {} for one example, got {} for all",
                      model.function.name(), in_quotes(input.name), to_string(input.type),
                      to_string(got.type()))};
}

// Whether a tensor is [N, ...] of a type.
bool is_batch_of(const Type& type, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  return tensor.dtype() == type.dtype && shape.rank() > 0 && shape.erase(0) == type.shape;
}

// Throws if the inputs are not exactly those that the model takes.
void check_names(const Model& model, const Params& inputs) {
  std::vector<const Input*> missing;
  std::vector<std::string> unknown;
  const std::vector<const Input*> data = inputs_without_tensor(model);
  for (const Input* input : data)
    if (!inputs.find(input->name)) missing.push_back(input);
  for (const std::string& name : inputs.names())
    if (std::none_of(data.begin(), data.end(), [&](const Input* i) { return i->name == name; }))
      unknown.push_back(in_quotes(name));
  if (missing.empty() && unknown.empty()) return;
  std::string what = fmt::format("'{}' takes {}", model.function.name(), list_of(data));
  if (!missing.empty()) what += fmt::format("; missing: {}", names_in_quotes(missing));
  if (!unknown.empty()) what += fmt::format("; unknown: {}", fmt::join(unknown, ", "));
  throw Error(ErrorCode::kInvalidArgument, what);
}

// The number of examples; nothing if every input is a single example.
std::optional<std::int64_t> count_of(const Model& model, const Params& inputs) {
  std::optional<std::int64_t> count;
  for (const Input* input : inputs_without_tensor(model)) {
    const Tensor& tensor = inputs.at(input->name);
    if (tensor.type() == input->type) continue;
    if (!is_batch_of(input->type, tensor) || count.value_or(tensor.shape()[0]) != tensor.shape()[0])
      throw misfit(model, *input, tensor);
    count = tensor.shape()[0];
  }
  return count;
}

}  // namespace

std::uint64_t example_bytes(const Model& model) {
  const Function& f = model.function;
  const std::size_t inputs = f.inputs().size();
  std::uint64_t bytes = 0, most = 0;  // of the values that are alive
  for (const Input* input : inputs_without_tensor(model))
    bytes = sum_or_most<std::uint64_t>(bytes, input->type.bytes());
  const std::vector<std::vector<ValueId>> released = last_reads(f);
  for (std::size_t i = 0; i < f.nodes().size() && bytes <= kMaxExampleBytes; ++i) {
    const auto first = static_cast<std::size_t>(f.nodes()[i].first_output);
    for (std::size_t r = 0; r < f.output_count(f.nodes()[i]); ++r)
      bytes = sum_or_most<std::uint64_t>(bytes, f.types()[first + r].bytes());
    most = std::max(most, bytes);
    for (const ValueId id : released[i])
      if (const auto v = static_cast<std::size_t>(id); v >= inputs && bytes <= kMaxExampleBytes)
        bytes -= f.types()[v].bytes();
  }
  most = std::max(most, bytes);
  // And of the largest one that a body makes: the scores of an attention, say.
  return most > kMaxExampleBytes ? most : most + largest_value(f);
}

namespace {

// Throws if parameters do not match the function, or there is nothing to give or to get.
void check_match(const Model& model) {
  check_tensors(model);
  if (inputs_without_tensor(model).empty())
    throw Error(ErrorCode::kInvalidArgument,
                "expected an input of the function without a tensor, for the data; all have one");
  if (model.function.outputs().empty())
    throw Error(ErrorCode::kInvalidArgument, "the function has no output");
}

void check_size(const Model& model) {
  if (example_bytes(model) > kMaxExampleBytes)
    throw Error(ErrorCode::kUnsupported,
                fmt::format("the values of one example take more than {} bytes", kMaxExampleBytes));
}

// Throws kUnsupported if parse_function() would not read the text.
std::string readable_text(const Function& function) {
  require_known_ops(function);
  std::string text = to_text(function);
  try {
    parse_function(text);
  } catch (const Error& e) {
    throw Error(ErrorCode::kUnsupported, fmt::format("model '{}': {}", function.name(), e.what()));
  }
  return text;
}

Safetensors content_of(const Model& model) {
  check_match(model);
  check_size(model);
  Safetensors file{model.params, model_metadata(model.function, model.config)};
  const std::size_t inputs = inputs_without_tensor(model).size();
  if (inputs != 1) file.metadata.emplace_back(kInputsKey, std::to_string(inputs));
  return file;
}

// Errors get the name of the source.
Model named_model_of(const Safetensors& file, std::string_view where) {
  try {
    return model_of(file);
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("model {}: {}", in_quotes(where), e.what()));
  }
}

}  // namespace

void check_model(const Model& model) {
  try {
    check_match(model);
  } catch (const Error& e) {
    throw Error(ErrorCode::kFormat, e.what());
  }
  check_size(model);
}

Metadata model_metadata(const Function& function, const std::string& config) {
  Metadata metadata{{std::string(kFormatKey), std::string(kFormat)},
                    {std::string(kFunctionKey), readable_text(function)}};
  if (!config.empty()) metadata.emplace_back(kConfigKey, config);
  return metadata;
}

void save_model(const std::filesystem::path& path, const Model& model) {
  save_safetensors(path, content_of(model));
}

std::vector<std::byte> serialize_model(const Model& model) {
  return serialize_safetensors(content_of(model));
}

Model load_model(const std::filesystem::path& path) {
  return named_model_of(map_safetensors(path), path.string());
}

Model parse_model(std::span<const std::byte> bytes, std::string_view where) {
  return named_model_of(parse_safetensors(bytes, where), where);
}

std::vector<Input> data_inputs(const Model& model) {
  std::vector<Input> inputs;
  for (const Input* input : inputs_without_tensor(model)) inputs.push_back(*input);
  return inputs;
}

const Input& data_input(const Model& model) {
  const std::vector<const Input*> left = inputs_without_tensor(model);
  const std::size_t outputs = model.function.outputs().size();
  if (left.size() != 1 || outputs != 1)
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' takes {} and gives {} output{}; expected a model of one input and one "
                    "output here",
                    model.function.name(), list_of(left), outputs, outputs == 1 ? "" : "s"));
  return *left.front();
}

Function bound(const Model& model) { return bind(model.function, model.params); }

Tensor predict(const Model& model, const Tensor& examples, ThreadPool* pool, std::int64_t batch) {
  if (batch < 1)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("predict: a batch of {}", batch));
  const Input& input = data_input(model);
  if (!is_batch_of(input.type, examples)) throw misfit(model, input, examples);
  return predict(model, Params{{input.name, examples}}, pool, batch).front();
}

std::vector<Tensor> predict(const Model& model, const Params& inputs, ThreadPool* pool,
                            std::int64_t batch) {
  if (batch < 1)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("predict: a batch of {}", batch));
  check_names(model, inputs);
  const std::optional<std::int64_t> count = count_of(model, inputs);
  std::vector<Tensor> arguments;
  std::vector<std::string> shared;
  for (const Input& input : data_inputs(model)) {
    arguments.push_back(inputs.at(input.name));
    if (arguments.back().type() == input.type) shared.push_back(input.name);
  }
  if (!count) return compile(bound(model))(arguments, pool);
  const std::uint64_t fitting = kMaxExampleBytes / std::max<std::uint64_t>(1, example_bytes(model));
  const std::int64_t most = std::clamp<std::int64_t>(static_cast<std::int64_t>(fitting), 1, batch);
  const Predictor run(model.function, model.params,
                      {.most_rows = std::clamp<std::int64_t>(*count, 1, most),
                       .pool = pool,
                       .shared = std::move(shared)});
  return run(arguments);
}

}  // namespace limpid
