// LanguageModel: several sequences of tokens that a language model continues. They join and leave
// between any two steps; the logits of each are those of a forward pass over that sequence alone,
// bit for bit. Leans on compile.
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

namespace limpid::nn {

// A handle: copies share the model. Used, its sequences too, by one thread at a time.
class LanguageModel {
 public:
  class Sequence;

  // Limits and threads of a model.
  struct Options {
    std::int64_t sequences = 1;  // at a time, at most
    std::int64_t capacity = 0;   // tokens of a sequence, at most; 0: the context length of a
                                 // transformer, any number for a model of a window
    std::int64_t chunk = 64;     // tokens of a sequence that one step reads, at most
    ThreadPool* pool = nullptr;  // must outlive the model and its sequences
  };

  // Bytes that a model holds.
  struct Bytes {
    std::size_t weights = 0;     // the parameters
    std::size_t caches = 0;      // keys and values of all sequences, at full capacity
    std::size_t workspaces = 0;  // values of the passes that are compiled so far
  };

  // A transformer, with a cache of keys and values: a token that was read is not read again. Takes
  // the parameters of the net, some of them perhaps narrower, as quantize() leaves them. Throws
  // kInvalidArgument for sizes below 1 and a capacity above the context length; kNotFound, kShape
  // and kDtype for parameters of another net.
  LanguageModel(const Gpt& net, const Params& params, const Options& options);
  // A model that sees the last `context` tokens; before a shorter sequence it sees its first token
  // repeated. Throws as above.
  LanguageModel(const CharLm& net, const Params& params, const Options& options);
  // Such a model as a Function of one example: the parameters, then tokens i32[context], to logits
  // f32[vocabulary] of the next token. Throws as above, kShape for another Function.
  LanguageModel(const Function& window, const Params& params, const Options& options);

  std::int64_t vocabulary() const;  // tokens that there are, and logits
  std::int64_t capacity() const;    // of a sequence
  std::int64_t places() const;      // how many more sequences may join
  Bytes bytes() const;              // that the model holds now

  // A new sequence of these tokens, perhaps none. Throws kInvalidArgument if there is no place, and
  // what append() throws.
  Sequence join(std::span<const std::int32_t> prompt);

  // Reads tokens of every sequence that has some to read: all of them, or the next chunk of more.
  // The tokens of sequences that have one are read together.
  void step();

  // Compiles every pass that a step may need. Otherwise each is compiled when it is first needed,
  // and the parameters are kept for that beside the packed ones. Afterwards the steps of a
  // transformer allocate nothing.
  void prepare();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A sequence, which leaves its model when it ends or is assigned to; its memory is then another's.
// One that was moved from is no sequence: only to assign to it and to end it is allowed.
class LanguageModel::Sequence {
 public:
  Sequence(Sequence&& other) noexcept;
  Sequence& operator=(Sequence&& other) noexcept;
  ~Sequence();

  // All tokens so far, those not read yet included.
  std::span<const std::int32_t> tokens() const;
  std::int64_t length() const { return static_cast<std::int64_t>(tokens().size()); }

  // The next step reads them. Throws kInvalidArgument for a token that is not of the vocabulary,
  // and if the sequence would become longer than its capacity; then it stays as it was.
  void append(std::int32_t token) { append(std::span(&token, 1)); }
  void append(std::span<const std::int32_t> tokens);
  // Keeps the first `length` tokens. Throws kInvalidArgument if there are fewer.
  void truncate(std::int64_t length);

  // Whether there are tokens and steps have read them all.
  bool ready() const;
  // What follows the last token, f32 [vocabulary]; the span holds until the next step. Throws
  // kInvalidArgument unless ready().
  std::span<const float> logits() const;

 private:
  friend class LanguageModel;
  Sequence(std::shared_ptr<State> state, std::size_t index)
      : state_(std::move(state)), index_(index) {}
  void leave();

  std::shared_ptr<State> state_;
  std::size_t index_ = 0;
};

// What a model of a window sees of a sequence: its last tokens; before fewer tokens than the window
// has, the first one repeated. Throws kInvalidArgument for no tokens.
void fill_window(std::span<const std::int32_t> tokens, std::span<std::int32_t> window);

}  // namespace limpid::nn
