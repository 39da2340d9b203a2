#include "limpid/ops/linalg.h"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <utility>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/factor.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/elementary.h"
#include "limpid/ops/indexing.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/rearrange.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"
#include "limpid/ops/sort.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

constexpr std::string_view kNoFactors = "ONNX has no factorisations of matrices";
constexpr std::string_view kFactored = "as factored: docs/arithmetic.md";

constexpr AttributeSpec kTriangleAttributes[] = {{"lower", AttributeKind::kBool},
                                                 {"transposed", AttributeKind::kBool},
                                                 {"unit_diagonal", AttributeKind::kBool}};

// ---- shapes

// Rows, columns and number of matrices.
struct MatrixSizes {
  std::int64_t batches, rows, columns;
};
MatrixSizes matrix_sizes(const Shape& shape) {
  const std::size_t rank = shape.rank();
  std::int64_t batches = 1;
  for (std::size_t d = 0; d + 2 < rank; ++d) batches *= shape[d];
  return {batches, shape[rank - 2], shape[rank - 1]};
}

Shape with_last_two(const Shape& shape, std::int64_t rows, std::int64_t columns) {
  return shape.replace(shape.rank() - 2, rows).replace(shape.rank() - 1, columns);
}

void require_matrix(const Call& call, std::size_t input) {
  require_floating(call, input);
  if (call.inputs[input].shape.rank() < 2)
    throw Error(ErrorCode::kShape, fmt::format("{}: expected matrices (..., m, n), got {}",
                                               where(call), to_string(call.inputs[input])));
}
void require_square(const Call& call, std::size_t input) {
  require_matrix(call, input);
  const MatrixSizes s = matrix_sizes(call.inputs[input].shape);
  if (s.rows != s.columns)
    throw Error(ErrorCode::kShape, fmt::format("{}: expected square matrices, got {}", where(call),
                                               to_string(call.inputs[input])));
}

// Each result has the leading dimensions, and others of its own.
ExampleResults in_matrices(const ExampleCall& c) {
  if (!in_leading(c, c.shape_of(0).rank() - 2)) return {};
  const auto at = c.axis_of(c.first());
  std::vector<Inner> all;
  for (const Type& type : c.call.outputs)
    all.emplace_back(inner_of(type.shape, at->axis, at->after));
  return all;
}

std::int64_t cubic_flops(const Call& call) {
  const MatrixSizes s = matrix_sizes(call.inputs[0].shape);
  return product_or_most(product_or_most(product_or_most(s.batches, s.rows), s.columns),
                         2 * std::max(s.rows, s.columns));
}

// ---- values

Value swapped(const Value& x) {
  std::vector<std::int64_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(x, order);
}

// The identity in the shape of square matrices.
Value identity_like(const Value& x) {
  const std::int64_t n = x.shape().back();
  return broadcast(eye(x.builder(), n, n, 0, x.dtype()), x.shape());
}
Value half_diagonal(const Value& x) { return x * (1.0 - 0.5 * identity_like(x)); }

Value solved(const Value& t, const Value& b, bool lower, bool transposed, bool unit) {
  return call1(op::triangular_solve, {t, b},
               {{"lower", lower}, {"transposed", transposed}, {"unit_diagonal", unit}});
}

Value line_diagonal(const Value& x) { return diagonal(x, 0, -2, -1); }

// ---- cholesky

std::vector<Type> cholesky_types(const Call& call) {
  require_square(call, 0);
  return {call.inputs[0]};
}

void cholesky_reference(const Call& call, std::span<const void* const> in,
                        std::span<void* const> out) {
  const MatrixSizes s = matrix_sizes(call.inputs[0].shape);
  dispatch_floating(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    arithmetic::cholesky(static_cast<std::size_t>(s.batches), static_cast<std::size_t>(s.rows),
                         static_cast<const T*>(in[0]), static_cast<T*>(out[0]));
  });
}

// Murray, Differentiation of the Cholesky decomposition (2016), equations 8 to 10; of the lower
// triangle alone, which is read.
Values cholesky_gradient(const GradientCall& c) {
  const Value l = out(c);
  const Value inner = half_diagonal(tril(matmul(l, tril(g(c)), true, false)));
  const Value left = solved(l, inner, true, true, false);
  const Value both = swapped(solved(l, swapped(left), true, true, false));
  return {half_diagonal(tril(both + swapped(both)))};
}

