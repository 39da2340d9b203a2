// Initialisation schemes: how the first values of a weight are drawn from a key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/core/tensor.h"

namespace limpid::nn {

// A scheme with its numbers; a value. Weights are (out, in, ...): fan_in is the product of all
// dimensions but the first, fan_out the first times those behind the second.
struct Init {
  enum class Scheme : std::uint8_t {
    kConstant,         // `scale` everywhere
    kNormal,           // normal, std `scale`
    kTruncatedNormal,  // normal, std `scale`, drawn within two of them
    kXavierUniform,    // uniform, std scale * sqrt(2 / (fan_in + fan_out)): Glorot and Bengio 2010,
                       // eq. 16
    kXavierNormal,     // normal, the same std
    kKaimingUniform,   // uniform, std scale / sqrt(fan_in): He et al. 2015, eq. 10, scale being the
                       // gain
    kKaimingNormal,    // normal, the same std
    kLecunUniform,     // uniform, std scale / sqrt(fan_in): LeCun et al. 1998
    kLecunNormal,      // normal, the same std
    kOrthogonal,       // rows or columns orthonormal, times scale: Saxe et al. 2014
  };
  Scheme scheme = Scheme::kConstant;
  double scale = 0;

  // f32 of the shape, the same for the same key on every machine. Throws kShape where a scheme
  // needs fans and the rank is below 2.
  Tensor operator()(Key key, const Shape& shape) const;
};

// The schemes above with their numbers. `gain` multiplies the std; an activation's is in
// activation.h.
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
// GPT-2's for projections into the residual stream: normal of std / sqrt(2 * layers) (Radford et
// al. 2019, section 2.3).
Init depth_scaled_normal(std::int64_t layers, double std = 0.02);

// The scheme of a name as the command line has it ("he", "xavier", "orthogonal", ...), with the
// gain where it takes one. Throws kNotFound, naming the schemes there are.
Init init_from_name(std::string_view name, double gain);
std::vector<std::string> init_names();

}  // namespace limpid::nn
