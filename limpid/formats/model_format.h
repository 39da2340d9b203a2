// A model format that another library reads and writes, for open_model and write_model: ONNX's is
// onnx::model_format() of limpid::onnx. Leans on model.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "limpid/formats/model.h"

namespace limpid {

// Sizes of a model's dynamic dimensions by their names.
using Dimensions = std::map<std::string, std::int64_t>;

// The two functions of a format.
struct ModelFormat {
  // Reads a model; the sizes are of its dynamic dimensions, the batch excepted.
  Model (*load)(const std::filesystem::path& path, const Dimensions& dimensions);
  // Writes a model of `batch` examples at once, or of any number of them.
  void (*save)(const std::filesystem::path& path, const Model& model,
               std::optional<std::int64_t> batch);
};

}  // namespace limpid
