// A Function with its parameters as an ONNX model, for other programs to run. Leans on function,
// ops and transforms. Part of the library limpid_onnx; limpid/limpid.h does not include it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid::onnx {

// What is written is of this version of the default domain and of the format: ONNX 1.12 (2022) and
// what came later read it. Of a composition that got an operator of its own in a later version, the
// body is written.
inline constexpr std::int64_t kExportOpset = 17;
inline constexpr std::int64_t kExportIrVersion = 8;

// What is written besides the function.
struct ExportOptions {
  // Where it is not empty, the function is of one example and the model of any number of them:
  // inputs without a parameter, and all outputs, have a dynamic dimension of this name in front.
  std::string batch = {};
  // Goes into the model's metadata.
  std::vector<std::pair<std::string, std::string>> metadata = {};
};

// Writes a model of the function, atomically (see write_file_atomically): parameters become
// initializers under their names, the other inputs and the outputs keep theirs, except that an
// output without a name is called "output", and one that has the name of another value gets a
// number behind it. Operators compute in their own order, so results differ in the last bits.
//
// Throws kUnsupported, naming all of them with their reasons, where calls have no counterpart in
// ONNX (what draws random numbers from a key), where a batch of any size is asked for and the
// function's numbers depend on the size, and for a model beyond the format's 2 GiB;
// kInvalidArgument, kShape or kDtype where parameters do not fit the function; kIo.
void save_onnx(const std::filesystem::path& path, const Function& function,
               const Params& params = {}, const ExportOptions& options = {});

// The bytes of that file.
std::vector<std::byte> serialize_onnx(const Function& function, const Params& params = {},
                                      const ExportOptions& options = {});

}  // namespace limpid::onnx
