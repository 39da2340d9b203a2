// Tokenizer: a text as tokens, the numbers that a language model reads and writes, and back. Leans
// on text.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "limpid/core/json.h"
#include "limpid/core/tensor.h"
#include "limpid/data/text.h"

namespace limpid {

class BytePair;
struct BytePairRules;

// A value: copies are cheap, and many threads may use one at once.
class Tokenizer {
 public:
  // "characters": the tokens are those of the vocabulary.
  explicit Tokenizer(Vocabulary vocabulary) : scheme_(std::move(vocabulary)) {}
  // "bytes": 256 tokens, each the value of a byte. It takes any bytes, UTF-8 or not.
  static Tokenizer bytes() { return Tokenizer(Bytes{}); }
  // "byte_pair": the tokens of byte_pair.h. It takes any bytes, too. Throws what BytePair throws,
  // and kFormat for a mark that is no token.
  struct Marks {
    std::optional<std::int32_t> begin, end;
    bool operator==(const Marks&) const = default;
  };
  static Tokenizer byte_pair(BytePairRules rules, Marks marks = {});

  // The name of the kind, as above.
  std::string_view kind() const;
  // How many tokens there are: their numbers are [0, size()).
  std::int64_t size() const;

  // The rules of a "byte_pair"; nullptr of another kind.
  const BytePairRules* byte_pair_rules() const;

  // The tokens that stand, where the model was trained so, before every text and behind it; the
  // text itself does not become them.
  const Marks& marks() const { return marks_; }

  // The tokens of a text, i32 [n]; joining what the tokens decode to gives the text back. Throws
  // kNotFound, naming the line, for what has no token, kFormat where the kind needs UTF-8 and the
  // text is none.
  Tensor encode(std::string_view text) const;
  // Back: bytes, which for a single token may be a part of a UTF-8 character. Throws
  // kInvalidArgument for a number outside of [0, size()).
  std::string decode(std::span<const std::int32_t> tokens) const;

  // As a JSON object, and back. from_config throws kFormat for JSON that no tokenizer has.
  Json config() const;
  static Tokenizer from_config(const JsonView& json);

  // The same tokens and marks.
  bool operator==(const Tokenizer& other) const;

 private:
  struct Bytes {
    bool operator==(const Bytes&) const = default;
  };
  using Scheme = std::variant<Vocabulary, Bytes, std::shared_ptr<const BytePair>>;

  explicit Tokenizer(Scheme scheme, Marks marks = {}) : scheme_(std::move(scheme)), marks_(marks) {}

  Scheme scheme_;
  Marks marks_;
};

}  // namespace limpid
