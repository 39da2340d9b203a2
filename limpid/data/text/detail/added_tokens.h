// Added tokens: texts that are tokens before anything else is done to a text. Depends on
// byte_trie.h; included only by sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/data/text/detail/byte_trie.h"

namespace limpid::detail {

struct AddedToken {
  std::int32_t id = 0;
  std::string text = {};
  bool special = false;
  bool single_word = false;  // only between characters that are not of words
  bool left = false;         // with the white space before it
  bool right = false;        // with the white space after it
  bool normalized = false;   // found after the normalizers
};

class AddedTokens {
 public:
  // Tokens whose texts are not empty.
  explicit AddedTokens(std::vector<AddedToken> tokens = {});

  // Receives the parts of a text in order: an added token, or the text between two of them.
  using Sink =
      std::function<void(std::optional<std::int32_t> token, std::size_t begin, std::size_t end)>;
  // Of several tokens at a place, the longest is taken. Without `special`, special tokens are
  // text.
  void split(std::string_view text, bool special, const Sink& sink) const;

 private:
  std::vector<AddedToken> tokens_;
  ByteTrie trie_;
};

}  // namespace limpid::detail
