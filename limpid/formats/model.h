// Model: a Function of one example with the parameters that it was trained to, in one safetensors
// file: any reader of that format sees the weights, and Limpid the function too. Leans on
// safetensors.h, function, transforms and compile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "limpid/compile/thread_pool.h"
#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

struct Model {
  Function function;   // of one example: from the parameters and the data, one input or more
  Params params;       // a tensor for each input of the function but the data, under its name
  std::string config;  // hyper-parameters as JSON, for whoever made the model; may be empty
  // What its reader could not keep or prove, as one line for people; not written to files.
  std::string note = {};
};

// The most bytes that the values of one example may take together, parameters aside and with the
// largest one inside of a composition: a bound on what a few lines of text in a file can ask for.
inline constexpr std::uint64_t kMaxExampleBytes = std::uint64_t{1} << 30;

// Writes the tensors under their names, and in the metadata "limpid.format" ("1"),
// "limpid.function" (the text form), "limpid.config" unless it is empty, and "limpid.inputs", the
// number of data inputs unless that is 1. Atomic, as
// save_safetensors is. Throws kInvalidArgument, kShape or kDtype where the parameters do not fit
// the function, and what save_safetensors throws.
void save_model(const std::filesystem::path& path, const Model& model);

// Reads what save_model wrote; the file is mapped, and its tensors stay there (see map_file), so
// that a plan's packed weights are the only ones in memory of the process. Throws kFormat for a
// safetensors file that is no model or whose tensors do not fit its function, kUnsupported for
// another limpid.format or for more than kMaxExampleBytes, and what load_safetensors and
// parse_function throw.
Model load_model(const std::filesystem::path& path);

// Throws kFormat where function and parameters do not make a model, kUnsupported for more than
// kMaxExampleBytes: what every Model that was read from a file has passed.
void check_model(const Model& model);

// The bytes that the values of one example take, parameters aside; above kMaxExampleBytes, any
// number above it.
std::uint64_t example_bytes(const Model& model);

// The inputs that are not parameters, of one example, in the order of the function.
std::vector<Input> data_inputs(const Model& model);

// The data input of a model with one data input and one output. Throws kInvalidArgument, naming
// them, for another model: that runs on inputs by name.
const Input& data_input(const Model& model);

// The function with its parameters bound: the data alone goes in.
Function bound(const Model& model);

// Runs the model on examples [N, ...] of the data input's type and gives its outputs [N, ...]. At
// most `batch` examples go through at once, fewer where they would need more than kMaxExampleBytes;
// neither that nor the pool changes a bit. Throws kShape or kDtype where `examples` does not fit,
// kInvalidArgument for a batch below 1.
Tensor predict(const Model& model, const Tensor& examples, ThreadPool* pool = nullptr,
               std::int64_t batch = 256);

// Runs a model on inputs by their names and gives all of its outputs, in the order of the function.
// An input is of its type, for one example, or [N, ...] for N of them; those of one example's type
// are then shared by all N. The outputs are [N, ...], or of one example where no input has an N.
// Throws kInvalidArgument, naming all of them, where inputs are missing or unknown; kShape or
// kDtype, naming the input, where one does not fit; kInvalidArgument for a batch below 1.
std::vector<Tensor> predict(const Model& model, const Params& inputs, ThreadPool* pool = nullptr,
                            std::int64_t batch = 256);

}  // namespace limpid
