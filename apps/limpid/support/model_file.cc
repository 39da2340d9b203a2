#include "apps/limpid/support/model_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <system_error>

#include "apps/limpid/support/output.h"
#include "limpid/core/in_quotes.h"
#ifdef LIMPID_ONNX
#include "limpid/formats/onnx/example_model.h"
#include "limpid/formats/onnx/model_format.h"
#endif

namespace limpid::tool {
namespace {

Dimensions parse_dims(const std::vector<std::string>& dims) {
  Dimensions sizes;
  for (const std::string& dim : dims) {
    // A dimension's name may itself contain an equals sign.
    const std::size_t equals = dim.rfind('=');
    std::int64_t size = 0;
    if (equals != std::string::npos && equals > 0) {
      const char* const end = dim.data() + dim.size();
      const auto [stop, error] = std::from_chars(dim.data() + equals + 1, end, size);
      if (error == std::errc{} && stop == end && size >= 0) {
        sizes[dim.substr(0, equals)] = size;
        continue;
      }
    }
    throw UsageError(fmt::format("--dim {}: expected NAME=N, as in length=128", in_quotes(dim)));
  }
  return sizes;
}

}  // namespace

const ModelFormat* onnx_format() {
#ifdef LIMPID_ONNX
  return &onnx::model_format();
#else
  return nullptr;
#endif
}

void add_model_option(Command& command, ModelOptions& options) {
  command
      .option("MODEL", options.path,
              "Model file (safetensors, or ONNX as NAME.onnx), run folder written by train, or "
              "Hugging Face folder of a language model")
      .path("PATH")
      .required();
  command
      .option("--dim", options.dims,
              "Size of a dynamic dimension of an ONNX model, once for each; the leading one is the "
              "batch")
      .type("NAME=N");
}

Model open_model(const ModelOptions& options) {
  const Dimensions dimensions = parse_dims(options.dims);
  if (!dimensions.empty() && !is_onnx_path(options.path))
    throw UsageError(fmt::format("--dim: {} is not an ONNX model", in_quotes(options.path)));
  Model model = limpid::open_model(options.path, {.onnx = onnx_format(), .dimensions = dimensions});
  if (!model.note.empty()) print_note(model.note);
  return model;
}

Model open_model_for(const ModelOptions& options, const Params& inputs) {
#ifdef LIMPID_ONNX
  if (is_onnx_path(options.path))
    return onnx::load_onnx_model_for(options.path, inputs, parse_dims(options.dims));
#endif
  return open_model(options);
}

void write_model(const std::string& path, const Model& model, std::optional<std::int64_t> batch) {
  limpid::write_model(path, model, {.onnx = onnx_format(), .batch = batch});
}

Json json_of(const std::vector<Input>& inputs) {
  Json list = Json::array();
  for (const Input& input : inputs)
    list.push_back({{"name", input.name},
                    {"dtype", std::string(name(input.type.dtype))},
                    {"shape", json_of(input.type.shape)}});
  return list;
}

}  // namespace limpid::tool
