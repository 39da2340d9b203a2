#include "op_table.h"

#include <algorithm>
#include <numeric>

#include "limpid/core/half.h"
#include "limpid/nn/activation.h"
#include "limpid/ops/rows.h"
#include "limpid/optim/clip.h"

namespace limpid::python {
namespace {

// Over some axes, one after the other, as if in one; all of them where none is named. Of bf16 and
// f16 in f32, then rounded once.
template <class F>
Value over(const Given& g, Value x, const F& reduce) {
  const Dtype dtype = x.dtype();
  if (dtype == Dtype::kBf16 || dtype == Dtype::kF16)
    return cast(over(g, cast(x, Dtype::kF32), reduce), dtype);
  const Shape shape = x.shape();
  const std::optional<std::vector<std::int64_t>> wanted = g.axes(1);
  const bool keep = g.b(2);
  std::vector<std::size_t> axes;
  if (wanted) {
    for (const std::int64_t axis : *wanted)
      axes.push_back(normalize_axis(axis, shape.rank(), "axis"));
    std::sort(axes.begin(), axes.end());
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
      throw py::value_error("axis: expected different axes, got one twice");
  } else {
    axes.resize(shape.rank());
    std::iota(axes.begin(), axes.end(), std::size_t{0});
  }
  if (!wanted && shape.rank() != 1) {
    x = reduce(reshape(x, {shape.elements()}), 0);
  } else {
    // From the last on, so that the numbers of the others stay.
    for (std::size_t i = axes.size(); i-- > 0;) x = reduce(x, static_cast<std::int64_t>(axes[i]));
  }
  if (!keep) return x;
  Shape kept = shape;
  for (const std::size_t axis : axes) kept = kept.replace(axis, 1);
  return reshape(x, kept);
}

bool is_whole(Dtype dtype) { return !is_floating(dtype) && dtype != Dtype::kBool; }

// true is 1.
Value counted(const Value& x, Dtype dtype) {
  return x.dtype() == Dtype::kBool ? cast(x, dtype) : x;
}

// What has a mean: of bool the share of true.
Value averaged(const Given& g, const char* name) {
  const Value x = counted(g.v(0), Dtype::kF32);
  if (!is_floating(x.dtype()))
    throw_type(std::string(name) + " of " + to_string(x.type()) +
               ": a quotient of integers is none; write x.astype('f32')");
  return x;
}

// Variance or standard deviation. Of several axes as of one, which they become: the variance of
// variances is another number.
template <Value (*spread)(Value, std::int64_t)>
Value spread_over(const Given& g, const char* name) {
  const Value x = averaged(g, name);
  const auto wanted = g.axes(1);
  if (!wanted || wanted->size() == 1)
    return over(g, x, [](Value v, std::int64_t axis) { return spread(v, axis); });
  const Shape shape = x.shape();
  std::vector<bool> reduced(shape.rank());
  Shape kept = shape;
  for (const std::int64_t axis : *wanted) {
    const std::size_t a = normalize_axis(axis, shape.rank(), "axis");
    if (reduced[a]) throw py::value_error("axis: expected different axes, got one twice");
    reduced[a] = true;
    kept = kept.replace(a, 1);
  }
  std::vector<std::int64_t> order, dims;
  for (std::size_t a = 0; a < shape.rank(); ++a)
    if (!reduced[a]) {
      order.push_back(static_cast<std::int64_t>(a));
      dims.push_back(shape[a]);
    }
  const Shape rest(dims);
  std::int64_t count = 1;
  for (std::size_t a = 0; a < shape.rank(); ++a)
    if (reduced[a]) {
      order.push_back(static_cast<std::int64_t>(a));
      count *= shape[a];
    }
  dims.push_back(count);
  return reshape(spread(reshape(transpose(x, order), Shape(dims)), -1), g.b(2) ? kept : rest);
}

// Over one axis, or of all elements as if in one row.
template <Value (*f)(Value, std::int64_t)>
Made place_of_extreme(const Given& g) {
  const Value x = g.v(0);
  if (const std::optional<std::int64_t> axis = g.maybe_i(1)) return f(x, *axis);
  return f(reshape(x, {x.shape().elements()}), 0);
}

// Without dimensions of size 1: all of them where none is named.
Value squeezed(const Given& g) {
  const Value x = g.v(0);
  const Shape shape = x.shape();
  std::vector<bool> dropped(shape.rank());
  if (const auto axes = g.axes(1)) {
    for (const std::int64_t axis : *axes) {
      const std::size_t a = normalize_axis(axis, shape.rank(), "squeeze");
      if (shape[a] != 1)
        throw Error(ErrorCode::kShape, "squeeze: axis " + std::to_string(axis) + " of " +
                                           to_string(x.type()) + " has " +
                                           std::to_string(shape[a]) + " elements, expected 1");
      dropped[a] = true;
    }
  } else {
    for (std::size_t a = 0; a < shape.rank(); ++a) dropped[a] = shape[a] == 1;
  }
  std::vector<std::int64_t> dims;
  for (std::size_t a = 0; a < shape.rank(); ++a)
    if (!dropped[a]) dims.push_back(shape[a]);
  return reshape(x, Shape(dims));
}

// With dimensions of size 1 at these places of the result.
Value expanded(const Given& g) {
  const Value x = g.v(0);
  std::vector<std::int64_t> axes = g.ints(1);
  const std::size_t rank = x.rank() + axes.size();
  for (std::int64_t& axis : axes)
    axis = static_cast<std::int64_t>(normalize_axis(axis, rank, "expand_dims"));
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    throw py::value_error("expand_dims: expected different axes, got one twice");
  Shape shape = x.shape();
  for (const std::int64_t axis : axes) shape = shape.insert(static_cast<std::size_t>(axis), 1);
  return reshape(x, shape);
}

Value key_in(const Given& g, const char* name) {
  if (PyLong_Check(g.object(0)) || PyFloat_Check(g.object(0)))
    throw_type(std::string(name) + ": expected a Key, such as lp.Key(0), not " +
               type_name(g.object(0)));
  return g.v(0);
}

// Like NumPy and JAX: of no elements there is no extreme one. (The op gives the lowest or highest
// number, as ONNX has it.)
template <Value (*reduce)(Value, std::int64_t)>
Made extreme(const Given& g, const char* name) {
  return over(g, g.v(0), [&](Value x, std::int64_t axis) {
    if (x.shape()[static_cast<std::size_t>(axis)] == 0)
      throw Error(ErrorCode::kShape, std::string(name) + ": axis " + std::to_string(axis) + " of " +
                                         to_string(x.type()) + " is empty");
    return reduce(x, axis);
  });
}

// 0 or 1 everywhere.
Value filled(const Given& g, bool one, Dtype dtype) {
  const float number = one ? 1 : 0;
  const Value everywhere =
      dtype == Dtype::kBool   ? constant(g.builder(), Tensor::scalar(one))
      : dtype == Dtype::kBf16 ? constant(g.builder(), Tensor::scalar(to_bf16(number)))
      : dtype == Dtype::kF16  ? constant(g.builder(), Tensor::scalar(to_f16(number)))
                              : constant(g.builder(), number, dtype);
  return broadcast(everywhere, Shape(g.ints(0)));
}

// As NumPy's: vectors become matrices, leading dimensions are stretched.
Value product(Value a, Value b, bool transpose_a, bool transpose_b) {
  const bool vector_a = a.rank() == 1, vector_b = b.rank() == 1;
  if (vector_a) a = reshape(a, {1, a.shape()[0]});
  if (vector_b) b = reshape(b, {b.shape()[0], 1});
  if (a.rank() >= 2 && b.rank() >= 2) {
    const auto lead = [](const Shape& shape) {
      return Shape(std::span<const std::int64_t>(shape.begin(), shape.rank() - 2));
    };
    const Shape lead_a = lead(a.shape()), lead_b = lead(b.shape());
    if (lead_a != lead_b) {
      const Shape common = common_shape(lead_a, lead_b, "matmul");
      const auto stretched = [&](const Value& x) {
        Shape to = common;
        to = to.insert(to.rank(), x.shape()[x.rank() - 2]);
        to = to.insert(to.rank(), x.shape()[x.rank() - 1]);
        return broadcast(x, to);
      };
      a = stretched(a);
      b = stretched(b);
    }
  }
  Value y = matmul(a, b, transpose_a && !vector_a, transpose_b && !vector_b);
  if (vector_b) y = reshape(y, y.shape().erase(y.rank() - 1));
  if (vector_a) y = reshape(y, y.shape().erase(y.rank() - (vector_b ? 1 : 2)));
  return y;
}

Value reshaped(const Given& g) {
  const Value x = g.v(0);
  std::vector<std::int64_t> dims = g.ints(1);
  std::int64_t known = 1, open = -1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == -1 && open < 0)
      open = static_cast<std::int64_t>(d);
    else if (dims[d] > 0 && known <= Shape::kMaxElements / dims[d])
      known *= dims[d];
    else
      known = 0;
  }
  if (open >= 0 && known > 0 && x.shape().elements() % known == 0)
    dims[static_cast<std::size_t>(open)] = x.shape().elements() / known;
  else if (open >= 0)
    throw Error(ErrorCode::kShape, "reshape: " + std::to_string(x.shape().elements()) +
                                       " elements of " + to_string(x.type()) +
                                       " leave no size for the dimension of -1");
  return reshape(x, Shape(dims));
}

