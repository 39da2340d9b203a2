// Convolutions over 1, 2 or 3 spatial dimensions, and their transposes: the arguments and names of
// PyTorch's Conv1d, ConvTranspose1d, ...
#pragma once

#include <cstdint>
#include <vector>

#include "limpid/core/key.h"
#include "limpid/core/params.h"
#include "limpid/function/value.h"
#include "limpid/nn/init.h"
#include "limpid/nn/spatial.h"

namespace limpid::nn {

// Zeros around the input.
struct Padding {
  enum class Kind : std::uint8_t {
    kZeros,   // `zeros` on both sides
    kSame,    // as many positions as elements, for a stride of 1; an odd zero is at the end
    kCausal,  // zeros before only: a position reads no element after it
  };
  Kind kind = Kind::kZeros;
  Spatial zeros = {0};
};

// A convolution over `rank` dimensions.
template <std::size_t rank>
struct Conv {
  std::int64_t in = 0;
  std::int64_t out = 0;
  Spatial kernel = {};
  Spatial stride = {1};
  Padding padding = {};
  Spatial dilation = {1};
  std::int64_t groups = 1;
  bool bias = true;
  Init weight_init = kaiming_normal(1.4142135623730951);

  // "weight" (out, in / groups, kernel...), drawn by weight_init; "bias" (out), zeros. Throws
  // kInvalidArgument for a list of another length, and groups that do not divide `in`.
  Params init(Key key) const;
  // x (N, in, size...) to (N, out, positions...). Throws kShape, kDtype, and kInvalidArgument as
  // init, and for a stride with kSame.
  Value operator()(const Args& params, Value x) const;
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

// The adjoint of a convolution over `rank` dimensions, with parameters of its own.
template <std::size_t rank>
struct ConvTranspose {
  std::int64_t in = 0;
  std::int64_t out = 0;
  Spatial kernel = {};
  Spatial stride = {1};
  Spatial padding = {0};         // elements of the result left out at both ends
  Spatial output_padding = {0};  // elements of the result added at the end
  std::int64_t groups = 1;
  bool bias = true;
  Spatial dilation = {1};
  Init weight_init = kaiming_normal(1.4142135623730951);

  // "weight" (in, out / groups, kernel...), drawn by weight_init; "bias" (out), zeros. Throws
  // kInvalidArgument for a list of another length, and groups that do not divide `out`.
  Params init(Key key) const;
  // x (N, in, size...) to (N, out, size...). Throws kShape, kDtype, and kInvalidArgument as init.
  Value operator()(const Args& params, Value x) const;
};
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

}  // namespace limpid::nn
