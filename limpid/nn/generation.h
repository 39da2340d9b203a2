// Generation: a text that a LanguageModel draws, a token at a time. Leans on language_model.h and
// sampling.h.
#pragma once

#include <cstdint>
#include <span>

#include "limpid/core/key.h"
#include "limpid/nn/language_model.h"
#include "limpid/nn/sampling.h"

namespace limpid::nn {

// One of the sequences of a model, which other sequences do not change: the prompt, the options and
// the model's capacity determine every token.
class Generation {
 public:
  struct Options {
    Sampling sampling = {};
    Key key = Key(0);             // token i is drawn by key.fold_in(i)
    std::int64_t vocabulary = 0;  // draws one of the first tokens of the model's vocabulary, which
                                  // may be larger than the tokenizer's; 0: any
  };

  // Joins the model with the end of the prompt, as much as its capacity allows. Throws what join()
  // throws, and kInvalidArgument for an empty prompt or a vocabulary that is not within the
  // model's.
  Generation(LanguageModel& model, std::span<const std::int32_t> prompt, const Options& options);

  // Whether steps of the model have read all tokens.
  bool ready() const { return sequence_.ready(); }

  // From which the next token is drawn, f32 [vocabulary]; the span holds until the next step.
  // Throws kInvalidArgument unless ready().
  std::span<const float> logits() const;

  // Draws the next token and appends it. A full sequence drops its older half; the rest is read
  // again. Throws what sample() throws, and kInvalidArgument unless ready().
  std::int32_t draw();
  // Appends a token in place of a draw, which does not count as one. A full sequence as above.
  // Throws kInvalidArgument for a token that is not of the model's vocabulary.
  void append(std::int32_t token);

 private:
  LanguageModel::Sequence sequence_;
  Options options_;
  std::size_t capacity_;
  std::uint64_t drawn_ = 0;
};

}  // namespace limpid::nn
