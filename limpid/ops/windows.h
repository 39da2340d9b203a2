// Windows that slide over the last one to three dimensions of a tensor: their elements and their
// order, shared by the pooling ops, the steps that run them and emitted code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "limpid/core/sums.h"

namespace limpid {

// One dimension: element k of window o is x[o * stride + k * dilation - low].
struct WindowAxis {
  std::int64_t size, count, kernel, stride, dilation, low;
};

// `planes` tensors of three dimensions each; the first ones may have size 1.
struct Windows {
  std::int64_t planes;
  std::array<WindowAxis, 3> axes;

  std::int64_t elements() const { return axes[0].size * axes[1].size * axes[2].size; }
  std::int64_t results() const { return axes[0].count * axes[1].count * axes[2].count; }
};

// The elements of a window that are not padding: `count` of them, the first one at `first`.
struct Taps {
  std::int64_t first, count;
};

// Those of one window along an axis.
inline Taps taps_of(const WindowAxis& axis, std::int64_t window) {
  const std::int64_t start = window * axis.stride - axis.low;
  const std::int64_t skipped = start < 0 ? (-start - 1) / axis.dilation + 1 : 0;
  const std::int64_t end = start < axis.size ? (axis.size - 1 - start) / axis.dilation + 1 : 0;
  const std::int64_t last = end < axis.kernel ? end : axis.kernel;
  return {start + skipped * axis.dilation, last > skipped ? last - skipped : 0};
}

// Calls visit(place) for the elements of one window, by their place in the plane. The last
// dimension varies fastest.
template <class Visit>
void for_each_tap(const Windows& w, const std::array<std::int64_t, 3>& window, const Visit& visit) {
  const auto& [z, y, x] = w.axes;
  const Taps tz = taps_of(z, window[0]), ty = taps_of(y, window[1]), tx = taps_of(x, window[2]);
  for (std::int64_t i = 0; i < tz.count; ++i)
    for (std::int64_t j = 0; j < ty.count; ++j) {
      const std::int64_t row = (tz.first + i * z.dilation) * y.size + ty.first + j * y.dilation;
      for (std::int64_t k = 0; k < tx.count; ++k) visit(row * x.size + tx.first + k * x.dilation);
    }
}

// Calls visit(plane, window) for all windows in the order of the results.
template <class Visit>
void for_each_window(const Windows& w, const Visit& visit) {
  for (std::int64_t p = 0; p < w.planes; ++p)
    for (std::int64_t i = 0; i < w.axes[0].count; ++i)
      for (std::int64_t j = 0; j < w.axes[1].count; ++j)
        for (std::int64_t k = 0; k < w.axes[2].count; ++k)
          visit(p, std::array<std::int64_t, 3>{i, j, k});
}

// ---- the reductions

// The terms of a window as those of arithmetic::strided_sum.
template <class T>
void sum_windows(const Windows& w, const T* x, T* y) {
  for_each_window(w, [&](std::int64_t plane, const std::array<std::int64_t, 3>& window) {
    const T* const from = x + plane * w.elements();
    arithmetic::Tree<T> tree;
    T block = 0;
    std::size_t terms = 0;
    for_each_tap(w, window, [&](std::int64_t place) {
      block += from[place];
      if (++terms % arithmetic::kBlock != 0) return;
      tree.add(block);
      block = 0;
    });
    if (terms % arithmetic::kBlock != 0) tree.add(block);
    *y++ = tree.total();
  });
}

// The fold of each window by Choice, from its start.
template <class Choice, class T>
void extreme_windows(const Windows& w, const T* x, T* y) {
  for_each_window(w, [&](std::int64_t plane, const std::array<std::int64_t, 3>& window) {
    const T* const from = x + plane * w.elements();
    T best = Choice::template start<T>();
    for_each_tap(w, window, [&](std::int64_t place) { best = Choice::better(best, from[place]); });
    *y++ = best;
  });
}

// The place in its plane of the first largest element, or of the first NaN; -1 without elements.
template <class T>
void argmax_windows(const Windows& w, const T* x, std::int32_t* y) {
  const auto is_number = [](T v) { return v == v; };
  for_each_window(w, [&](std::int64_t plane, const std::array<std::int64_t, 3>& window) {
    const T* const from = x + plane * w.elements();
    std::int64_t best = -1;
    for_each_tap(w, window, [&](std::int64_t place) {
      if (best < 0 ||
          (is_number(from[best]) && (from[place] > from[best] || !is_number(from[place]))))
        best = place;
    });
    *y++ = static_cast<std::int32_t>(best);
  });
}

}  // namespace limpid
