// The models of a tokenizer.json: BPE, WordPiece, Unigram and WordLevel, which turn a word into
// tokens. Depends on pieces.h; included only by sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "limpid/core/json.h"
#include "limpid/data/text/detail/pieces.h"

namespace limpid::detail {

// Tokens, and the bytes of the original text that each was made of, if they are tracked.
struct FoundTokens {
  std::vector<std::int32_t> ids = {};
  std::vector<Origin> origins = {};
  bool tracks = false;

  // A token of the bytes [begin, end) of a piece.
  void add(std::int32_t id, const Piece& piece, std::size_t begin, std::size_t end) {
    ids.push_back(id);
    if (tracks) origins.push_back(piece.origin(begin, end));
  }
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the tokens of a word, which is not empty.
  virtual void encode(const Piece& word, FoundTokens& to) const = 0;

  // The number of a token, or -1.
  std::int32_t find(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? -1 : found->second;
  }
  const std::unordered_map<std::string_view, std::int32_t>& ids() const { return ids_; }
  // Whether words may be remembered: whether encode() takes more time than to find a word.
  virtual bool is_slow() const { return true; }

 protected:
  // The text must be one that lives as long as the model.
  std::unordered_map<std::string_view, std::int32_t> ids_;
};

// The "model" of a tokenizer.json, which must outlive the model. Texts of special tokens that its
// words would have are not found in words: they are tokens before, or text. Throws kFormat if it is
// malformed, kUnsupported, naming the type or the option, for another one.
std::unique_ptr<TokenModel> token_model_of(const JsonView& json,
                                           const std::set<std::string, std::less<>>& special);

}  // namespace limpid::detail
