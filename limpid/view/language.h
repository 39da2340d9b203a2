// Inside a language model: tokens, attention, residual stream, logit lens and next token. Depends
// on subject.h and nn/language_model.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "limpid/compile/thread_pool.h"
#include "limpid/nn/language_model.h"
#include "limpid/nn/sampling.h"
#include "limpid/view/numbers.h"
#include "limpid/view/subject.h"

namespace limpid::view {

// A token id and its text.
struct ShownToken {
  std::int32_t id = 0;
  std::string text = {};
};
// The tokens of a text. Throws kInvalidArgument for a model without a tokenizer.
std::vector<ShownToken> tokens_of(Session& session, const std::string& model,
                                  const std::string& text);
// The context length of a model; 0: unlimited.
std::int64_t context_of(const Model& model);

struct LanguageRequest {
  Subject subject = {};
  nn::Sampling sampling = {};
  std::int64_t most = 20;  // next tokens
  std::int64_t lens = 16;  // number of last tokens for the logit lens
};

struct NextToken {
  ShownToken token = {};
  Exact logit = {};
  double probability = 0;  // at the given temperature, over all tokens
  bool kept = false;       // not excluded by top_k and top_p
};

struct ShownBlock {
  std::string name = {};           // "embed_tokens", "layers.0"
  std::vector<double> norms = {};  // L2 norm of the residual stream after the block, for each token
  struct Guess {
    ShownToken token = {};
    double probability = 0;
  };
  // For the last tokens: the three most probable next tokens if the final norm and the output
  // projection were applied right after this block (logit lens, nostalgebraist 2020). These have
  // the edits of their parameters, not those of the values after the block.
  std::vector<std::vector<Guess>> lens = {};
};

struct ShownAttention {
  std::string name = {};  // "layers.0.self_attn"
  std::int64_t heads = 0;
  // For each head and query: the entropy of its attention weights, divided by that of equal weights
  // on all keys that it sees; 1 if it sees only one key.
  std::vector<std::vector<double>> entropy = {};
};

struct Cache {
  std::int64_t length = 0, capacity = 0, bytes = 0;
};

struct Language {
  std::vector<ShownToken> tokens = {};
  std::vector<NextToken> next = {};
  std::vector<ShownBlock> blocks = {};
  std::vector<ShownAttention> attention = {};
  Cache cache = {};
};

// Throws what compute() throws, and kInvalidArgument unless the model is a language model.
Language language(Session& session, const LanguageRequest& request);
Json to_json(const Language& language);

// The attention weights of a head, f32 [queries, keys]. Throws kNotFound for an unknown layer or
// head.
Tensor attention_of(Session& session, const Subject& subject, std::int64_t layer,
                    std::int64_t head);

// Caches the language model that was used last, with the tokens that it has read, so that the next
// token of a text costs one pass. Not thread-safe: lock `mutex`.
class Speaker {
 public:
  // The logits after these tokens, f32 [vocabulary]. The span is valid until the next call. Throws
  // kInvalidArgument for no tokens, and what language_model_of() and append() throw.
  std::span<const float> logits(const std::shared_ptr<const OpenModel>& open,
                                std::span<const std::int32_t> tokens, ThreadPool& pool);
  // Lock it while using the Speaker.
  std::mutex mutex = {};

 private:
  std::weak_ptr<const OpenModel> open_ = {};
  std::optional<nn::LanguageModel> model_ = {};
  std::optional<nn::LanguageModel::Sequence> sequence_ = {};
};

struct GenerateRequest {
  std::string model = {};
  std::vector<std::int32_t> tokens = {};  // tokens so far; empty: those of `text`
  std::string text = {};
  nn::Sampling sampling = {};
  std::uint64_t seed = 0;
  std::int64_t count = 1;
};
struct Generated {
  std::vector<ShownToken> tokens = {};
  std::size_t added = 0;  // number of new tokens at the end; fewer than requested after EOS
  std::string text = {};  // of all tokens but BOS
  Cache cache = {};
};
// Samples the next tokens. `drawn` is the number of tokens sampled before: the next one uses
// Key(seed).fold_in(drawn), as in `limpid generate`, so that one token at a time gives the same
// text. Throws kInvalidArgument at the end of the context.
Generated generate(Session& session, const GenerateRequest& request, std::int64_t drawn);

}  // namespace limpid::view
