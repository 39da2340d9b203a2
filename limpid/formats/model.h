// Model: a Function of one example with its trained parameters, stored in one safetensors file. Any
// reader of that format can read the weights; Limpid also reads the Function. Depends on
// safetensors.h, function, transforms and compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limpid/compile/thread_pool.h"
#include "limpid/core/params.h"
#include "limpid/function/function.h"

namespace limpid {

struct Model {
  Function function;   // of one example; inputs: the parameters, and one data input or more
  Params params;       // a tensor for each input of the function except the data, by name
  std::string config;  // hyper-parameters as JSON; may be empty
  // What its reader could not keep or prove, as one line for display; not written to files.
  std::string note = {};
};

// The maximum total size in bytes of the values of one example, without the parameters but
// including the largest value inside a composition. It limits the memory that a small untrusted
// file can request.
inline constexpr std::uint64_t kMaxExampleBytes = std::uint64_t{1} << 30;

// Writes the tensors by name, with the metadata "limpid.format" ("1"), "limpid.function" (the text
// form), "limpid.config" unless it is empty, and "limpid.inputs" (the number of data inputs) unless
// it is 1. Atomic, as save_safetensors. Throws kInvalidArgument, kShape or kDtype if the parameters
// do not match the function, kUnsupported for what could not be loaded (an op that a program
// defines, more ops than a text may have, more than kMaxExampleBytes), and what save_safetensors
// throws.
void save_model(const std::filesystem::path& path, const Model& model);

// The bytes of that file. Throws as save_model, but for kIo.
std::vector<std::byte> serialize_model(const Model& model);

// That metadata, but for "limpid.inputs". Throws kUnsupported as save_model.
using Metadata = std::vector<std::pair<std::string, std::string>>;
Metadata model_metadata(const Function& function, const std::string& config);

// Reads a file of save_model, or a checkpoint of a run, whose model has the parameters of that
// step. The file is mapped and its tensors stay in the mapping (see map_file), so the process holds
// only the packed weights of a plan. Throws kFormat for a safetensors file that is not a model, or
// whose tensors do not match its function; kUnsupported for another limpid.format, or for more than
// kMaxExampleBytes; and what load_safetensors and parse_function throw.
Model load_model(const std::filesystem::path& path);

// The same from the bytes of such a file, which are copied. `where` names the source in errors.
Model parse_model(std::span<const std::byte> bytes, std::string_view where);

// The check of every Model that is read from a file. Throws kFormat if function and parameters do
// not match, kUnsupported for more than kMaxExampleBytes.
void check_model(const Model& model);

// Bytes of the values of one example, without the parameters, that are alive at once; above
// kMaxExampleBytes, it may be any larger number.
std::uint64_t example_bytes(const Model& model);

// The inputs that are not parameters, in the order of the function; types are of one example.
std::vector<Input> data_inputs(const Model& model);

// The data input of a model with one data input and one output. Throws kInvalidArgument, naming the
// inputs and outputs, for another model: run such a model on inputs by name.
const Input& data_input(const Model& model);

// The function with its parameters bound: its inputs are only the data.
Function bound(const Model& model);

// Runs the model on examples [N, ...] and returns its outputs [N, ...]. It processes at most
// `batch` examples at once, fewer if they would need more than kMaxExampleBytes. Neither the batch
// size nor the pool changes the bits. Throws kShape or kDtype if `examples` does not match the data
// input, kInvalidArgument for a batch below 1.
Tensor predict(const Model& model, const Tensor& examples, ThreadPool* pool = nullptr,
               std::int64_t batch = 256);

// Runs a model on inputs by name and returns all outputs, in the order of the function. An input
// has its type for one example, or [N, ...] for N examples; inputs of one example are shared by all
// N. Outputs are [N, ...], or of one example if no input has N. Throws kInvalidArgument if inputs
// are missing or unknown, naming all of them; kShape or kDtype, naming the input, if one does not
// match; kInvalidArgument for a batch below 1.
std::vector<Tensor> predict(const Model& model, const Params& inputs, ThreadPool* pool = nullptr,
                            std::int64_t batch = 256);

}  // namespace limpid
