// The tokens of a chat template's source, and texts as Python has them. Depends on core/error.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/error.h"

namespace limpid::detail {

struct TemplateToken {
  // Data; and between kOutput or kStatement and kEnd what a tag has.
  enum class Kind : std::uint8_t {
    kData,
    kOutput,
    kStatement,
    kEnd,
    kName,
    kText,
    kInteger,
    kOperator
  };

  Kind kind = Kind::kEnd;
  std::string text;    // of data, names, texts and operators
  std::size_t at = 0;  // in the source
  std::int64_t integer = 0;
};

// Of a source as with_plain_lines() gives it. White space around tags is as with trim_blocks and
// lstrip_blocks. Throws kFormat and kUnsupported with line and column.
std::vector<TemplateToken> template_tokens(std::string_view source);

// As Jinja reads a source: lines end with \n, and the last one has no end.
std::string with_plain_lines(std::string_view source);

// Throws "chat template, line L, column C: what".
[[noreturn]] void refuse_template(ErrorCode code, std::string_view source, std::size_t at,
                                  std::string_view what);

// The bytes of the white space that a text begins with, 0 where it begins with none.
std::size_t space_at(std::string_view text);
std::string_view without_leading_space(std::string_view text);
std::string_view without_trailing_space(std::string_view text);

// The bytes of the first character of a text that is not empty.
std::size_t character_size(std::string_view text);
// The bytes of the last one.
std::size_t last_character_size(std::string_view text);

}  // namespace limpid::detail
