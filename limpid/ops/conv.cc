#include "limpid/ops/conv.h"

#include <fmt/format.h>

#include "limpid/core/counts.h"
#include "limpid/core/error.h"
#include "limpid/core/stop_check.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/reduce.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;
using List = std::vector<std::int64_t>;
using Sizes = arithmetic::ConvolutionSizes;

constexpr AttributeSpec kConvAttributes[] = {{"dilation", AttributeKind::kIntegers},
                                             {"groups", AttributeKind::kInteger},
                                             {"high", AttributeKind::kIntegers},
                                             {"low", AttributeKind::kIntegers},
                                             {"stride", AttributeKind::kIntegers}};
constexpr AttributeSpec kWeightAttributes[] = {
    {"dilation", AttributeKind::kIntegers}, {"groups", AttributeKind::kInteger},
    {"high", AttributeKind::kIntegers},     {"kernel", AttributeKind::kIntegers},
    {"low", AttributeKind::kIntegers},      {"stride", AttributeKind::kIntegers}};
constexpr AttributeSpec kPatchesAttributes[] = {{"dilation", AttributeKind::kIntegers},
                                                {"high", AttributeKind::kIntegers},
                                                {"kernel", AttributeKind::kIntegers},
                                                {"low", AttributeKind::kIntegers},
                                                {"stride", AttributeKind::kIntegers}};
constexpr AttributeSpec kCol2imAttributes[] = {
    {"dilation", AttributeKind::kIntegers}, {"high", AttributeKind::kIntegers},
    {"kernel", AttributeKind::kIntegers},   {"low", AttributeKind::kIntegers},
    {"size", AttributeKind::kIntegers},     {"stride", AttributeKind::kIntegers}};

const List& numbers_of(const Attributes& attributes, std::string_view name) {
  return attributes.get<List>(name);
}

template <class... Args>
[[noreturn]] void refuse(const Call& call, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorCode::kShape,
              where(call) + ": " + fmt::format(format, std::forward<Args>(args)...));
}

std::string count_of(std::int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// ---- sizes

// The type rules, and the sizes that they find. Spatial dimension d of `rank` is dimension 3 - rank
// + d of Sizes.
class Checked {
 public:
  explicit Checked(const Call& call) : call_(call) {
    std::fill_n(sizes.in, 3, 1);
    std::fill_n(sizes.out, 3, 1);
    std::fill_n(sizes.taps, 3, 1);
    std::fill_n(sizes.stride, 3, 1);
    std::fill_n(sizes.dilation, 3, 1);
    std::fill_n(sizes.low, 3, 0);
  }

  Sizes sizes{};
  std::size_t rank = 0;

  void set_rank_of(std::size_t input) {
    const Shape& x = call_.inputs[input].shape;
    if (x.rank() < 3 || x.rank() > 5)
      refuse(call_, "input {} is {}, expected images, channels and 1 to 3 spatial dimensions",
             input, to_string(call_.inputs[input]));
    set_rank(x.rank() - 2);
  }
  void set_rank(std::size_t spatial) {
    rank = spatial;
    for (const std::string_view name : {"stride", "dilation", "low", "high"}) numbers(name);
    for (std::size_t d = 0; d < rank; ++d) {
      stride(d) = at_least_1("stride", d);
      dilation(d) = at_least_1("dilation", d);
      low(d) = numbers_of(call_.attributes, "low")[d];
    }
  }
  // A list of numbers, one for each spatial dimension.
  const List& numbers(std::string_view name) const {
    const List& values = numbers_of(call_.attributes, name);
    if (values.size() != rank)
      refuse(call_, "{} has {}, expected {}, one for each spatial dimension", name,
             count_of(static_cast<std::int64_t>(values.size()), "number"), rank);
    return values;
  }
  std::int64_t at_least_1(std::string_view name, std::size_t d) const {
    const std::int64_t value = numbers(name)[d];
    if (value < 1)
      refuse(call_, "{} of spatial dimension {} is {}, expected 1 or more", name, d, value);
    return value;
  }

  std::size_t& in(std::size_t d) { return sizes.in[3 - rank + d]; }
  std::size_t& out(std::size_t d) { return sizes.out[3 - rank + d]; }
  std::size_t& taps(std::size_t d) { return sizes.taps[3 - rank + d]; }
  std::int64_t& stride(std::size_t d) { return sizes.stride[3 - rank + d]; }
  std::int64_t& dilation(std::size_t d) { return sizes.dilation[3 - rank + d]; }
  std::int64_t& low(std::size_t d) { return sizes.low[3 - rank + d]; }

  void set_kernel(const std::int64_t* kernel) {
    for (std::size_t d = 0; d < rank; ++d) {
      if (kernel[d] < 1)
        refuse(call_, "the kernel has {} elements in spatial dimension {}, expected 1 or more",
               kernel[d], d);
      taps(d) = static_cast<std::size_t>(kernel[d]);
    }
  }
  void set_in(const std::int64_t* size) {
    for (std::size_t d = 0; d < rank; ++d) {
      if (size[d] < 0) refuse(call_, "size {} in spatial dimension {} is negative", size[d], d);
      in(d) = static_cast<std::size_t>(size[d]);
    }
  }

  // What the kernel covers in dimension d.
  std::int64_t extent(std::size_t d) {
    std::int64_t extent = 0;
    if (__builtin_mul_overflow(static_cast<std::int64_t>(taps(d)) - 1, dilation(d), &extent) ||
        __builtin_add_overflow(extent, 1, &extent))
      too_large(d);
    return extent;
  }
  // From `in` and `taps`.
  void find_out() {
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t covered = extent(d);
      std::int64_t padded = static_cast<std::int64_t>(in(d));
      if (__builtin_add_overflow(padded, low(d), &padded) ||
          __builtin_add_overflow(padded, high(d), &padded))
        too_large(d);
      if (padded < covered)
        refuse(
            call_,
            "a kernel of {} (dilation {}) is larger than the input, {} with padding {} and {}, in "
            "spatial dimension {}",
            taps(d), dilation(d), in(d), low(d), high(d), d);
      out(d) = static_cast<std::size_t>((padded - covered) / stride(d) + 1);
    }
  }
  // From `out` and `taps`.
  void find_in() {
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t size = static_cast<std::int64_t>(out(d));
      if (size < 1) refuse(call_, "the input has no elements in spatial dimension {}", d);
      if (__builtin_mul_overflow(size - 1, stride(d), &size) ||
          __builtin_add_overflow(size, extent(d), &size) ||
          __builtin_sub_overflow(size, low(d), &size) ||
          __builtin_sub_overflow(size, high(d), &size))
        too_large(d);
      if (size < 0)
        refuse(call_, "padding {} and {} leaves {} elements in spatial dimension {}", low(d),
               high(d), size, d);
      in(d) = static_cast<std::size_t>(size);
    }
  }

  void set_groups() {
    groups_ = call_.attributes.integer("groups");
    if (groups_ < 1) refuse(call_, "groups is {}, expected 1 or more", groups_);
    sizes.groups = static_cast<std::size_t>(groups_);
  }
  // The channels of each group.
  std::size_t of_group(std::int64_t channels, std::string_view what) const {
    if (channels % groups_ != 0)
      refuse(call_, "groups is {}, which does not divide {}", groups_, count_of(channels, what));
    return static_cast<std::size_t>(channels / groups_);
  }

  Shape with_spatial(std::int64_t first, std::int64_t second, const std::size_t (&size)[3]) const {
    std::array<std::int64_t, 5> dims{first, second};
    for (std::size_t d = 0; d < rank; ++d)
      dims[2 + d] = static_cast<std::int64_t>(size[3 - rank + d]);
    return Shape(std::span(dims).first(2 + rank));
  }

 private:
  std::int64_t high(std::size_t d) const { return numbers_of(call_.attributes, "high")[d]; }
  [[noreturn]] void too_large(std::size_t d) const {
    refuse(call_, "spatial dimension {} grows beyond 2^63", d);
  }

  const Call& call_;
  std::int64_t groups_ = 1;
};

