// Factorisations of matrices and triangular systems: the scalar specification of their bits
// (docs/arithmetic.md). Matrices are row-major, and each of a batch is treated alike. Sums are in
// f64, so results of f32 are rounded once; all is done in the memory of the results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "limpid/core/refuse_fast_math.h"

namespace limpid::arithmetic {

// The sum of x[i * x_step] y[i * y_step], i < n, in f64: term i is added to partial i mod 4, each
// of which starts at +0; then (p0 + p2) + (p1 + p3).
template <class T>
double inner_product(std::size_t n, const T* x, std::size_t x_step, const T* y,
                     std::size_t y_step) {
  double p[4] = {0, 0, 0, 0};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (std::size_t k = 0; k < 4; ++k)
      p[k] += static_cast<double>(x[(i + k) * x_step]) * static_cast<double>(y[(i + k) * y_step]);
  for (std::size_t k = 0; i + k < n; ++k)
    p[k] += static_cast<double>(x[(i + k) * x_step]) * static_cast<double>(y[(i + k) * y_step]);
  return (p[0] + p[2]) + (p[1] + p[3]);
}

// The lower triangular l with l l^T = a, of which the lower triangle is read, row by row:
// l[i, j] = (a[i, j] - sum of l[i, k] l[j, k]) / l[j, j]. All of l is NaN if a is not positive
// definite, and 0 above the diagonal otherwise.
template <class T>
void cholesky(std::size_t batches, std::size_t n, const T* a, T* l) {
  for (std::size_t b = 0; b < batches; ++b, a += n * n, l += n * n) {
    bool positive = true;
    for (std::size_t i = 0; i < n && positive; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double rest =
            static_cast<double>(a[i * n + j]) - inner_product(j, l + i * n, 1, l + j * n, 1);
        l[i * n + j] = static_cast<T>(rest / static_cast<double>(l[j * n + j]));
      }
      const double rest =
          static_cast<double>(a[i * n + i]) - inner_product(i, l + i * n, 1, l + i * n, 1);
      l[i * n + i] = static_cast<T>(std::sqrt(rest));
      positive = l[i * n + i] > 0;
      for (std::size_t j = i + 1; j < n; ++j) l[i * n + j] = 0;
    }
    if (!positive) std::fill(l, l + n * n, std::numeric_limits<T>::quiet_NaN());
  }
}

// x with t x = b, or t^T x = b, of which the lower or the upper triangle of t is read, and no
// diagonal if `unit`: x[i] = (b[i] - sum of t[i, k] x[k]) / t[i, i], the sum over the k that are
// known, from the first to the last.
template <class T>
void triangular_solve(std::size_t batches, std::size_t n, std::size_t columns, std::int64_t lower,
                      std::int64_t transposed, std::int64_t unit, const T* t, const T* b, T* x) {
  const bool forward = (lower != 0) != (transposed != 0);
  const std::size_t down = transposed != 0 ? 1 : n, along = transposed != 0 ? n : 1;
  for (std::size_t m = 0; m < batches; ++m, t += n * n, b += n * columns, x += n * columns)
    for (std::size_t step = 0; step < n; ++step) {
      const std::size_t i = forward ? step : n - 1 - step, first = forward ? 0 : i + 1;
      for (std::size_t c = 0; c < columns; ++c) {
        const double sum = inner_product(step, t + i * down + first * along, along,
                                         x + first * columns + c, columns);
        const double rest = static_cast<double>(b[i * columns + c]) - sum;
        x[i * columns + c] =
            static_cast<T>(unit != 0 ? rest : rest / static_cast<double>(t[i * down + i * along]));
      }
    }
}

