// An ONNX model as a Model: a function of one example. Leans on onnx.h and formats/model.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "limpid/formats/model.h"

namespace limpid::onnx {

// Reads a model of one input (beside those with initializers) and one output. Where the input's
// leading dimension is dynamic, and no size is given for it, that is the batch: the model is
// imported for a batch of 1 and the dimension dropped from input and output; so is a leading
// dimension of size 1. What the model gives for three examples at once is compared with what it
// gives for each alone.
//
// `dimensions` are sizes of the other dynamic dimensions, as in ImportOptions. Throws what
// load_onnx throws; kUnsupported for other counts of inputs and outputs, for an output without the
// batch, where examples of one batch change one another, for results drawn at random, and for more
// than kMaxExampleBytes.
Model load_onnx_model(const std::filesystem::path& path,
                      const std::map<std::string, std::int64_t>& dimensions = {});

}  // namespace limpid::onnx
