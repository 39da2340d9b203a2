// A model format that another library implements, for open_model and write_model:
// onnx::model_format() of limpid::onnx for ONNX. Depends on model.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "limpid/formats/model.h"

namespace limpid {

// Sizes of a model's dynamic dimensions, by name.
using Dimensions = std::map<std::string, std::int64_t>;

// The two functions of a format.
struct ModelFormat {
  // Reads a model, with sizes for its dynamic dimensions except the batch.
  Model (*load)(const std::filesystem::path& path, const Dimensions& dimensions);
  // Writes a model with a fixed batch size, a dynamic one (nullopt), or of the shapes that its
  // function has (0).
  void (*save)(const std::filesystem::path& path, const Model& model,
               std::optional<std::int64_t> batch);
};

}  // namespace limpid