template <const Op& op>
Values factor_batching(const BatchingCall& c) {
  return call(op, c.inputs, c.attributes);
}

CppCall cholesky_cpp(const Call& call) {
  const MatrixSizes s = matrix_sizes(call.inputs[0].shape);
  return {"cholesky", {s.batches, s.rows}};
}

// The elements of an example are drawn one by one: larger matrices of them are seldom positive
// definite. tests/ops has those that are.
std::vector<Example> cholesky_examples() {
  return {{{{Dtype::kF32, {1, 1}}}, {}, 0.5, 2}, {{{Dtype::kF64, {3, 1, 1}}}, {}, 0.5, 2}};
}

// ---- triangular_solve

std::vector<Type> triangular_types(const Call& call) {
  require_square(call, 0);
  require_matrix(call, 1);
  const Shape &t = call.inputs[0].shape, &b = call.inputs[1].shape;
  if (call.inputs[0].dtype != call.inputs[1].dtype || t.rank() != b.rank() ||
      with_last_two(b, t.back(), t.back()) != t || b[b.rank() - 2] != t.back())
    throw Error(ErrorCode::kShape,
                fmt::format("{}: expected (..., n, n) and (..., n, m) of one dtype, got {} and {}",
                            where(call), to_string(call.inputs[0]), to_string(call.inputs[1])));
  return {call.inputs[1]};
}

std::array<std::int64_t, 6> triangular_numbers(const Call& call) {
  const MatrixSizes s = matrix_sizes(call.inputs[1].shape);
  return {s.batches,
          s.rows,
          s.columns,
          call.attributes.get<bool>("lower"),
          call.attributes.get<bool>("transposed"),
          call.attributes.get<bool>("unit_diagonal")};
}

void triangular_reference(const Call& call, std::span<const void* const> in,
                          std::span<void* const> out) {
  const std::array<std::int64_t, 6> n = triangular_numbers(call);
  dispatch_floating(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    arithmetic::triangular_solve(static_cast<std::size_t>(n[0]), static_cast<std::size_t>(n[1]),
                                 static_cast<std::size_t>(n[2]), n[3], n[4], n[5],
                                 static_cast<const T*>(in[0]), static_cast<const T*>(in[1]),
                                 static_cast<T*>(out[0]));
  });
}

CppCall triangular_cpp(const Call& call) {
  const std::array<std::int64_t, 6> n = triangular_numbers(call);
  return {"triangular_solve", {n.begin(), n.end()}};
}

Values triangular_gradient(const GradientCall& c) {
  const bool lower = c.attributes.get<bool>("lower");
  const bool transposed = c.attributes.get<bool>("transposed");
  const bool unit = c.attributes.get<bool>("unit_diagonal");
  const Value of_b = solved(in(c, 0), g(c), lower, !transposed, unit);
  const Value products =
      transposed ? matmul(out(c), of_b, false, true) : matmul(of_b, out(c), false, true);
  const Value read = lower ? tril(products, unit ? -1 : 0) : triu(products, unit ? 1 : 0);
  return {-read, of_b};
}

Values triangular_batching(const BatchingCall& c) {
  return call(op::triangular_solve, std::vector<Value>{batched_input(c, 0), batched_input(c, 1)},
              c.attributes);
}

std::vector<Example> triangular_examples() {
  const auto how = [](bool lower, bool transposed, bool unit) {
    return Attributes{{"lower", lower}, {"transposed", transposed}, {"unit_diagonal", unit}};
  };
  return {{{{Dtype::kF32, {6, 6}}, {Dtype::kF32, {6, 3}}}, how(true, false, false), 0.5, 2},
          {{{Dtype::kF64, {5, 5}}, {Dtype::kF64, {5, 1}}}, how(false, false, false), 0.5, 2},
          {{{Dtype::kF64, {2, 3, 3}}, {Dtype::kF64, {2, 3, 2}}}, how(true, true, true), 0.5, 2},
          {{{Dtype::kF32, {4, 4}}, {Dtype::kF32, {4, 2}}}, how(false, true, false), 0.5, 2}};
}

// ---- lu

std::vector<Type> lu_types(const Call& call) {
  require_square(call, 0);
  const Shape shape = call.inputs[0].shape;
  const Type rows{Dtype::kI32, shape.erase(shape.rank() - 1)};
  require_i32_indices(call, shape.back());
  return {call.inputs[0], rows, rows};
}

