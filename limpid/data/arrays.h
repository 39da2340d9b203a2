// Data sets from arrays, as in NumPy files. Depends on table.h and core.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "limpid/core/enum_names.h"
#include "limpid/core/params.h"
#include "limpid/data/dataset.h"
#include "limpid/data/table/table.h"

namespace limpid {

// The maximum number of classes.
inline constexpr std::int64_t kMaxArrayClasses = 65'536;

// Whether the memory of arrays may change after a data set was made of them.
enum class Arrays : std::uint8_t { kMayChange, kConstant };

// What the axes of x are.
enum class ArrayLayout : std::uint8_t {
  kAuto,  // of rank 4, channels are the axis of 1, 3 or 4; of rank 3, height and width of at least
          // 8
  kNhwc,  // [N, height, width, channels]
  kNchw,  // [N, channels, height, width]
  kFeatures,  // features, in their order
};
constexpr EnumNames<4> enum_names(ArrayLayout) {
  return {"layout", {"auto", "nhwc", "nchw", "flat"}};
}

// A data set from the arrays "x" and "y" (only a training set), or "x_train", "y_train", "x_test"
// and "y_test". Other arrays are ignored. `where` names the source in errors; its last path
// component becomes the name of the data set.
//
// x is [N, ...] of any dtype but bf16; each row is flattened to features and converted to f32. y is
// [N] or [N, outputs]. Unless the task is given, integer or bool y is a classification if it has
// one column, and multi-label if it has several columns of 0 and 1; any other y is a regression.
// The number of classes is the largest training label + 1, at least 2. If it is above 1000, at
// least one class in 16 must occur in the training set.
//
// With Targets::kIfPresent, missing targets become f32 [N, 0]. Throws kNotFound, listing the arrays
// that exist, if an array is missing; kShape if numbers of rows differ; kDtype for bf16; kFormat if
// there are no rows. Also throws kFormat, naming the row (from 0), for a label that is not a class
// number, is beyond kMaxArrayClasses or does not occur in training; for too many classes; for a
// target that the task does not allow; and for a number that overflows f32.
//
// Pictures: if the layout says so, Dataset::picture has the shape of x, and rows are channels, each
// [height, width]. Its `white` is 255 for integers from 0 to 255, of which one is above 1; 1 for
// bools, and for other numbers from 0 to 1; else 0. With kAuto, x of another rank, or rank 4
// without such an axis, is features; if both the second and the last axis may be channels, kFormat
// is thrown. Any other layout needs rank 4, else kShape is thrown.
//
// x is converted at once, or with Arrays::kConstant whenever rows are read: then the data set takes
// no memory but that of the arrays.
Split arrays_split(const Params& arrays, std::string_view where, std::optional<Task> task = {},
                   Targets targets = Targets::kRequired, Arrays memory = Arrays::kMayChange,
                   ArrayLayout layout = ArrayLayout::kFeatures);

}  // namespace limpid
