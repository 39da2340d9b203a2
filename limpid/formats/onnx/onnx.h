// ONNX models: operator by operator, each node becomes ops of this library. Leans on function and
// ops. Part of the library limpid_onnx; limpid/limpid.h does not include it.
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

// Later versions of the default domain's operators are refused.
inline constexpr std::int64_t kNewestOpset = 27;

// The most bytes of a model's file, as the format has it; external data is not counted.
inline constexpr std::uint64_t kMaxOnnxBytes = std::uint64_t{2} << 30;

// The most nodes of a model whose functions are inlined and whose loops are unrolled.
inline constexpr std::int64_t kMaxNodes = 100'000;

// What a model leaves open.
struct ImportOptions {
  // Sizes of dynamic dimensions by their names; one without a name is called INPUT.AXIS, as in
  // "x.0".
  std::map<std::string, std::int64_t> dimensions;
  // Values of inputs of the graph. They remain inputs, but shapes may be made from these values,
  // and their own shapes need no other word.
  std::map<std::string, Tensor> known;
};

// A model as a Function.
struct Imported {
  // The parameters first, then the inputs of the graph that have no initializer, in its order.
  // Every shape is known, and nothing of how it was found is left.
  Function function;
  // The initializers of the graph of a floating dtype and of i8 under their names. Those of other
  // integers and of bools are constants of the function.
  Params params;
  // What is said beside the graph (metadata_props), in the order of the file.
  std::vector<std::pair<std::string, std::string>> metadata;
  // Inputs of `known` whose values the function was made from: with others it may mean something
  // else than the model does.
  std::vector<std::string> fixed;
  // Parameters whose values it was made from, likewise.
  std::vector<std::string> fixed_params;
  // Some result is drawn at random: the numbers are those of no other program.
  bool random = false;
};

// Reads a model of the default domain up to kNewestOpset and of ai.onnx.preview.training. Weights
// may lie in files beside the model ("external data"): named by plain file names, no links.
//
// Throws kIo where a file cannot be read; kFormat where it breaks the format; kNotFound, naming
// them all, where dimensions are not known; kUnsupported, naming all of them with their nodes,
// where the model has operators that Limpid lacks, and for element types, ranks and sizes beyond
// the limits; kShape, kDtype or kInvalidArgument where a node's inputs do not fit it. Messages name
// the file and the node.
Imported load_onnx(const std::filesystem::path& path, const ImportOptions& options = {});

// The same from memory, without external data.
Imported parse_onnx(std::span<const std::byte> bytes, const ImportOptions& options = {});

// An operator that can be read, in which versions of its domain, and what it becomes.
struct OperatorRow {
  std::string name;  // behind its domain and a dot, unless that is the default one
  std::string versions;
  std::string meaning;
};

// All of them by name; and the page docs/reference/onnx.md.
std::vector<OperatorRow> operators();
std::string operators_reference();

}  // namespace limpid::onnx
