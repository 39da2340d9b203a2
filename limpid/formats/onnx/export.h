// Exports a Function with its parameters as an ONNX model. Depends on function, ops and transforms.
// Part of the library limpid_onnx; limpid/limpid.h does not include it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid::onnx {

// The opset version (default domain) and IR version of exported models, readable by ONNX 1.12
// (2022) and later. A composition whose operator is only in a later opset is written as its body.
inline constexpr std::int64_t kExportOpset = 17;
inline constexpr std::int64_t kExportIrVersion = 8;

// Options of save_onnx().
struct ExportOptions {
  // If not empty, the function is of one example, and the model is of a batch: data inputs and all
  // outputs get a leading dynamic dimension with this name.
  std::string batch = {};
  // Entries for the model's metadata.
  std::vector<std::pair<std::string, std::string>> metadata = {};
};

// Writes a model of the function, atomically (see write_file_atomically): parameters become
// initializers; parameters, inputs and outputs keep their names. An output without a name is called
// "output"; one with the name of another value gets a number as suffix. Other runtimes compute in
// another order, so their results differ in the last bits.
//
// Throws kUnsupported for calls without a counterpart in ONNX (random numbers from a key), naming
// all of them with the reasons; for a dynamic batch if constants of the function depend on the
// batch size; and for a model beyond the format's 2 GiB. Throws kInvalidArgument, kShape or kDtype
// if the parameters do not match the function; kIo.
void save_onnx(const std::filesystem::path& path, const Function& function,
               const Params& params = {}, const ExportOptions& options = {});

// The bytes of that file.
std::vector<std::byte> serialize_onnx(const Function& function, const Params& params = {},
                                      const ExportOptions& options = {});

}  // namespace limpid::onnx
