#include "limpid/models/open_model.h"

#include <fmt/format.h>

#include <string>
#include <system_error>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/huggingface.h"
#include "limpid/models/pretrained.h"

namespace limpid {
namespace {

[[noreturn]] void refuse_model(ErrorCode code, const std::filesystem::path& path,
                               std::string_view why) {
  throw Error(code, fmt::format("model {}: {}", in_quotes(path.string()), why));
}

const ModelFormat& onnx_of(const ModelFormat* onnx, const std::filesystem::path& path) {
  if (onnx == nullptr)
    refuse_model(ErrorCode::kUnsupported, path,
                 "ONNX needs the component limpid::onnx: pass its onnx::model_format()");
  return *onnx;
}

}  // namespace

bool is_onnx_path(const std::filesystem::path& path) { return path.extension() == ".onnx"; }

bool is_folder_path(const std::filesystem::path& path) {
  std::error_code ignored;  // a path that cannot be asked about is a matter of reading it
  return (!path.empty() && !path.has_filename()) || std::filesystem::is_directory(path, ignored);
}

Model open_model(const std::filesystem::path& path, const OpenOptions& options) {
  if (is_onnx_path(path)) return onnx_of(options.onnx, path).load(path, options.dimensions);
  if (!options.dimensions.empty())
    refuse_model(ErrorCode::kInvalidArgument, path, "sizes of dimensions are for ONNX models only");
  if (!is_folder_path(path)) return load_model(path);
  return is_huggingface(path) ? load_pretrained(path) : load_model(path / kRunModelFile);
}

void write_model(const std::filesystem::path& path, const Model& model,
                 const WriteOptions& options) {
  if (is_onnx_path(path)) return onnx_of(options.onnx, path).save(path, model, options.batch);
  if (options.batch)
    refuse_model(ErrorCode::kInvalidArgument, path, "a batch size is for ONNX models only");
  if (is_folder_path(path))
    save_pretrained(path, model);
  else
    save_model(path, model);
}

}  // namespace limpid
