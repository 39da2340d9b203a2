#include "limpid/formats/onnx/onnx.h"

#include "limpid/core/float_mode.h"
#include "limpid/formats/file.h"
#include "limpid/formats/onnx/import/detail/importer.h"

namespace limpid::onnx {
namespace {

Imported import(const detail::ModelContents& contents, const ImportOptions& options) {
  detail::check_operators(contents);
  return detail::Importer(contents, options).run();
}

}  // namespace

namespace detail {

ModelContents load_contents(const std::filesystem::path& path) {
  const Tensor file = read_file(path, kMaxOnnxBytes);
  return naming(path, [&] {
    Budget budget(file.bytes().size());
    ExternalData external_data(path.parent_path(), budget);
    return read_model(file.bytes(), budget, external_data);
  });
}

}  // namespace detail

Imported load_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  const DefaultFloatMode mode;
  const detail::ModelContents contents = detail::load_contents(path);
  return detail::naming(path, [&] { return import(contents, options); });
}

Imported parse_onnx(std::span<const std::byte> bytes, const ImportOptions& options) {
  const DefaultFloatMode mode;
  detail::Budget budget(bytes.size());
  detail::ExternalData external_data(std::nullopt, budget);
  return import(detail::read_model(bytes, budget, external_data), options);
}

}  // namespace limpid::onnx
