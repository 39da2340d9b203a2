// generate: generates texts with a language model, reproducibly from a seed. Depends on prompt.h
// and nn/generation.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "limpid/compile/thread_pool.h"
#include "limpid/formats/model.h"
#include "limpid/nn/language_model.h"
#include "limpid/nn/sampling.h"

namespace limpid {

// A Model as a language model: a transformer with a KV cache, a recurrent network with its state,
// any other model with a window. Throws
// what the constructors of LanguageModel throw.
nn::LanguageModel language_model_of(const Model& model, const nn::LanguageModel::Options& options);

// Options of generate().
struct GenerateOptions {
  std::optional<std::string> prompt = {};  // default: start_tokens()
  std::int64_t tokens = 500;               // the most tokens of a text; EOS ends it earlier
  std::int64_t sequences = 1;  // number of texts; text i is the one that seed + i generates alone
  nn::Sampling sampling = {};
  std::uint64_t seed = 0;
  ThreadPool* pool = nullptr;
};

// Receives characters of text i, in UTF-8, as soon as they are complete. An invalid byte becomes
// U+FFFD.
using TextListener = std::function<void(std::size_t i, std::string_view characters)>;

// Generates all texts in one batch and passes the text after the prompt to the listener. A prompt
// longer than the context length keeps its last tokens. Move the model into the call, so that its
// parameters are in memory only once. Throws kInvalidArgument for a model without a tokenizer,
// kShape if its tokenizer has more tokens than there are logits, and what prompt_tokens(),
// language_model_of() and sample() throw.
void generate(Model model, const GenerateOptions& options, const TextListener& listener);

}  // namespace limpid
