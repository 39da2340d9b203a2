// Tensors for the laws, drawn from keys.
#pragma once

#include <span>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/function/function.h"

namespace limpid::laws {

// Floating elements from [low, high), integers from [0, bound), booleans by a coin.
Tensor random_tensor(const Type& type, Key key, double low, double high, std::int64_t bound);

std::vector<Tensor> random_inputs(const Example& example, Key key);
std::vector<Tensor> random_inputs(const Function& function, Key key, double low = -2,
                                  double high = 2, std::int64_t bound = 2);

// The example's call as a Function of its inputs.
Function function_of(const Op& op, const Example& example);

// "add f32[3, 5], f32[3, 5]": for messages.
std::string example_text(const Op& op, const Example& example);

// Equal up to the bits of NaNs: where one is NaN the other is, every other element has the same
// bits.
bool same_numbers(const Tensor& a, const Tensor& b);

}  // namespace limpid::laws
