// ONNX for open_model and write_model: open_model(path, {.onnx = &onnx::model_format()}). Depends
// on example_model.h and export.h.
#pragma once

#include "limpid/formats/model_format.h"

namespace limpid::onnx {

// Loads by load_onnx_model. Saves by save_onnx, with the config under "limpid.config" in the
// metadata; a dynamic batch is the dimension "N".
const ModelFormat& model_format();

}  // namespace limpid::onnx
