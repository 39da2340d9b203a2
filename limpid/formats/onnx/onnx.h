// Imports ONNX models: each node becomes ops of this library. Depends on function and ops. Part of
// the library limpid_onnx; limpid/limpid.h does not include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid::onnx {

// The newest supported opset version of the default domain.
inline constexpr std::int64_t kNewestOpset = 27;

// The maximum size of a model file in bytes, as in the format; external data is not counted.
inline constexpr std::uint64_t kMaxOnnxBytes = std::uint64_t{2} << 30;

// The maximum number of nodes, with functions inlined and loops unrolled.
inline constexpr std::int64_t kMaxNodes = 100'000;

// Values that the model does not specify.
struct ImportOptions {
  // Sizes of dynamic dimensions by name. A dimension without a name is called INPUT.AXIS, as in
  // "x.0".
  std::map<std::string, std::int64_t> dimensions;
  // Values of graph inputs. They remain inputs, but shapes may be computed from these values. They
  // also give the shapes of these inputs.
  std::map<std::string, Tensor> known;
};

// The imported model.
struct Imported {
  // Inputs: the parameters, then the graph inputs without initializer, in order. All shapes are
  // static; ops that computed shapes are gone.
  Function function;
  // The floating-point and i8 initializers of the graph, by name. Those of other dtypes are
  // constants of the function.
  Params params;
  // The metadata (metadata_props), in the order of the file.
  std::vector<std::pair<std::string, std::string>> metadata;
  // Inputs of `known` whose values were used. With other values of these inputs, the function may
  // differ from the model.
  std::vector<std::string> fixed;
  // Parameters whose values were used, likewise.
  std::vector<std::string> fixed_params;
  // Some result is random: its numbers differ from those of other programs.
  bool random = false;
};

// Reads a model with operators of the default domain, up to kNewestOpset, and of
// ai.onnx.preview.training. Weights may be in other files of the same folder ("external data"),
// given by plain file names, without links.
//
// Throws kIo if a file cannot be read; kFormat if it violates the format; kNotFound for unknown
// dimensions, naming all of them; kUnsupported for unsupported operators, naming all of them with
// their nodes, and for unsupported element types, ranks and sizes; kShape, kDtype or
// kInvalidArgument if the inputs of a node are invalid. Messages name the file and the node.
Imported load_onnx(const std::filesystem::path& path, const ImportOptions& options = {});

// The same from memory, without external data.
Imported parse_onnx(std::span<const std::byte> bytes, const ImportOptions& options = {});

// A supported operator: the versions of its domain, and its meaning.
struct OperatorRow {
  std::string name;  // "DOMAIN.NAME", or "NAME" in the default domain
  std::string versions;
  std::string meaning;
};

// All supported operators, sorted by name; and the page docs/reference/onnx.md.
std::vector<OperatorRow> operators();
std::string operators_reference();

}  // namespace limpid::onnx
