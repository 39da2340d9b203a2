// softmax, log_softmax, log_sum_exp, and cross-entropy fused with softmax. All throw kShape,
// kDtype.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op softmax, log_softmax, log_sum_exp, softmax_cross_entropy;
}  // namespace op

// e^(x - max) / sum of e^(x - max) over one axis; -1 is the last. A NaN makes its whole slice along
// the axis NaN.
Value softmax(Value x, std::int64_t axis = -1);
// (x - max) - log(sum of e^(x - max)).
Value log_softmax(Value x, std::int64_t axis = -1);

// max + log(sum of e^(x - max)) over one axis, which is removed. If all elements are -inf, the
// result is -inf.
Value log_sum_exp(Value x, std::int64_t axis = -1);

// The loss of every example: -log_softmax(logits)[label], for logits (..., classes) and labels
// (...) of any integer dtype; shape (...). The gradient with respect to the logits is
// softmax(logits) - one_hot(labels). A label outside of [0, classes) matches no class: its loss is
// 0.
Value softmax_cross_entropy(Value logits, Value labels);

// One-hot encoding: integer labels (...) to bool (..., classes), true at the index of the label.
Value one_hot(Value labels, std::int64_t classes);

// Labels of any integer dtype as i32, which the ops take. A number outside of i32 becomes the i32
// nearest to it, which is no class either. Values of other dtypes stay as they are.
Value labels_as_i32(Value labels);

}  // namespace limpid
