// Models by their path, whatever their format: a safetensors file of save_model, the folder of a
// training run, a folder of Hugging Face's, an ONNX file. Leans on pretrained.h and
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

// The file in a training run's folder that holds its model.
inline constexpr const char* kRunModelFile = "model.safetensors";

// How open_model() reads.
struct OpenOptions {
  // onnx::model_format() where the program links limpid::onnx; without it NAME.onnx is refused.
  const ModelFormat* onnx = nullptr;
  Dimensions dimensions = {};  // of an ONNX model's dynamic dimensions, the batch excepted
};

// NAME.onnx is an ONNX model. A folder with a config.json that says a model_type is a language
// model of Hugging Face's, with its tokenizer; any other folder is a training run's. Any other file
// is safetensors. Throws kUnsupported for NAME.onnx without options.onnx, kInvalidArgument for
// dimensions of another format, and what the format's reader throws: load_model, load_pretrained,
// onnx::load_onnx_model.
Model open_model(const std::filesystem::path& path, const OpenOptions& options = {});

// How write_model() writes.
struct WriteOptions {
  const ModelFormat* onnx = nullptr;       // as in OpenOptions
  std::optional<std::int64_t> batch = {};  // examples of an ONNX model; any number unless given
};

// Writes NAME.onnx, an ONNX model; NAME/ or a folder that exists, as Hugging Face's transformers
// read it; or else a safetensors file. Throws kUnsupported for NAME.onnx without options.onnx,
// kInvalidArgument for a batch of another format, and what the format's writer throws: save_model,
// save_pretrained, onnx::save_onnx.
void write_model(const std::filesystem::path& path, const Model& model,
                 const WriteOptions& options = {});

// Whether a path is called NAME.onnx.
bool is_onnx_path(const std::filesystem::path& path);

// Whether a path ends with a slash, or leads to a folder.
bool is_folder_path(const std::filesystem::path& path);

}  // namespace limpid
