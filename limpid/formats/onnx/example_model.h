// An ONNX model as a Model: a function of one example. Leans on onnx.h and formats/model.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "limpid/formats/model.h"

namespace limpid::onnx {

// The entry of the metadata that holds a Model's config.
inline constexpr const char* kConfigKey = "limpid.config";

// Reads a model as a function of one example. Where the leading dimension of its first input is
// dynamic, and no size is given for it, that is the batch, and so are dimensions of its name in
// other inputs. The graph must prove that the examples of a batch do not affect one another (see
// unbatch): the dimension is then gone from inputs and outputs. Where that is not proved, the model
// is imported for a batch of 1, and `note` says why. A leading dimension of size 1 is gone, too, if
// all inputs and outputs have one.
//
// `dimensions` are sizes of the other dynamic dimensions, as in ImportOptions. Throws what
// load_onnx throws; kUnsupported for results drawn at random, and for more than kMaxExampleBytes.
Model load_onnx_model(const std::filesystem::path& path,
                      const std::map<std::string, std::int64_t>& dimensions = {});

// Reads a model to run on these inputs, by name: their shapes are sizes of the dynamic dimensions,
// the batch among them, and the function takes and gives tensors as the graph has them. Their
// values may be read where a shape or the branch of an If depends on one: the function is for these
// inputs alone. Throws what load_onnx throws; kInvalidArgument, naming all of them, where inputs
// are missing or unknown; kUnsupported for results drawn at random.
Model load_onnx_model_for(const std::filesystem::path& path, const Params& inputs,
                          const std::map<std::string, std::int64_t>& dimensions = {});

}  // namespace limpid::onnx
