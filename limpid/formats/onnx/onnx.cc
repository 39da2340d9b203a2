#include "limpid/formats/onnx/onnx.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/formats/file.h"
#include "limpid/formats/in_quotes.h"
#include "limpid/formats/onnx/detail/importer.h"

namespace limpid::onnx {
namespace {

Imported import(const detail::ModelContents& contents, const ImportOptions& options) {
  detail::check_operators(contents);
  return detail::Importer(contents, options).run();
}

// The file's bytes are let go before anything is imported.
detail::ModelContents read_contents(const std::filesystem::path& path) {
  const Tensor file = read_file(path, kMaxOnnxBytes);
  detail::Budget budget(file.bytes().size());
  detail::Externals externals(path.parent_path(), budget);
  return detail::read_model(file.bytes(), budget, externals);
}

}  // namespace

Imported load_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  try {
    return import(read_contents(path), options);
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