void lu_reference(const Call& call, std::span<const void* const> in, std::span<void* const> out) {
  const MatrixSizes s = matrix_sizes(call.inputs[0].shape);
  dispatch_floating(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    arithmetic::lower_upper(static_cast<std::size_t>(s.batches), static_cast<std::size_t>(s.rows),
                            static_cast<const T*>(in[0]), static_cast<T*>(out[0]),
                            static_cast<std::int32_t*>(out[1]), static_cast<std::int32_t*>(out[2]));
  });
}

CppCall lu_cpp(const Call& call) {
  const MatrixSizes s = matrix_sizes(call.inputs[0].shape);
  return {"lower_upper", {s.batches, s.rows}};
}

// P A = L U gives P dA = dL U + L dU: L^-1 P dA U^-1 is a strictly lower part, L^-1 dL, and an
// upper one, dU U^-1.
Values lu_gradient(const GradientCall& c) {
  if (!c.cotangents[0]) return {Value()};
  const Value factors = c.outputs[0];
  const Value l = tril(factors, -1) + identity_like(factors), u = triu(factors);
  const Value inner = tril(matmul(l, tril(c.cotangents[0], -1), true, false), -1) +
                      triu(matmul(triu(c.cotangents[0]), u, false, true));
  const Value left = solved(factors, inner, true, true, true);
  const Value both = swapped(solved(factors, swapped(left), false, false, false));
  return {gather(both, argsort(c.outputs[2]), static_cast<std::int64_t>(both.rank()) - 2)};
}

std::vector<Example> lu_examples() {
  return {{{{Dtype::kF32, {5, 5}}}, {}},
          {{{Dtype::kF64, {4, 4}}}, {}},
          {{{Dtype::kF64, {2, 3, 3}}}, {}}};
}

// ---- qr

std::vector<Type> qr_types(const Call& call) {
  require_matrix(call, 0);
  require_dtype(call, 0, Dtype::kF64);
  const Shape shape = call.inputs[0].shape;
  const MatrixSizes s = matrix_sizes(shape);
  const std::int64_t size = std::min(s.rows, s.columns);
  return {{Dtype::kF64, with_last_two(shape, s.rows, size)},
          {Dtype::kF64, with_last_two(shape, size, s.columns)}};
}

void qr_reference(const Call& call, std::span<const void* const> in, std::span<void* const> out) {
  const MatrixSizes s = matrix_sizes(call.inputs[0].shape);
  arithmetic::orthogonal_triangular(
      static_cast<std::size_t>(s.batches), static_cast<std::size_t>(s.rows),
      static_cast<std::size_t>(s.columns), static_cast<const double*>(in[0]),
      static_cast<double*>(out[0]), static_cast<double*>(out[1]));
}

CppCall qr_cpp(const Call& call) {
  const MatrixSizes s = matrix_sizes(call.inputs[0].shape);
  return {"orthogonal_triangular", {s.batches, s.rows, s.columns}};
}

// Walter and Lehmann, Algorithmic differentiation of linear algebra functions (2013), for m >= n.
Values qr_gradient(const GradientCall& c) {
  const Value q = c.outputs[0], r = c.outputs[1];
  const MatrixSizes s = matrix_sizes(in(c, 0).shape());
  if (s.rows < s.columns)
    throw Error(ErrorCode::kNoGradient,
                fmt::format("qr: has a gradient for at least as many rows as columns, got {}",
                            to_string(in(c, 0).type())));
  const auto cotangent = [&](std::size_t i) {
    return c.cotangents[i] ? c.cotangents[i] : number_like(c.outputs[i], 0);
  };
  const Value of_q = cotangent(0), of_r = triu(cotangent(1));
  const Value m = matmul(r, of_r, false, true) - matmul(of_q, q, true, false);
  const Value mirrored = tril(m) + swapped(tril(m, -1));
  const Value total = of_q + matmul(q, mirrored);
  return {swapped(solved(r, swapped(total), false, false, false))};
}

std::vector<Example> qr_examples() {
  return {{{{Dtype::kF64, {4, 3}}}, {}},
          {{{Dtype::kF64, {3, 3}}}, {}},
          {{{Dtype::kF64, {2, 5, 2}}}, {}}};
}

// ---- svd