void require_operands(const Call& call) {
  require_floating(call, 0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) require_dtype(call, i, call.inputs[0].dtype);
}

// Of conv and conv_transpose: the weight is (rows, columns of the group, kernel).
void check_weight(const Call& call, Checked& c) {
  const Shape& w = call.inputs[1].shape;
  if (w.rank() != c.rank + 2)
    refuse(call, "weight is {}, expected rank {} for input {}", to_string(call.inputs[1]),
           c.rank + 2, to_string(call.inputs[0]));
  c.set_groups();
  c.set_kernel(w.dims().data() + 2);
}
void check_bias(const Call& call, std::int64_t channels) {
  if (call.inputs.size() == 3 && !(call.inputs[2].shape == Shape{channels}))
    refuse(call, "bias has shape {}, expected [{}]", to_string(call.inputs[2].shape), channels);
}

Type check_conv(const Call& call, Checked& c) {
  require_operands(call);
  c.set_rank_of(0);
  check_weight(call, c);
  const Shape &x = call.inputs[0].shape, &w = call.inputs[1].shape;
  const std::size_t channels = c.of_group(x[1], "input channel");
  if (static_cast<std::int64_t>(channels) != w[1])
    refuse(call, "input has {}, weight expects {}", count_of(x[1], "channel"),
           product_or_most(w[1], static_cast<std::int64_t>(c.sizes.groups)));
  c.sizes.images = static_cast<std::size_t>(x[0]);
  c.sizes.channels = channels;
  c.sizes.outputs = c.of_group(w[0], "output channel");
  check_bias(call, w[0]);
  c.set_in(x.dims().data() + 2);
  c.find_out();
  return {call.inputs[0].dtype, c.with_spatial(x[0], w[0], c.sizes.out)};
}

Type check_transpose(const Call& call, Checked& c) {
  require_operands(call);
  c.set_rank_of(0);
  check_weight(call, c);
  const Shape &x = call.inputs[0].shape, &w = call.inputs[1].shape;
  if (x[1] != w[0])
    refuse(call, "input has {}, weight expects {}", count_of(x[1], "channel"), w[0]);
  c.sizes.images = static_cast<std::size_t>(x[0]);
  c.sizes.outputs = c.of_group(x[1], "input channel");
  c.sizes.channels = static_cast<std::size_t>(w[1]);
  std::int64_t channels = 0;
  if (__builtin_mul_overflow(w[1], static_cast<std::int64_t>(c.sizes.groups), &channels))
    refuse(call, "{} in each of {} groups are beyond 2^63", count_of(w[1], "output channel"),
           c.sizes.groups);
  check_bias(call, channels);
  for (std::size_t d = 0; d < c.rank; ++d) c.out(d) = static_cast<std::size_t>(x[d + 2]);
  c.find_in();
  return {call.inputs[0].dtype, c.with_spatial(x[0], channels, c.sizes.in)};
}

