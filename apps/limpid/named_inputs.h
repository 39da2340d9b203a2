// Inputs of a model by name, from NumPy's files, and all of its outputs. Depends on the library and
// model_file.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "apps/limpid/cli.h"
#include "apps/limpid/model_file.h"
#include "limpid/core/params.h"
#include "limpid/formats/model.h"

namespace limpid::tool {

// --input NAME=FILE.npy, once for each input.
Option add_input_option(Command& command, std::vector<std::string>& inputs);

// A model made ready for inputs, and these.
struct NamedRun {
  Model model;
  Params inputs;
};

// Reads "NAME=FILE.npy", one for each input of the model. Throws UsageError for another text and
// for a name that comes twice, and what load_npy and the model's reader throw.
NamedRun open_named(const ModelOptions& options, const std::vector<std::string>& inputs);

// The names of the outputs: "output", "output.1", ... for those without one.
std::vector<std::string> names_of_outputs(const Model& model);

// Each output with its type and its first elements; all of them in JSON.
void print_outputs(const Model& model, const std::vector<Tensor>& outputs, bool json);
// To NAME.npz under their names; to NAME.npy where there is one. Throws UsageError for several
// outputs in a .npy file.
void save_outputs(const Model& model, const std::vector<Tensor>& outputs,
                  const std::filesystem::path& path);

}  // namespace limpid::tool
