// Generation: generates a text with a LanguageModel, one token at a time. Depends on
// language_model.h and sampling.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/nn/language_model.h"
#include "limpid/nn/sampling.h"

namespace limpid::nn {

// One sequence of a model. The prompt, the options and the model's capacity determine every token;
// other sequences have no influence.
class Generation {
 public:
  struct Options {
    Sampling sampling = {};
    Key key = Key(0);  // token i is drawn by key.fold_in(i)
    // Changes of logits before a token is drawn. Numbers outside of the vocabulary have no effect.
    std::vector<std::pair<std::int32_t, double>> bias = {};  // added to the logits of tokens
    double presence = 0;    // subtracted from the logit of each token drawn before
    double frequency = 0;   // subtracted as often as the token was drawn
    double repetition = 1;  // a logit above 0 of a token of the prompt, or drawn, is divided by
                            // this, one below 0 multiplied (Keskar et al. 2019, section 4.1)
    std::int64_t vocabulary = 0;  // draw only from this many first tokens, as the model's
                                  // vocabulary may be larger than the tokenizer's; 0: from all
  };

  // Joins the model with the last tokens of the prompt, up to the model's capacity. Throws what
  // join() throws, and kInvalidArgument for an empty prompt or a vocabulary larger than the
  // model's.
  Generation(LanguageModel& model, std::span<const std::int32_t> prompt, const Options& options);

  // Whether the model has read all tokens, by LanguageModel::step().
  bool ready() const { return sequence_.ready(); }

  // The logits of the next token, f32 [vocabulary]. The span is valid until the next step. Throws
  // kInvalidArgument unless ready().
  std::span<const float> logits() const;

  // Draws the next token and appends it. A full sequence drops its older half; the rest is read
  // again. Throws what sample() throws, and kInvalidArgument unless ready().
  std::int32_t draw();
  // Draws the token that the next draw() appends. Several threads may call this at the same time,
  // for different sequences. Throws as draw().
  void draw_ahead();
  // Appends a given token instead of drawing one; it does not count as a draw. Handles a full
  // sequence as draw() does. Throws kInvalidArgument for a token outside of the model's vocabulary.
  // The sequence then stays as it is.
  void append(std::int32_t token);

 private:
  LanguageModel::Sequence sequence_;
  Options options_;
  std::size_t capacity_;
  std::uint64_t drawn_ = 0;
  std::optional<std::int32_t> ahead_ = {};
  std::map<std::int32_t, std::int64_t> counts_ = {};  // how often each token was drawn
  std::set<std::int32_t> seen_ = {};                  // drawn, or of the prompt
};

}  // namespace limpid::nn
