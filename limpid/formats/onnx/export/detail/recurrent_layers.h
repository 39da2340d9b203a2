// Recurrent layers, found in a Function that is to be written. Depends on function.
#pragma once

#include <vector>

#include "limpid/function/function.h"

namespace limpid::onnx::detail {

// A layer as one op, of functions that are to be written only: it is no op of the library.
extern const Op recurrent_layer;

// The Function with each scan that is an RNN, LSTM or GRU of the library as one such op; without
// one, the Function itself. `batched` marks the inputs of which a batch of any size is written.
Function with_recurrent_layers(const Function& function, const std::vector<bool>& batched);

}  // namespace limpid::onnx::detail
