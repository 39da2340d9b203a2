// Pooling: reductions of windows that slide over the last one to three dimensions of x, such as
// those of a picture (N, C, height, width). Padding takes no part: it is not an element of any
// window. All throw kShape, kDtype, and kShape for a window that is larger than the padded x.
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/function/op.h"
#include "limpid/function/value.h"
#include "limpid/ops/windows.h"

namespace limpid {

namespace op {
extern const Op reduce_window_sum, max_pool, max_pool_indices, avg_pool, lp_pool;
}  // namespace op

// The windows of a pooling: a number for each of the last dimensions of x, as many as `kernel` has.
struct PoolOptions {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> stride = {};    // default: the kernel
  std::vector<std::int64_t> low = {};       // padding before the first element; default: 0
  std::vector<std::int64_t> high = {};      // and after the last; default: low
  std::vector<std::int64_t> dilation = {};  // from one element of a window to the next; default: 1
  // A last window may be partly beyond x and its padding; it begins inside of x or its first
  // padding.
  bool ceil_mode = false;
};

// The largest element of each window; NaN if any is NaN, the lowest number of a window of padding.
Value max_pool(Value x, const PoolOptions& options);
// The places of these elements: of each window the row-major index, within the pooled dimensions of
// x, of the first largest element or first NaN, as i32; -1 of a window of padding.
Value max_pool_indices(Value x, const PoolOptions& options);
// The sum over each window (JAX's reduce_window with add).
Value reduce_window_sum(Value x, const PoolOptions& options);
// The sum over each window divided by its number of elements; with `count_include_pad` padding
// counts (but what ceil_mode adds beyond the padding does not).
Value avg_pool(Value x, const PoolOptions& options, bool count_include_pad = true);
// (sum of |x|^p)^(1/p) over each window. Throws kInvalidArgument unless p is positive and finite.
Value lp_pool(Value x, double p, const PoolOptions& options);

// The inverse of max_pool: zeros of shape (..., sizes), and x's elements at the places that
// `indices` (max_pool_indices) names in the last dimensions. If a place is named twice, the last
// element stays; one out of range is ignored.
Value max_unpool(Value x, Value indices, const std::vector<std::int64_t>& sizes);

// Windows of nearly equal sizes, which cover the last dimensions and give a result of `sizes`:
// window i of n begins at floor(i size / n) and ends before ceil((i + 1) size / n).
Value adaptive_avg_pool(Value x, const std::vector<std::int64_t>& sizes);
Value adaptive_max_pool(Value x, const std::vector<std::int64_t>& sizes);

// The windows of a call of a pooling op.
Windows windows_of(const Call& call);

}  // namespace limpid
