#include "limpid/ops/random.h"

#include <fmt/format.h>

#include "limpid/core/error.h"
#include "limpid/kernels/kernels.h"
#include "limpid/ops/arithmetic.h"
#include "limpid/ops/constant.h"
#include "limpid/ops/detail/example_axis.h"
#include "limpid/ops/detail/families.h"
#include "limpid/ops/shape.h"

namespace limpid {
namespace {

using Values = std::vector<Value>;

constexpr AttributeSpec kRateAttribute[] = {{"rate", AttributeKind::kReal}};

constexpr std::string_view kOtherNumbers =
    "ONNX has no random numbers from a key, so its results would differ";
constexpr std::string_view kFromKey =
    "random numbers are a function of a key, which has no derivative";

Key key_of(std::int64_t bits) { return Key(static_cast<std::uint64_t>(bits)); }

// ---- random_bits, fold_in, shift_right

// The shape of the keys, then the attribute's.
Shape drawn_shape(const Call& call) {
  require_dtype(call, 0, Dtype::kI64);
  Shape shape = call.inputs[0].shape;
  for (std::int64_t d : call.attributes.shape("shape")) shape = shape.insert(shape.rank(), d);
  return shape;
}

CppCall random_bits_cpp(const Call& call) {
  return {"random_bits",
          {call.inputs[0].shape.elements(), call.attributes.shape("shape").elements()}};
}

std::vector<Type> random_bits_types(const Call& call) { return {{Dtype::kI32, drawn_shape(call)}}; }
std::vector<Type> drawn_real_types(const Call& call) { return {{Dtype::kF32, drawn_shape(call)}}; }

void random_bits_reference(const Call& call, std::span<const void* const> in,
                           std::span<void* const> out) {
  const std::int64_t each = call.attributes.shape("shape").elements();
  auto* words = static_cast<std::int32_t*>(out[0]);
  for (std::int64_t k = 0; k < call.inputs[0].shape.elements(); ++k) {
    const Key key = key_of(static_cast<const std::int64_t*>(in[0])[k]);
    for (std::int64_t i = 0; i < each; ++i)
      words[k * each + i] = static_cast<std::int32_t>(key.word(static_cast<std::uint64_t>(i)));
  }
}

// A batch of keys is a tensor of keys, which the ops accept.
template <const Op& op>
Values keyed_batching(const BatchingCall& c) {
  return call(op, c.inputs, c.attributes);
}

std::vector<Example> keyed_examples() {
  return {{{{Dtype::kI64, {}}}, {{"shape", shape_attribute({9})}}, 0, 0, 1 << 20},
          {{{Dtype::kI64, {}}}, {{"shape", shape_attribute({3, 7})}}, 0, 0, 1 << 20},
          {{{Dtype::kI64, {2}}}, {{"shape", shape_attribute({5})}}, 0, 0, 1 << 20}};
}

std::vector<Type> fold_in_types(const Call& call) {
  require_dtype(call, 0, Dtype::kI64);
  require_same_types(call);
  return {call.inputs[0]};
}

void fold_in_reference(const Call& call, std::span<const void* const> in,
                       std::span<void* const> out) {
  for (std::int64_t i = 0; i < call.inputs[0].shape.elements(); ++i) {
    const Key key = key_of(static_cast<const std::int64_t*>(in[0])[i]);
    const auto data = static_cast<std::uint64_t>(static_cast<const std::int64_t*>(in[1])[i]);
    static_cast<std::int64_t*>(out[0])[i] = static_cast<std::int64_t>(key.fold_in(data).bits());
  }
}

std::vector<Example> fold_in_examples() {
  return {{{{Dtype::kI64, {}}, {Dtype::kI64, {}}}, {}, 0, 0, 1 << 20},
          {{{Dtype::kI64, {4}}, {Dtype::kI64, {4}}}, {}, 0, 0, 1 << 20}};
}

std::vector<Type> shift_types(const Call& call) {
  require_dtype(call, 0, Dtype::kI32);
  require_same_types(call);
  return {call.inputs[0]};
}

void shift_reference(const Call& call, std::span<const void* const> in,
                     std::span<void* const> out) {
  for (std::int64_t i = 0; i < call.inputs[0].shape.elements(); ++i) {
    const auto bits = static_cast<std::uint32_t>(static_cast<const std::int32_t*>(in[0])[i]);
    const std::int32_t count = static_cast<const std::int32_t*>(in[1])[i];
    static_cast<std::int32_t*>(out[0])[i] =
        count < 0 || count > 31 ? 0 : static_cast<std::int32_t>(bits >> count);
  }
}

std::vector<Example> shift_examples() {
  return {{{{Dtype::kI32, {40}}, {Dtype::kI32, {40}}}, {}, 0, 0, 35}};
}

// ---- compositions

// The upper bits of each word as whole numbers in f32; exact for up to 24 bits.
Value upper_bits(const Value& key, const Shape& shape, int bits) {
  const Value words = random_bits(key, shape);
  const Value count = broadcast(constant(key.builder(), 32.0 - bits, Dtype::kI32), words.shape());
  return cast(shift_right(words, count), Dtype::kF32);
}

Values uniform_body(std::span<const Value> in, const Attributes& attributes) {
  return {upper_bits(in[0], attributes.shape("shape"), 24) * 0x1p-24};
}

Values normal_body(std::span<const Value> in, const Attributes& attributes) {
  const Value b = upper_bits(in[0], attributes.shape("shape"), 23);
  return {normal_quantile((b + 0.5) * 0x1p-23)};
}

std::vector<Type> dropout_types(const Call& call) {
  require_dtype(call, 0, Dtype::kF32);
  require_dtype(call, 1, Dtype::kI64);
  if (call.inputs[1].shape.rank() != 0)
    throw Error(ErrorCode::kShape, fmt::format("{}: the key is {}, expected a scalar", where(call),
                                               to_string(call.inputs[1])));
  const double rate = call.attributes.get<double>("rate");
  if (!(rate >= 0 && rate < 1))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: rate {} is outside of [0, 1)", where(call), rate));
  return {call.inputs[0]};
}

Values dropout_body(std::span<const Value> in, const Attributes& attributes) {
  const double rate = attributes.get<double>("rate");
  const Value u = uniform(in[1], in[0].shape());
  return {select(u < number_like(u, rate), number_like(in[0], 0), in[0] * (1 / (1 - rate)))};
}

// Linear in x: the same mask is applied to the cotangent.
Values dropout_gradient(const GradientCall& c) {
  return {dropout(c.cotangents[0], c.inputs[1], c.attributes.get<double>("rate")), Value()};
}

std::vector<Example> dropout_examples() {
  return {{{{Dtype::kF32, {33}}, {Dtype::kI64, {}}}, {{"rate", 0.2}}, -2, 2, 1 << 20},
          {{{Dtype::kF32, {4, 5}}, {Dtype::kI64, {}}}, {{"rate", 0.5}}, -2, 2, 1 << 20},
          {{{Dtype::kF32, {8}}, {Dtype::kI64, {}}}, {{"rate", 0.0}}, -2, 2, 1 << 20}};
}

// c[0] + r (c[1] + r (c[2] + ...)).
Value polynomial(const Value& r, std::initializer_list<double> c) {
  const double* last = c.end() - 1;
  Value sum = number_like(r, *last);
  while (last != c.begin()) sum = sum * r + *--last;
  return sum;
}

}  // namespace

// PPND7. Its far tail (below e^-25) cannot be reached from 2^-24.
Value normal_quantile(Value p) {
  const Value q = p - 0.5;
  const Value r = 0.180625 - q * q;
  const Value central = q *
                        polynomial(r, {3.3871327179, 50.434271938, 159.29113202, 59.109374720}) /
                        polynomial(r, {1.0, 17.895169469, 78.757757664, 67.187563600});
  const Value t = sqrt(-log(minimum(p, 1.0 - p))) - 1.6;
  const Value tail = polynomial(t, {1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103}) /
                     polynomial(t, {1.0, 0.73700164250, 0.12021132975});
  const Value zero = number_like(q, 0);
  return select(abs(q) <= number_like(q, 0.425), central, select(q < zero, -tail, tail));
}

namespace op {

constinit const Op random_bits = complete(
    {.name = "random_bits",
     .formula = "word i of the key's random stream",
     .shapes = "key[...] -> [..., `shape`]",
     .min_inputs = 1,
     .max_inputs = 1,
     .attributes = kShapeAttribute,
     .types = random_bits_types,
     .reference = random_bits_reference,
     .gradient = no_gradient(kFromKey),
     .batching = batching(keyed_batching<random_bits>),
     .example_axis = in_dimensions_of<0>,
     .flops = no_flops,
     .cpp = cpp_call(random_bits_cpp),
     .onnx = no_onnx(kOtherNumbers),
     .accuracy = kExact,
     .source = "Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (2011), Philox4x32-10",
     .examples = keyed_examples});

constinit const Op fold_in = complete({.name = "fold_in",
                                       .formula = "a new key, for purpose `data`",
                                       .shapes = "key[...], data[...] -> [...]",
                                       .min_inputs = 2,
                                       .max_inputs = 2,
                                       .attributes = kNoAttributes,
                                       .types = fold_in_types,
                                       .reference = fold_in_reference,
                                       .gradient = no_gradient("keys have no derivative"),
                                       .batching = batching(batch_elementwise<fold_in>),
                                       .example_axis = in_dimensions_of<0>,
                                       .flops = no_flops,
                                       .cpp = {"fold_in({0}, {1})"},
                                       .onnx = no_onnx(kOtherNumbers),
                                       .accuracy = kExact,
                                       .examples = fold_in_examples});

constinit const Op shift_right =
    complete({.name = "shift_right",
              .formula = "a >> count, filled with zeros",
              .shapes = kElementwiseShapes,
              .elementwise = true,
              .min_inputs = 2,
              .max_inputs = 2,
              .attributes = kNoAttributes,
              .types = shift_types,
              .reference = shift_reference,
              .gradient = no_gradient("bits have no derivative"),
              .batching = batching(batch_elementwise<shift_right>),
              .flops = no_flops,
              .kernel = {.element_i32 = kernels::Element::kShiftRightI32},
              .cpp = {"shift_right({0}, {1})"},
              .onnx = no_onnx("ONNX shifts unsigned integers only", {"BitShift", 11}),
              .accuracy = kExact,
              .examples = shift_examples});

constinit const Op uniform = complete({.name = "uniform",
                                       .formula = "(word i >> 8) / 2^24",
                                       .shapes = "key[...] -> [..., `shape`]",
                                       .min_inputs = 1,
                                       .max_inputs = 1,
                                       .attributes = kShapeAttribute,
                                       .types = drawn_real_types,
                                       .body = uniform_body,
                                       .gradient = no_gradient(kFromKey),
                                       .batching = batching(keyed_batching<uniform>),
                                       .flops = flops_of_body,
                                       .onnx = no_onnx(kOtherNumbers),
                                       .examples = keyed_examples});

constinit const Op normal =
    complete({.name = "normal",
              .formula = "the normal quantile of ((word i >> 9) + 1/2) / 2^23",
              .shapes = "key[...] -> [..., `shape`]",
              .min_inputs = 1,
              .max_inputs = 1,
              .attributes = kShapeAttribute,
              .types = drawn_real_types,
              .body = normal_body,
              .gradient = no_gradient(kFromKey),
              .batching = batching(keyed_batching<normal>),
              .flops = flops_of_body,
              .onnx = no_onnx(kOtherNumbers),
              .source = "Wichura, Algorithm AS 241 (1988), PPND7",
              .examples = keyed_examples});

constinit const Op dropout =
    complete({.name = "dropout",
              .formula = "0 with probability `rate`, else x / (1 - rate)",
              .shapes = "x[...], key[] -> [...]",
              .min_inputs = 2,
              .max_inputs = 2,
              .attributes = kRateAttribute,
              .types = dropout_types,
              .body = dropout_body,
              .gradient = gradient(dropout_gradient),
              .batching = batching_through_body(),
              .flops = flops_of_body,
              .onnx = no_onnx(kOtherNumbers, {"Dropout", 13}),
              .source = "Srivastava et al., Dropout (2014), in the inverted form",
              .examples = dropout_examples});

}  // namespace op

constexpr const Op* kRandomOps[] = {&op::random_bits, &op::fold_in, &op::shift_right,
                                    &op::uniform,     &op::normal,  &op::dropout};
constexpr OpList random_ops = kRandomOps;

Tensor key_tensor(Key key) { return Tensor::scalar(static_cast<std::int64_t>(key.bits())); }

Value random_bits(Value key, const Shape& shape) {
  return call1(op::random_bits, {key}, {{"shape", shape_attribute(shape)}});
}

Value fold_in(Value key, Value data) { return call1(op::fold_in, {key, data}); }

Value fold_in(Value key, std::int64_t data) {
  const Value scalar = constant(key.builder(), Tensor::scalar(data));
  return fold_in(key, broadcast(scalar, key.shape()));
}

Value shift_right(Value a, Value count) { return call1(op::shift_right, {a, count}); }

Value uniform(Value key, const Shape& shape) {
  return call1(op::uniform, {key}, {{"shape", shape_attribute(shape)}});
}

Value normal(Value key, const Shape& shape) {
  return call1(op::normal, {key}, {{"shape", shape_attribute(shape)}});
}

Value dropout(Value x, Value key, double rate) {
  return call1(op::dropout, {x, key}, {{"rate", rate}});
}

Value channel_dropout(Value x, Value key, double rate) {
  if (x.rank() < 2)
    throw Error(ErrorCode::kShape, fmt::format("channel_dropout: input is {}, expected (N, C, ...)",
                                               to_string(x.type())));
  Shape channels = x.shape();
  const Value all = broadcast(constant(x.builder(), 1, x.dtype()), {channels[0], channels[1]});
  for (std::size_t d = 2; d < channels.rank(); ++d) channels = channels.replace(d, 1);
  return x * broadcast(reshape(dropout(all, key, rate), channels), x.shape());
}

}  // namespace limpid
