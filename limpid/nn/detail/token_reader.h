// TokenReader: reads the tokens of a LanguageModel's sequences, with KV caches, with the state of a
// recurrent network, or with a window.
// Depends on language_model.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "limpid/nn/language_model.h"

namespace limpid::nn::detail {

// The model's record of a sequence.
struct TokenSequence {
  bool joined = false;
  std::size_t place = 0;  // index in the caches
  std::vector<std::int32_t> tokens;
  std::size_t read = 0;       // number of tokens read, from the first
  std::vector<float> logits;  // f32 [vocabulary]
  std::size_t follows = 0;    // the logits are those after this many tokens; 0: no logits

  std::size_t unread() const { return tokens.size() - read; }
};

class TokenReader {
 public:
  virtual ~TokenReader() = default;

  virtual std::int64_t vocabulary() const = 0;
  // Reads the next tokens, at most a chunk, of every sequence that has unread ones. `sequences` is
  // in the order of places; slots without a sequence have nothing to read.
  virtual void read(std::span<TokenSequence* const> sequences) = 0;
  // Moves the cached state of `length` tokens from one place to another.
  virtual void move(std::size_t from, std::size_t to, std::size_t length) = 0;
  virtual void prepare() = 0;
  virtual LanguageModel::Bytes bytes() const = 0;
};

// Require sizes of at least 1 and a capacity in the options.
std::unique_ptr<TokenReader> cached_reader(const Gpt& net, const Params& params,
                                           const LanguageModel::Options& options);
std::unique_ptr<TokenReader> recurrent_reader(const RecurrentLm& net, const Params& params,
                                              const LanguageModel::Options& options);
std::unique_ptr<TokenReader> window_reader(const Function& window, const Params& params,
                                           const LanguageModel::Options& options);

}  // namespace limpid::nn::detail
