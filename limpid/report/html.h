// Text and images for HTML pages. Depends on core.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace limpid::report {

// Escapes text for an element or a quoted attribute. ASCII's control characters and invalid UTF-8
// become U+FFFD.
std::string escaped(std::string_view text);

// A greyscale image as "data:image/png;base64,...": rows of `width` pixels, 0 is black, 255 white.
// Throws kInvalidArgument unless width > 0 divides the number of pixels.
std::string png_uri(std::span<const std::uint8_t> pixels, std::int64_t width);

}  // namespace limpid::report
