// Tensors for the laws, and how they are compared.
#pragma once

#include <string>
#include <vector>

#include "limpid/inspect/op_example.h"

namespace limpid::laws {

// "add f32[3, 5], f32[3, 5]": for messages.
std::string example_text(const Op& op, const Example& example);

// The inputs with zeros of both signs, the smallest and largest numbers, infinities and NaN in the
// places of floating elements.
std::vector<Tensor> special_inputs(std::vector<Tensor> inputs, Key key);

// Equal up to the bits of NaNs: where one is NaN the other is, every other element has the same
// bits.
bool same_numbers(const Tensor& a, const Tensor& b);

}  // namespace limpid::laws
