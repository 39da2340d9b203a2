// CharLm: a language model that predicts the next token by an embedding and an Mlp (Bengio et al.
// 2003, A Neural Probabilistic Language Model, section 2, without the direct connections).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "limpid/function/function.h"
#include "limpid/nn/mlp.h"

namespace limpid::nn {

// The hyper-parameters.
struct CharLm {
  std::int64_t vocabulary = 0;  // number of tokens
  std::int64_t context = 8;     // context length in tokens
  std::int64_t embedding = 32;  // embedding dimension
  Mlp mlp = {};                 // from context * embedding to vocabulary

  // "embedding.weight" (vocabulary, embedding), then the Mlp's own. Throws kInvalidArgument for a
  // size below 1, for an Mlp with a wrong first or last size, and for an Mlp with batch norm.
  Params init(Key key) const;

  // ids i32 or i64 (..., context) to logits (..., vocabulary). Dropout is active if a key (i64
  // scalar) is given. Throws kShape.
  Value operator()(const Args& params, Value ids, std::optional<Value> key = {}) const;

  // The model of one example, without dropout. Inputs: the parameters, then "tokens" i32[context].
  // Output: "logits" f32[vocabulary].
  Function function() const;

  // The hyper-parameters as JSON, and from JSON. from_config throws kParse,
  // kInvalidArgument, or kNotFound for an unknown name.
  std::string config() const;
  static CharLm from_config(std::string_view json);
};

}  // namespace limpid::nn
