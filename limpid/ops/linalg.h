// Linear algebra of f32 and f64 matrices: factorisations, systems of equations, determinants, with
// gradients. docs/arithmetic.md (limpid/core/factor.h) defines their bits. All take leading batch
// dimensions, and throw kShape for shapes that do not fit, kDtype for other dtypes.
#pragma once

#include <cstdint>

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op cholesky, triangular_solve, lu, qr, svd;
}  // namespace op

namespace linalg {

// The lower triangular L with L L^T = (a + a^T) / 2. NaN everywhere if that is not positive
// definite.
Value cholesky(Value a);

// How triangular_solve reads its matrix.
struct Triangle {
  bool lower = false;       // the lower triangle, or the upper one
  bool transposed = false;  // solve with the transpose of it
  bool unit_diagonal = false;
};
// x with t x = b: t (..., n, n), of which one triangle is read, and b (..., n, m).
Value triangular_solve(Value t, Value b, const Triangle& triangle = {});

// The LU factorisation with partial pivoting: L below the diagonal of `lu`, with ones on it, and U;
// L U are the rows `order` of a; row i was exchanged with row pivots[i].
struct Lu {
  Value lu, pivots, order;  // pivots and order i32 (..., n)
};
Lu lu(Value a);

// x with a x = b, by LU in f64, rounded once: a (..., n, n), b (..., n, m), or (n) if it is a
// vector. Leading dimensions broadcast. Infinite or NaN if a is singular.
Value solve(Value a, Value b);
Value inv(Value a);

// The determinant, by LU in f64, rounded once; its gradient is NaN where it is 0.
Value det(Value a);
// Its sign, -1, 0 or 1, and the logarithm of its magnitude, which does not overflow.
struct SignAndLog {
  Value sign, log_magnitude;
};
SignAndLog slogdet(Value a);

// q (..., m, k) with orthonormal columns and r (..., k, n), upper triangular, with q r = a (..., m,
// n), k = min(m, n); by Householder's reflections in f64, rounded once. There is a gradient if
// m >= n, and a has full rank.
struct Qr {
  Value q, r;
};
Qr qr(Value a);

// u (..., m, k) with orthonormal columns, s (..., k), falling, and vt (..., k, n) with orthonormal
// rows, with u diag(s) vt = a (..., m, n), k = min(m, n); by Jacobi's rotations in f64, rounded
// once. With `full`, u is (..., m, m) and vt (..., n, n). The gradient by u and vt takes singular
// values as different: it is not the derivative where two are equal, or one is 0.
struct Svd {
  Value u, s, vt;
};
Svd svd(Value a, bool full = false);

// The sum of diagonal `offset` of the last two dimensions; of integers i64.
Value trace(Value x, std::int64_t offset = 0);

}  // namespace linalg
}  // namespace limpid