// l (below the diagonal, with ones on it) and u in one matrix, with l u the rows `order` of a
// (Crout's method, column by column, with partial pivoting): from each element of column j is
// subtracted the sum of l[i, k] u[k, j] over k < min(i, j); the first element of largest magnitude
// from row j on becomes row j; those below it are divided by it. `pivots[j]` is the row that was
// exchanged with row j. A column of zeros is left as it is.
template <class T>
void lower_upper(std::size_t batches, std::size_t n, const T* a, T* lu, std::int32_t* pivots,
                 std::int32_t* order) {
  for (std::size_t b = 0; b < batches; ++b, a += n * n, lu += n * n, pivots += n, order += n) {
    std::copy(a, a + n * n, lu);
    for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::int32_t>(i);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) {
        const double sum = inner_product(std::min(i, j), lu + i * n, 1, lu + j, n);
        lu[i * n + j] = static_cast<T>(static_cast<double>(lu[i * n + j]) - sum);
      }
      std::size_t pivot = j;
      for (std::size_t i = j; i < n; ++i)
        if (std::fabs(lu[i * n + j]) > std::fabs(lu[pivot * n + j])) pivot = i;
      pivots[j] = static_cast<std::int32_t>(pivot);
      if (pivot != j) {
        std::swap_ranges(lu + j * n, lu + (j + 1) * n, lu + pivot * n);
        std::swap(order[j], order[pivot]);
      }
      const T top = lu[j * n + j];
      if (top == 0) continue;
      for (std::size_t i = j + 1; i < n; ++i)
        lu[i * n + j] =
            static_cast<T>(static_cast<double>(lu[i * n + j]) / static_cast<double>(top));
    }
  }
}

// 2 / v^T v of a reflector whose first element, 1, is not stored.
inline double reflector_scale(std::size_t n, const double* v, std::size_t step) {
  return 2 / (1 + inner_product(n, v, step, v, step));
}

// (1 - scale v v^T) x, for v = (1, the n elements below) and x (n + 1, every `step`).
inline void reflect(std::size_t n, const double* v, double scale, double* x, std::size_t step) {
  const double w = scale * (x[0] + inner_product(n, v, step, x + step, step));
  x[0] -= w;
  for (std::size_t i = 0; i < n; ++i) x[(i + 1) * step] -= v[i * step] * w;
}

// A power of two by which to multiply n numbers so that the largest magnitude is in [1/2, 1); 1 if
// all are 0, NaN if one is not finite.
inline double unit_of(std::size_t n, const double* x) {
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double size = std::fabs(x[i]);
    // A NaN stays.
    if (!(size <= largest)) largest = size;
    if (largest != largest) break;
  }
  if (!(largest <= std::numeric_limits<double>::max()))
    return std::numeric_limits<double>::quiet_NaN();
  if (largest == 0) return 1;
  int exponent = 0;
  std::frexp(largest, &exponent);
  // Of numbers below 2^-1000 the unit itself is bounded.
  return std::ldexp(1.0, std::min(-exponent, 1000));
}

// Whether there is a reflector below an element of the diagonal: no element of it is stored where
// the column was 0 there.
inline bool has_reflector(std::size_t n, const double* v, std::size_t step) {
  for (std::size_t i = 0; i < n; ++i)
    if (v[i * step] != 0) return true;
  return false;
}

// A matrix (rows, columns) in place: r above the diagonal, and Householder's reflectors below it
// (Golub and Van Loan, Matrix Computations, algorithm 5.1.1). An element of r's diagonal that is
// not the column's own has the opposite sign of it.
inline void householder(std::size_t rows, std::size_t columns, double* a) {
  for (std::size_t j = 0; j < std::min(rows, columns); ++j) {
    double* const x = a + j * columns + j;
    const std::size_t below = rows - j - 1;
    const double rest = inner_product(below, x + columns, columns, x + columns, columns);
    const double length = std::sqrt(*x * *x + rest);
    const double diagonal = *x > 0 ? -length : length, first = *x - diagonal;
    for (std::size_t i = 1; i <= below; ++i)
      x[i * columns] = rest == 0 ? 0 : x[i * columns] / first;
    if (!has_reflector(below, x + columns, columns)) continue;
    *x = diagonal;
    const double scale = reflector_scale(below, x + columns, columns);
    for (std::size_t k = 1; k < columns - j; ++k)
      reflect(below, x + columns, scale, x + k, columns);
  }
}

