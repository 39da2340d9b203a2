#include "limpid/ops/constant.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/ops/detail/families.h"

namespace limpid {
namespace {

constexpr AttributeSpec kValueAttribute[] = {{"value", AttributeKind::kTensor}};
constexpr AttributeSpec kSizeAttribute[] = {{"size", AttributeKind::kInteger}};

// An op without inputs is never batched, so vmap does not call this.
std::vector<Value> never_batched(const BatchingCall&) {
  throw Error(ErrorCode::kInternal, "an op without inputs has no batch");
}

std::vector<Value> no_inputs(const GradientCall&) { return {}; }

std::vector<Type> constant_types(const Call& call) {
  return {call.attributes.get<Tensor>("value").type()};
}

void constant_reference(const Call& call, std::span<const void* const>,
                        std::span<void* const> out) {
  const Tensor& value = call.attributes.get<Tensor>("value");
  std::memcpy(out[0], value.bytes().data(), value.bytes().size());
}

std::vector<Example> constant_examples() {
  return {{{}, {{"value", Tensor::scalar(0.1f)}}},
          {{}, {{"value", Tensor::from<double>({2, 2}, {1.0, -0.0, 1e-310, 3.5})}}},
          {{}, {{"value", Tensor::from<std::int64_t>({2}, {-5, std::int64_t{1} << 40})}}},
          {{}, {{"value", Tensor::from<bool>({3}, {true, false, true})}}}};
}

std::vector<Type> iota_types(const Call& call) {
  const std::int64_t size = call.attributes.integer("size");
  if (size < 0 || size > std::int64_t{1} << 31)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: size {} is outside of [0, 2^31]", where(call), size));
  return {{Dtype::kI32, Shape{size}}};
}

void iota_reference(const Call& call, std::span<const void* const>, std::span<void* const> out) {
  for (std::int64_t i = 0; i < call.outputs[0].shape[0]; ++i)
    static_cast<std::int32_t*>(out[0])[i] = static_cast<std::int32_t>(i);
}

std::vector<Example> iota_examples() {
  return {{{}, {{"size", std::int64_t{0}}}}, {{}, {{"size", std::int64_t{13}}}}};
}

CppCall iota_cpp(const Call& call) { return {"iota", {call.attributes.integer("size")}}; }

}  // namespace

namespace op {

constinit const Op constant = complete({.name = "constant",
                                        .formula = "a tensor stored in the function",
                                        .shapes = "-> that of the value",
                                        .min_inputs = 0,
                                        .max_inputs = 0,
                                        .attributes = kValueAttribute,
                                        .types = constant_types,
                                        .reference = constant_reference,
                                        .gradient = gradient(no_inputs),
                                        .batching = batching(never_batched),
                                        .flops = no_flops,
                                        .cpp = cpp_by_emit(),
                                        .onnx = {"Constant", 21},
                                        .accuracy = kExact,
                                        .examples = constant_examples});

constinit const Op iota = complete({.name = "iota",
                                    .formula = "0, 1, ..., size - 1",
                                    .shapes = "-> [size]",
                                    .min_inputs = 0,
                                    .max_inputs = 0,
                                    .attributes = kSizeAttribute,
                                    .types = iota_types,
                                    .reference = iota_reference,
                                    .gradient = gradient(no_inputs),
                                    .batching = batching(never_batched),
                                    .flops = no_flops,
                                    .cpp = cpp_call(iota_cpp),
                                    .onnx = {"Range", 11},
                                    .accuracy = kExact,
                                    .examples = iota_examples});

}  // namespace op

constexpr const Op* kConstantOps[] = {&op::constant, &op::iota};
constexpr OpList constant_ops = kConstantOps;

Value constant(Builder& builder, Tensor value) {
  return builder.call(op::constant, {}, {{"value", std::move(value)}}).front();
}

namespace {

// A whole number that the type has.
template <class T>
Value whole_constant(Builder& builder, double number, Dtype dtype) {
  // The largest i64 is not a double; it rounds up to 2^63.
  constexpr double kAbove = static_cast<double>(std::numeric_limits<T>::max() / 2 + 1) * 2;
  constexpr double kLowest = static_cast<double>(std::numeric_limits<T>::min());
  if (!(number >= kLowest && number < kAbove && number == std::trunc(number)))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("constant: {} is not a value of {}", number, name(dtype)));
  return constant(builder, Tensor::scalar(static_cast<T>(number)));
}

}  // namespace

Value constant(Builder& builder, double number, Dtype dtype) {
  if (dtype == Dtype::kF32) return constant(builder, Tensor::scalar(static_cast<float>(number)));
  if (dtype == Dtype::kF64) return constant(builder, Tensor::scalar(number));
  if (dtype == Dtype::kI32) return whole_constant<std::int32_t>(builder, number, dtype);
  if (dtype == Dtype::kI64) return whole_constant<std::int64_t>(builder, number, dtype);
  if (dtype == Dtype::kI8) return whole_constant<std::int8_t>(builder, number, dtype);
  if (dtype == Dtype::kU8) return whole_constant<std::uint8_t>(builder, number, dtype);
  throw Error(ErrorCode::kDtype,
              fmt::format("constant: a number cannot be converted to {}", name(dtype)));
}

Value iota(Builder& builder, std::int64_t size) {
  return builder.call(op::iota, {}, {{"size", size}}).front();
}

}  // namespace limpid
