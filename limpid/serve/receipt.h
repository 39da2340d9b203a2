// Receipt: hashes of the model, inputs and outputs of a response, which anybody can recompute.
// Depends on inspect/bit_hashes.h and formats/model.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "limpid/core/tensor.h"

namespace limpid::serve {

// The hashes that `limpid hash` prints. They detect differences; they are not cryptographic.
struct Receipt {
  std::uint64_t model = 0;
  std::uint64_t input = 0;   // of all inputs
  std::uint64_t output = 0;  // of all outputs

  bool operator==(const Receipt&) const = default;
};

// "model=0123456789abcdef; input=...; output=...", the value of the header Limpid-Receipt; and its
// inverse. parse_receipt throws kParse for other text.
std::string to_text(const Receipt& receipt);
Receipt parse_receipt(std::string_view text);

}  // namespace limpid::serve
