#include "apps/limpid/model_file.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <system_error>

#include "apps/limpid/command.h"
#include "apps/limpid/run_folder.h"
#include "limpid/core/error.h"
#include "limpid/data/pretrained.h"
#include "limpid/formats/huggingface.h"
#include "limpid/formats/in_quotes.h"
#ifdef LIMPID_ONNX
#include "limpid/formats/onnx/example_model.h"
#include "limpid/formats/onnx/export.h"
#include "limpid/transforms/vmap.h"
#endif

namespace limpid::tool {
namespace {

std::map<std::string, std::int64_t> parse_dims(const std::vector<std::string>& dims) {
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& dim : dims) {
    // A dimension's name may be an expression with an equals sign of its own.
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

#ifdef LIMPID_ONNX
void write_onnx(const std::string& path, const Model& model, std::optional<std::int64_t> batch) {
  onnx::ExportOptions options;
  if (!model.config.empty()) options.metadata.emplace_back("limpid.config", model.config);
  if (!batch) {
    options.batch = "N";
    return onnx::save_onnx(path, model.function, model.params, options);
  }
  std::vector<std::optional<std::int64_t>> axes;
  for (const Input& input : model.function.inputs())
    axes.push_back(model.params.find(input.name) ? std::nullopt : std::optional<std::int64_t>(0));
  onnx::save_onnx(path, vmap(model.function, axes, *batch), model.params, options);
}
#else
void write_onnx(const std::string&, const Model&, std::optional<std::int64_t>) {
  throw Error(ErrorCode::kUnsupported, "this tool was built without ONNX");
}
#endif

}  // namespace

void add_model_option(CLI::App& command, ModelOptions& options) {
  command
      .add_option("MODEL", options.path,
                  "A model file (safetensors, or ONNX: NAME.onnx), the folder of a run that train "
                  "wrote, or that of a GPT-2 or Llama (config.json, model.safetensors)")
      ->required();
  command
      .add_option("--dim", options.dims,
                  "Size of a dynamic dimension of an ONNX model; the leading one is the batch")
      ->type_name("NAME=N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

bool is_onnx(const std::string& path) { return std::filesystem::path(path).extension() == ".onnx"; }

bool is_folder(const std::string& path) {
  std::error_code ignored;  // a path that cannot be asked about is a matter of reading it
  return (!path.empty() && path.back() == '/') || std::filesystem::is_directory(path, ignored);
}

Model open_model(const ModelOptions& options) {
  const std::map<std::string, std::int64_t> dimensions = parse_dims(options.dims);
  if (is_onnx(options.path)) {
#ifdef LIMPID_ONNX
    return onnx::load_onnx_model(options.path, dimensions);
#else
    throw Error(ErrorCode::kUnsupported, "this tool was built without ONNX");
#endif
  }
  if (!dimensions.empty())
    throw UsageError(fmt::format("--dim: {} is no ONNX model", in_quotes(options.path)));
  if (!is_folder(options.path)) return load_model(options.path);
  return is_huggingface(options.path) ? load_pretrained(options.path)
                                      : load_model(RunFolder(options.path).model());
}

void write_model(const std::string& path, const Model& model, std::optional<std::int64_t> batch) {
  if (is_onnx(path))
    write_onnx(path, model, batch);
  else if (is_folder(path))
    save_pretrained(path, model);
  else
    save_model(path, model);
}

}  // namespace limpid::tool
