// Whether tensors are what a Function takes, for those who know its inputs alone.
#pragma once

#include <span>
#include <string_view>

#include "limpid/function/function.h"

namespace limpid {

// Throws kInvalidArgument, kShape or kDtype, naming the function and the input, if the tensors do
// not fit the inputs.
void check_arguments(std::string_view function, std::span<const Input> inputs,
                     std::span<const Tensor> tensors);

}  // namespace limpid
