// Values that come from nowhere: constants and counting numbers.
#pragma once

#include "limpid/function/builder.h"

namespace limpid {

namespace op {
extern const Op constant, iota;
}  // namespace op

// A tensor written into the function.
Value constant(Builder& builder, Tensor value);
// A scalar of the given dtype, the number rounded to it where it is floating. Throws
// kInvalidArgument for a number that an integer dtype does not have, 0.5 among them, and kDtype for
// the dtypes that are neither.
Value constant(Builder& builder, double number, Dtype dtype);

// 0, 1, ..., size - 1 as i32[size].
Value iota(Builder& builder, std::int64_t size);

}  // namespace limpid
