#include "limpid/data/text/character_stream.h"

#include <algorithm>
#include <optional>

#include "limpid/core/utf8.h"

namespace limpid {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Whether these bytes are an incomplete character that further bytes may complete.
bool may_become_one(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  return first >= 0xC2 && first <= 0xF4 && text.size() < bytes &&
         std::all_of(text.begin() + 1, text.end(),
                     [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; });
}

}  // namespace

std::string CharacterStream::take(std::string_view bytes) {
  pending_ += bytes;
  std::string_view left = pending_;
  std::string complete;
  while (!left.empty()) {
    if (const std::optional<CodePoint> point = first_code_point(left)) {
      complete += left.substr(0, point->bytes);
      left.remove_prefix(point->bytes);
    } else if (may_become_one(left)) {
      break;
    } else {
      complete += kReplacement;
      left.remove_prefix(1);
    }
  }
  pending_ = std::string(left);
  return complete;
}

std::string CharacterStream::rest() {
  std::string text;
  for (std::size_t i = 0; i < pending_.size(); ++i) text += kReplacement;
  pending_.clear();
  return text;
}

}  // namespace limpid