std::vector<Type> svd_types(const Call& call) {
  require_matrix(call, 0);
  require_dtype(call, 0, Dtype::kF64);
  const Shape shape = call.inputs[0].shape;
  const MatrixSizes s = matrix_sizes(shape);
  if (s.rows < s.columns)
    throw Error(ErrorCode::kShape,
                fmt::format("{}: expected at least as many rows as columns, got {}", where(call),
                            to_string(call.inputs[0])));
  return {call.inputs[0],
          {Dtype::kF64, shape.erase(shape.rank() - 2)},
          {Dtype::kF64, with_last_two(shape, s.columns, s.columns)}};
}

void svd_reference(const Call& call, std::span<const void* const> in, std::span<void* const> out) {
  const MatrixSizes s = matrix_sizes(call.inputs[0].shape);
  arithmetic::singular_values(static_cast<std::size_t>(s.batches), static_cast<std::size_t>(s.rows),
                              static_cast<std::size_t>(s.columns),
                              static_cast<const double*>(in[0]), static_cast<double*>(out[0]),
                              static_cast<double*>(out[1]), static_cast<double*>(out[2]));
}

CppCall svd_cpp(const Call& call) {
  const MatrixSizes s = matrix_sizes(call.inputs[0].shape);
  return {"singular_values", {s.batches, s.rows, s.columns}};
}

// Townsend, Differentiating the singular value decomposition (2016).
Values svd_gradient(const GradientCall& c) {
  const Value u = c.outputs[0], s = c.outputs[1], vt = c.outputs[2];
  const Shape square = vt.shape();
  const std::size_t rank = square.rank();
  const auto as_columns = [&](const Value& v, const Shape& shape) {
    return broadcast(reshape(v, v.shape().insert(rank - 2, 1)), shape);
  };
  const Value across = as_columns(s, square), down = swapped(across);
  Value inner = number_like(vt, 0);
  if (c.cotangents[1]) inner = inner + identity_like(vt) * as_columns(c.cotangents[1], square);
  const Value zero = number_like(vt, 0), one = number_like(vt, 1);
  const Value gap = (across - down) * (across + down);
  const Value equal = gap == zero;
  const Value inverse_gap = select(equal, zero, one / select(equal, one, gap));
  const auto turned = [&](const Value& products) {
    return inverse_gap * (products - swapped(products));
  };
  Value beside;  // the part of u's cotangent orthogonal to u
  if (c.cotangents[0]) {
    const Value along = matmul(u, c.cotangents[0], true, false);
    inner = inner + turned(along) * across;
    const Value none = s == number_like(s, 0);
    const Value inverse = select(none, number_like(s, 0), 1.0 / select(none, number_like(s, 1), s));
    beside = (c.cotangents[0] - matmul(u, along)) * as_columns(inverse, u.shape());
  }
  if (c.cotangents[2]) inner = inner + down * turned(matmul(vt, c.cotangents[2], false, true));
  const Value left = matmul(u, inner);
  return {matmul(beside ? left + beside : left, vt)};
}

std::vector<Example> svd_examples() {
  return {{{{Dtype::kF64, {4, 3}}}, {}},
          {{{Dtype::kF64, {3, 3}}}, {}},
          {{{Dtype::kF64, {2, 5, 2}}}, {}}};
}

}  // namespace