Type check_weight_gradient(const Call& call, Checked& c) {
  require_operands(call);
  c.set_rank_of(0);
  c.set_groups();
  c.set_kernel(c.numbers("kernel").data());
  const Shape &x = call.inputs[0].shape, &g = call.inputs[1].shape;
  c.set_in(x.dims().data() + 2);
  c.find_out();
  const std::int64_t outputs = g.rank() > 1 ? g[1] : 0;
  if (const Shape expected = c.with_spatial(x[0], outputs, c.sizes.out); !(g == expected))
    refuse(call, "input 1 is {}, expected {} for a kernel over {}", to_string(call.inputs[1]),
           to_string(expected), to_string(call.inputs[0]));
  c.sizes.images = static_cast<std::size_t>(x[0]);
  c.sizes.channels = c.of_group(x[1], "input channel");
  c.sizes.outputs = c.of_group(outputs, "output channel");
  return {call.inputs[0].dtype,
          c.with_spatial(outputs, static_cast<std::int64_t>(c.sizes.channels), c.sizes.taps)};
}

std::int64_t checked_product(const Call& call, std::int64_t count, const std::size_t (&size)[3]) {
  for (const std::size_t n : size)
    if (__builtin_mul_overflow(count, static_cast<std::int64_t>(n), &count))
      refuse(call, "patches of {} have more than 2^63 elements", to_string(call.inputs[0]));
  return count;
}

Type check_patches(const Call& call, Checked& c) {
  c.set_rank_of(0);
  c.set_kernel(c.numbers("kernel").data());
  const Shape& x = call.inputs[0].shape;
  c.set_in(x.dims().data() + 2);
  c.find_out();
  c.sizes.images = static_cast<std::size_t>(x[0]);
  c.sizes.channels = static_cast<std::size_t>(x[1]);
  return {call.inputs[0].dtype,
          {x[0], checked_product(call, x[1], c.sizes.taps), checked_product(call, 1, c.sizes.out)}};
}

Type check_col2im(const Call& call, Checked& c) {
  require_floating(call, 0);
  const List& size = numbers_of(call.attributes, "size");
  if (size.empty() || size.size() > 3)
    refuse(call, "size has {}, expected 1 to 3",
           count_of(static_cast<std::int64_t>(size.size()), "number"));
  c.set_rank(size.size());
  c.set_kernel(c.numbers("kernel").data());
  c.set_in(size.data());
  c.find_out();
  const Shape& x = call.inputs[0].shape;
  const std::int64_t taps = checked_product(call, 1, c.sizes.taps);
  const std::int64_t positions = checked_product(call, 1, c.sizes.out);
  if (x.rank() != 3 || x[1] % taps != 0 || x[2] != positions)
    refuse(call, "input is {}, expected [N, channels * {}, {}]", to_string(call.inputs[0]), taps,
           positions);
  c.sizes.images = static_cast<std::size_t>(x[0]);
  c.sizes.channels = static_cast<std::size_t>(x[1] / taps);
  return {call.inputs[0].dtype, c.with_spatial(x[0], x[1] / taps, c.sizes.in)};
}

using Check = Type (*)(const Call& call, Checked& checked);
template <Check check>
std::vector<Type> types_of(const Call& call) {
  Checked checked(call);
  return {check(call, checked)};
}
template <Check check>
Sizes sizes_of(const Call& call) {
  Checked checked(call);
  check(call, checked);
  return checked.sizes;
}

// ---- references

template <class T>
const T* operand(std::span<const void* const> in, std::size_t i) {
  return i < in.size() ? static_cast<const T*>(in[i]) : nullptr;
}

// Calls each(sizes of one image, elements of x before the image, elements of y before it).
template <class Each>
void for_each_image(Sizes s, const Each& each) {
  const std::size_t images = std::exchange(s.images, 1);
  const std::size_t x = s.groups * s.channels * s.in_elements();
  const std::size_t y = s.groups * s.outputs * s.out_elements();
  for (std::size_t n = 0; n < images; ++n) {
    throw_if_stopped();
    each(s, n * x, n * y);
  }
}

