// Opens a model by its path, whatever its format: a safetensors file of save_model, the folder of a
// training run, a Hugging Face folder, or an ONNX file. Depends on pretrained.h and
// formats/model_format.h.
//
//   const Model model = open_model("runs/moons");
//   const Model other = open_model("moons.onnx", {.onnx = &onnx::model_format()});
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "limpid/formats/model_format.h"

namespace limpid {

// The model file in the folder of a training run.
inline constexpr const char* kRunModelFile = "model.safetensors";

// Options of open_model().
struct OpenOptions {
  // onnx::model_format() if the program links limpid::onnx. Without it, NAME.onnx is refused.
  const ModelFormat* onnx = nullptr;
  Dimensions dimensions = {};  // values of an ONNX model's dynamic dimensions, except the batch
};

// NAME.onnx is an ONNX model. A folder whose config.json has a model_type is a Hugging Face
// language model with its tokenizer; any other folder is a training run. Any other file is
// safetensors. Throws kUnsupported for NAME.onnx without options.onnx, kInvalidArgument for
// dimensions with another format, and what the format's reader throws: load_model, load_pretrained,
// onnx::load_onnx_model.
Model open_model(const std::filesystem::path& path, const OpenOptions& options = {});

// Options of write_model().
struct WriteOptions {
  const ModelFormat* onnx = nullptr;  // as in OpenOptions
  // Fixed batch size of an ONNX model; default: dynamic; 0: none, the shapes are the function's.
  std::optional<std::int64_t> batch = {};
};

// Writes an ONNX model to NAME.onnx; a Hugging Face folder to NAME/ or an existing folder; else a
// safetensors file. Throws kUnsupported for NAME.onnx without options.onnx, kInvalidArgument for a
// batch size with another format, and what the format's writer throws: save_model, save_pretrained,
// onnx::save_onnx.
void write_model(const std::filesystem::path& path, const Model& model,
                 const WriteOptions& options = {});

// Whether a path ends in ".onnx".
bool is_onnx_path(const std::filesystem::path& path);

// Whether a path ends with a slash, or leads to a folder.
bool is_folder_path(const std::filesystem::path& path);

}  // namespace limpid
