// softmax, log_softmax, log_sum_exp, and the cross-entropy that is fused with them.
#pragma once

#include "limpid/function/op.h"
#include "limpid/function/value.h"

namespace limpid {

namespace op {
extern const Op softmax, log_softmax, log_sum_exp, softmax_cross_entropy;
}  // namespace op

// e^(x - max) / sum of them, over one axis; -1 is the last. A NaN makes all of its line NaN.
Value softmax(Value x, std::int64_t axis = -1);
// (x - max) - log(sum of e^(x - max)).
Value log_softmax(Value x, std::int64_t axis = -1);

// max + log(sum of e^(x - max)) over one axis, which disappears; a line of -inf gives -inf.
Value log_sum_exp(Value x, std::int64_t axis = -1);

// The loss of every example: -log_softmax(logits)[label]. logits (..., classes), labels i32 (...);
// the result has the labels' shape. Its gradient by the logits is softmax(logits) -
// one_hot(labels). A label outside of [0, classes) matches no class: the loss is 0 there.
Value softmax_cross_entropy(Value logits, Value labels);

// true at the label's place: i32 (...) to bool (..., classes).
Value one_hot(Value labels, std::int64_t classes);

}  // namespace limpid
