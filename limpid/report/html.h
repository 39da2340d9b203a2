// Text and pictures as parts of a page. Leans on core.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace limpid::report {

// The text as it stands inside of an element or of a quoted attribute: markup is escaped; control
// characters, and bytes that are no UTF-8, become U+FFFD.
std::string escaped(std::string_view text);

// A grey image as "data:image/png;base64,...": rows of `width` pixels, 0 black, 255 white. Throws
// kInvalidArgument unless width > 0 divides the number of pixels.
std::string png_uri(std::span<const std::uint8_t> pixels, std::int64_t width);

}  // namespace limpid::report