void conv_reference(const Call& call, std::span<const void* const> in, std::span<void* const> out) {
  dispatch_floating(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_image(sizes_of<check_conv>(call), [&](const auto& s, std::size_t x, std::size_t y) {
      arithmetic::convolve(s, operand<T>(in, 0) + x, operand<T>(in, 1), operand<T>(in, 2),
                           static_cast<T*>(out[0]) + y);
    });
  });
}
void conv_transpose_reference(const Call& call, std::span<const void* const> in,
                              std::span<void* const> out) {
  dispatch_floating(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_image(
        sizes_of<check_transpose>(call), [&](const auto& s, std::size_t x, std::size_t y) {
          arithmetic::convolve_transposed(s, operand<T>(in, 0) + y, operand<T>(in, 1),
                                          operand<T>(in, 2), static_cast<T*>(out[0]) + x);
        });
  });
}
void weight_gradient_reference(const Call& call, std::span<const void* const> in,
                               std::span<void* const> out) {
  dispatch_floating(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    arithmetic::convolve_weight_gradient(sizes_of<check_weight_gradient>(call), operand<T>(in, 0),
                                         operand<T>(in, 1), static_cast<T*>(out[0]));
  });
}
void patches_reference(const Call& call, std::span<const void* const> in,
                       std::span<void* const> out) {
  dispatch_size(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    arithmetic::take_patches(sizes_of<check_patches>(call), operand<T>(in, 0),
                             static_cast<T*>(out[0]));
  });
}
void col2im_reference(const Call& call, std::span<const void* const> in,
                      std::span<void* const> out) {
  dispatch_floating(call.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    arithmetic::add_patches(sizes_of<check_col2im>(call), operand<T>(in, 0),
                            static_cast<T*>(out[0]));
  });
}

// ---- C++

// A function of limpid/emit/parts/conv.inc; the sizes are arguments of its template.
template <Check check>
CppCall conv_cpp(const Call& call) {
  const Sizes s = sizes_of<check>(call);
  std::string function =
      fmt::format("{}<{}, {}, {}, {}", call.op.name, s.images, s.groups, s.channels, s.outputs);
  for (const auto* sizes : {&s.in, &s.out, &s.taps})
    for (const std::size_t n : *sizes) function += fmt::format(", {}", n);
  for (const auto* numbers : {&s.stride, &s.dilation, &s.low})
    for (const std::int64_t n : *numbers) function += fmt::format(", {}", n);
  return {function + ">", {}};
}

// ---- gradients

Convolution how_of(const Attributes& attributes) {
  return {numbers_of(attributes, "stride"), numbers_of(attributes, "low"),
          numbers_of(attributes, "high"), numbers_of(attributes, "dilation"),
          attributes.find("groups") ? attributes.integer("groups") : 1};
}
List spatial(const Value& v) {
  const Shape shape = v.shape();
  return {shape.begin() + 2, shape.end()};
}

// For conv_transpose from positions to an input of that size: the elements that no position reached
// since the stride is too large are left out of the padding.
Convolution to_size(Convolution how, const List& size, const List& kernel) {
  for (std::size_t d = 0; d < size.size(); ++d) {
    const std::int64_t covered = (kernel[d] - 1) * how.dilation[d] + 1;
    how.high[d] -= (size[d] + how.low[d] + how.high[d] - covered) % how.stride[d];
  }
  return how;
}

// The sum of g over images and positions.
Value bias_gradient(const Value& g) {
  const std::int64_t channels = g.shape()[1], images = g.shape()[0];
  std::int64_t positions = 1;
  for (const std::int64_t n : spatial(g)) positions *= n;
  return sum(reshape(transpose(reshape(g, {images, channels, positions}), {0, 2, 1}),
                     {images * positions, channels}),
             0);
}

Values conv_gradient(const GradientCall& c) {
  const Convolution how = how_of(c.attributes);
  const List kernel = spatial(in(c, 1));
  Values result{conv_transpose(g(c), in(c, 1), {}, to_size(how, spatial(x(c)), kernel)),
                conv_weight_gradient(x(c), g(c), kernel, how)};
  if (c.inputs.size() == 3) result.push_back(bias_gradient(g(c)));
  return result;
}

Values conv_transpose_gradient(const GradientCall& c) {
  const Convolution how = how_of(c.attributes);
  Values result{conv(g(c), in(c, 1), {}, how),
                conv_weight_gradient(g(c), x(c), spatial(in(c, 1)), how)};
  if (c.inputs.size() == 3) result.push_back(bias_gradient(g(c)));
  return result;
}

Values weight_gradient_gradient(const GradientCall& c) {
  const Convolution how = how_of(c.attributes);
  return {conv_transpose(in(c, 1), g(c), {},
                         to_size(how, spatial(x(c)), numbers_of(c.attributes, "kernel"))),
          conv(x(c), g(c), {}, how)};
}

Values patches_gradient(const GradientCall& c) {
  return {added_up(g(c), [&](const Value& columns) {
    return col2im(columns, spatial(x(c)), numbers_of(c.attributes, "kernel"), how_of(c.attributes));
  })};
}
Values col2im_gradient(const GradientCall& c) {
  return {patches(g(c), numbers_of(c.attributes, "kernel"), how_of(c.attributes))};
}

// ---- batching

