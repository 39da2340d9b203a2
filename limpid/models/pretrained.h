// Pretrained language models: the weights and the tokenizer of a Hugging Face folder, as one Model.
// Depends on formats/huggingface.h and tokenizer_files.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "limpid/formats/model.h"

namespace limpid {

// The model of load_huggingface. Its config holds the folder's tokenizer under "data" and its chat
// template under "chat", if there are any. An unsupported tokenizer is left out;
// missing_tokenizer() gives the reason. Throws what load_huggingface and load_tokenizer throw
// (except kUnsupported of the tokenizer), and kFormat if there are more tokens than logits.
Model load_pretrained(const std::filesystem::path& folder, std::int64_t length = 0);

// The reason why a model has no tokenizer, for messages.
std::string missing_tokenizer(const Model& model);

// Writes the model by save_huggingface, and its tokenizer if save_tokenizer supports it. Throws
// what they throw, and kInvalidArgument, before it writes, for a folder with another tokenizer that
// load_pretrained would read.
void save_pretrained(const std::filesystem::path& folder, const Model& model);
// The parts of the model that such a folder cannot store, for messages: "the tokenizer", "the
// column names", "the class names", "the chat template".
std::vector<std::string> lost_in_pretrained(const Model& model);

}  // namespace limpid
