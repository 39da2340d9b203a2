// Language models as Hugging Face's transformers keep them: a folder with config.json and
// model.safetensors, or several such files that model.safetensors.index.json names. Leans on nn and
// model.h.
#pragma once

#include <cstdint>
#include <filesystem>

#include "limpid/formats/model.h"

namespace limpid {

// Whether a folder has a config.json that says a model_type.
bool is_huggingface(const std::filesystem::path& folder);

// A GPT-2 or Llama of such a folder (model_type), as an nn::Gpt with its parameters and its config.
// Every key of config.json that changes what the model computes is honoured, or else refused by
// name. The files are mapped (see map_file), and tensors that need no change stay there: those in
// f32, and matrices of products in bf16, as quantize() makes them. What else is in bf16, or in f16,
// is widened, and GPT-2's matrices, which it keeps as (in, out), turned: when they are read
// (Tensor::deferred), so that a plan that packs them holds no copy beside its own.
//
// The function takes `length` tokens; 0: the context, halved until one example takes no more than
// kMaxExampleBytes. Throws kIo; kFormat, naming the tensor, where one is missing, not the model's,
// or of another shape; kUnsupported for other models; kInvalidArgument for a length outside of
// 1 to the context. docs/files.md has the limits.
Model load_huggingface(const std::filesystem::path& folder, std::int64_t length = 0);

// Writes the parameters of a model that is an nn::Gpt, in f32, and a config.json, as a folder that
// transformers reads as a GPT-2 or a Llama. Makes the folder where there is none. Throws
// kUnsupported, naming the choice, for a Gpt that is neither; kInvalidArgument for another model;
// kIo.
void save_huggingface(const std::filesystem::path& folder, const Model& model);

}  // namespace limpid