// A shape whose dimensions are these, then those of `rest` from `from` on.
Shape shape_with(List dims, const Shape& rest, std::size_t from) {
  dims.insert(dims.end(), rest.begin() + static_cast<std::ptrdiff_t>(from), rest.end());
  return Shape(dims);
}
// Moves dimension `from` to `to`.
Value with_moved(const Value& v, std::size_t from, std::size_t to) {
  List permutation;
  for (std::size_t d = 0; d < v.rank(); ++d)
    if (d != from) permutation.push_back(static_cast<std::int64_t>(d));
  permutation.insert(permutation.begin() + static_cast<std::ptrdiff_t>(to),
                     static_cast<std::int64_t>(from));
  return transpose(v, permutation);
}
// (b, a, ...) as (a, b, ...), and the two as one dimension: (a * b, ...).
Value as_second(const Value& v) {
  const Shape& s = v.shape();
  return reshape(with_moved(v, 0, 1), shape_with({s[1], s[0] * s[2]}, s, 3));
}
// The batch as the outer dimension of the channels of each group: (b, n, groups * c, ...) as (n,
// groups * b * c, ...).
Value into_groups(const Value& v, std::int64_t groups) {
  const Shape& s = v.shape();
  const Value split = reshape(v, shape_with({s[0], s[1], groups, s[2] / groups}, s, 3));
  return reshape(with_moved(split, 0, 2), shape_with({s[1], s[0] * s[2]}, s, 3));
}
// The batch as part of dimension 0.
Value into_first(const Value& v) {
  const Shape& s = v.shape();
  return reshape(v, shape_with({s[0] * s[1]}, s, 2));
}

// The result for a batch without examples.
Values without_examples(const BatchingCall& c, const Op& op) {
  std::vector<Type> types;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Type type = c.inputs[i].type();
    if (c.batched[i]) type.shape = type.shape.erase(0);
    types.push_back(type);
  }
  const Type result = op.types({op, types, {}, c.attributes, {}})[0];
  return {constant(c.builder, Tensor::zeros({result.dtype, result.shape.insert(0, 0)}))};
}

// conv and conv_transpose with a weight, and a bias, for each example. in[0] may be shared.
Value by_groups(const BatchingCall& c, const Op& op, Values in) {
  const std::int64_t groups = c.attributes.integer("groups"), b = c.size;
  Attributes attributes = c.attributes;
  if (c.batched[0]) {
    attributes.set("groups", b * groups);
    in[0] = as_second(in[0]);
    for (std::size_t i = 1; i < in.size(); ++i) in[i] = into_first(in[i]);
    const Value y = call(op, in, attributes)[0];
    const Shape s = y.shape();
    return with_moved(reshape(y, shape_with({s[0], b, s[1] / b}, s, 2)), 1, 0);
  }
  // Each group has the output channels of all examples.
  const auto outer_groups = [&](const Value& v) {
    const Shape s = v.shape();
    const Value split = reshape(v, shape_with({b, groups, s[1] / groups}, s, 2));
    return reshape(with_moved(split, 0, 1), shape_with({b * s[1]}, s, 2));
  };
  in[1] = &op == &op::conv ? outer_groups(in[1]) : as_second(in[1]);
  if (in.size() == 3) in[2] = outer_groups(in[2]);
  const Value y = call(op, in, attributes)[0];
  const Shape s = y.shape();
  const std::int64_t channels = s[1] / b;
  const Value split = reshape(y, shape_with({s[0], groups, b, channels / groups}, s, 2));
  return reshape(with_moved(split, 2, 0), shape_with({b, s[0], channels}, s, 2));
}

template <const Op& op>
Values conv_batching(const BatchingCall& c) {
  Values in(c.inputs.begin(), c.inputs.end());
  // More images, if the examples share weight and bias.
  if (!c.batched[1] && !(in.size() == 3 && c.batched[2])) {
    in[0] = into_first(in[0]);
    const Value y = call(op, in, c.attributes)[0];
    return {reshape(y, shape_with({c.size, c.inputs[0].shape()[1]}, y.shape(), 1))};
  }
  if (c.size == 0) return without_examples(c, op);
  for (std::size_t i = 1; i < in.size(); ++i) in[i] = batched_input(c, i);
  return {by_groups(c, op, in)};
}

Values weight_gradient_batching(const BatchingCall& c) {
  const std::int64_t groups = c.attributes.integer("groups"), b = c.size;
  if (b == 0) return without_examples(c, op::conv_weight_gradient);
  const Value &x = c.inputs[0], &g = c.inputs[1];
  Attributes attributes = c.attributes;
  if (c.batched[0] && c.batched[1]) {
    attributes.set("groups", b * groups);
    const Value w = call1(op::conv_weight_gradient, {as_second(x), as_second(g)}, attributes);
    return {reshape(w, shape_with({b, w.shape()[0] / b}, w.shape(), 1))};
  }
  if (c.batched[1]) {
    const Value w = call1(op::conv_weight_gradient, {x, into_groups(g, groups)}, attributes);
    const Shape& s = w.shape();
    const std::int64_t outputs = s[0] / b;
    const Value split = reshape(w, shape_with({groups, b, outputs / groups}, s, 1));
    return {reshape(with_moved(split, 1, 0), shape_with({b, outputs}, s, 1))};
  }
  const Value w = call1(op::conv_weight_gradient, {into_groups(x, groups), g}, attributes);
  const Shape& s = w.shape();
  return {with_moved(reshape(w, shape_with({s[0], b, s[1] / b}, s, 2)), 1, 0)};
}

// More images.
template <const Op& op>
Values images_batching(const BatchingCall& c) {
  const Value y = call1(op, {into_first(c.inputs[0])}, c.attributes);
  return {reshape(y, shape_with({c.size, c.inputs[0].shape()[1]}, y.shape(), 1))};
}