Value transposed(const Given& g) {
  const Value x = g.v(0);
  if (const auto permutation = g.axes(1)) {
    std::vector<std::int64_t> dims = *permutation;
    for (std::int64_t& d : dims)
      d = static_cast<std::int64_t>(normalize_axis(d, x.rank(), "transpose"));
    return transpose(x, dims);
  }
  std::vector<std::int64_t> dims(x.rank());
  std::iota(dims.rbegin(), dims.rend(), 0);
  return transpose(x, dims);
}

Value stacked(const Given& g) {
  const std::vector<Value> parts = g.all(0);
  if (parts.empty()) throw py::value_error("stack: expected at least one array, got none");
  const std::size_t axis = normalize_axis(g.i(1), parts[0].rank() + 1, "stack");
  std::vector<Value> wide;
  for (const Value& part : parts) {
    if (part.shape() != parts[0].shape())
      throw Error(ErrorCode::kShape, "stack: expected arrays of one shape, got " +
                                         to_string(part.type()) + " for " +
                                         to_string(parts[0].type()));
    wide.push_back(reshape(part, part.shape().insert(axis, 1)));
  }
  return concatenate(wide, static_cast<std::int64_t>(axis));
}

ScatterMode scatter_mode(const std::string& mode) {
  constexpr std::pair<const char*, ScatterMode> kModes[] = {{"replace", ScatterMode::kReplace},
                                                            {"add", ScatterMode::kAdd},
                                                            {"multiply", ScatterMode::kMultiply},
                                                            {"maximum", ScatterMode::kMaximum},
                                                            {"minimum", ScatterMode::kMinimum}};
  for (const auto& [name, value] : kModes)
    if (mode == name) return value;
  throw py::value_error(
      "scatter: mode: expected replace, add, multiply, maximum or minimum, got '" + mode + "'");
}

// One number for every spatial dimension, or one for each.
std::vector<std::int64_t> for_each(std::vector<std::int64_t> numbers, std::size_t rank) {
  if (numbers.size() == 1) numbers.assign(rank, numbers[0]);
  return numbers;
}
// How a kernel over `rank` dimensions moves. Padding: on both sides of every dimension; of each; or
// before each, then after each.
Convolution convolution(const Given& g, std::size_t rank, std::size_t stride, std::size_t padding,
                        std::size_t dilation) {
  Convolution how;
  how.stride = for_each(g.ints(stride), rank);
  how.dilation = for_each(g.ints(dilation), rank);
  how.low = for_each(g.ints(padding), rank);
  if (rank > 0 && how.low.size() == 2 * rank) {
    how.high.assign(how.low.begin() + static_cast<std::ptrdiff_t>(rank), how.low.end());
    how.low.resize(rank);
  } else {
    how.high = how.low;
  }
  return how;
}
std::size_t spatial_rank(const Value& x) { return x.rank() < 2 ? 0 : x.rank() - 2; }