// The product of the reflectors below the diagonal of q (rows, columns), in place, from the last to
// the first.
inline void from_reflectors(std::size_t rows, std::size_t columns, double* q) {
  for (std::size_t j = columns; j-- > 0;) {
    double* const x = q + j * columns + j;
    const std::size_t below = rows - j - 1;
    for (std::size_t i = 0; i < j; ++i) q[i * columns + j] = 0;
    *x = 1;
    if (!has_reflector(below, x + columns, columns)) continue;
    const double scale = reflector_scale(below, x + columns, columns);
    for (std::size_t k = 1; k < columns - j; ++k)
      reflect(below, x + columns, scale, x + k, columns);
    *x = 1 - scale;
    for (std::size_t i = 1; i <= below; ++i) x[i * columns] *= -scale;
  }
}

// q (rows, size) with orthonormal columns, and r (size, columns), upper triangular, with q r = a;
// size = min(rows, columns). Both are NaN if an element of a is not finite.
inline void orthogonal_triangular(std::size_t batches, std::size_t rows, std::size_t columns,
                                  const double* a, double* q, double* r) {
  const std::size_t size = std::min(rows, columns);
  for (std::size_t b = 0; b < batches; ++b) {
    const double unit = unit_of(rows * columns, a);
    // The larger of the two results has room for a.
    double* const work = rows >= columns ? q : r;
    for (std::size_t i = 0; i < rows * columns; ++i) work[i] = a[i] * unit;
    householder(rows, columns, work);
    if (rows >= columns) {
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = i; j < columns; ++j) r[i * columns + j] = q[i * columns + j];
    } else {
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < i; ++j) q[i * rows + j] = r[i * columns + j];
    }
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        r[i * columns + j] = j < i ? 0 * unit : r[i * columns + j] / unit;
    from_reflectors(rows, size, q);
    if (unit != unit) std::fill(q, q + rows * size, unit);
    a += rows * columns;
    q += rows * size;
    r += size * columns;
  }
}

// x and y, n elements each, turned: (c x - s y, s x + c y), c = sqrt(1 - s^2), of which `half` is
// s / (1 + c): so that small angles change little (Rutishauser 1966).
inline void turn(std::size_t n, double s, double half, double* x, double* y, std::size_t step) {
  for (std::size_t i = 0; i < n; ++i) {
    const double first = x[i * step], second = y[i * step];
    x[i * step] = first - s * (second + half * first);
    y[i * step] = second + s * (first - half * second);
  }
}

// One sweep of Jacobi's rotations over all pairs of columns of u (rows, n), which makes them
// orthogonal, applied to the rows of v, too. Returns whether there was any.
inline bool jacobi_sweep(std::size_t rows, std::size_t n, double* u, double* v) {
  const double small =
      std::sqrt(static_cast<double>(rows)) * std::numeric_limits<double>::epsilon();
  bool turned = false;
  for (std::size_t p = 0; p < n; ++p)
    for (std::size_t q = p + 1; q < n; ++q) {
      const double a = inner_product(rows, u + p, n, u + p, n);
      const double b = inner_product(rows, u + q, n, u + q, n);
      const double both = inner_product(rows, u + p, n, u + q, n);
      if (!(std::fabs(both) > small * std::sqrt(a) * std::sqrt(b))) continue;
      turned = true;
      const double zeta = (b - a) / (2 * both);
      // Beyond 2^60, 1 + zeta^2 is zeta^2, which may overflow.
      const double steep = std::fabs(zeta);
      const double size = 1 / (steep + (steep < 0x1p60 ? std::sqrt(1 + zeta * zeta) : steep));
      const double tangent = zeta < 0 ? -size : size;
      const double c = 1 / std::sqrt(1 + tangent * tangent);
      const double sine = c * tangent, half = sine / (1 + c);
      turn(rows, sine, half, u + p, u + q, n);
      turn(n, sine, half, v + p * n, v + q * n, 1);
    }
  return turned;
}

