// Reads an ONNX model as a Model: a Function of one example. Depends on onnx.h and formats/model.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "limpid/formats/model.h"

namespace limpid::onnx {

// The metadata key of a Model's config.
inline constexpr const char* kConfigKey = "limpid.config";

// Reads a model as a Function of one example. If the leading dimension of its first input is
// dynamic and has no given size, it is the batch, as are dimensions of the same name in other
// inputs. If the graph proves that examples of a batch do not affect each other (see unbatch), the
// batch dimension is removed from inputs and outputs. Otherwise the model is imported with batch
// size 1, and Model::note gives the reason. A leading dimension of size 1 is also removed if all
// inputs and outputs have one.
//
// `dimensions` are the sizes of the other dynamic dimensions, as in ImportOptions. Throws what
// load_onnx throws; kUnsupported for random results, and for more than kMaxExampleBytes.
Model load_onnx_model(const std::filesystem::path& path,
                      const std::map<std::string, std::int64_t>& dimensions = {});

// The same from the bytes of such a file. Throws as load_onnx_model, but for kIo; kUnsupported for
// tensors in other files.
Model parse_onnx_model(std::span<const std::byte> bytes,
                       const std::map<std::string, std::int64_t>& dimensions = {});

// Reads a model to run it on these inputs, by name. Their shapes give the dynamic dimensions,
// including the batch; the Function has the inputs and outputs of the graph. If a shape or the
// branch of an If depends on the value of an input, that value is used: the Function is only valid
// for these inputs. Throws what load_onnx throws; kInvalidArgument if inputs are missing or
// unknown, naming all of them; kUnsupported for random results.
Model load_onnx_model_for(const std::filesystem::path& path, const Params& inputs,
                          const std::map<std::string, std::int64_t>& dimensions = {});

}  // namespace limpid::onnx
