// Language models that others trained: weights and tokenizer of a folder, in one Model. Leans on
// formats/huggingface.h and tokenizer_files.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "limpid/formats/model.h"

namespace limpid {

// The model of load_huggingface, whose config has the folder's tokenizer under "data", where there
// is one, and its chat template under "chat"; one of a kind that is not supported is left out, and
// missing_tokenizer() says why. Throws what load_huggingface throws, load_tokenizer's other errors,
// and kFormat where there are more tokens than logits.
Model load_pretrained(const std::filesystem::path& folder, std::int64_t length = 0);

// Why a model has no tokenizer, in words.
std::string missing_tokenizer(const Model& model);

// Writes what save_huggingface writes, and the model's tokenizer where save_tokenizer can.
void save_pretrained(const std::filesystem::path& folder, const Model& model);
// What of the model such a folder has no place for, in words: "the tokenizer", "the names of the
// columns", "the names of the classes", "the chat template".
std::vector<std::string> lost_in_pretrained(const Model& model);

}  // namespace limpid
