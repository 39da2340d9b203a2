// Convolution and its two gradients, output by output: the scalar specification of their bits
// (docs/arithmetic.md). Elements outside of the input are +0 and take part in the sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "limpid/core/fused.h"
#include "limpid/core/sums.h"

namespace limpid::arithmetic {

// Row-major x[images, groups * channels, in], w[groups * outputs, channels, taps], y[images, groups
// * outputs, out]. Spatial dimensions are z, y, x; those that are missing have one element. Output
// p reads with tap k element p * stride + k * dilation - low of the input.
struct ConvolutionSizes {
  std::size_t images, groups;
  std::size_t channels, outputs;  // of each group
  std::size_t in[3];
  std::size_t out[3];
  std::size_t taps[3];
  std::int64_t stride[3];
  std::int64_t dilation[3];
  std::int64_t low[3];

  std::size_t in_elements() const { return in[0] * in[1] * in[2]; }
  std::size_t out_elements() const { return out[0] * out[1] * out[2]; }
  std::size_t tap_count() const { return taps[0] * taps[1] * taps[2]; }
};

// A row-major position in a space of three dimensions.
struct Position3 {
  std::size_t at[3];
};
inline Position3 position_of(std::size_t i, const std::size_t (&size)[3]) {
  return {{i / (size[1] * size[2]), i / size[2] % size[1], i % size[2]}};
}

// No element: a tap is in the padding.
inline constexpr std::size_t kOutside = static_cast<std::size_t>(-1);

// The element of the input that an output reads with a tap, or kOutside.
inline std::size_t element_read(const ConvolutionSizes& s, const Position3& output,
                                const Position3& tap) {
  std::size_t element = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t i = static_cast<std::int64_t>(output.at[d]) * s.stride[d] +
                           static_cast<std::int64_t>(tap.at[d]) * s.dilation[d] - s.low[d];
    if (i < 0 || i >= static_cast<std::int64_t>(s.in[d])) return kOutside;
    element = element * s.in[d] + static_cast<std::size_t>(i);
  }
  return element;
}
// The inverse: the output that reads an element of the input with a tap, or kOutside.
inline std::size_t output_reading(const ConvolutionSizes& s, const Position3& element,
                                  const Position3& tap) {
  std::size_t output = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t i = static_cast<std::int64_t>(element.at[d]) + s.low[d] -
                           static_cast<std::int64_t>(tap.at[d]) * s.dilation[d];
    if (i < 0 || i % s.stride[d] != 0 || i / s.stride[d] >= static_cast<std::int64_t>(s.out[d]))
      return kOutside;
    output = output * s.out[d] + static_cast<std::size_t>(i / s.stride[d]);
  }
  return output;
}

// x[element], or +0 outside.
template <class T>
T element_or_zero(const T* x, std::size_t element) {
  return element == kOutside ? T{0} : x[element];
}

// y, with the bias of each output channel added unless it is nullptr. Terms: (channel, tap), in the
// order of the weight.
template <class T>
void convolve(const ConvolutionSizes& s, const T* x, const T* w, const T* bias, T* y) {
  const std::size_t taps = s.tap_count(), k = s.channels * taps;
  for (std::size_t n = 0; n < s.images; ++n)
    for (std::size_t o = 0; o < s.groups * s.outputs; ++o) {
      const T* const planes = x + (n * s.groups + o / s.outputs) * s.channels * s.in_elements();
      for (std::size_t p = 0; p < s.out_elements(); ++p, ++y) {
        const Position3 output = position_of(p, s.out);
        const T sum = in_blocks<T>(k, [&](T block, std::size_t i) {
          const std::size_t element = element_read(s, output, position_of(i % taps, s.taps));
          return fused(element_or_zero(planes + i / taps * s.in_elements(), element), w[o * k + i],
                       block);
        });
        *y = bias == nullptr ? sum : sum + bias[o];
      }
    }
}

// The transposed convolution, x from y: the convolution of y, with stride - 1 zeros between its
// elements and zeros around them, with the reversed taps. Terms: (output channel, tap from the last
// to the first). The bias has one number for each channel of x.
template <class T>
void convolve_transposed(const ConvolutionSizes& s, const T* y, const T* w, const T* bias, T* x) {
  const std::size_t taps = s.tap_count(), k = s.outputs * taps;
  for (std::size_t n = 0; n < s.images; ++n)
    for (std::size_t c = 0; c < s.groups * s.channels; ++c) {
      const std::size_t group = c / s.channels;
      const T* const planes = y + (n * s.groups + group) * s.outputs * s.out_elements();
      const T* const weights = w + (group * s.outputs * s.channels + c % s.channels) * taps;
      for (std::size_t e = 0; e < s.in_elements(); ++e, ++x) {
        const Position3 element = position_of(e, s.in);
        const T sum = in_blocks<T>(k, [&](T block, std::size_t i) {
          const std::size_t o = i / taps, tap = taps - 1 - i % taps;
          const std::size_t output = output_reading(s, element, position_of(tap, s.taps));
          return fused(element_or_zero(planes + o * s.out_elements(), output),
                       weights[o * s.channels * taps + tap], block);
        });
        *x = bias == nullptr ? sum : sum + bias[c];
      }
    }
}

// The gradient of the weight, from x and the cotangent of y. Terms: (image, output position).
template <class T>
void convolve_weight_gradient(const ConvolutionSizes& s, const T* x, const T* y, T* w) {
  const std::size_t taps = s.tap_count(), positions = s.out_elements();
  for (std::size_t o = 0; o < s.groups * s.outputs; ++o)
    for (std::size_t c = 0; c < s.channels; ++c)
      for (std::size_t t = 0; t < taps; ++t, ++w) {
        const Position3 tap = position_of(t, s.taps);
        const std::size_t channel = o / s.outputs * s.channels + c;
        *w = in_blocks<T>(s.images * positions, [&](T block, std::size_t i) {
          const std::size_t n = i / positions, p = i % positions;
          const std::size_t element = element_read(s, position_of(p, s.out), tap);
          const T* const plane = x + (n * s.groups * s.channels + channel) * s.in_elements();
          return fused(element_or_zero(plane, element),
                       y[(n * s.groups * s.outputs + o) * positions + p], block);
        });
      }
}

// The elements that each output reads, as columns: out[images, channels * taps, positions] from
// x[images, channels, in]. `groups` and `outputs` are not used.
template <class T>
void take_patches(const ConvolutionSizes& s, const T* x, T* out) {
  for (std::size_t plane = 0; plane < s.images * s.channels; ++plane, x += s.in_elements())
    for (std::size_t t = 0; t < s.tap_count(); ++t)
      for (std::size_t p = 0; p < s.out_elements(); ++p, ++out)
        *out = element_or_zero(x, element_read(s, position_of(p, s.out), position_of(t, s.taps)));
}
// The adjoint: each element is the sum, from +0, of those columns' elements that read it, in the
// order of the taps.
template <class T>
void add_patches(const ConvolutionSizes& s, const T* columns, T* x) {
  const std::size_t taps = s.tap_count(), positions = s.out_elements();
  for (std::size_t plane = 0; plane < s.images * s.channels; ++plane, columns += taps * positions)
    for (std::size_t e = 0; e < s.in_elements(); ++e, ++x) {
      *x = T{0};
      for (std::size_t t = 0; t < taps; ++t) {
        const std::size_t output = output_reading(s, position_of(e, s.in), position_of(t, s.taps));
        if (output != kOutside) *x = *x + columns[t * positions + output];
      }
    }
}

}  // namespace limpid::arithmetic
