#include "limpid/formats/onnx/onnx.h"

#include "limpid/core/float_mode.h"
#include "limpid/formats/file.h"
#include "limpid/formats/onnx/detail/importer.h"

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
    Externals externals(path.parent_path(), budget);
    return read_model(file.bytes(), budget, externals);
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
  detail::Externals externals(std::nullopt, budget);
  return import(detail::read_model(bytes, budget, externals), options);
}

}  // namespace limpid::onnx