namespace op {

constinit const Op cholesky = complete(
    {.name = "cholesky",
     .formula = "the lower triangular L with L L^T = x, of which the lower triangle is read",
     .shapes = "[..., n, n] -> [..., n, n]",
     .min_inputs = 1,
     .max_inputs = 1,
     .attributes = kNoAttributes,
     .types = cholesky_types,
     .reference = cholesky_reference,
     .gradient = gradient(cholesky_gradient),
     .batching = batching(factor_batching<cholesky>),
     .example_axis = in_matrices,
     .flops = cubic_flops,
     .cpp = cpp_call(cholesky_cpp),
     .onnx = no_onnx(kNoFactors),
     .accuracy = kFactored,
     .source = "Golub and Van Loan, Matrix Computations (2013), section 4.2",
     .examples = cholesky_examples});

constinit const Op triangular_solve = complete(
    {.name = "triangular_solve",
     .formula = "y with t y = b, or t^T y = b if `transposed`; t's `lower` or upper triangle is "
                "read, with ones on the diagonal if `unit_diagonal`",
     .shapes = "t[..., n, n], b[..., n, m] -> [..., n, m]",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kTriangleAttributes,
     .types = triangular_types,
     .reference = triangular_reference,
     .gradient = gradient(triangular_gradient),
     .batching = batching(triangular_batching),
     .example_axis = in_matrices,
     .flops = cubic_flops,
     .cpp = cpp_call(triangular_cpp),
     .onnx = no_onnx(kNoFactors),
     .accuracy = kFactored,
     .source = "Golub and Van Loan, Matrix Computations (2013), section 3.1",
     .examples = triangular_examples});

constinit const Op lu = complete(
    {.name = "lu",
     .formula = "L below the diagonal and U, with L U the rows `order` of x; the row exchanged "
                "with each row; `order`",
     .shapes = "[..., n, n] -> [..., n, n], i32[..., n], i32[..., n]",
     .min_inputs = 1,
     .max_inputs = 1,
     .attributes = kNoAttributes,
     .types = lu_types,
     .reference = lu_reference,
     .gradient = gradient(lu_gradient),
     .batching = batching(factor_batching<lu>),
     .example_axis = in_matrices,
     .flops = cubic_flops,
     .cpp = cpp_call(lu_cpp),
     .onnx = no_onnx(kNoFactors),
     .accuracy = kFactored,
     .source = "Golub and Van Loan, Matrix Computations (2013), section 3.4",
     .examples = lu_examples});

constinit const Op qr =
    complete({.name = "qr",
              .formula = "Q with orthonormal columns and upper triangular R with Q R = x; in f64",
              .shapes = "f64[..., m, n] -> f64[..., m, k], f64[..., k, n], k = min(m, n)",
              .min_inputs = 1,
              .max_inputs = 1,
              .attributes = kNoAttributes,
              .types = qr_types,
              .reference = qr_reference,
              .gradient = gradient(qr_gradient),
              .batching = batching(factor_batching<qr>),
              .example_axis = in_matrices,
              .flops = cubic_flops,
              .cpp = cpp_call(qr_cpp),
              .onnx = no_onnx(kNoFactors),
              .accuracy = kFactored,
              .source = "Golub and Van Loan, Matrix Computations (2013), section 5.2",
              .examples = qr_examples});

constinit const Op svd = complete(
    {.name = "svd",
     .formula = "U with orthonormal columns, s falling and V with orthonormal rows, with U diag(s) "
                "V = x; in f64",
     .shapes = "f64[..., m, n], m >= n -> f64[..., m, n], f64[..., n], f64[..., n, n]",
     .min_inputs = 1,
     .max_inputs = 1,
     .attributes = kNoAttributes,
     .types = svd_types,
     .reference = svd_reference,
     .gradient = gradient(svd_gradient),
     .batching = batching(factor_batching<svd>),
     .example_axis = in_matrices,
     .flops = cubic_flops,
     .cpp = cpp_call(svd_cpp),
     .onnx = no_onnx(kNoFactors),
     .accuracy = kFactored,
     .source = "Hestenes, Inversion of matrices by biorthogonalization (1958); Golub and Van Loan, "
               "Matrix Computations (2013), section 8.6",
     .examples = svd_examples});

}  // namespace op

constexpr const Op* kLinalgOps[] = {&op::cholesky, &op::triangular_solve, &op::lu, &op::qr,
                                    &op::svd};
constexpr OpList linalg_ops = kLinalgOps;

