// CharLm: the next token from those before it, by an embedding and an Mlp (Bengio et al. 2003, A
// Neural Probabilistic Language Model, section 2, without its direct connections).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "limpid/function/function.h"
#include "limpid/nn/mlp.h"

namespace limpid::nn {

// The hyper-parameters.
struct CharLm {
  std::int64_t vocabulary = 0;  // tokens that there are
  std::int64_t context = 8;     // tokens that it sees
  std::int64_t embedding = 32;  // numbers for each of them
  Mlp mlp = {};                 // from context * embedding to vocabulary

  // "embedding.weight" (vocabulary, embedding), then the Mlp's own. Throws kInvalidArgument for a
  // size below 1, for an Mlp whose first or last size does not fit, and for one with batch norm.
  Params init(Key key) const;

  // ids i32 or i64 (..., context) to logits (..., vocabulary). With a key (i64 scalar) dropout is
  // at work.
  Value operator()(const Args& params, Value ids, std::optional<Value> key = {}) const;

  // The model of one example, without dropout: the parameters, then "tokens" i32[context], to
  // "logits".
  Function function() const;

  // The hyper-parameters as JSON, and back. from_config throws kParse or kInvalidArgument.
  std::string config() const;
  static CharLm from_config(std::string_view json);
};

}  // namespace limpid::nn
