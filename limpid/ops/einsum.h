// Einstein's summation convention, and products of the last two dimensions for every dtype.
#pragma once

#include <string_view>
#include <vector>

#include "limpid/function/value.h"

namespace limpid {

// Sums of products by the names of dimensions, as NumPy's einsum: "ij,jk->ik" is a matrix product,
// "ii->" a trace. A letter names a dimension, "..." stands for those without a name, which are
// broadcast; without "->" the result has the letters that occur once, in alphabetical order. From
// left to right, two operands at a time: diagonals, sums, transposes and matrix products, whose
// sums are those of docs/arithmetic.md. The result has the dtype of the operands; sums of integers
// wrap around in it. Throws kInvalidArgument for an equation that does not fit the operands,
// kShape for dimensions that share a name and differ in size, kDtype.
Value einsum(std::string_view equation, const std::vector<Value>& operands);

// (..., m, k) by (..., k, n) with the same leading dimensions: matmul, and for integers other than
// i8 a sum of products in i64, rounded to their dtype.
Value batched_product(Value a, Value b);

}  // namespace limpid
