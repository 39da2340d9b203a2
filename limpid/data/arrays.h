// Data sets from arrays, as NumPy's files hold them. Leans on table.h and core.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "limpid/core/params.h"
#include "limpid/data/dataset.h"
#include "limpid/data/table.h"

namespace limpid {

// The most classes that labels may name.
inline constexpr std::int64_t kMaxArrayClasses = 65'536;

// A data set of the arrays "x" and "y", all of it as the training part, or of "x_train", "y_train",
// "x_test" and "y_test"; other arrays are passed over. `where` names the source in errors, and its
// last component the data set.
//
// x is [N, ...] of any dtype but bf16; a row becomes f32 features in its order, numbers as they
// are, rounded to f32. y is [N] or [N, outputs]. Unless the task is given, y of integers or bools
// is a classification where it has one column, labels where it has several, all 0 or 1; any other y
// is a regression. The number of classes is the largest label of the training part + 1, at least 2;
// where it is above 1000, at least one class in 16 must occur there.
//
// Throws kNotFound, naming what there is, where arrays are missing (with Targets::kIfPresent those
// of the targets may be, which are f32 [N, 0] then); kShape where rows do not fit together; kDtype
// for bf16; kFormat, naming the row, counted from 0, for a label that is none or beyond
// kMaxArrayClasses or that training does not have, for more classes than that, a target that the
// task does not take, or a number beyond f32; kFormat where there are no rows.
Split arrays_split(const Params& arrays, std::string_view where, std::optional<Task> task = {},
                   Targets targets = Targets::kRequired);

}  // namespace limpid