namespace linalg {
namespace {

void require_rank_two(const Value& x, std::string_view what) {
  if (x.rank() < 2)
    throw Error(ErrorCode::kShape, fmt::format("{}: expected matrices (..., m, n), got {}", what,
                                               to_string(x.type())));
}

// In f64, and the results in the dtype of a.
template <class F>
Values in_double(const Value& a, const F& f) {
  const Dtype dtype = a.dtype();
  Values results = f(dtype == Dtype::kF32 ? cast(a, Dtype::kF64) : a);
  for (Value& v : results)
    if (dtype == Dtype::kF32) v = cast(v, dtype);
  return results;
}

// The rows `order` of each matrix.
Value rows_in_order(const Value& x, const Value& order) {
  return gather(x, order, static_cast<std::int64_t>(x.rank()) - 2);
}

// -1 or 1 for each matrix: the sign of its exchanges of rows.
Value sign_of_exchanges(const Lu& f) {
  const Shape shape = f.pivots.shape();
  const Value stays = f.pivots == broadcast(iota(f.pivots.builder(), shape.back()), shape);
  const Value one = broadcast(constant(f.lu.builder(), 1, f.lu.dtype()), shape);
  return prod(select(stays, one, -one), -1);
}

}  // namespace

Value cholesky(Value a) {
  require_rank_two(a, "cholesky");
  if (a.shape().back() != a.shape()[a.rank() - 2])
    throw Error(ErrorCode::kShape,
                fmt::format("cholesky: expected square matrices, got {}", to_string(a.type())));
  return call1(op::cholesky, {(a + swapped(a)) * 0.5});
}

Value triangular_solve(Value t, Value b, const Triangle& triangle) {
  return solved(t, b, triangle.lower, triangle.transposed, triangle.unit_diagonal);
}

Lu lu(Value a) {
  const Values results = call(op::lu, std::vector<Value>{a});
  return {results[0], results[1], results[2]};
}

Value solve(Value a, Value b) {
  require_rank_two(a, "solve");
  if (a.dtype() == Dtype::kF32 && b.dtype() == Dtype::kF32)
    return cast(solve(cast(a, Dtype::kF64), cast(b, Dtype::kF64)), Dtype::kF32);
  const bool vector = b.rank() == 1;
  if (vector) b = reshape(b, b.shape().insert(1, 1));
  require_rank_two(b, "solve");
  const auto lead = [](const Shape& s) { return Shape(s.dims().first(s.rank() - 2)); };
  const Shape common = common_shape(lead(a.shape()), lead(b.shape()), "solve");
  const auto stretched = [&](const Value& x) {
    const Shape s = x.shape();
    const std::size_t rank = common.rank();
    return broadcast(x, common.insert(rank, s[s.rank() - 2]).insert(rank + 1, s.back()));
  };
  const Value right = stretched(b);
  if (right.shape()[right.rank() - 2] != a.shape().back())
    throw Error(ErrorCode::kShape,
                fmt::format("solve: expected (..., n, n) and (..., n, m), got {} and {}",
                            to_string(a.type()), to_string(b.type())));
  const Lu f = lu(stretched(a));
  const Value y = solved(f.lu, rows_in_order(right, f.order), true, false, true);
  const Value x = solved(f.lu, y, false, false, false);
  return vector ? reshape(x, x.shape().erase(x.rank() - 1)) : x;
}

Value inv(Value a) {
  require_rank_two(a, "inv");
  return solve(a, identity_like(a));
}

Value det(Value a) {
  return in_double(a, [](const Value& x) {
    const Lu f = lu(x);
    return Values{sign_of_exchanges(f) * prod(line_diagonal(f.lu), -1)};
  })[0];
}

SignAndLog slogdet(Value a) {
  const Values results = in_double(a, [](const Value& x) {
    const Lu f = lu(x);
    const Value diagonal = line_diagonal(f.lu);
    return Values{sign_of_exchanges(f) * prod(sign(diagonal), -1), sum(log(abs(diagonal)), -1)};
  });
  return {results[0], results[1]};
}

Qr qr(Value a) {
  const Values results =
      in_double(a, [](const Value& x) { return call(op::qr, std::vector<Value>{x}); });
  return {results[0], results[1]};
}

Svd svd(Value a, bool full) {
  require_rank_two(a, "svd");
  const MatrixSizes s = matrix_sizes(a.shape());
  if (s.rows < s.columns) {
    const Svd turned = svd(swapped(a), full);
    return {swapped(turned.vt), turned.s, swapped(turned.u)};
  }
  const Values results = in_double(a, [&](const Value& x) -> Values {
    if (!full || s.rows == s.columns) return call(op::svd, std::vector<Value>{x});
    // Columns of zeros, whose singular values are the last ones, complete u.
    std::vector<std::int64_t> none(x.rank(), 0), more = none;
    more.back() = s.rows - s.columns;
    const Values all = call(op::svd, std::vector<Value>{pad(x, none, more, none)});
    const Value values = slice(all[1], -1, 0, s.columns);
    const Value v = slice(slice(all[2], -1, 0, s.columns), -2, 0, s.columns);
    return {all[0], values, v};
  });
  return {results[0], results[1], results[2]};
}

Value trace(Value x, std::int64_t offset) {
  require_rank_two(x, "trace");
  return sum(diagonal(x, offset, -2, -1), -1);
}

}  // namespace linalg
}  // namespace limpid
