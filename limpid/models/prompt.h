// Prompts: a text as tokens for a language model, and the model at that sequence length. Depends on
// tokenizer.h, formats/model.h, nn/gpt.h and nn/recurrent_net.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "limpid/data/text/tokenizer.h"
#include "limpid/formats/model.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/recurrent_net.h"

namespace limpid {

// The tokenizer of a model. Throws kInvalidArgument, with the reason, if there is none.
Tokenizer tokenizer_of(const Model& model);

// The hyper-parameters of a transformer; nullopt for another model.
std::optional<nn::Gpt> gpt_of(const Model& model);

// The hyper-parameters of a recurrent language model; nullopt for another model.
std::optional<nn::RecurrentLm> recurrent_lm_of(const Model& model);

// The tokens of a text, after BOS if the model was trained with it. Throws kInvalidArgument for an
// empty text, and what encode() throws.
std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, std::string_view text);

// The bytes of the longest token, so that a text of n of them has at least n tokens.
std::size_t longest_token(const Tokenizer& tokenizer);

// What generation starts from without a prompt: BOS, else EOS, else a newline, else token 0.
std::vector<std::int32_t> start_tokens(const Tokenizer& tokenizer);

// A transformer or a recurrent language model for a sequence length of `tokens`; any other model
// unchanged. Throws kInvalidArgument above the context length of a transformer.
Model at_length(Model model, std::int64_t tokens);

// Tokens as the data input of the model, [1, context]. Of too many tokens it takes the last ones;
// too few are padded in front with the first one. Throws kDtype for a model that does not take
// tokens, kInvalidArgument for no tokens.
Tensor prompt_input(const Model& model, std::span<const std::int32_t> tokens);

}  // namespace limpid
