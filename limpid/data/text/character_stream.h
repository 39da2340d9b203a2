// UTF-8 characters from a stream of bytes: a token of a language model may end inside a character.
#pragma once

#include <string>
#include <string_view>

namespace limpid {

// Takes bytes piece by piece and returns whole characters.
class CharacterStream {
 public:
  // The characters that these bytes complete, as UTF-8. An invalid byte becomes U+FFFD.
  std::string take(std::string_view bytes);
  // The rest at the end of the stream: U+FFFD for every byte of an incomplete character.
  std::string rest();

 private:
  std::string pending_;
};

}  // namespace limpid
