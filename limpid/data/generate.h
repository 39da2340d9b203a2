// generate: texts that a language model continues, reproducibly from a seed. Leans on prompt.h and
// nn/generation.h.
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

// The language model that a Model is: a transformer with a cache, any other model with a window.
// Throws what the constructors of LanguageModel throw.
nn::LanguageModel language_model_of(const Model& model, const nn::LanguageModel::Options& options);

// What generate() writes, and how it draws.
struct GenerateOptions {
  std::optional<std::string> prompt = {};  // default: start_tokens()
  std::int64_t tokens = 500;               // of each text, at most: EOS ends it
  std::int64_t sequences = 1;              // texts; text i is that of seed + i alone
  nn::Sampling sampling = {};
  std::uint64_t seed = 0;
  ThreadPool* pool = nullptr;
};

// Characters of text i, in UTF-8, as soon as they are complete. A byte that is no part of one comes
// as U+FFFD.
using TextListener = std::function<void(std::size_t i, std::string_view characters)>;

// Generates all texts at once and tells the listener what follows the prompt. Of a prompt longer
// than the context the end counts. The model is taken apart to be used: move it here, and its
// parameters are in memory once. Throws kInvalidArgument for a model without a tokenizer, kShape if
// its tokenizer has more tokens than there are logits, and what prompt_tokens(),
// language_model_of() and sample() throw.
void generate(Model model, const GenerateOptions& options, const TextListener& listener);

}  // namespace limpid
