// The model that a command works on.
#pragma once

#include <filesystem>

#include "limpid/formats/model.h"

namespace limpid::tool {

// The model of a file, or of the folder of a training run. Throws what load_model throws.
Model open_model(const std::filesystem::path& path);

}  // namespace limpid::tool
