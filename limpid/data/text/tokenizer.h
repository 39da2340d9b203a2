// Tokenizer: converts text to token ids and back. Depends on text.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/core/tensor.h"
#include "limpid/data/text/text.h"
#include "limpid/data/text/text_pipeline.h"

namespace limpid {

class BytePair;
struct BytePairRules;

// BOS and EOS.
struct TokenizerMarks {
  std::optional<std::int32_t> begin, end;
  std::vector<std::int32_t> more_ends = {};  // further tokens that end a text

  bool operator==(const TokenizerMarks&) const = default;
};

// Immutable and cheap to copy. Thread-safe.
class Tokenizer {
 public:
  // "characters": the tokens are those of the vocabulary.
  explicit Tokenizer(Vocabulary vocabulary) : scheme_(std::move(vocabulary)) {}
  // "bytes": 256 tokens, one for each byte value. It takes any bytes, UTF-8 or not.
  static Tokenizer bytes() { return Tokenizer(Bytes{}); }
  // "byte_pair": byte-pair encoding, see byte_pair.h. It takes any bytes, too. Marks are BOS and
  // EOS. Throws what BytePair throws, and kFormat for a mark that is not a token.
  using Marks = TokenizerMarks;
  static Tokenizer byte_pair(BytePairRules rules, Marks marks = {});

  // "tokenizer_json": what a tokenizer.json describes, see text_pipeline.h. Its texts are UTF-8.
  // BOS is the first token that its template puts before a text. Throws what TextPipeline throws,
  // and kFormat for an EOS that is not a token.
  static Tokenizer tokenizer_json(Json file, std::optional<std::int32_t> end = {},
                                  std::vector<std::int32_t> more_ends = {});

  // The kind: "characters", "bytes", "byte_pair" or "tokenizer_json".
  std::string_view kind() const;
  // The number of tokens; ids are in [0, size()).
  std::int64_t size() const;

  // The rules of "byte_pair"; nullptr for another kind.
  const BytePairRules* byte_pair_rules() const;

  // The pipeline of "tokenizer_json"; nullptr for another kind.
  const TextPipeline* pipeline() const;

  // BOS and EOS, if the model was trained with them. encode() never produces them.
  const Marks& marks() const { return marks_; }
  // Whether a token ends a text: EOS, or one of more_ends.
  bool ends_text(std::int32_t token) const;

  // The token ids of a text, i32 [n]; decode() gives the text back. Throws kNotFound, naming the
  // line, for a character without a token; kFormat if the kind needs UTF-8 and the text is not
  // UTF-8.
  Tensor encode(std::string_view text) const;
  // The same, with special tokens, the template's tokens and the bytes of each token, as the
  // options say. The template of another kind than "tokenizer_json" is BOS. Throws as encode().
  TextTokens tokens(std::string_view text, const EncodeOptions& options) const;
  // The bytes that these tokens add to a text; a single token may be a part of a UTF-8 character.
  // Throws kInvalidArgument for an id outside of [0, size()).
  std::string decode(std::span<const std::int32_t> tokens) const;
  // The text of the tokens of a whole text, see TextPipeline::text. Throws as decode().
  std::string text(std::span<const std::int32_t> tokens, bool skip_special = false) const;

  // To a JSON object, and from one. from_config throws kFormat for invalid JSON.
  Json config() const;
  static Tokenizer from_config(const JsonView& json);

  // Whether tokens and marks are equal.
  bool operator==(const Tokenizer& other) const;

 private:
  struct Bytes {
    bool operator==(const Bytes&) const = default;
  };
  using Scheme = std::variant<Vocabulary, Bytes, std::shared_ptr<const BytePair>,
                              std::shared_ptr<const TextPipeline>>;

  explicit Tokenizer(Scheme scheme, Marks marks = {}) : scheme_(std::move(scheme)), marks_(marks) {}

  Scheme scheme_;
  Marks marks_;
};

}  // namespace limpid
