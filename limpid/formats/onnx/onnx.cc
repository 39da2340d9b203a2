#include "limpid/formats/onnx/onnx.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
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
  Budget budget(file.bytes().size());
  Externals externals(path.parent_path(), budget);
  return read_model(file.bytes(), budget, externals);
}

}  // namespace detail

Imported load_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  try {
    return import(detail::load_contents(path), options);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::kIo) throw;
    throw Error(e.code(), fmt::format("onnx {}: {}", in_quotes(path.string()), e.what()));
  }
}

Imported parse_onnx(std::span<const std::byte> bytes, const ImportOptions& options) {
  detail::Budget budget(bytes.size());
  detail::Externals externals(std::nullopt, budget);
  return import(detail::read_model(bytes, budget, externals), options);
}

}  // namespace limpid::onnx
