// TextPipeline: a tokenizer as a tokenizer.json of Hugging Face's tokenizers library describes it:
// normalizers, pre-tokenizers, a model, a template and decoders. Depends on core/json.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/json.h"

namespace limpid {

// Tokens of a text.
struct TextTokens {
  // The bytes [begin, end) of the text that a token was made of.
  struct Span {
    std::size_t begin = 0, end = 0;
    bool operator==(const Span&) const = default;
  };
  std::vector<std::int32_t> ids = {};
  std::vector<Span> spans = {};  // of each token, if they are asked for
};

// The tokens around two texts that are read as one, as a cross-encoder reads a question and an
// answer: `before`, the first text, `between`, the second text, `after`.
struct PairTemplate {
  std::vector<std::int32_t> before, between, after;
  // Index in `between` of the first token of type 1 (token_type_ids); between.size(): the second
  // text begins it. nullopt: all tokens have type 0.
  std::optional<std::size_t> second;
};

// How to encode a text.
struct EncodeOptions {
  // Whether the text of a special token becomes that token. Other added tokens always do.
  bool special = false;
  // Whether the tokens are those of the template: with BOS, [CLS], [SEP] and the like, whose spans
  // are empty.
  bool whole = false;
  bool spans = false;  // whether to find the bytes of each token
};

// The limits of a tokenizer.json.
inline constexpr std::size_t kMaxPipelineTokens = std::size_t{1} << 19;
inline constexpr std::size_t kMaxPipelineMerges = std::size_t{1} << 20;
inline constexpr JsonLimits kTokenizerJson{
    .bytes = std::size_t{96} << 20, .members = kMaxPipelineTokens, .values = 8'000'000};

// Immutable, thread-safe.
class TextPipeline {
 public:
  // The content of a tokenizer.json. Throws kFormat if it is malformed, kUnsupported, naming it,
  // for a step, an option or a pattern that is not supported.
  explicit TextPipeline(Json json);
  ~TextPipeline();
  TextPipeline(const TextPipeline&) = delete;
  TextPipeline& operator=(const TextPipeline&) = delete;

  // The tokenizer.json that it was made of.
  const Json& json() const;
  // One more than the largest number of a token. There may be numbers without a token.
  std::int64_t size() const;
  // The tokens that the template puts before a text, and after it.
  const std::vector<std::int32_t>& before() const;
  const std::vector<std::int32_t>& after() const;
  // nullopt: the template is of one text only.
  const std::optional<PairTemplate>& pair() const;
  // Whether a token is special; false for a number without a token.
  bool is_special(std::int32_t token) const;
  // The token as the file has it; empty for a number without a token.
  std::string_view token(std::int32_t token) const;

  // Throws kFormat for a text that is not UTF-8, kNotFound for a character without a token in a
  // model without an unknown token, kUnsupported if a pattern takes too many steps.
  TextTokens encode(std::string_view text, const EncodeOptions& options) const;

  // The bytes that the tokens add to a text. Throws kInvalidArgument for a number outside of
  // [0, size()).
  std::string decode(std::span<const std::int32_t> tokens) const;
  // The text of the tokens of a whole text, as the tokenizers library decodes it: without the space
  // that some tokenizers put before a text. Throws as decode().
  std::string text(std::span<const std::int32_t> tokens, bool skip_special = false) const;

 private:
  struct State;
  class Encoder;
  std::unique_ptr<const State> state_;
};

}  // namespace limpid
