// The header of a safetensors file, changed under a length that fits it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/fuzz/support.h"

namespace limpid::fuzz {

inline Bytes with_changed_header(std::span<const std::byte> file, const Change& change) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) return bytes_of(file);
  std::memcpy(&length, file.data(), sizeof length);
  const std::span<const std::byte> rest = file.subspan(sizeof length);
  if (length > rest.size()) return bytes_of(file);
  Bytes header = bytes_of(rest.first(length));
  const std::span<const std::byte> data = rest.subspan(length);
  change(header);
  length = header.size();
  Bytes changed(sizeof length);
  std::memcpy(changed.data(), &length, sizeof length);
  changed.insert(changed.end(), header.begin(), header.end());
  changed.insert(changed.end(), data.begin(), data.end());
  return changed;
}

}  // namespace limpid::fuzz
