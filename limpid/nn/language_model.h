// LanguageModel: runs a language model on several token sequences at once. Sequences join and leave
// between any two steps. The logits of each have the bits of a forward pass over that sequence
// alone. Depends on compile.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "limpid/compile/thread_pool.h"
#include "limpid/core/params.h"
#include "limpid/function/function.h"
#include "limpid/nn/char_lm.h"
#include "limpid/nn/gpt.h"
#include "limpid/nn/recurrent_net.h"

namespace limpid::nn {

// A handle: copies share the model. Not thread-safe: only one thread at a time may use the model
// and its sequences, except that several may call const functions.
class LanguageModel {
 public:
  class Sequence;

  // Limits and threads of a model.
  struct Options {
    std::int64_t sequences = 1;  // the most sequences at a time
    std::int64_t capacity = 0;   // the most tokens of a sequence; 0: the context length of a
                                 // transformer, unlimited for a recurrent or window model
    std::int64_t chunk = 64;     // the most tokens of a sequence that one step reads
    ThreadPool* pool = nullptr;  // must outlive the model and its sequences
  };

  // Memory of a model, in bytes.
  struct Bytes {
    std::size_t weights = 0;     // the parameters
    std::size_t caches = 0;      // KV caches of all sequences, at full capacity, or their states
    std::size_t workspaces = 0;  // workspaces of the passes compiled so far
  };

  // A transformer with a KV cache: each token is read once. Takes the parameters of the net, also
  // quantised ones (see quantize()). Throws kInvalidArgument for sizes below 1 and a capacity above
  // the context length; kNotFound, kShape or kDtype if the parameters do not match the net.
  LanguageModel(const Gpt& net, const Params& params, const Options& options);
  // A recurrent network, whose state is the cache: each token is read once, however long the
  // sequence. After truncate() it is read again from its beginning. Throws as above.
  LanguageModel(const RecurrentLm& net, const Params& params, const Options& options);
  // A window model: it sees the last `context` tokens. A shorter sequence is padded in front with
  // its first token. Throws as above.
  LanguageModel(const CharLm& net, const Params& params, const Options& options);
  // A window model given as a Function of one example. Inputs: the parameters, then tokens
  // i32[context]. Output: the logits of the next token, f32[vocabulary]. Throws as above, and
  // kShape for a Function of another form.
  LanguageModel(const Function& window, const Params& params, const Options& options);

  std::int64_t vocabulary() const;  // number of tokens, and of logits
  std::int64_t capacity() const;    // the most tokens of a sequence
  std::int64_t places() const;      // number of sequences that may still join
  Bytes bytes() const;              // current memory use

  // Adds a sequence with these tokens, which may be none. Throws kInvalidArgument if places() is 0,
  // and what append() throws.
  Sequence join(std::span<const std::int32_t> prompt);

  // Reads the unread tokens of every sequence, at most one chunk of each. Sequences with a single
  // unread token are read in one batch.
  void step();

  // Compiles every pass that a step may need and commits the memory of the caches; after that, the
  // steps of a transformer or a recurrent network allocate nothing. Without this call each pass is
  // compiled when it is first needed, and the original parameters stay in memory beside the packed
  // ones.
  void prepare();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A sequence of a model. Its destructor, and an assignment to it, make it leave the model and free
// its place. After a move, a Sequence may only be assigned to or destroyed.
class LanguageModel::Sequence {
 public:
  Sequence(Sequence&& other) noexcept;
  Sequence& operator=(Sequence&& other) noexcept;
  ~Sequence();

  // All tokens so far, including unread ones.
  std::span<const std::int32_t> tokens() const;
  std::int64_t length() const { return static_cast<std::int64_t>(tokens().size()); }

  // Appends tokens, to be read by the next steps. Throws kInvalidArgument for a token outside of
  // the vocabulary, and if the sequence would exceed its capacity; then the sequence is unchanged.
  void append(std::int32_t token) { append(std::span(&token, 1)); }
  void append(std::span<const std::int32_t> tokens);
  // Truncates the sequence to its first `length` tokens. Throws kInvalidArgument if there are
  // fewer.
  void truncate(std::int64_t length);

  // Whether there are tokens, and all have been read.
  bool ready() const;
  // The logits after the last token, f32 [vocabulary]. The span is valid until the next step.
  // Throws kInvalidArgument unless ready().
  std::span<const float> logits() const;

 private:
  friend class LanguageModel;
  Sequence(std::shared_ptr<State> state, std::size_t index)
      : state_(std::move(state)), index_(index) {}
  void leave();

  std::shared_ptr<State> state_;
  std::size_t index_ = 0;
};

// Fills `window` with the last tokens of a sequence. A shorter sequence is padded in front with its
// first token. Throws kInvalidArgument for no tokens.
void fill_window(std::span<const std::int32_t> tokens, std::span<std::int32_t> window);

}  // namespace limpid::nn
