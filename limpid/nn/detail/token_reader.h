// TokenReader: how a LanguageModel reads the tokens of its sequences, by caches of keys and values
// or by a window. Leans on language_model.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "limpid/nn/language_model.h"

namespace limpid::nn::detail {

// A sequence as its model keeps it.
struct TokenSequence {
  bool joined = false;
  std::size_t place = 0;  // in the caches
  std::vector<std::int32_t> tokens;
  std::size_t read = 0;       // how many of them were read, from the first
  std::vector<float> logits;  // f32 [vocabulary]
  std::size_t follows = 0;    // the logits follow as many tokens; 0: there are none

  std::size_t unread() const { return tokens.size() - read; }
};

class TokenReader {
 public:
  virtual ~TokenReader() = default;

  virtual std::int64_t vocabulary() const = 0;
  // Reads the next tokens, at most a chunk, of every sequence that has unread ones. Sequences come
  // in the order of their places; those that have not joined have nothing to read.
  virtual void read(std::span<TokenSequence* const> sequences) = 0;
  // What was read of the sequence at one place now belongs to another place.
  virtual void move(std::size_t from, std::size_t to, std::size_t length) = 0;
  virtual void prepare() = 0;
  virtual LanguageModel::Bytes bytes() const = 0;
};

// Sizes of the options are at least 1, and a capacity is given.
std::unique_ptr<TokenReader> cached_reader(const Gpt& net, const Params& params,
                                           const LanguageModel::Options& options);
std::unique_ptr<TokenReader> window_reader(const Function& window, const Params& params,
                                           const LanguageModel::Options& options);

}  // namespace limpid::nn::detail
