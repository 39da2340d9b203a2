// What a language model does with a text: tokens, attention, the residual stream and what each
// block would answer, the next token. Leans on subject.h and nn/language_model.h.
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

// A token, and the bytes that it stands for.
struct ShownToken {
  std::int32_t id = 0;
  std::string text = {};
};
// The tokens of a text. Throws kInvalidArgument for a model without a tokenizer.
std::vector<ShownToken> tokens_of(Session& session, const std::string& model,
                                  const std::string& text);
// How many tokens a model reads, at most; 0: any number.
std::int64_t context_of(const Model& model);

struct LanguageRequest {
  Subject subject = {};
  nn::Sampling sampling = {};
  std::int64_t most = 20;  // next tokens
  std::int64_t lens = 16;  // last tokens for which each block is asked
};

struct NextToken {
  ShownToken token = {};
  Exact logit = {};
  double probability = 0;  // at the temperature, among all tokens
  bool kept = false;       // by top_k and top_p
};

struct ShownBlock {
  std::string name = {};           // "embed_tokens", "layers.0"
  std::vector<double> norms = {};  // L2, of the residual stream after the block, for each token
  struct Guess {
    ShownToken token = {};
    double probability = 0;
  };
  // Of the last tokens: the three most probable next tokens, if the final norm and the head came
  // right after this block (nostalgebraist 2020, logit lens).
  std::vector<std::vector<Guess>> lens = {};
};

struct ShownAttention {
  std::string name = {};  // "layers.0.self_attn"
  std::int64_t heads = 0;
  // Of each head and query: over that of equal weights on all keys that the query sees; 1 where it
  // sees one.
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

// Throws what compute() throws, kInvalidArgument for a model that does not continue a text.
Language language(Session& session, const LanguageRequest& request);
Json to_json(const Language& language);

// What the queries of a head take of each key, f32 [queries, keys]. Throws kNotFound for an
// attention or a head that there is not.
Tensor attention_of(Session& session, const Subject& subject, std::int64_t layer,
                    std::int64_t head);

// The language model that generated last, with what it has read: the next token of a text costs one
// pass then. Used by one thread at a time.
class Speaker {
 public:
  // What follows these tokens, f32 [vocabulary]; the span holds until the next call. Throws
  // kInvalidArgument for no tokens, and what language_model_of() and append() throw.
  std::span<const float> logits(const std::shared_ptr<const OpenModel>& open,
                                std::span<const std::int32_t> tokens, ThreadPool& pool);
  // Held while it is used.
  std::mutex mutex = {};

 private:
  std::weak_ptr<const OpenModel> open_ = {};
  std::optional<nn::LanguageModel> model_ = {};
  std::optional<nn::LanguageModel::Sequence> sequence_ = {};
};

struct GenerateRequest {
  std::string model = {};
  std::vector<std::int32_t> tokens = {};  // so far; empty: those of the text
  std::string text = {};
  nn::Sampling sampling = {};
  std::uint64_t seed = 0;
  std::int64_t count = 1;
};
struct Generated {
  std::vector<ShownToken> tokens = {};
  std::size_t added = 0;  // at the end
  Cache cache = {};
};
// Draws the next tokens. `drawn` counts those of `tokens` that were drawn before: the next is drawn
// by Key(seed).fold_in(drawn), as `limpid generate` does, so that one token at a time makes the
// same text. Throws kInvalidArgument at the end of the context.
Generated generate(Session& session, const GenerateRequest& request, std::int64_t drawn);

}  // namespace limpid::view
