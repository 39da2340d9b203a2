// The model of a command, from its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/limpid/support/cli.h"
#include "limpid/core/json.h"
#include "limpid/models/open_model.h"

namespace limpid::tool {

struct ModelOptions {
  std::string path;
  std::vector<std::string> dims;  // "NAME=N", for an ONNX model
};

// Adds the model's path, the first argument of a command, and --dim.
void add_model_option(Command& command, ModelOptions& options);

// ONNX if the tool is built with it; else nullptr.
const ModelFormat* onnx_format();

// As limpid::open_model and limpid::write_model, with ONNX if the tool is built with it. Throws
// UsageError for invalid sizes, and what these functions throw.
Model open_model(const ModelOptions& options);
// The model for these inputs; an ONNX model takes their shapes (see onnx::load_onnx_model_for).
Model open_model_for(const ModelOptions& options, const Params& inputs);
void write_model(const std::string& path, const Model& model, std::optional<std::int64_t> batch);

// A list of objects with name, dtype and shape.
Json json_of(const std::vector<Input>& inputs);

}  // namespace limpid::tool
