// Whole IDX files of every type of element.
#pragma once

#include <cstdint>

#include "tests/fuzz/support.h"

namespace limpid::fuzz {

inline std::vector<Bytes> idx_files() {
  struct Kind {
    std::uint8_t code, size;
  };
  std::vector<Bytes> all;
  for (const Kind kind : {Kind{8, 1}, Kind{9, 1}, Kind{0x0c, 4}, Kind{0x0d, 4}, Kind{0x0e, 8}})
    for (std::uint8_t rank = 1; rank <= 3; ++rank) {
      Bytes file{std::byte{0}, std::byte{0}, std::byte{kind.code}, std::byte{rank}};
      std::size_t elements = 1;
      for (std::uint8_t axis = 0; axis < rank; ++axis) {
        const auto dim = static_cast<std::uint8_t>(axis + 2);
        elements *= dim;
        for (const std::uint8_t byte : {std::uint8_t{0}, std::uint8_t{0}, std::uint8_t{0}, dim})
          file.push_back(std::byte{byte});
      }
      for (std::size_t i = 0; i < elements * kind.size; ++i)
        file.push_back(static_cast<std::byte>(i % 7));
      all.push_back(std::move(file));
    }
  return all;
}

}  // namespace limpid::fuzz
