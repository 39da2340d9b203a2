// C++ text of types, literals, and the expressions of element-wise ops from their records.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "limpid/core/tensor.h"
#include "limpid/function/op.h"

namespace limpid::emit {

// "float", "std::int32_t", ...; bf16 and f16 are stored as std::uint16_t.
std::string_view cpp_type(Dtype dtype);
// An element as a C++ literal with the exact bits.
std::string literal(const Tensor& tensor, std::int64_t element);

// The expression of an element-wise op on operands given as C++ expressions; nullopt for other ops.
std::optional<std::string> element_form(const Call& call, std::span<const std::string> operands);

}  // namespace limpid::emit
