// How the primitives look in C++: those that work element by element, as expressions; others as
// calls. An op that only moves elements or is made of others has no form of its own.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "limpid/core/tensor.h"
#include "limpid/function/op.h"

namespace limpid::emit {

// "float", "std::int32_t", ...; the bits of bf16 and f16 are std::uint16_t.
std::string_view cpp_type(Dtype dtype);
// The number as C++ writes it, with the exact bits.
std::string literal(const Tensor& tensor, std::int64_t element);

// The expression of an element-wise op on operands that are C++ expressions; nothing for others.
std::optional<std::string> element_form(const Call& call, std::span<const std::string> operands);

// The function in limpid/emit/detail/parts that serves an op on whole row-major operands, and the
// numbers that it takes before the addresses of operands, scratch and results.
struct CallForm {
  std::string function;
  std::vector<std::int64_t> numbers;
  std::int64_t scratch = 0;  // numbers like the first operand's that it works with, if any
};
std::optional<CallForm> call_form(const Call& call);

}  // namespace limpid::emit
