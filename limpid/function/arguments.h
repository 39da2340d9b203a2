// Checks tensors against the inputs of a Function, for callers that have the inputs but not the
// Function.
#pragma once

#include <span>
#include <string_view>

#include "limpid/function/function.h"

namespace limpid {

// Throws kInvalidArgument (number of tensors), kShape or kDtype if the tensors do not match the
// inputs. The message names the function and the input.
void check_arguments(std::string_view function, std::span<const Input> inputs,
                     std::span<const Tensor> tensors);

}  // namespace limpid
