#include "limpid/formats/onnx/model_format.h"

#include <vector>

#include "limpid/formats/onnx/example_model.h"
#include "limpid/formats/onnx/export.h"
#include "limpid/transforms/vmap.h"

namespace limpid::onnx {
namespace {

void save(const std::filesystem::path& path, const limpid::Model& model,
          std::optional<std::int64_t> batch) {
  ExportOptions options;
  if (!model.config.empty()) options.metadata.emplace_back(kConfigKey, model.config);
  if (!batch) {
    options.batch = "N";
    return save_onnx(path, model.function, model.params, options);
  }
  if (*batch == 0) return save_onnx(path, model.function, model.params, options);
  std::vector<std::optional<std::int64_t>> axes;
  for (const Input& input : model.function.inputs())
    axes.push_back(model.params.find(input.name) ? std::nullopt : std::optional<std::int64_t>(0));
  save_onnx(path, vmap(model.function, axes, *batch), model.params, options);
}

}  // namespace

const ModelFormat& model_format() {
  static constexpr ModelFormat kFormat{.load = load_onnx_model, .save = save};
  return kFormat;
}

}  // namespace limpid::onnx
