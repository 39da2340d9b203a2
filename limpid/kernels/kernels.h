// The table of kernels for each instruction set: loops over plain memory, used by the compiler. A
// kernel allocates nothing, throws nothing and is independent of Functions. docs/arithmetic.md
// defines its bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "limpid/kernels/isa.h"

namespace limpid::kernels {

// Element-wise functions on 4-byte lanes: f32, i32, or a mask (all bits of the lane are set, or
// none).
enum class Element : std::uint8_t {
  // f32 -> f32
  kNegate,
  kAbs,
  kExp,
  kLog,
  kTanh,
  kErf,
  kSqrt,
  kRelu,     // maximum(x, +0)
  kSigmoid,  // 1 / (1 + e^-x)
  kNdtr,     // standard normal CDF
  kGelu,     // these three: the bodies of the ops with these names
  kGeluTanh,
  kSilu,
  kLog1p,  // log(1 + x)
  kExpm1,  // e^x - 1
  kSin,
  kCos,
  kRsqrt,  // 1 / sqrt(x), two roundings
  kFloor,  // these four keep the sign if the result is zero
  kCeil,
  kRound,  // to nearest, ties to even
  kTruncate,
  kSign,  // -1 or 1; zeros and NaN stay
  // f32, f32 -> f32
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kMaximum,  // NaN if either is NaN; +0 is greater than -0
  kMinimum,
  kPower,         // special values as C's pow
  kGeluGradient,  // x, g: the body of the op with this name
  // f32, f32 -> mask
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  // i32, i32 -> mask
  kEqualI32,
  kNotEqualI32,
  kLessI32,
  kLessEqualI32,
  // i32 -> i32, wrapping around
  kNegateI32,
  kAbsI32,
  // i32, i32 -> i32, wrapping around
  kAddI32,
  kSubtractI32,
  kMultiplyI32,
  kMaximumI32,
  kMinimumI32,
  kShiftRightI32,  // logical shift; a count outside [0, 31] gives 0
  // i32 -> f32, rounded to nearest, ties to even
  kI32ToF32,
  // mask -> f32: 1 or 0
  kMaskToF32,
  // mask, any, any -> any: the second where the mask is set, else the third
  kSelect,
  kCount,
};
inline constexpr std::size_t kElementCount = static_cast<std::size_t>(Element::kCount);

// out[i] = f(a[i], b[i], c[i]) for i in [0, n). Unused operands are ignored. `out` may be one of
// the operands. Reads and writes only the n lanes. Requires 4-byte alignment.
using ElementFn = void (*)(void* out, const void* a, const void* b, const void* c, std::size_t n);

// A matrix in memory: element (r, c) is data[r * row_stride + c * col_stride]. One of the strides
// is 1.
struct Matrix {
  const float* data;
  std::size_t row_stride;
  std::size_t col_stride;
};

// C = A B (+ bias) (then ReLU). A is m x k, B is k x n, C is m x n and row-major. A call computes a
// range of the m rows.
struct Matmul {
  std::size_t n, k;
  Matrix a;
  Matrix b;               // ignored if packed_b is given
  const float* packed_b;  // B packed by pack(), or nullptr
  float* c;
  std::size_t c_row_stride;
  const float* bias;  // n values added to every row after the sum over k, or nullptr
  bool relu;          // Element::kRelu, after the bias
};

// c = a B (+ bias) (then ReLU) as above for one row: a has k elements, c has n.
struct MatmulRow {
  std::size_t n, k;
  bool relu;
  bool padded;  // whether c has room for n rounded up to a multiple of Kernels::lanes
};

// Half-open range of rows or columns.
struct Range {
  std::size_t begin, end;
};

// C = A B (+ bias) (then ReLU) as above, where B is bf16 or i8 and A is row-major.
struct NarrowMatmul {
  std::size_t n, k;
  const float* a;
  std::size_t a_row_stride;
  const void* packed_b;  // packed by NarrowKernels::pack()
  const float* scale;    // for i8: n values, one for each column of B
  float* c;
  std::size_t c_row_stride;
  const float* bias;
  bool relu;
  bool from_memory = false;  // B is read from memory, not from a cache
};

// Operands of adam_update (limpid/ops/update.h). A result may be in the memory of its operand.
struct AdamUpdate {
  const float *parameter, *gradient, *mean, *square;
  float *new_parameter, *new_mean, *new_square;
  float gradient_scale, decay, step_size, root, eps;
  float beta1, rest1, beta2, rest2;  // rest: 1 - beta, rounded from f64
};

// Products with weights of bf16 or i8.
struct NarrowKernels {
  std::size_t panel_width;  // as Kernels::panel_width
  std::size_t (*packed_bytes)(std::size_t k, std::size_t n);
  // Packs a k x n matrix; element (r, c) is b[r * row_stride + c * col_stride] of the dtype.
  void (*pack)(const void* b, std::size_t row_stride, std::size_t col_stride, std::size_t k,
               std::size_t n, void* out);
  // Bytes of scratch that one thread needs inside matmul().
  std::size_t (*scratch_bytes)(std::size_t m, std::size_t k);
  // As Kernels::matmul.
  void (*matmul)(const NarrowMatmul& matmul, Range rows, Range columns, void* scratch);
};

// Attention to the keys of one head, for all query heads that share it. Row r in [0, group *
// queries) is query r mod queries; it sees key j if j <= r mod queries + ahead. out[r] is the
// weighted sum of the values: see core/attend.h.
struct Attention {
  std::size_t queries, keys, size, value_size;
  float scale;
  std::int64_t ahead;
  const float* q;  // rows of `size` elements; rows of `out` have `value_size`
  Matrix k;        // one row per key
  const float* v;  // keys x value_size
  float* out;
  // The mask, at most one of these: whether a key is seen, or a number to add to its score. Row r
  // of the mask has `keys` elements and is row (mask_row + r) mod mask_rows in memory.
  const std::uint8_t* seen;
  const float* added;
  std::size_t mask_row, mask_rows;
};

// The patches of images as a matrix. Row (channel, tap), column (image, position): the element at
// first + position * step + tap * tap_step of the channel, in z, y and x; +0 outside. Rows and
// columns are row-major.
struct Patches {
  const float* x;
  std::size_t image_step, channel_step;  // floats
  std::array<std::size_t, 3> in, out, taps;
  std::array<std::ptrdiff_t, 3> first, step, tap_step;
};

// C = A B (+ bias) (then ReLU): A is row-major, B is patches. Column (image, z, y, x) of C is at
// image * c_image_step + z * c_step[0] + ...
struct Conv {
  Patches b;
  std::size_t k;
  const float* a;
  // The terms before which the blocks of the sum end, the last is k; nullptr: arithmetic::kBlock
  // terms each. No block has more.
  const std::size_t* block_ends;
  float* c;
  std::size_t c_row_stride, c_image_step;
  std::array<std::size_t, 3> c_step;
  const float* bias;  // for each row, or nullptr
  bool relu;
};

// C = A B^T: A is m x (image, position), where the positions of an image are contiguous; B is
// patches; C is row-major.
struct ConvWeightGradient {
  Patches b;
  std::size_t images;
  const float* a;
  std::size_t a_row_stride, a_image_step;
  float* c;
  std::size_t c_row_stride;
};

// Windows with the same elements: element t of window i in [0, count) is x[taps[t] + i * step].
// Result i is written to out[i * out_step].
struct WindowRun {
  const float* x;
  const std::int64_t* taps;
  std::size_t elements;  // of each window
  std::size_t count, step, out_step;
};

struct Kernels {
  Isa isa;
  std::size_t lanes;  // 4-byte lanes in a vector: 16 or a divisor of 16