// Whether an operand holds the examples there, or can be read that way.
bool holds(const ExampleCall& c, std::size_t operand, std::size_t axis, std::int64_t after) {
  const std::int64_t inner = inner_of(c.shape_of(operand), axis, after);
  if (!c.inner[operand] && c.repeats(operand, inner)) c.inner[operand] = inner;
  return c.inner[operand] == inner;
}
std::int64_t groups_of(const ExampleCall& c) { return c.call.attributes.integer("groups"); }

// Examples are images.
ExampleResults images_axis(const ExampleCall& c) {
  for (std::size_t i = 1; i < c.inner.size(); ++i)
    if (c.inner[i]) return {};
  const auto at = c.axis_of(0);
  if (!at || at->axis != 0) return {};
  return one_result(c, 0, at->after);
}

// Whether examples are groups of the channels of an operand.
bool are_groups(const ExampleCall& c, std::size_t operand) {
  if (!c.inner[operand]) return false;
  const auto at = c.axis_of(operand);
  return at && at->axis == 1 && at->before == 1 && groups_of(c) % c.size == 0;
}

// Of conv and conv_transpose: images, groups, or channels of each group of the result.
// `weight_axis` is the dimension of the weight with the channels of the result.
template <std::size_t weight_axis>
ExampleResults conv_axis(const ExampleCall& c) {
  const bool has_bias = c.inner.size() == 3;
  const std::int64_t channels = c.call.outputs[0].shape[1];
  if (c.inner[0]) {
    if (!are_groups(c, 0)) return images_axis(c);
    const std::int64_t after = channels / c.size;
    if (!holds(c, 1, 0, c.shape_of(1)[0] / c.size)) return {};
    if (has_bias && !holds(c, 2, 0, after)) return {};
    return one_result(c, 1, after);
  }
  const auto at = c.axis_of(c.first());
  if (!at || at->axis != (c.inner[1] ? weight_axis : 0)) return {};
  if (channels / (c.size * at->after) % groups_of(c) != 0) return {};
  if (!holds(c, 1, weight_axis, at->after)) return {};
  if (has_bias && !holds(c, 2, 0, at->after)) return {};
  return one_result(c, 1, at->after);
}

// Groups, or channels of each group of one operand.
ExampleResults weight_gradient_axis(const ExampleCall& c) {
  const Shape& result = c.call.outputs[0].shape;
  if (c.inner[0] && c.inner[1]) {
    if (!are_groups(c, 0) || !holds(c, 1, 1, result[0] / c.size)) return {};
    return one_result(c, 0, result[0] / c.size);
  }
  const auto at = c.axis_of(c.first());
  if (!at || at->axis != 1 || at->before % groups_of(c) != 0) return {};
  return one_result(c, c.inner[0] ? 1 : 0, at->after);
}

// Fewer groups, if examples are groups.
std::optional<Attributes> conv_groups_for_one(const ExampleCall& c, std::span<const Type>) {
  Attributes attributes = c.call.attributes;
  if (c.inner[0] && c.inner[1]) attributes.set("groups", groups_of(c) / c.size);
  return attributes;
}

// ---- FLOPs

template <Check check>
std::int64_t conv_flops(const Call& call) {
  const Sizes s = sizes_of<check>(call);
  std::int64_t flops = 2;
  const auto times = [&](std::size_t n) {
    flops = product_or_most(flops, static_cast<std::int64_t>(n));
  };
  for (const std::size_t n : {s.images, s.groups, s.channels, s.outputs}) times(n);
  for (const std::size_t n : s.out) times(n);
  for (const std::size_t n : s.taps) times(n);
  return flops;
}
std::int64_t col2im_flops(const Call& call) { return call.inputs[0].shape.elements(); }

// ---- examples

Attributes attributes_of(const Convolution& how) {
  return {{"dilation", how.dilation},
          {"groups", how.groups},
          {"high", how.high},
          {"low", how.low},
          {"stride", how.stride}};
}
// With a number for each spatial dimension where a list is empty.
Convolution complete_for(std::size_t rank, Convolution how) {
  for (List* const list : {&how.stride, &how.dilation})
    if (list->empty()) list->assign(rank, 1);
  for (List* const list : {&how.low, &how.high})
    if (list->empty()) list->assign(rank, 0);
  return how;
}

// Geometries of a convolution: x, and a weight.
struct Geometry {
  Shape x, w;
  Convolution how;
};
std::vector<Geometry> geometries() {
  return {
      {{2, 3, 9}, {4, 3, 3}, {.low = {1}, .high = {1}}},
      {{1, 2, 7, 6}, {3, 2, 3, 2}, {.stride = {2, 1}, .low = {1, 0}, .high = {0, 2}}},
      {{2, 4, 5, 5},
       {6, 2, 3, 3},
       {.low = {2, 2}, .high = {2, 2}, .dilation = {2, 2}, .groups = 2}},
      // Depthwise, with a stride that leaves a row and a column out.
      {{1, 3, 8, 8}, {3, 1, 3, 3}, {.stride = {2, 2}, .low = {1, 1}, .high = {0, 0}, .groups = 3}},
      {{1, 1, 3, 4, 4},
       {2, 1, 2, 3, 2},
       {.stride = {1, 2, 1}, .low = {0, 1, 1}, .high = {1, 0, 0}}},
      // Padding that crops; more than a block of terms; a single position.
      {{1, 33, 4, 5}, {2, 33, 3, 3}, {.low = {-1, 1}, .high = {1, -1}}},
      {{2, 3, 3, 4}, {2, 3, 1, 1}, {}},
      {{0, 2, 5}, {3, 2, 2}, {}},
      {{1, 1, 4}, {1, 1, 2}, {.stride = {3}}},
  };
}

