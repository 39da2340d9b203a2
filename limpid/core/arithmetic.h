// The scalar specification of Limpid's f32 and f64 arithmetic: plain functions whose bits every
// kernel must give. docs/arithmetic.md says the same in prose; here it is in C++. Nothing in this
// file is fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace limpid::arithmetic {

// Sums over k are cut into blocks of this many terms (docs/arithmetic.md, "Products and sums").
inline constexpr std::size_t kBlock = 256;
// Terms of a product of i8 whose sum fits in i32 whatever they are: 2^31 / (128 * 128) - 1.
inline constexpr std::size_t kMostI8Terms = 131'071;
// Partial sums of a reduction over the last axis.
inline constexpr std::size_t kPartials = 16;

// Elementary functions. The f32 forms are the polynomials of docs/arithmetic.md with their stated
// bounds; the f64 forms, which serve gradient checks, promise less: accuracy of the same kind as
// libm's, without published bits.
float exp(float x);
float log(float x);
float tanh(float x);
float erf(float x);
float sigmoid(float x);
float ndtr(float x);   // the standard normal distribution up to x
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

// IEEE 754-2019 maximum and minimum: a NaN if either is; +0 above -0.
float maximum(float a, float b);
float minimum(float a, float b);
double maximum(double a, double b);
double minimum(double a, double b);

// sum over i of x[i * x_stride] * w[i * w_stride]: fused multiply-adds inside a block, blocks added
// in order.
float dot(const float* x, std::size_t x_stride, const float* w, std::size_t w_stride,
          std::size_t k);
double dot(const double* x, std::size_t x_stride, const double* w, std::size_t w_stride,
           std::size_t k);

// The sum of contiguous values: 16 partials, element i into partial i mod 16, then the tree 8, 4,
// 2, 1.
float sum(std::span<const float> x);
double sum(std::span<const double> x);

// The sum of n values a stride apart (a reduction over an axis that is not the last): blocks of
// kBlock, each added in order from +0, the block totals added in order.
float strided_sum(const float* x, std::size_t stride, std::size_t n);
double strided_sum(const double* x, std::size_t stride, std::size_t n);

}  // namespace limpid::arithmetic