  std::array<ElementFn, kElementCount> element;

  // out[i] = word (first + i) of the table of `key` (limpid/core/key.h).
  void (*random_bits)(std::uint64_t key, std::uint64_t first, std::size_t n, std::int32_t* out);

  // Booleans in memory (one byte, 0 or 1) to masks and back.
  void (*bool_to_mask)(const std::uint8_t* in, std::size_t n, std::uint32_t* out);
  void (*mask_to_bool)(const std::uint32_t* in, std::size_t n, std::uint8_t* out);

  // Columns of a packed panel: work on columns is split at multiples of it.
  std::size_t panel_width;
  // Size in floats of a packed k x n matrix, including padding that is read beyond it.
  std::size_t (*packed_floats)(std::size_t k, std::size_t n);
  // Packs the columns of B in `columns` to their position in `out`. columns.begin is a multiple of
  // panel_width; columns.end too, or n.
  void (*pack)(const Matrix& b, std::size_t k, std::size_t n, Range columns, float* out);
  // Floats of scratch that one thread needs inside matmul().
  std::size_t (*matmul_scratch_floats)(std::size_t m, std::size_t n, std::size_t k);
  // Computes the part of C in rows x columns. Calls on disjoint parts may run at the same time,
  // each with its own scratch (64-byte aligned). columns.begin is a multiple of panel_width;
  // columns.end too, or n.
  void (*matmul)(const Matmul& matmul, Range rows, Range columns, float* scratch);
  // The same for one row and a packed B; bias may be nullptr. It avoids the setup of matmul(),
  // which takes longer than a row of a small network.
  void (*matmul_row)(const MatmulRow& row, const float* a, const float* packed_b, const float* bias,
                     float* c);

