// The networks whose numbers were worked out by hand.
#pragma once

#include <initializer_list>
#include <string>

#include "limpid/core/params.h"
#include "limpid/nn/mlp.h"

namespace limpid::testing {

struct Worked {
  Function function;
  Params params;
  Params inputs;  // the parameters and "x"
};

// A network of linear layers with ReLU between them, and one input for it.
inline Worked worked(std::vector<std::int64_t> sizes, const Params& params,
                     std::initializer_list<float> x) {
  Worked w{nn::Mlp{std::move(sizes)}.function(), params, params};
  w.inputs.set("x", Tensor::from<float>(Shape{static_cast<std::int64_t>(x.size())}, x));
  return w;
}

inline Worked neuron_of_three() {
  return worked({3, 1},
                {{"layers.0.weight", Tensor::from<float>(Shape{1, 3}, {0.4f, -0.5f, 0.3f})},
                 {"layers.0.bias", Tensor::from<float>(Shape{1}, {0.1f})}},
                {1.5f, -2.0f, 0.8f});
}

inline Worked neuron_of_two() {
  return worked({2, 1},
                {{"layers.0.weight", Tensor::from<float>(Shape{1, 2}, {0.8f, -0.3f})},
                 {"layers.0.bias", Tensor::from<float>(Shape{1}, {0.2f})}},
                {1.5f, -0.7f});
}

// 2-3-1 in whole numbers.
inline Worked whole_mlp() {
  return worked({2, 3, 1},
                {{"layers.0.weight", Tensor::from<float>(Shape{3, 2}, {1, -1, 0, 1, 1, 1})},
                 {"layers.0.bias", Tensor::from<float>(Shape{3}, {0, 0, 0})},
                 {"layers.1.weight", Tensor::from<float>(Shape{1, 3}, {1, 1, 1})},
                 {"layers.1.bias", Tensor::from<float>(Shape{1}, {0})}},
                {2, -1});
}

// 2-3-1 with fractions.
inline Worked real_mlp() {
  return worked({2, 3, 1},
                {{"layers.0.weight",
                  Tensor::from<float>(Shape{3, 2}, {0.8f, -0.3f, -0.4f, 0.6f, 0.5f, 0.9f})},
                 {"layers.0.bias", Tensor::from<float>(Shape{3}, {0.2f, 0.1f, -0.5f})},
                 {"layers.1.weight", Tensor::from<float>(Shape{1, 3}, {0.6f, -0.2f, 0.4f})},
                 {"layers.1.bias", Tensor::from<float>(Shape{1}, {0.1f})}},
                {1.5f, -0.7f});
}

}  // namespace limpid::testing
