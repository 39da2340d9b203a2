// Arithmetic on groups of Values, name by name: p - 0.1 * g. Every operand is a group with the same
// names, a Value or a number; shapes are stretched as those of Values are.
#pragma once

#include "limpid/ops/arithmetic.h"

namespace limpid {

// In the order of the first group's names. Throw kInvalidArgument where the names differ.
Args operator+(const Args& a, const Args& b);
Args operator-(const Args& a, const Args& b);
Args operator*(const Args& a, const Args& b);
Args operator/(const Args& a, const Args& b);
Args operator+(const Args& a, Value b);
Args operator-(const Args& a, Value b);
Args operator*(const Args& a, Value b);
Args operator/(const Args& a, Value b);
Args operator+(Value a, const Args& b);
Args operator-(Value a, const Args& b);
Args operator*(Value a, const Args& b);
Args operator/(Value a, const Args& b);
Args operator+(const Args& a, double b);
Args operator-(const Args& a, double b);
Args operator*(const Args& a, double b);
Args operator/(const Args& a, double b);
Args operator+(double a, const Args& b);
Args operator-(double a, const Args& b);
Args operator*(double a, const Args& b);
Args operator/(double a, const Args& b);
Args operator-(const Args& a);

// The sum of the products of all elements: a scalar. Throws kInvalidArgument where the names
// differ, or where there are none.
Value dot(const Args& a, const Args& b);

}  // namespace limpid
