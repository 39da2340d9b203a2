// Language models in the format of Hugging Face's transformers: a folder with config.json and
// model.safetensors, or several weight files listed in model.safetensors.index.json. Depends on nn
// and model.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "limpid/formats/model.h"

namespace limpid {

// Whether a folder has a config.json with a model_type.
bool is_huggingface(const std::filesystem::path& folder);

// Reads a model of one of the families of docs/language.md (model_type: GPT-2, Llama and those
// since) as an nn::Gpt with its parameters and config. Every key of config.json that affects the
// computation is respected, or refused by name. The files are mapped (see map_file). f32 tensors,
// and bf16 matrices of products as quantize() makes them, are used directly. Other bf16 and all f16
// tensors are widened to f32, and GPT-2's matrices, stored as (in, out), are transposed; this
// happens on the first read (Tensor::deferred), so that a plan that packs them keeps no second
// copy.
//
// The function takes `length` tokens; 0: the context length, halved until one example needs at most
// kMaxExampleBytes. Throws kIo; kFormat, naming the tensor, if one is missing, unknown or of
// another shape; kUnsupported for other models; kInvalidArgument for a length outside of 1 to the
// context length. docs/files.md gives the limits.
Model load_huggingface(const std::filesystem::path& folder, std::int64_t length = 0);

// Writes the parameters of an nn::Gpt in f32 and a config.json, which transformers reads as a GPT-2
// or a Llama; `eos_token` becomes its eos_token_id. Creates the folder if necessary. Throws
// kUnsupported, naming the option, for a Gpt that is neither; kInvalidArgument for another model;
// kIo.
void save_huggingface(const std::filesystem::path& folder, const Model& model,
                      std::optional<std::int32_t> eos_token = {});

}  // namespace limpid
