// Adapters in the format of Hugging Face's PEFT: a folder with adapter_config.json and
// adapter_model.safetensors. Depends on nn/lora.h and formats/model.h.
//
//   save_model("tuned.safetensors", merge_adapter(open_model("llama/"), load_adapter("mine/")));
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "limpid/formats/model.h"

namespace limpid {

// The files of an adapter.
inline constexpr const char* kAdapterConfig = "adapter_config.json";
inline constexpr const char* kAdapterWeights = "adapter_model.safetensors";

// Low-rank adapters of a model's matrices.
struct Adapter {
  // Of each module M: "M.lora_A.weight" (rank, in) and "M.lora_B.weight" (out, rank); and whole
  // parameters that were trained, too (PEFT: modules_to_save).
  Params params = {};
  double alpha = 16;
  bool rank_stabilised = false;  // divides alpha by the square root of the rank (rsLoRA)
  std::vector<std::string> targets = {};
  std::string base = {};  // the path or name of the model that it is for
  std::string task = {};  // PEFT's name of the task, such as CAUSAL_LM; may be empty
};

// Throws kIo; kFormat for files that are no adapter, or a matrix without its other half;
// kUnsupported, naming the key, for what is not a sum of a weight and a product of two matrices
// (DoRA, biases, alpha_pattern).
Adapter load_adapter(const std::filesystem::path& folder);

// Writes what PEFT reads for a model whose modules have the names of Llama's. Creates the folder if
// necessary. Throws kIo.
void save_adapter(const std::filesystem::path& folder, const Adapter& adapter);

// The model with the adapter in its weights: nn::adapted_weight of each. Throws kInvalidArgument,
// naming it, for a module that the model does not have; kShape, kDtype if it does not fit.
Model merge_adapter(const Model& model, const Adapter& adapter);

}  // namespace limpid
