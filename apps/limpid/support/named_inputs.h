// Inputs of a model by name, from NumPy files, and all of its outputs. Depends on the library and
// model_file.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/limpid/support/cli.h"
#include "apps/limpid/support/model_file.h"
#include "limpid/core/params.h"
#include "limpid/formats/model.h"

namespace limpid::tool {

// Adds --input NAME=FILE.npy, once for each input.
Option add_input_option(Command& command, std::vector<std::string>& inputs);

// A model prepared for inputs, and the inputs.
struct NamedRun {
  Model model;
  Params inputs;
};

// Reads "NAME=FILE.npy" for each input of the model. Throws UsageError for other text and for a
// repeated name, and what load_npy and the model's reader throw.
NamedRun open_named(const ModelOptions& options, const std::vector<std::string>& inputs);

// The names of the outputs; those without a name are "output", "output.1", ...
std::vector<std::string> names_of_outputs(const Model& model);

// The first `most` elements of a tensor of any dtype, "..." if there are more; in JSON all
// elements.
std::string elements_text(const Tensor& tensor, std::size_t most);
Json elements_json(const Tensor& tensor);

// Prints each output with its type and first elements; in JSON all elements.
void print_outputs(const Model& model, const std::vector<Tensor>& outputs, bool json);
// Saves outputs by name to NAME.npz, or a single output to NAME.npy. Throws UsageError for several
// outputs in a .npy file.
void save_outputs(const Model& model, const std::vector<Tensor>& outputs,
                  const std::filesystem::path& path);

}  // namespace limpid::tool
