// Random draws as pure functions of a key, made of the ops of random.h: the same key gives the same
// bits on every machine, and draws of different keys (fold_in) are independent. All throw kShape
// unless the key is a scalar, kDtype unless it is i64.
#pragma once

#include <cstdint>
#include <optional>

#include "limpid/function/value.h"

namespace limpid {

// Integers in [low, high), i32 or i64: 63 random bits modulo high - low, so that no number is more
// probable than another by more than (high - low) / 2^63. Throws kInvalidArgument unless low < high
// and both are numbers of the dtype.
Value randint(Value key, const Shape& shape, std::int64_t low, std::int64_t high,
              Dtype dtype = Dtype::kI32);

// true with probability p, f32, which broadcasts to the shape: uniform(key, shape) < p.
Value bernoulli(Value key, Value p, const Shape& shape);

// The standard Gumbel distribution, f32: -log(-log(u)), u = (b + 1/2) / 2^23, b the upper 23 bits
// of each word.
Value gumbel(Value key, const Shape& shape);

// The class with probability softmax(logits)[class], as i32: argmax of logits + gumbel (the Gumbel
// max trick). Logits, f32 or f64, have the classes along `axis`; the shape, by default that of the
// other axes, must end with them. Throws kShape if it does not.
Value categorical(Value key, Value logits, std::int64_t axis = -1,
                  const std::optional<Shape>& shape = {});

// 0, 1, ..., n - 1 in random order, as i32: sorted by 63 random bits each.
Value permutation(Value key, std::int64_t n);
// The slices along an axis in random order; each slice stays as it is.
Value permutation(Value key, Value x, std::int64_t axis = 0);

// Numbers from 0, 1, ..., n - 1 as i32, of a shape. `p` (n), f32 or f64, has the probability of
// each number, up to a factor; all alike without it. Without `replace` each number is drawn at most
// once. Throws kInvalidArgument for n < 1 unless the shape is empty, and if the shape has more than
// n elements without `replace`; kShape unless p is (n).
Value choice(Value key, std::int64_t n, const Shape& shape, bool replace = true, Value p = {});

// The standard normal distribution between two bounds, f32: the quantile of a uniform number
// between the probabilities of the bounds, computed in the lower tail. Throws kInvalidArgument
// unless lower < upper, and if all between them is more than 6.5 away from 0, where f32 has no
// quantiles.
Value truncated_normal(Value key, double lower, double upper, const Shape& shape);

}  // namespace limpid
