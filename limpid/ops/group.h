// Arithmetic on groups of Values, name by name: p - 0.1 * g. An operand is a group with the same
// names, a Value or a number. Shapes broadcast as for Values.
#pragma once

#include "limpid/ops/arithmetic.h"

namespace limpid {

// The result has the order of the first group. These throw kInvalidArgument if the names differ.
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

// The sum of the products of all elements, a scalar. Throws kInvalidArgument if the names differ,
// or if the groups are empty.
Value dot(const Args& a, const Args& b);

}  // namespace limpid