  // Rows and columns that conv() takes at most in one call.
  std::size_t conv_rows, conv_columns;
  // Floats of scratch that one thread needs inside conv() and conv_weight_gradient().
  std::size_t conv_scratch_floats, conv_weight_gradient_scratch_floats;
  // Computes the part of C in rows x columns. Calls on disjoint parts may run at the same time,
  // each with its own scratch (64-byte aligned).
  void (*conv)(const Conv& conv, Range rows, Range columns, float* scratch);
  // The same, for any number of rows and columns.
  void (*conv_weight_gradient)(const ConvWeightGradient& gradient, Range rows, Range columns,
                               float* scratch);

  // bf16: elements of B are widened to f32. i8: the body of quantized_linear; k is at most
  // arithmetic::kMostI8Terms.
  NarrowKernels bf16, i8;

  // On each row of a row-major rows x columns matrix. `out` has the same shape and may be `in`.
  void (*softmax)(const float* in, std::size_t rows, std::size_t columns, float* out);
  void (*log_softmax)(const float* in, std::size_t rows, std::size_t columns, float* out);

  // On each row: (x - mean) / sqrt(variance + eps), times gamma and plus beta unless they are
  // nullptr. `out` may be `in`.
  void (*layer_norm)(const float* in, std::size_t rows, std::size_t columns, float eps,
                     const float* gamma, const float* beta, float* out);
  // On each row: x / sqrt(mean of squares + eps), times gamma unless it is nullptr. `out` may be
  // `in`.
  void (*rms_norm)(const float* in, std::size_t rows, std::size_t columns, float eps,
                   const float* gamma, float* out);

  // The bodies of the ops with these names, on each row: dx; and, if gamma is not nullptr, gh = g
  // times the normalised row. dx may be g.
  void (*layer_norm_gradient)(const float* x, const float* g, std::size_t rows, std::size_t columns,
                              float eps, const float* gamma, float* dx, float* gh);
  void (*rms_norm_gradient)(const float* x, const float* g, std::size_t rows, std::size_t columns,
                            float eps, const float* gamma, float* dx, float* gh);

  // Over the last axis: out[r] = sum, maximum or minimum of row r.
  void (*sum_rows)(const float* in, std::size_t rows, std::size_t columns, float* out);
  void (*max_rows)(const float* in, std::size_t rows, std::size_t columns, float* out);
  void (*min_rows)(const float* in, std::size_t rows, std::size_t columns, float* out);
  // Over the axis before the last: out[c] = sum, maximum or minimum of column c, for the columns in
  // `part`.
  void (*sum_columns)(const float* in, std::size_t rows, std::size_t columns, Range part,
                      float* out);
  void (*max_columns)(const float* in, std::size_t rows, std::size_t columns, Range part,
                      float* out);
  void (*min_columns)(const float* in, std::size_t rows, std::size_t columns, Range part,
                      float* out);

  // The sum of each window, in the order of sum_columns(); its maximum; and of its first largest
  // element or first NaN taps[t] + i * place_step, or -1 if it has no elements.
  void (*sum_windows)(const WindowRun& run, float* out);
  void (*max_windows)(const WindowRun& run, float* out);
  void (*argmax_windows)(const WindowRun& run, std::size_t place_step, std::int32_t* out);

  void (*adam_update)(const AdamUpdate& update, Range elements);

  // Floats of scratch that one thread needs inside attention().
  std::size_t (*attention_scratch_floats)(std::size_t keys, std::size_t size,
                                          std::size_t value_size);
  // Computes these rows. Calls on disjoint rows may run at the same time, each with its own scratch
  // (64-byte aligned).
  void (*attention)(const Attention& attention, Range rows, float* scratch);

  // out[c * rows + r] = in[r * columns + c], for the columns in `part`.
  void (*transpose)(const float* in, std::size_t rows, std::size_t columns, Range part, float* out);
};

// The kernels of an instruction set, which must be among available_isas().
const Kernels& kernels(Isa isa);

}  // namespace limpid::kernels
