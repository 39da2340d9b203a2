#include "apps/limpid/support/named_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/limpid/support/output.h"
#include "limpid/core/half.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/number_text.h"
#include "limpid/core/visit_dtype.h"
#include "limpid/formats/npy.h"
#include "limpid/inspect/table.h"

namespace limpid::tool {
namespace {

Params read_inputs(const std::vector<std::string>& texts) {
  Params inputs;
  for (const std::string& text : texts) {
    // Splits at the first '=': a file's name may contain more of them.
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      throw UsageError(
          fmt::format("--input {}: expected NAME=FILE.npy, as in ids=ids.npy", in_quotes(text)));
    const std::string name = text.substr(0, equals);
    if (inputs.find(name))
      throw UsageError(fmt::format("--input: {} is given twice", in_quotes(name)));
    inputs.set(name, load_npy(text.substr(equals + 1)));
  }
  return inputs;
}

// Calls f with each of the first `most` elements, as an integer or a double.
template <class F>
void for_each_element(const Tensor& tensor, std::size_t most, const F& f) {
  visit(tensor.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto values = tensor.values<T>();
    for (const T v : values.first(std::min(values.size(), most))) {
      if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, Bf16>)
        f(to_f32(v));
      else
        f(v);
    }
  });
}

}  // namespace

std::string elements_text(const Tensor& tensor, std::size_t most) {
  std::vector<std::string> numbers;
  for_each_element(tensor, most, [&](auto v) {
    if constexpr (std::is_floating_point_v<decltype(v)>)
      numbers.push_back(short_number(static_cast<double>(v)));
    else if constexpr (std::is_same_v<decltype(v), bool>)
      numbers.push_back(v ? "true" : "false");
    else
      numbers.push_back(std::to_string(v));
  });
  if (static_cast<std::size_t>(tensor.elements()) > most) numbers.push_back("...");
  return fmt::format("{}", fmt::join(numbers, ", "));
}

Json elements_json(const Tensor& tensor) {
  Json values = Json::array();
  for_each_element(tensor, static_cast<std::size_t>(tensor.elements()), [&](auto v) {
    if constexpr (std::is_floating_point_v<decltype(v)>)
      values.push_back(json_of(v));
    else if constexpr (std::is_same_v<decltype(v), bool>)
      values.push_back(v);
    else
      values.push_back(static_cast<std::int64_t>(v));
  });
  return values;
}

Option add_input_option(Command& command, std::vector<std::string>& inputs) {
  return command
      .option("--input", inputs,
              "Input of the model from a .npy file, once for each; an ONNX model takes the sizes "
              "of its dynamic dimensions from them")
      .type("NAME=FILE");
}

NamedRun open_named(const ModelOptions& options, const std::vector<std::string>& inputs) {
  NamedRun run;
  run.inputs = read_inputs(inputs);
  run.model = open_model_for(options, run.inputs);
  return run;
}

std::vector<std::string> names_of_outputs(const Model& model) {
  std::vector<std::string> names;
  for (const Output& output : model.function.outputs()) {
    const std::string base = output.name.empty() ? "output" : output.name;
    std::string name = base;
    for (int i = 1; std::find(names.begin(), names.end(), name) != names.end(); ++i)
      name = fmt::format("{}.{}", base, i);
    names.push_back(std::move(name));
  }
  return names;
}

void print_outputs(const Model& model, const std::vector<Tensor>& outputs, bool json) {
  constexpr std::size_t kShown = 16;
  const std::vector<std::string> names = names_of_outputs(model);
  if (json) {
    Json document = Json::object();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      document[names[i]] = Json{{"dtype", std::string(name(outputs[i].dtype()))},
                                {"shape", json_of(outputs[i].shape())},
                                {"values", elements_json(outputs[i])}};
    return print_json(document);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    print(fmt::format("{} {} = {}\n", printable(names[i]), to_string(outputs[i].type()),
                      elements_text(outputs[i], kShown)));
}

void save_outputs(const Model& model, const std::vector<Tensor>& outputs,
                  const std::filesystem::path& path) {
  if (path.extension() == ".csv")
    throw UsageError("--out: expected a .npy or .npz file for the outputs of --input");
  if (path.extension() != ".npz") {
    if (outputs.size() != 1)
      throw UsageError(fmt::format("--out: expected a .npz file for {} outputs, got {}",
                                   outputs.size(), in_quotes(path.string())));
    return save_npy(path, outputs.front());
  }
  Params arrays;
  const std::vector<std::string> names = names_of_outputs(model);
  for (std::size_t i = 0; i < outputs.size(); ++i) arrays.set(names[i], outputs[i]);
  save_npz(path, arrays);
}

}  // namespace limpid::tool
