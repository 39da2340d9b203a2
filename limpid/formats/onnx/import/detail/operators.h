// The tables of operators, one per file. Depends on node.h.
#pragma once

#include "limpid/formats/onnx/import/detail/node.h"

namespace limpid::onnx::detail {

extern const std::span<const NodeOp> activation_operators;
extern const std::span<const NodeOp> arithmetic_operators;
extern const std::span<const NodeOp> attention_operators;
extern const std::span<const NodeOp> random_operators;
extern const std::span<const NodeOp> softmax_operators;
extern const std::span<const NodeOp> constant_operators;
extern const std::span<const NodeOp> convolution_operators;
extern const std::span<const NodeOp> control_flow_operators;
extern const std::span<const NodeOp> einsum_operators;
extern const std::span<const NodeOp> indexing_operators;
extern const std::span<const NodeOp> logic_operators;
extern const std::span<const NodeOp> norm_operators;
extern const std::span<const NodeOp> optimizer_operators;
extern const std::span<const NodeOp> picture_operators;
extern const std::span<const NodeOp> pooling_operators;
extern const std::span<const NodeOp> sort_and_scan_operators;
extern const std::span<const NodeOp> slicing_operators;
extern const std::span<const NodeOp> product_operators;
extern const std::span<const NodeOp> recurrent_operators;
extern const std::span<const NodeOp> reduction_operators;
extern const std::span<const NodeOp> shape_operators;

// ---- shared functions

// Whether the dtype is an integer type.
bool is_integer(Dtype dtype);

// 0, 1, ..., count - 1 as `dtype`. Throws kUnsupported for more than 2^31.
Value counting(const Node& node, std::int64_t count, Dtype dtype);

// A number as a scalar of x's dtype: rounded for floating-point types, truncated and clamped for
// integers.
Value scalar_like(Value x, double number);

// A tensor of x's type filled with a number.
Value full_like(Value x, double number);

// The second operand of an operator of two. Before version 7 it was broadcast only if "broadcast"
// was set, its dimensions matched from "axis" on.
Value second_operand(const Node& node);

}  // namespace limpid::onnx::detail
