// The scalar specification of Limpid's f32 and f64 arithmetic: plain functions that every kernel
// must reproduce bit for bit. docs/arithmetic.md describes them in prose. They are written for
// clarity, not for speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace limpid::arithmetic {

// Sums over k are split into blocks of this many terms (docs/arithmetic.md, "Products and sums").
inline constexpr std::size_t kBlock = 256;
// The most i8 products whose sum always fits in i32: 2^31 / (128 * 128) - 1.
inline constexpr std::size_t kMostI8Terms = 131'071;
// Number of partial sums in a reduction over the last axis, the elements that they add before the
// next ones begin, and the elements of a block, whose sum is one number.
inline constexpr std::size_t kPartials = 16;
inline constexpr std::size_t kRun = 256;
inline constexpr std::size_t kRowBlock = 4096;

// Elementary functions. The f32 forms are the polynomials of docs/arithmetic.md with their stated
// bounds; the f64 forms serve gradient checks: they are about as accurate as libm's, without a
// stated bound.
float exp(float x);
float log(float x);
float tanh(float x);
float erf(float x);
float sigmoid(float x);
float ndtr(float x);   // standard normal CDF
float log1p(float x);  // log(1 + x)
float expm1(float x);  // exp(x) - 1
float sin(float x);
float cos(float x);
float tan(float x);
float asin(float x);
float acos(float x);
float atan(float x);
float sinh(float x);
float cosh(float x);
float asinh(float x);
float acosh(float x);
float atanh(float x);
float power(float x, float y);  // x^y, special values as C's pow
double exp(double x);
double log(double x);
double tanh(double x);
double erf(double x);
double sigmoid(double x);
double ndtr(double x);
double log1p(double x);
double expm1(double x);
double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double sinh(double x);
double cosh(double x);
double asinh(double x);
double acosh(double x);
double atanh(double x);
double power(double x, double y);

// IEEE 754-2019 maximum and minimum: NaN if either operand is NaN; +0 is greater than -0.
float maximum(float a, float b);
float minimum(float a, float b);
double maximum(double a, double b);
double minimum(double a, double b);

// The dot product, sum over i < k of x[i * x_stride] * w[i * w_stride]. Fused multiply-adds within
// each block of kBlock terms; block totals are added in order, from +0.
float dot(const float* x, std::size_t x_stride, const float* w, std::size_t w_stride,
          std::size_t k);
double dot(const double* x, std::size_t x_stride, const double* w, std::size_t w_stride,
           std::size_t k);

// The sum of contiguous values, in blocks of kRowBlock. A run of kRun elements has 16 partial sums:
// element i is added to partial i mod 16. The partials of a block's runs are added in order, then
// the 16 sums as a tree (8, 4, 2, 1). Block totals are added as a tree.
float sum(std::span<const float> x);
double sum(std::span<const double> x);

// The sum of n values that are `stride` elements apart (a reduction over any axis but the last).
// Blocks of kBlock values, each summed in order from +0; block totals are added as a tree.
float strided_sum(const float* x, std::size_t stride, std::size_t n);
double strided_sum(const double* x, std::size_t stride, std::size_t n);

}  // namespace limpid::arithmetic
