// Matrix products.
#include <fmt/format.h>

#include "limpid/formats/onnx/import/detail/operators.h"
#include "limpid/formats/onnx/import/detail/products.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/einsum.h"
#include "limpid/ops/matmul.h"
#include "limpid/ops/shape.h"

namespace limpid::onnx::detail {
namespace {

Shape leading(const Shape& shape) { return Shape(shape.dims().first(shape.rank() - 2)); }

Shape with_matrix(const Shape& lead, std::int64_t rows, std::int64_t columns) {
  return lead.insert(lead.rank(), rows).insert(lead.rank() + 1, columns);
}

}  // namespace

Value product(Value a, Value b) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = reshape(a, a.shape().insert(0, 1));
  if (column) b = reshape(b, b.shape().insert(1, 1));
  const Shape left = a.shape(), right = b.shape();
  if (left.rank() < 2 || right.rank() < 2 || left.back() != right[right.rank() - 2])
    throw Error(ErrorCode::kShape, fmt::format("{} by {}: the last dimension of the first must be "
                                               "the one before the last of the second",
                                               to_string(left), to_string(right)));
  const std::int64_t rows = left[left.rank() - 2];
  Shape lead = leading(left);
  Value y;
  if (right.rank() == 2) {  // one matrix for all of them
    y = batched_product(reshape(a, {lead.elements() * rows, left.back()}), b);
  } else {
    lead = common_shape(lead, leading(right), "MatMul");
    y = batched_product(broadcast(a, with_matrix(lead, rows, left.back())),
                        broadcast(b, with_matrix(lead, left.back(), right.back())));
  }
  Shape shape = with_matrix(lead, rows, right.back());
  if (column) shape = shape.erase(shape.rank() - 1);
  if (row) shape = shape.erase(shape.rank() - (column ? 1 : 2));
  return reshape(y, shape);
}

namespace {

Values import_matmul(Node& node) { return {product(node.input(0), node.input(1))}; }

// As i32 minus its zero point: one number, or one for each row or column.
Value without_zero_point(Node& node, std::size_t input, bool of_rows) {
  const Value x = cast(node.input(input), Dtype::kI32);
  Value zero = node.optional_input(input + 2);
  if (!zero) return x;
  if (of_rows && zero.rank() > 0) zero = reshape(zero, zero.shape().insert(zero.rank(), 1));
  return x - cast(zero, Dtype::kI32);
}

Values import_matmul_integer(Node& node) {
  const bool plain = !node.has_input(2) && !node.has_input(3) &&
                     node.input(0).dtype() == Dtype::kI8 && node.input(1).dtype() == Dtype::kI8;
  if (plain) return {product(node.input(0), node.input(1))};
  return {product(without_zero_point(node, 0, true), without_zero_point(node, 1, false))};
}

Value transposed_if(Value x, bool transposed) { return transposed ? transpose(x, {1, 0}) : x; }

Value scaled(Value x, double factor) { return factor == 1 ? x : x * scalar_like(x, factor); }

// As linear, if it has that form.
Values import_gemm(Node& node) {
  const Value a = node.input(0), b = node.input(1), c = node.optional_input(2);
  if (a.rank() != 2 || b.rank() != 2)
    node.fail(ErrorCode::kShape, fmt::format("expected two matrices, got {} and {}",
                                             to_string(a.type()), to_string(b.type())));
  const double alpha = node.real("alpha", 1);
  const double beta = node.real("beta", 1);
  const bool transpose_b = node.flag("transB", false);
  const Value rows = transposed_if(a, node.flag("transA", false));
  const bool is_linear = is_floating(a.dtype()) && transpose_b && alpha == 1 && beta == 1 &&
                         (!c || c.shape() == Shape{b.shape()[0]});
  if (is_linear) return {linear(rows, b, c)};
  const Value y = scaled(product(rows, transposed_if(b, transpose_b)), alpha);
  if (!c || beta == 0) return {y};
  return {y + broadcast(scaled(c, beta), y.shape())};
}

constexpr NodeOp kProductsOperators[] = {
    {.name = "Gemm", .meaning = "alpha A B + beta C; linear if possible", .import = import_gemm},
    {.name = "MatMul", .meaning = "matmul", .import = import_matmul},
    {.name = "MatMulInteger",
     .since = 10,
     .meaning = "matmul of i8; of u8, or with zero points, in i32",
     .import = import_matmul_integer},
};

}  // namespace

constexpr std::span<const NodeOp> product_operators = kProductsOperators;

}  // namespace limpid::onnx::detail
