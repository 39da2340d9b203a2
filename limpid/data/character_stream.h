// Characters out of a stream of bytes: the tokens of a language model may end inside of one.
#pragma once

#include <string>
#include <string_view>

namespace limpid {

// Takes bytes as they come and returns whole characters.
class CharacterStream {
 public:
  // The characters that are complete with these further bytes, as UTF-8; a byte that is no part of
  // one becomes U+FFFD.
  std::string take(std::string_view bytes);
  // What is left at the end: U+FFFD for every byte of an incomplete character.
  std::string rest();

 private:
  std::string pending_;
};

}  // namespace limpid
