// Initialisation schemes: draw the initial values of a weight from a key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/core/tensor.h"

namespace limpid::nn {

// A scheme and its scale. Weights are (out, in, ...): fan_in is the product of all dimensions but
// the first, fan_out the product of all but the second.
struct Init {
  enum class Scheme : std::uint8_t {
    kConstant,         // every element is `scale`
    kNormal,           // normal, std `scale`
    kTruncatedNormal,  // normal, std `scale`, truncated at two standard deviations
    kXavierUniform,    // uniform, std scale * sqrt(2 / (fan_in + fan_out)): Glorot and Bengio 2010,
                       // eq. 16
    kXavierNormal,     // normal, the same std
    kKaimingUniform,   // uniform, std scale / sqrt(fan_in): He et al. 2015, eq. 10, with `scale` as
                       // gain
    kKaimingNormal,    // normal, the same std
    kLecunUniform,     // uniform, std scale / sqrt(fan_in): LeCun et al. 1998
    kLecunNormal,      // normal, the same std
    kOrthogonal,       // rows or columns orthonormal, times scale: Saxe et al. 2014
  };
  Scheme scheme = Scheme::kConstant;
  double scale = 0;

  // A weight: f32 of this shape. The same key gives the same bits on every machine. Throws kShape
  // if the scheme needs fan_in or fan_out and the rank is below 2.
  Tensor operator()(Key key, const Shape& shape) const;
};

// The schemes above. `gain` multiplies the std; activation.h gives the gain of each activation.
Init zeros();
Init constant(double value);
Init normal(double std);
Init truncated_normal(double std = 0.02);
Init xavier_uniform(double gain = 1);
Init xavier_normal(double gain = 1);
Init kaiming_uniform(double gain);
Init kaiming_normal(double gain);
Init lecun_uniform();
Init lecun_normal();
Init orthogonal(double gain = 1);
// As GPT-2 initialises projections into the residual stream: normal, std / sqrt(2 * layers)
// (Radford et al. 2019, section 2.3).
Init depth_scaled_normal(std::int64_t layers, double std = 0.02);

// The scheme with this name of the command line ("he", "xavier", "orthogonal", ...), with `gain` if
// it takes one. Throws kNotFound; the message lists the names that exist.
Init init_from_name(std::string_view name, double gain);
std::vector<std::string> init_names();

}  // namespace limpid::nn