std::vector<Example> conv_examples() {
  std::vector<Example> examples;
  bool bias = false;
  for (const Geometry& at : geometries()) {
    const Attributes attributes = attributes_of(complete_for(at.x.rank() - 2, at.how));
    for (const Dtype d : {Dtype::kF32, Dtype::kF64}) {
      std::vector<Type> inputs{{d, at.x}, {d, at.w}};
      if (bias) inputs.push_back({d, {at.w[0]}});
      examples.push_back({inputs, attributes});
      bias = !bias;
    }
    bias = !bias;
  }
  return examples;
}

// The result of conv, then the weight.
std::vector<Example> conv_transpose_examples() {
  std::vector<Example> examples;
  for (Example e : conv_examples()) {
    const Type y = op::conv.types({op::conv, e.inputs, {}, e.attributes, {}})[0];
    const std::int64_t channels = e.inputs[0].shape[1];
    e.inputs[0] = y;
    if (e.inputs.size() == 3) e.inputs[2].shape = {channels};
    examples.push_back(e);
  }
  return examples;
}

std::vector<Example> weight_gradient_examples() {
  std::vector<Example> examples;
  for (Example e : conv_examples()) {
    const Shape& w = e.inputs[1].shape;
    e.attributes.set("kernel", List(w.begin() + 2, w.end()));
    e.inputs[1] = op::conv.types({op::conv, {e.inputs.data(), 2}, {}, e.attributes, {}})[0];
    e.inputs.resize(2);
    examples.push_back(e);
  }
  // More than a block of positions.
  examples.insert(examples.begin(), {{{Dtype::kF32, {3, 2, 20, 20}}, {Dtype::kF32, {3, 3, 10, 9}}},
                                     {{"dilation", List{1, 1}},
                                      {"groups", std::int64_t{1}},
                                      {"high", List{1, 0}},
                                      {"kernel", List{3, 3}},
                                      {"low", List{0, 0}},
                                      {"stride", List{2, 2}}}});
  return examples;
}

Attributes patches_attributes(List kernel, const Convolution& how) {
  return {{"dilation", how.dilation},
          {"high", how.high},
          {"kernel", std::move(kernel)},
          {"low", how.low},
          {"stride", how.stride}};
}

std::vector<Example> patches_examples() {
  std::vector<Example> examples;
  for (const Geometry& at : geometries()) {
    const Convolution how = complete_for(at.x.rank() - 2, at.how);
    for (const Dtype d : {Dtype::kF32, Dtype::kF64})
      examples.push_back({{{d, at.x}}, patches_attributes({at.w.begin() + 2, at.w.end()}, how)});
  }
  examples.push_back({{{Dtype::kI64, {1, 1, 5}}},
                      patches_attributes({2}, complete_for(1, {.low = {1}})),
                      -2,
                      2,
                      9});
  return examples;
}
std::vector<Example> col2im_examples() {
  std::vector<Example> examples;
  for (Example e : patches_examples()) {
    if (!is_computed_with(e.inputs[0].dtype)) continue;
    const Shape x = e.inputs[0].shape;
    e.inputs[0] = op::patches.types({op::patches, e.inputs, {}, e.attributes, {}})[0];
    e.attributes.set("size", List(x.begin() + 2, x.end()));
    examples.push_back(e);
  }
  return examples;
}

}  // namespace

