#include "apps/limpid/model_file.h"

#include <system_error>

#include "apps/limpid/run_folder.h"

namespace limpid::tool {

Model open_model(const std::filesystem::path& path) {
  std::error_code ignored;  // a path that cannot be asked about is a matter of reading it
  const bool folder = std::filesystem::is_directory(path, ignored);
  return load_model(folder ? RunFolder(path).model() : path);
}

}  // namespace limpid::tool