// The windows of a pooling from argument `first` on: kernel, stride, padding, dilation, ceil_mode.
// One number stands for each dimension, which are those after the first two if the kernel is one.
PoolOptions windows(const Given& g, std::size_t first) {
  const std::size_t rank = g.v(0).rank();
  const bool one = PyLong_Check(g.object(first)) != 0;
  PoolOptions o{.kernel = g.ints(first)};
  if (one && rank > 2) o.kernel.assign(rank - 2, o.kernel[0]);
  const std::size_t dims = o.kernel.size();
  const auto numbers = [&](std::size_t i) {
    std::vector<std::int64_t> given = g.ints(i);
    if (given.size() == 1) given.assign(dims, given[0]);
    return given;
  };
  o.stride = numbers(first + 1);
  o.low = numbers(first + 2);
  if (o.low.size() == 2 * dims) {
    const auto middle = o.low.begin() + static_cast<std::ptrdiff_t>(dims);
    o.high.assign(middle, o.low.end());
    o.low.erase(middle, o.low.end());
  }
  o.dilation = numbers(first + 3);
  o.ceil_mode = g.b(first + 4);
  return o;
}

// The value of a text among a few.
template <class T>
T chosen(const Given& g, std::size_t i, const char* what,
         std::initializer_list<std::pair<const char*, T>> choices) {
  const std::string text = g.text(i);
  std::string all;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  throw py::value_error(std::string(what) + ": expected one of " + all + ", got '" + text + "'");
}

Value resized(const Given& g) {
  using C = ResizeCoordinates;
  return resize(
      g.v(0), g.ints(1),
      {.mode = chosen<ResizeMode>(g, 2, "resize: mode",
                                  {{"nearest", ResizeMode::kNearest},
                                   {"linear", ResizeMode::kLinear},
                                   {"cubic", ResizeMode::kCubic}}),
       .coordinates = chosen<C>(g, 3, "resize: coordinates",
                                {{"half_pixel", C::kHalfPixel},
                                 {"pytorch_half_pixel", C::kPytorchHalfPixel},
                                 {"align_corners", C::kAlignCorners},
                                 {"asymmetric", C::kAsymmetric}}),
       .nearest = chosen<NearestMode>(g, 4, "resize: nearest",
                                      {{"round_prefer_floor", NearestMode::kRoundPreferFloor},
                                       {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
                                       {"floor", NearestMode::kFloor},
                                       {"ceil", NearestMode::kCeil}}),
       .antialias = g.b(5),
       .cubic = g.d(6),
       .exclude_outside = g.b(7)});
}

Value sampled(const Given& g) {
  return grid_sample(
      g.v(0), g.v(1),
      {.mode = chosen<SampleMode>(g, 2, "grid_sample: mode",
                                  {{"nearest", SampleMode::kNearest},
                                   {"linear", SampleMode::kLinear},
                                   {"cubic", SampleMode::kCubic}}),
       .padding = chosen<SamplePadding>(g, 3, "grid_sample: padding",
                                        {{"zeros", SamplePadding::kZeros},
                                         {"border", SamplePadding::kBorder},
                                         {"reflection", SamplePadding::kReflection}}),
       .align_corners = g.b(4)});
}

Value padded(const Given& g) {
  const std::string mode = g.text(5);
  if (mode == "constant") {
    std::vector<std::int64_t> interior = g.ints(3);
    if (interior.empty()) interior.assign(g.v(0).rank(), 0);
    return pad(g.v(0), g.ints(1), g.ints(2), interior, g.d(4));
  }
  if (mode == "reflect") return pad(g.v(0), g.ints(1), g.ints(2), PadMode::kReflect);
  if (mode == "edge") return pad(g.v(0), g.ints(1), g.ints(2), PadMode::kEdge);
  if (mode == "wrap") return pad(g.v(0), g.ints(1), g.ints(2), PadMode::kWrap);
  throw py::value_error("pad: mode: expected constant, reflect, edge or wrap, got '" + mode + "'");
}

template <Value (*f)(Value)>
Made unary(const Given& g) {
  return f(g.v(0));
}
template <Value (*f)(Value, Value)>
Made binary(const Given& g) {
  return f(g.v(0), g.v(1));
}
template <Value (*one)(Value), Value (*two)(Value, Value)>
Made gated(const Given& g) {
  return g.v(1) ? two(g.v(0), g.v(1)) : one(g.v(0));
}

// A result of indices, argument 1, into an axis of argument 0.
Value of_known_rows(const Given& g, const Value& result, std::int64_t axis) {
  const Shape shape = g.v(0).shape();
  g.require_indices(1, shape[normalize_axis(axis, shape.rank(), "axis")]);
  return result;
}
// A result of labels, argument 1, for the scores of argument 0.
Value of_known_labels(const Given& g, const Value& result, std::optional<std::int64_t> ignored) {
  if (!is_floating(g.v(1).dtype())) g.require_labels(1, g.v(0).shape().back(), ignored);
  return result;
}
// Indices of which the negative ones count from the end of an axis; the op says what is wrong.
Value counted(const Value& indices, const Shape& shape, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const bool whole = indices.dtype() == Dtype::kI32 || indices.dtype() == Dtype::kI64;
  if (!whole || axis < -rank || axis >= rank) return indices;
  return from_either_end(indices, shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)]);
}

#define LIMPID_INDICES                                                                     \
  "Negative indices count from the end. One out of range is an IndexError, and NaN (0 of " \
  "integers) where it is known only when traced code runs."
#define LIMPID_PLACES                                                                          \
  "Negative indices count from the end. One out of range is an IndexError; where it is known " \
  "only when traced code runs, its update is left out."

constexpr const char *kX = "x", *kXY = "a, b", *kOverAxis = "x, axis=None, keepdims=False";