namespace op {

constinit const Op conv = complete(
    {.name = "conv",
     .formula =
         "sum over c and k of x[n, c, p stride + k dilation - low] weight[o, c, k] + bias[o]",
     .shapes = "x[n, c, size...], weight[o, c / `groups`, k...], bias[o] -> [n, o, (size + `low` + "
               "`high` - (k - 1) `dilation` - 1) / `stride` + 1, ...]",
     .role = Role::kConvolution,
     .min_inputs = 2,
     .max_inputs = 3,
     .attributes = kConvAttributes,
     .types = types_of<check_conv>,
     .reference = conv_reference,
     .gradient = gradient(conv_gradient),
     .batching = batching(conv_batching<conv>),
     .example_axis = conv_axis<0>,
     .example_attributes = conv_groups_for_one,
     .flops = conv_flops<check_conv>,
     .cpp = cpp_call(conv_cpp<check_conv>),
     .onnx = {"Conv", 11},
     .accuracy = kSummed,
     .examples = conv_examples});

constinit const Op conv_transpose = complete(
    {.name = "conv_transpose",
     .formula = "sum over c and k of x[n, c, p] weight[c, o, k] at p stride + k dilation - low, + "
                "bias[o]",
     .shapes = "x[n, c, size...], weight[c, o / `groups`, k...], bias[o] -> [n, o, (size - 1) "
               "`stride` + (k - 1) `dilation` + 1 - `low` - `high`, ...]",
     .role = Role::kConvolution,
     .min_inputs = 2,
     .max_inputs = 3,
     .attributes = kConvAttributes,
     .types = types_of<check_transpose>,
     .reference = conv_transpose_reference,
     .gradient = gradient(conv_transpose_gradient),
     .batching = batching(conv_batching<conv_transpose>),
     .example_axis = conv_axis<1>,
     .example_attributes = conv_groups_for_one,
     .flops = conv_flops<check_transpose>,
     .cpp = cpp_call(conv_cpp<check_transpose>),
     .onnx = {"ConvTranspose", 11},
     .accuracy = kSummed,
     .examples = conv_transpose_examples});

constinit const Op conv_weight_gradient =
    complete({.name = "conv_weight_gradient",
              .formula = "sum over n and p of x[n, c, p stride + k dilation - low] g[n, o, p]",
              .shapes = "x[n, c, size...], g[n, o, positions...] -> [o, c / `groups`, `kernel`...]",
              .role = Role::kConvolution,
              .min_inputs = 2,
              .max_inputs = 2,
              .attributes = kWeightAttributes,
              .types = types_of<check_weight_gradient>,
              .reference = weight_gradient_reference,
              .gradient = gradient(weight_gradient_gradient),
              .batching = batching(weight_gradient_batching),
              .example_axis = weight_gradient_axis,
              .example_attributes = conv_groups_for_one,
              .flops = conv_flops<check_weight_gradient>,
              .cpp = cpp_call(conv_cpp<check_weight_gradient>),
              .onnx = no_onnx("ONNX has no operator for the gradient of a convolution's weight"),
              .accuracy = kSummed,
              .examples = weight_gradient_examples});

constinit const Op patches = complete(
    {.name = "patches",
     .formula = "x[n, c, p stride + k dilation - low]; 0 outside",
     .shapes = "x[n, c, size...] -> [n, c taps, positions]; taps: the product of `kernel`; "
               "positions: those of a convolution",
     .min_inputs = 1,
     .max_inputs = 1,
     .attributes = kPatchesAttributes,
     .types = types_of<check_patches>,
     .reference = patches_reference,
     .gradient = gradient(patches_gradient),
     .batching = batching(images_batching<patches>),
     .example_axis = images_axis,
     .flops = no_flops,
     .cpp = cpp_call(conv_cpp<check_patches>),
     .onnx = no_onnx("ONNX has no operator for the patches of a convolution"),
     .accuracy = kExact,
     .examples = patches_examples});

constinit const Op col2im = complete(
    {.name = "col2im",
     .formula = "sum over k of x[n, c k, p] at p stride + k dilation - low",
     .shapes = "x[n, c taps, positions] -> [n, c, `size`...]; taps: the product of `kernel`; "
               "positions: those of a convolution",
     .min_inputs = 1,
     .max_inputs = 1,
     .attributes = kCol2imAttributes,
     .types = types_of<check_col2im>,
     .reference = col2im_reference,
     .gradient = gradient(col2im_gradient),
     .batching = batching(images_batching<col2im>),
     .example_axis = images_axis,
     .flops = col2im_flops,
     .cpp = cpp_call(conv_cpp<check_col2im>),
     .onnx = no_onnx("ONNX has it from opset 18 on, but opset 17 is written", {"Col2Im", 18}),
     .accuracy = kSummed,
     .examples = col2im_examples});

}  // namespace op

constexpr const Op* kConvOps[] = {&op::conv, &op::conv_transpose, &op::conv_weight_gradient,
                                  &op::patches, &op::col2im};
constexpr OpList conv_ops = kConvOps;

Sizes convolution_sizes(const Call& call) {
  if (&call.op == &op::conv) return sizes_of<check_conv>(call);
  if (&call.op == &op::conv_transpose) return sizes_of<check_transpose>(call);
  return sizes_of<check_weight_gradient>(call);
}

namespace {

Value call_conv(const Op& op, Value x, Value weight, Value bias, const Convolution& how) {
  const Attributes attributes = attributes_of(complete_for(x.rank() < 2 ? 0 : x.rank() - 2, how));
  return bias ? call1(op, {x, weight, bias}, attributes) : call1(op, {x, weight}, attributes);
}

}  // namespace

Value conv(Value x, Value weight, Value bias, const Convolution& how) {
  return call_conv(op::conv, x, weight, bias, how);
}

Value conv_transpose(Value x, Value weight, Value bias, const Convolution& how) {
  return call_conv(op::conv_transpose, x, weight, bias, how);
}

Value conv_weight_gradient(Value x, Value g, std::vector<std::int64_t> kernel,
                           const Convolution& how) {
  Attributes attributes = attributes_of(complete_for(kernel.size(), how));
  attributes.set("kernel", std::move(kernel));
  return call1(op::conv_weight_gradient, {x, g}, attributes);
}

Value patches(Value x, std::vector<std::int64_t> kernel, const Convolution& how) {
  const Convolution whole = complete_for(kernel.size(), how);
  return call1(op::patches, {x}, patches_attributes(std::move(kernel), whole));
}

Value col2im(Value columns, std::vector<std::int64_t> size, std::vector<std::int64_t> kernel,
             const Convolution& how) {
  const Convolution whole = complete_for(kernel.size(), how);
  Attributes attributes = patches_attributes(std::move(kernel), whole);
  attributes.set("size", std::move(size));
  return call1(op::col2im, {columns}, attributes);
}

}  // namespace limpid
