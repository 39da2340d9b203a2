// Networks of recurrent layers: RecurrentLm, a language model that predicts the next token (Mikolov
// et al. 2010; Zaremba et al. 2014), and RecurrentNet, for sequences of numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/enum_names.h"
#include "limpid/function/function.h"
#include "limpid/nn/recurrent.h"

namespace limpid::nn {

// The layers of a network: LSTM or GRU.
enum class RecurrentKind : std::uint8_t { kLstm, kGru };

// Its names (core/enum_names.h): also values of --model.
constexpr EnumNames<2> enum_names(RecurrentKind) { return {"recurrent layer", {"lstm", "gru"}}; }
using limpid::name;

// Upper bounds: a configuration is untrusted input.
inline constexpr std::int64_t kMostRecurrentLayers = 1024;
inline constexpr std::int64_t kMostRecurrentSize = std::int64_t{1} << 24;  // of all other sizes

// The hyper-parameters of a language model: an embedding, recurrent layers, a linear layer to the
// vocabulary.
struct RecurrentLm {
  RecurrentKind kind = RecurrentKind::kLstm;
  std::int64_t vocabulary = 0;  // number of tokens
  std::int64_t context = 64;    // tokens of an example in training; texts may be longer
  std::int64_t layers = 2;
  std::int64_t width = 128;  // size of a token's vector, and hidden units of each layer
  bool tied = false;         // tied embeddings: the weight of the head is the embedding table
  // Dropout rate, in training only: of the embeddings and of each layer's result.
  double dropout = 0;

  // Throws kInvalidArgument for a size below 1 or above its bound, and a dropout outside of [0, 1).
  void check() const;

  // "embedding.weight" (vocabulary, width), normal, with standard deviation 1, tied 1 /
  // sqrt(width); "rnn.weight_ih_l0", ..., as LSTM or GRU has them; "head.weight" (vocabulary,
  // width), uniform in +-1 / sqrt(width), unless it is tied, and "head.bias", zeros.
  Params init(Key key) const;
  // The names and types of the parameters, without initialising them.
  std::vector<Input> parameters() const;

  // ids i32 or i64 (..., length) to logits (..., length, vocabulary), from a state of zeros. The
  // logits at a position depend on the ids up to that position. Dropout is active if a key (i64
  // scalar) is given. Throws kShape.
  Value operator()(const Args& params, Value ids, std::optional<Value> key = {}) const;

  // The model of one example, without dropout. Inputs: the parameters, then "tokens" i32[length]
  // (length 0 means the context). Output: "logits" f32[length, vocabulary].
  Function function(std::int64_t length = 0) const;

  // ---- with a state; limpid/nn/language_model.h runs it

  // The state of `sequences` texts: "h" f32 [layers, sequences, width], and "c" of an LSTM.
  std::vector<Input> states(std::int64_t sequences) const;
  // One pass over the next `length` tokens of each text. Inputs: the parameters, "tokens" i32
  // [sequences, length], the state before them. Outputs: "logits" f32 [sequences, vocabulary] after
  // the last of them, and the state. Zeros are the state before the first token. The logits have
  // the bits of function(), whatever the other texts and however the tokens were split into passes.
  // Throws kInvalidArgument for sizes below 1.
  Function stateful_function(std::int64_t sequences, std::int64_t length) const;

  // The hyper-parameters as JSON, and from JSON. from_config throws kParse, kInvalidArgument, or
  // kNotFound for an unknown name.
  std::string config() const;
  static RecurrentLm from_config(std::string_view json);
};

// The hyper-parameters of a network for sequences of numbers: recurrent layers, and a linear layer
// on the last step's result.
struct RecurrentNet {
  RecurrentKind kind = RecurrentKind::kLstm;
  std::int64_t steps = 0;     // of an example
  std::int64_t features = 0;  // numbers of a step
  std::int64_t outputs = 0;   // classes, or numbers to predict
  std::int64_t layers = 1;
  std::int64_t width = 64;  // hidden units of each layer
  double dropout = 0;       // rate of each layer's result, in training only

  // As that of RecurrentLm.
  void check() const;

  // "rnn.weight_ih_l0", ..., as LSTM or GRU has them, "head.weight" (outputs, width), uniform in
  // +-1 / sqrt(width), and "head.bias", zeros.
  Params init(Key key) const;
  // Nothing: the network has no state between steps of training.
  Params init_state() const { return {}; }
  // The names and types of the parameters, without initialising them.
  std::vector<Input> parameters() const;

  // The results of training().
  struct Training {
    Value logits;
    Args state;  // as it was
  };
  // The forward pass in training, with dropout.
  Training training(const Args& params, const Args& state, Value x, Value key) const;
  // x (T, features) or (N, T, features), of any number of steps T, to logits (outputs) or (N,
  // outputs). Dropout is active if a key (i64 scalar) is given. Throws kShape.
  Value operator()(const Args& params, Value x, std::optional<Value> key = {}) const;

  // The model of one example, without dropout. Inputs: the parameters, then "x" f32[steps,
  // features]. Output: "logits" f32[outputs].
  Function function() const;

  // The hyper-parameters as JSON, and from JSON. from_config throws as RecurrentLm's.
  std::string config() const;
  static RecurrentNet from_config(std::string_view json);
};

}  // namespace limpid::nn