constexpr FunctionRow kRows[] = {
    // ---- arithmetic
    {"add", kXY, "NN", binary<add>},
    {"subtract", kXY, "NN", binary<subtract>},
    {"multiply", kXY, "NN", binary<multiply>},
    {"divide", kXY, "NN", binary<divide>},
    {"fmod", kXY, "NN", binary<fmod>,
     "a - b trunc(a / b), with the sign of a, as C's fmod; lp.remainder has the sign of b.",
     ">>> lp.fmod(lp.asarray([5.0, -5.0]), 3.0)\nlimpid.Array(f32[2] (2.0, -2.0))", "Array",
     "remainder"},
    {"remainder", kXY, "NN", binary<remainder>,
     "a - b floor(a / b), with the sign of b, as NumPy's, PyTorch's and Python's %. Of integers, "
     "with the divisor 0, a.",
     ">>> lp.remainder(lp.asarray([5.0, -5.0]), 3.0)\nlimpid.Array(f32[2] (2.0, 1.0))", "Array", ""},
    {"maximum", kXY, "NN", binary<maximum>},
    {"minimum", kXY, "NN", binary<minimum>},
    {"equal", kXY, "NN", binary<equal>},
    {"not_equal", kXY, "NN", binary<not_equal>},
    {"less", kXY, "NN", binary<less>},
    {"less_equal", kXY, "NN", binary<less_equal>},
    {"logical_and", kXY, "VV", binary<logical_and>},
    {"logical_or", kXY, "VV", binary<logical_or>},
    {"logical_not", kX, "V", unary<logical_not>},
    {"power", kXY, "NN",
     [](const Given& g) -> Made {
       return g.is_value(1) || !g.is_value(0) ? power(g.v(0), g.v(1)) : power(g.v(0), g.d(1));
     }},
    {"select", "condition, a, b", "VNN",
     [](const Given& g) -> Made { return select(g.v(0), g.v(1), g.v(2)); }},
    {"cast", "x, dtype", "VT", [](const Given& g) -> Made { return cast(g.v(0), g.dtype(1)); }},
    {"negate", kX, "V", unary<negate>},
    {"abs", kX, "V", unary<abs>},
    {"exp", kX, "V", unary<exp>},
    {"log", kX, "V", unary<log>},
    {"tanh", kX, "V", unary<tanh>},
    {"erf", kX, "V", unary<erf>},
    {"sigmoid", kX, "V", unary<sigmoid>},
    {"ndtr", kX, "V", unary<ndtr>},
    {"sqrt", kX, "V", unary<sqrt>},
    {"log1p", kX, "V", unary<log1p>},
    {"expm1", kX, "V", unary<expm1>},
    {"sin", kX, "V", unary<sin>},
    {"cos", kX, "V", unary<cos>},
    {"rsqrt", kX, "V", unary<rsqrt>},
    {"floor", kX, "V", unary<floor>},
    {"ceil", kX, "V", unary<ceil>},
    {"round", kX, "V", unary<round>},
    {"truncate", kX, "V", unary<truncate>},
    {"sign", kX, "V", unary<sign>},
    {"tan", kX, "V", unary<tan>},
    {"asin", kX, "V", unary<asin>},
    {"acos", kX, "V", unary<acos>},
    {"atan", kX, "V", unary<atan>},
    {"sinh", kX, "V", unary<sinh>},
    {"cosh", kX, "V", unary<cosh>},
    {"asinh", kX, "V", unary<asinh>},
    {"acosh", kX, "V", unary<acosh>},
    {"atanh", kX, "V", unary<atanh>},

    // ---- shapes and parts
    {"reshape", "x, shape", "VS", [](const Given& g) -> Made { return reshaped(g); }},
    {"squeeze", "x, axis=None", "VA", [](const Given& g) -> Made { return squeezed(g); },
     "Without the dimensions of size 1: those that axis names, or all."},
    {"expand_dims", "x, axis", "VS", [](const Given& g) -> Made { return expanded(g); },
     "With dimensions of size 1, at these places of the result."},
    {"broadcast", "x, shape", "VS",
     [](const Given& g) -> Made { return broadcast(g.v(0), Shape(g.ints(1))); }},
    {"transpose", "x, permutation=None", "VA",
     [](const Given& g) -> Made { return transposed(g); }},
    {"slice", "x, starts, limits, strides=()", "VSSS",
     [](const Given& g) -> Made {
       std::vector<std::int64_t> strides = g.ints(3);
       if (strides.empty()) strides.assign(g.v(0).rank(), 1);
       return slice(g.v(0), g.ints(1), g.ints(2), strides);
     }},
    {"split", "x, parts, axis=0", "VSI",
     [](const Given& g) -> Made {
       if (PyIndex_Check(g.object(1)) && !PySequence_Check(g.object(1)))
         return split(g.v(0), g.i(1), g.i(2));
       return split_at(g.v(0), g.ints(1), g.i(2));
     },
     "Parts along one axis, a tuple, as NumPy's: `parts` equal ones, or those before, between and "
     "from the places in `parts`, a sequence.",
     ">>> lp.split(lp.asarray([1, 2, 3, 4]), [1, 3])\n(limpid.Array(i32[1] (1)), "
     "limpid.Array(i32[2] (2, 3)), limpid.Array(i32[1] (4)))",
     "Tuple[Array, ...]"},
    {"unstack", "x, axis=0", "VI", [](const Given& g) -> Made { return unstack(g.v(0), g.i(1)); },
     "The parts of size 1 along one axis, without that axis: a tuple."},
    {"stack", "parts, axis=0", "LI", [](const Given& g) -> Made { return stacked(g); },
     "One beside the other along a new axis."},
    {"concatenate", "parts, axis=0", "LI",
     [](const Given& g) -> Made { return concatenate(g.all(0), g.i(1)); }},
    {"pad", "x, low, high, interior=(), value=0.0, mode='constant'", "VSSSDW",
     [](const Given& g) -> Made { return padded(g); }},
    {"flip", "x, axis=None", "VA",
     [](const Given& g) -> Made {
       Value x = g.v(0);
       std::vector<std::int64_t> axes(x.rank());
       std::iota(axes.begin(), axes.end(), 0);
       for (const std::int64_t axis : g.axes(1).value_or(axes)) x = flip(x, axis);
       return x;
     },
     "The elements along an axis, several or all, in the other order.",
     ">>> lp.flip(lp.asarray([1, 2, 3]))\nlimpid.Array(i32[3] (3, 2, 1))", "Array"},
    {"gather", "x, indices, batch=0", "VVI",
     [](const Given& g) -> Made {
       return of_known_rows(g, take_rows(g.v(0), g.v(1), g.i(2)), g.i(2));
     },
     "Rows of x by index, after `batch` dimensions that both have. " LIMPID_INDICES},
    {"take", "x, indices, axis=None", "VVi",
     [](const Given& g) -> Made {
       if (const auto axis = g.maybe_i(2))
         return of_known_rows(g, take(g.v(0), g.v(1), *axis), *axis);
       const Value flat = reshape(g.v(0), {g.v(0).shape().elements()});
       g.require_indices(1, flat.shape()[0]);
       return take(flat, g.v(1), 0);
     },
     "Elements along an axis by index, or of all elements in their order, as NumPy's. " LIMPID_INDICES,
     ">>> lp.take(lp.asarray([[1, 2], [3, 4]]), lp.asarray([3, 0]))\n"
     "limpid.Array(i32[2] (4, 1))",
     "Array"},
    {"take_along_axis", "x, indices, axis=-1", "VVI",
     [](const Given& g) -> Made {
       return of_known_rows(g, take_along_axis(g.v(0), g.v(1), g.i(2)), g.i(2));
     },
     "Element (i, j, k) is x(i, indices(i, j, k), k) for axis 1 of three. " LIMPID_INDICES},
    {"scatter_along_axis", "x, indices, updates, axis=-1, mode='replace'", "VVVIW",
     [](const Given& g) -> Made {
       return of_known_rows(g,
                            scatter_along_axis(g.v(0), counted(g.v(1), g.v(0).shape(), g.i(3)),
                                               g.v(2), g.i(3), scatter_mode(g.text(4))),
                            g.i(3));
     },
     "x with updates brought to the elements that indices name along an axis. " LIMPID_PLACES},
    {"embedding", "ids, table", "VV",
     [](const Given& g) -> Made {
       const Value rows = embedding(g.v(0), g.v(1));
       g.require_indices(0, g.v(1).shape()[0]);
       return rows;
     },
     "Rows of a table (V, d) by ids (...): (..., d), as PyTorch's F.embedding. " LIMPID_INDICES,
     ">>> lp.embedding(lp.asarray([1, 1, 0]), lp.asarray([[1.0], [2.0]])).tolist()\n"
     "[[2.0], [2.0], [1.0]]",
     "Array"},
    {"scatter", "x, indices, updates, mode='replace', batch=0", "VVVWI",
     [](const Given& g) -> Made {
       return of_known_rows(g,
                            scatter(g.v(0), counted(g.v(1), g.v(0).shape(), g.i(4)), g.v(2),
                                    scatter_mode(g.text(3)), g.i(4)),
                            g.i(4));
     },
     "x with rows of updates brought to the rows that indices name. " LIMPID_PLACES},
    {"scatter_add", "indices, updates, size, batch=0", "VVII",
     [](const Given& g) -> Made {
       const Value sums = scatter_add(from_either_end(g.v(0), g.i(2)), g.v(1), g.i(2), g.i(3));
       g.require_indices(0, g.i(2));
       return sums;
     },
     "`size` rows of zeros, with row i of updates added to row indices[i]. " LIMPID_PLACES},
    {"flat_index", "indices, shape", "VS",
     [](const Given& g) -> Made { return flat_index(g.v(0), Shape(g.ints(1))); },
     "The place in row-major order of each element of a tensor of the shape; -1 outside."},
    {"iota", "size", "I", [](const Given& g) -> Made { return iota(g.builder(), g.i(0)); }},
    {"full", "shape, value, dtype='f32'", "SDT",
     [](const Given& g) -> Made {
       return broadcast(g.number(1, g.dtype(2)), Shape(g.ints(0)));
     },
     "One number everywhere."},
    {"zeros", "shape, dtype='f32'", "ST",
     [](const Given& g) -> Made {
       return filled(g, false, g.dtype(1));
     },
     "0 everywhere."},
    {"ones", "shape, dtype='f32'", "ST",
     [](const Given& g) -> Made {
       return filled(g, true, g.dtype(1));
     },
     "1 everywhere."},

    // ---- convolutions
    {"conv", "x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1", "VVvSSSI",
     [](const Given& g) -> Made {
       Convolution how = convolution(g, spatial_rank(g.v(0)), 3, 4, 5);
       how.groups = g.i(6);
       return conv(g.v(0), g.v(1), g.v(2), how);
     }},
    {"conv_transpose",
     "x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1",
     "VVvSSSIS",
     [](const Given& g) -> Made {
       const std::size_t rank = spatial_rank(g.v(0));
       Convolution how = convolution(g, rank, 3, 4, 7);
       how.groups = g.i(6);
       const std::vector<std::int64_t> added = for_each(g.ints(5), rank);
       if (added.size() != rank)
         throw py::value_error("conv_transpose: output_padding: expected " + std::to_string(rank) +
                               " numbers, got " + std::to_string(added.size()));
       for (std::size_t d = 0; d < std::min(rank, how.high.size()); ++d)
         if (__builtin_sub_overflow(how.high[d], added[d], &how.high[d]))
           throw py::value_error("conv_transpose: output_padding is beyond 2^63");
       return conv_transpose(g.v(0), g.v(1), g.v(2), how);
     }},
    {"conv_weight_gradient", "x, g, kernel, stride=1, padding=0, dilation=1, groups=1", "VVSSSSI",
     [](const Given& g) -> Made {
       const std::size_t rank = spatial_rank(g.v(0));
       Convolution how = convolution(g, rank, 3, 4, 5);
       how.groups = g.i(6);
       return conv_weight_gradient(g.v(0), g.v(1), for_each(g.ints(2), rank), how);
     }},
    {"patches", "x, kernel, stride=1, padding=0, dilation=1", "VSSSS",
     [](const Given& g) -> Made {
       const std::size_t rank = spatial_rank(g.v(0));
       return patches(g.v(0), for_each(g.ints(1), rank), convolution(g, rank, 2, 3, 4));
     }},
    {"col2im", "x, size, kernel, stride=1, padding=0, dilation=1", "VSSSSS",
     [](const Given& g) -> Made {
       const std::vector<std::int64_t> size = g.ints(1);
       return col2im(g.v(0), size, for_each(g.ints(2), size.size()),
                     convolution(g, size.size(), 3, 4, 5));
     }},

    // ---- reductions and order
    {"sum", kOverAxis, "VAB",
     [](const Given& g) -> Made {
       return over(g, g.v(0), [](Value x, std::int64_t axis) { return sum(x, axis); });
     },
     "The sum over one axis, several or all; of integers and of bool in i64."},
    {"mean", kOverAxis, "VAB",
     [](const Given& g) -> Made {
       return over(g, averaged(g, "mean"),
                   [](Value x, std::int64_t axis) { return mean(x, axis); });
     },
     "The mean over one axis, several or all; of bool the share of true, as f32."},
    {"variance", kOverAxis, "VAB",
     [](const Given& g) -> Made { return spread_over<variance>(g, "variance"); },
     "The mean square of what is left when the mean is taken away, over one axis, several or all."},
    {"std", kOverAxis, "VAB",
     [](const Given& g) -> Made { return spread_over<standard_deviation>(g, "std"); },
     "The standard deviation: the square root of the variance; 0, with a slope of 0, of equal "
     "elements."},
    {"prod", kOverAxis, "VAB",
     [](const Given& g) -> Made {
       return over(g, g.v(0), [](Value x, std::int64_t axis) { return prod(x, axis); });
     }},
    {"max", kOverAxis, "VAB", [](const Given& g) -> Made { return extreme<max>(g, "max"); }},
    {"min", kOverAxis, "VAB", [](const Given& g) -> Made { return extreme<min>(g, "min"); }},
    {"argmax", "x, axis=None", "Vi", place_of_extreme<argmax>},
    {"argmin", "x, axis=None", "Vi", place_of_extreme<argmin>,
     "The place of the first smallest element, or of the first NaN, as i32."},
    {"cumulative_sum", "x, axis=-1, exclusive=False, reverse=False", "VIBB",
     [](const Given& g) -> Made {
       return cumulative_sum(g.v(0), g.i(1), {.exclusive = g.b(2), .reverse = g.b(3)});
     }},
    {"argsort", "x, axis=-1, descending=False", "VIB",
     [](const Given& g) -> Made { return argsort(g.v(0), g.i(1), g.b(2)); }},
    {"top_k", "x, k, axis=-1, largest=True", "VIIB",
     [](const Given& g) -> Made {
       const TopK found = top_k(g.v(0), g.i(1), g.i(2), g.b(3));
       return std::vector<Value>{found.values, found.indices};
     },
     "The k largest (or smallest) elements along an axis, and their places as i32."},

    // ---- products and attention
    {"matmul", "a, b, transpose_a=False, transpose_b=False", "VVBB",
     [](const Given& g) -> Made { return product(g.v(0), g.v(1), g.b(2), g.b(3)); }},
    {"linear", "x, weight, bias=None", "VVv",
     [](const Given& g) -> Made { return linear(g.v(0), g.v(1), g.v(2)); }},
    {"quantized_linear", "x, weight, scale, bias=None", "VVVv",
     [](const Given& g) -> Made { return quantized_linear(g.v(0), g.v(1), g.v(2), g.v(3)); }},
    {"quantize_rows", kX, "V",
     [](const Given& g) -> Made {
       const QuantizedRows rows = quantize_rows(g.v(0));
       return std::vector<Value>{rows.codes, rows.scale};
     },
     "Each row of x as i8 and its scale (..., 1): x is about scale * codes."},
    {"scaled_dot_product_attention", "q, k, v, mask=None, causal=False, scale=0.0", "VVVvBD",
     [](const Given& g) -> Made {
       return scaled_dot_product_attention(
           g.v(0), g.v(1), g.v(2), {.causal = g.b(4), .scale = g.d(5), .mask = g.v(3)});
     }},
    {"cached_attention", "q, keys, values, position, scale=0.0", "VVVVD",
     [](const Given& g) -> Made {
       return cached_attention(g.v(0), g.v(1), g.v(2), g.v(3), g.d(4));
     }},
    {"update_rows", "cache, rows, position, axis", "VVVI",
     [](const Given& g) -> Made { return update_rows(g.v(0), g.v(1), g.v(2), g.i(3)); }},
    {"rotary_embedding", "x, cos, sin, interleaved=False", "VVVB",
     [](const Given& g) -> Made {
       return rotary_embedding(g.v(0), g.v(1), g.v(2), g.b(3));
     }},

    // ---- random numbers
    {"random_bits", "key, shape", "VS",
     [](const Given& g) -> Made { return random_bits(key_in(g, "random_bits"), Shape(g.ints(1))); }},
    {"uniform", "key, shape", "VS",
     [](const Given& g) -> Made { return uniform(key_in(g, "uniform"), Shape(g.ints(1))); }},
    {"normal", "key, shape", "VS",
     [](const Given& g) -> Made { return normal(key_in(g, "normal"), Shape(g.ints(1))); }},
    {"normal_quantile", "p", "V", unary<normal_quantile>,
     "The standard normal quantile of each element of f32 p in (0, 1)."},
    {"fold_in", "key, data", "NN",
     [](const Given& g) -> Made {
       const Value key = g.v(0), data = g.v(1);
       const Shape shape = common_shape(key.shape(), data.shape(), "fold_in");
       return fold_in(broadcast(key, shape),
                      broadcast(is_whole(data.dtype()) ? cast(data, Dtype::kI64) : data, shape));
     }},
    {"shift_right", "a, count", "VV", binary<shift_right>},
    {"dropout", "x, key, rate", "VVD",
     [](const Given& g) -> Made { return dropout(g.v(0), g.v(1), g.d(2)); }},
    {"channel_dropout", "x, key, rate", "VVD",
     [](const Given& g) -> Made { return channel_dropout(g.v(0), g.v(1), g.d(2)); },
     "dropout of whole channels of x (N, C, ...)."},

    // ---- activations
    {"relu", kX, "V", unary<relu>},
    {"leaky_relu", "x, slope=0.01", "VD",
     [](const Given& g) -> Made { return leaky_relu(g.v(0), g.d(1)); }},
    {"prelu", "x, slope", "VV", binary<prelu>},
    {"elu", "x, alpha=1.0", "VD", [](const Given& g) -> Made { return elu(g.v(0), g.d(1)); }},
    {"selu", kX, "V", unary<selu>},
    {"gelu", kX, "V", unary<gelu>},
    {"gelu_tanh", kX, "V", unary<gelu_tanh>},
    {"silu", kX, "V", unary<silu>},
    {"swish", "x, beta=1.0", "VD", [](const Given& g) -> Made { return swish(g.v(0), g.d(1)); }},
    {"mish", kX, "V", unary<mish>},
    {"softplus", kX, "V", unary<softplus>},
    {"clamp", "x, low, high", "VDD",
     [](const Given& g) -> Made { return clamp(g.v(0), g.d(1), g.d(2)); }},
    {"relu6", kX, "V", unary<relu6>, "clamp(x, 0, 6)."},
    {"hard_tanh", kX, "V", unary<hard_tanh>, "clamp(x, -1, 1)."},
    {"hard_sigmoid", kX, "V", unary<hard_sigmoid>},
    {"hard_swish", kX, "V", unary<hard_swish>},
    {"step", kX, "V", unary<step>},
    {"glu", "gate, value=None", "Vv", gated<glu, glu>},
    {"swiglu", "gate, value=None", "Vv", gated<swiglu, swiglu>},
    {"geglu", "gate, value=None", "Vv", gated<geglu, geglu>},

    // ---- norms
    {"layer_norm", "x, gamma=None, beta=None, eps=1e-05", "VvvD",
     [](const Given& g) -> Made { return layer_norm(g.v(0), g.v(1), g.v(2), g.d(3)); }},
    {"rms_norm", "x, gamma=None, eps=1e-05", "VvD",
     [](const Given& g) -> Made { return rms_norm(g.v(0), g.v(1), g.d(2)); }},
    {"group_norm", "x, groups, gamma, beta, eps=1e-05", "VIVVD",
     [](const Given& g) -> Made {
       return group_norm(g.v(0), g.i(1), g.v(2), g.v(3), g.d(4));
     }},
    {"batch_norm", "x, gamma, beta, running_mean, running_var, momentum=0.1, eps=1e-05", "VVVVVDD",
     [](const Given& g) -> Made {
       const BatchNormResult r =
           batch_norm(g.v(0), g.v(1), g.v(2), g.v(3), g.v(4), g.d(5), g.d(6));
       return std::vector<Value>{r.y, r.running_mean, r.running_var};
     }},
    {"batch_norm_inference", "x, gamma, beta, running_mean, running_var, eps=1e-05", "VVVVVD",
     [](const Given& g) -> Made {
       return batch_norm_inference(g.v(0), g.v(1), g.v(2), g.v(3), g.v(4), g.d(5));
     }},
    {"normalize", kX, "V", unary<normalize>, "x / max(|x|, 1e-12), |x| the L2 norm over the last axis."},

    {"instance_norm", "x, gamma=None, beta=None, eps=1e-05", "VvvD",
     [](const Given& g) -> Made { return instance_norm(g.v(0), g.v(1), g.v(2), g.d(3)); },
     "(x - mean) / sqrt(variance + eps) of each channel of each example of x (N, C, ...)."},
    {"local_response_norm", "x, size, alpha=0.0001, beta=0.75, k=1.0", "VIDDD",
     [](const Given& g) -> Made {
       return local_response_norm(g.v(0), g.i(1), g.d(2), g.d(3), g.d(4));
     },
     "x / (k + alpha / size * the sum of squares of `size` channels)^beta, x (N, C, ...)."},

    // ---- pictures
    {"max_pool", "x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False", "VSSSSB",
     [](const Given& g) -> Made { return max_pool(g.v(0), windows(g, 1)); }},
    {"max_pool_indices", "x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False", "VSSSSB",
     [](const Given& g) -> Made { return max_pool_indices(g.v(0), windows(g, 1)); }},
    {"reduce_window_sum", "x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False", "VSSSSB",
     [](const Given& g) -> Made { return reduce_window_sum(g.v(0), windows(g, 1)); }},
    {"avg_pool",
     "x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False, count_include_pad=True",
     "VSSSSBB",
     [](const Given& g) -> Made { return avg_pool(g.v(0), windows(g, 1), g.b(6)); }},
    {"lp_pool", "x, p, kernel, stride=(), padding=0, dilation=1, ceil_mode=False", "VDSSSSB",
     [](const Given& g) -> Made { return lp_pool(g.v(0), g.d(1), windows(g, 2)); }},
    {"max_unpool", "x, indices, sizes", "VVS",
     [](const Given& g) -> Made { return max_unpool(g.v(0), g.v(1), g.ints(2)); },
     "Zeros of these last sizes with x's elements at the places of max_pool_indices."},
    {"adaptive_avg_pool", "x, sizes", "VS",
     [](const Given& g) -> Made { return adaptive_avg_pool(g.v(0), g.ints(1)); },
     "The means of windows that cover the last dimensions and give these sizes."},
    {"adaptive_max_pool", "x, sizes", "VS",
     [](const Given& g) -> Made { return adaptive_max_pool(g.v(0), g.ints(1)); },
     "The largest elements of windows that cover the last dimensions and give these sizes."},
    {"resize",
     "x, sizes, mode='linear', coordinates='half_pixel', nearest='round_prefer_floor', "
     "antialias=False, cubic=-0.75, exclude_outside=False",
     "VSWWWBDB", [](const Given& g) -> Made { return resized(g); },
     "The last dimensions with these sizes, by interpolation."},
    {"pixel_shuffle", "x, factor", "VI",
     [](const Given& g) -> Made { return pixel_shuffle(g.v(0), g.i(1)); },
     "(..., C r^2, H, W) to (..., C, H r, W r)."},
    {"pixel_unshuffle", "x, factor", "VI",
     [](const Given& g) -> Made { return pixel_unshuffle(g.v(0), g.i(1)); },
     "(..., C, H r, W r) to (..., C r^2, H, W)."},
    {"grid_sample", "x, grid, mode='linear', padding='zeros', align_corners=False", "VVWWB",
     [](const Given& g) -> Made { return sampled(g); },
     "x (N, C, ...) at the positions grid (N, ..., d), whose coordinates are in [-1, 1]."},
    {"affine_grid", "theta, sizes, align_corners=False", "VSB",
     [](const Given& g) -> Made { return affine_grid(g.v(0), g.ints(1), g.b(2)); },
     "The grid of affine maps theta (N, d, d + 1) for grid_sample: (N, sizes..., d)."},

    // ---- softmax and losses
    {"softmax", "x, axis=-1", "VI", [](const Given& g) -> Made { return softmax(g.v(0), g.i(1)); }},
    {"log_softmax", "x, axis=-1", "VI",
     [](const Given& g) -> Made { return log_softmax(g.v(0), g.i(1)); }},
    {"log_sum_exp", "x, axis=-1", "VI",
     [](const Given& g) -> Made { return log_sum_exp(g.v(0), g.i(1)); }},
    {"softmax_cross_entropy", "logits, labels", "VV",
     [](const Given& g) -> Made {
       const CrossEntropyOptions options{.reduction = Reduction::kNone};
       return of_known_labels(g, cross_entropy(g.v(0), g.v(1), options), options.ignore_index);
     },
     "cross_entropy of every example: -log_softmax(logits)[label]."},
    {"one_hot", "labels, classes", "VI",
     [](const Given& g) -> Made { return one_hot(g.v(0), g.i(1)); },
     "true at the label's place: integers (...) to bool (..., classes)."},
    {"cross_entropy",
     "logits, target, reduction='mean', label_smoothing=0.0, ignore_index=-100, class_weights=None",
     "VVRDiv",
     [](const Given& g) -> Made {
       return of_known_labels(g,
                              cross_entropy(g.v(0), g.v(1),
                                            {.reduction = g.reduction(2),
                                             .label_smoothing = g.d(3),
                                             .ignore_index = g.maybe_i(4),
                                             .class_weights = g.v(5)}),
                              g.maybe_i(4));
     },
     "Cross-entropy of softmax(logits) against integer labels (...) or probabilities (..., classes). "
     "The mean is over the labels that are not ignored. A label that is no class is an error, and "
     "NaN where it is known only when traced code runs."},
    {"nll_loss", "log_probabilities, labels, reduction='mean', ignore_index=-100, class_weights=None",
     "VVRiv",
     [](const Given& g) -> Made {
       return of_known_labels(g,
                              nll_loss(g.v(0), g.v(1),
                                       {.reduction = g.reduction(2),
                                        .ignore_index = g.maybe_i(3),
                                        .class_weights = g.v(4)}),
                              g.maybe_i(3));
     },
     "-log_probabilities[label], weighted and reduced as cross_entropy does."},
    {"binary_cross_entropy_with_logits",
     "logits, targets, reduction='mean', positive_weight=None", "VVRv",
     [](const Given& g) -> Made {
       return binary_cross_entropy_with_logits(g.v(0), g.v(1), g.reduction(2), g.v(3));
     },
     "Binary cross-entropy of sigmoid(logits) against targets in [0, 1], as PyTorch's.",
     ">>> lp.binary_cross_entropy_with_logits(lp.asarray([0.0]), lp.asarray([1.0]))\n"
     "limpid.Array(f32[] (0.6931472))",
     "Array", "binary_cross_entropy"},
    {"binary_cross_entropy", "probabilities, targets, reduction='mean'", "VVR",
     [](const Given& g) -> Made {
       return binary_cross_entropy(g.v(0), g.v(1), g.reduction(2));
     },
     "Binary cross-entropy of probabilities in [0, 1] against targets in [0, 1], as PyTorch's: a "
     "logarithm below -100 counts as -100. Of logits, binary_cross_entropy_with_logits is more "
     "accurate.",
     ">>> lp.binary_cross_entropy(lp.asarray([0.5]), lp.asarray([1.0]))\n"
     "limpid.Array(f32[] (0.6931472))",
     "Array", ""},
    {"multi_label_loss", "logits, targets, reduction='mean', positive_weight=None", "VVRv",
     [](const Given& g) -> Made {
       return multi_label_loss(g.v(0), g.v(1), g.reduction(2), g.v(3));
     },
     "The sum of binary_cross_entropy_with_logits over the last axis, reduced over examples."},
    {"kl_divergence", "log_probabilities, target, reduction='mean'", "VVR",
     [](const Given& g) -> Made { return kl_divergence(g.v(0), g.v(1), g.reduction(2)); }},
    {"hinge_loss", "x, target, reduction='mean'", "VVR",
     [](const Given& g) -> Made { return hinge_loss(g.v(0), g.v(1), g.reduction(2)); },
     "max(0, 1 - target x), targets being -1 and 1."},
    {"mse_loss", "prediction, target, reduction='mean'", "VVR",
     [](const Given& g) -> Made { return mse_loss(g.v(0), g.v(1), g.reduction(2)); },
     "(prediction - target)^2."},
    {"mae_loss", "prediction, target, reduction='mean'", "VVR",
     [](const Given& g) -> Made { return mae_loss(g.v(0), g.v(1), g.reduction(2)); },
     "|prediction - target|."},
    {"huber_loss", "prediction, target, delta=1.0, reduction='mean'", "VVDR",
     [](const Given& g) -> Made { return huber_loss(g.v(0), g.v(1), g.d(2), g.reduction(3)); },
     "d^2 / 2 where |d| < delta, else delta (|d| - delta / 2); d = prediction - target."},
    {"smooth_l1_loss", "prediction, target, beta=1.0, reduction='mean'", "VVDR",
     [](const Given& g) -> Made { return smooth_l1_loss(g.v(0), g.v(1), g.d(2), g.reduction(3)); },
     "huber_loss of the delta beta, divided by beta."},
    {"info_nce_loss", "queries, keys, temperature=0.1, normalize=True, reduction='mean'", "VVDBR",
     [](const Given& g) -> Made {
       return info_nce_loss(
           g.v(0), g.v(1),
           {.temperature = g.d(2), .normalize = g.b(3), .reduction = g.reduction(4)});
     },
     "cross_entropy of query key^T / temperature against 0, 1, ..., n - 1."},
    {"triplet_margin_loss", "anchor, positive, negative, margin=1.0, reduction='mean'", "VVVDR",
     [](const Given& g) -> Made {
       return triplet_margin_loss(g.v(0), g.v(1), g.v(2), g.d(3), g.reduction(4));
     },
     "max(0, |a - p| - |a - n| + margin)."},
    {"cosine_embedding_loss", "a, b, same, margin=0.0, reduction='mean'", "VVVDR",
     [](const Given& g) -> Made {
       return cosine_embedding_loss(g.v(0), g.v(1), g.v(2), g.d(3), g.reduction(4));
     },
     "1 - cos(a, b) where a and b are the same thing (bool), else max(0, cos(a, b) - margin)."},
};

}  // namespace

std::span<const FunctionRow> function_rows() { return kRows; }

}  // namespace limpid::python
