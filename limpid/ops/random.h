// Random numbers as pure functions of a key, and dropout. In a Function a key is an i64 scalar.
#pragma once

#include "limpid/core/key.h"
#include "limpid/core/tensor.h"
#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op random_bits, fold_in, shift_right, uniform, normal, dropout;
}  // namespace op

// A key as a tensor (an i64 scalar), to pass to a Function.
Tensor key_tensor(Key key);

// Words 0, 1, ... of the key's table (limpid/core/key.h), row-major, as i32. For keys (K...) the
// result is (K..., shape...).
Value random_bits(Value key, const Shape& shape);

// Key::fold_in, element-wise on i64.
Value fold_in(Value key, Value data);
Value fold_in(Value key, std::int64_t data);

// Logical right shift of i32, a >> count; 0 if the count is outside of [0, 31].
Value shift_right(Value a, Value count);

// Uniform in [0, 1), f32: multiples of 2^-24, from the upper 24 bits of each word.
Value uniform(Value key, const Shape& shape);

// The standard normal quantile, element-wise on f32 p in [2^-24, 1), by PPND7 (see normal()).
Value normal_quantile(Value p);

// Standard normal, f32: the quantile of (b + 1/2) / 2^23, where b is the upper 23 bits of each
// word, by Wichura's PPND7 (AS 241, Applied Statistics 37, 1988; about seven decimal digits).
// Values lie within +-5.42.
Value normal(Value key, const Shape& shape);

// Inverted dropout (Srivastava et al. 2014): each element of f32 x becomes 0 with probability
// `rate`, else x / (1 - rate). Throws kInvalidArgument unless 0 <= rate < 1, kShape unless the key
// is a scalar.
Value dropout(Value x, Value key, double rate);
// The same of whole channels, x (N, C, ...): all elements of a channel of an example, or none,
// become 0. Also throws kShape for fewer than two dimensions.
Value channel_dropout(Value x, Value key, double rate);

}  // namespace limpid
