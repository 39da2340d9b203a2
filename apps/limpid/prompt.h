// A text as what a language model works on: its tokens, and the model for so many of them. Leans on
// data_config.h and nn/gpt.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "limpid/data/tokenizer.h"
#include "limpid/formats/model.h"
#include "limpid/nn/gpt.h"

namespace limpid::tool {

// What a model was trained with. Throws kInvalidArgument where that was no text.
Tokenizer tokenizer_of(const Model& model);

// The transformer that a model is; nothing where it is another model.
std::optional<nn::Gpt> gpt_of(const Model& model);

// The tokens of a text, behind the mark that the tokenizer has for where a text begins. Throws
// UsageError for an empty one, and what encode throws.
std::vector<std::int32_t> tokens_of_prompt(const Tokenizer& tokenizer, const std::string& text);

// A transformer for as many tokens as came; another model as it is. Throws UsageError where a
// transformer does not see as many.
Model at_length(Model model, std::int64_t tokens);

// The tokens as the model takes them, [1, ...]: the last ones of more. Throws UsageError for fewer.
Tensor prompt_input(const Model& model, const std::vector<std::int32_t>& tokens);

}  // namespace limpid::tool