// Column j of u (rows, n), any unit vector orthogonal to the columns before it: the unit vector
// that is the farthest from them, less its parts along them, twice.
inline void complete_column(std::size_t rows, std::size_t n, std::size_t j, double* u) {
  std::size_t farthest = 0;
  double least = 2;
  for (std::size_t i = 0; i < rows; ++i) {
    const double size = inner_product(j, u + i * n, 1, u + i * n, 1);
    if (size < least) {
      least = size;
      farthest = i;
    }
  }
  for (std::size_t i = 0; i < rows; ++i) u[i * n + j] = i == farthest ? 1 : 0;
  for (int time = 0; time < 2; ++time)
    for (std::size_t k = 0; k < j; ++k) {
      const double part = inner_product(rows, u + k, n, u + j, n);
      for (std::size_t i = 0; i < rows; ++i) u[i * n + j] -= part * u[i * n + k];
    }
  const double length = std::sqrt(inner_product(rows, u + j, n, u + j, n));
  for (std::size_t i = 0; i < rows; ++i) u[i * n + j] /= length;
}

// The length of column j of u (rows, n), also of one whose squares underflow.
inline double column_length(std::size_t rows, std::size_t n, std::size_t j, const double* u) {
  const double squares = inner_product(rows, u + j, n, u + j, n);
  if (squares >= 0x1p-900) return std::sqrt(squares);
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = u[i * n + j] * 0x1p600;
    sum += x * x;
  }
  return std::sqrt(sum) * 0x1p-600;
}

// The singular value decomposition a = u diag(s) v of (rows, n), rows >= n: u (rows, n) with
// orthonormal columns, s (n) falling, v (n, n) with orthonormal rows. One-sided Jacobi (Hestenes
// 1958), sweeps until one has nothing to turn, at most 40. All are NaN if an element of a is not
// finite.
inline void singular_values(std::size_t batches, std::size_t rows, std::size_t n, const double* a,
                            double* u, double* s, double* v) {
  for (std::size_t b = 0; b < batches; ++b, a += rows * n, u += rows * n, s += n, v += n * n) {
    const double unit = unit_of(rows * n, a);
    for (std::size_t i = 0; i < rows * n; ++i) u[i] = a[i] * unit;
    for (std::size_t i = 0; i < n * n; ++i) v[i] = i % (n + 1) == 0 ? 1 : 0 * unit;
    if (unit != unit) {
      std::fill(u, u + rows * n, unit);
      std::fill(s, s + n, unit);
      std::fill(v, v + n * n, unit);
      continue;
    }
    for (int sweep = 0; sweep < 40 && jacobi_sweep(rows, n, u, v); ++sweep) {
    }
    for (std::size_t j = 0; j < n; ++j) s[j] = column_length(rows, n, j, u);
    // Insertion sort: equal ones keep their order.
    for (std::size_t j = 1; j < n; ++j)
      for (std::size_t k = j; k > 0 && s[k] > s[k - 1]; --k) {
        std::swap(s[k], s[k - 1]);
        for (std::size_t i = 0; i < rows; ++i) std::swap(u[i * n + k], u[i * n + k - 1]);
        std::swap_ranges(v + k * n, v + (k + 1) * n, v + (k - 1) * n);
      }
    for (std::size_t j = 0; j < n; ++j) {
      // Columns so short may not be orthogonal: the squares of their elements underflow.
      if (s[j] < 0x1p-400)
        complete_column(rows, n, j, u);
      else
        for (std::size_t i = 0; i < rows; ++i) u[i * n + j] /= s[j];
      s[j] /= unit;
    }
  }
}

}  // namespace limpid::arithmetic
