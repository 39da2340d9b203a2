// The model that a command works on: a file of Limpid's own, the one of a training run, one in
// ONNX's format, or the folder of a language model as Hugging Face's transformers keep them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/formats/model.h"

namespace limpid::tool {

struct ModelOptions {
  std::string path;
  std::vector<std::string> dims;  // "NAME=N", of an ONNX model
};

// The model's path, the first argument of a command, and --dim.
void add_model_option(CLI::App& command, ModelOptions& options);

// Of NAME.onnx, of a folder with a language model or of one with a training run, or else of a
// safetensors file. Throws UsageError for sizes that are none, and what the readers throw.
Model open_model(const ModelOptions& options);

// Writes NAME.onnx, a model of `batch` examples at once or, where that is not said, of any number;
// NAME/, a folder that transformers reads; or else a safetensors file. Throws what the writers
// throw.
void write_model(const std::string& path, const Model& model, std::optional<std::int64_t> batch);

// Whether a path is called NAME.onnx.
bool is_onnx(const std::string& path);

// Whether a path ends as that of a folder does, or leads to one.
bool is_folder(const std::string& path);

}  // namespace limpid::tool
