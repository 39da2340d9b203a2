// Base64 as in RFC 4648, with padding. Depends on nothing.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace limpid {

std::string base64(std::span<const std::byte> bytes);

}  // namespace limpid
