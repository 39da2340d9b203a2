// ONNX for open_model and write_model: open_model(path, {.onnx = &onnx::model_format()}). Leans on
// example_model.h and export.h.
#pragma once

#include "limpid/formats/model_format.h"

namespace limpid::onnx {

// Loads as load_onnx_model does. Saves as save_onnx does, with the config under "limpid.config" in
// the metadata; a batch of any size is the dimension "N".
const ModelFormat& model_format();

}  // namespace limpid::onnx
