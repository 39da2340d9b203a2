// C++ for parts of a Function: types, literals, and the expressions that the records of
// element-wise ops give.
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

}  // namespace limpid::emit
