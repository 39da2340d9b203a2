// TensorProto: the element types, and elements raw, in typed fields, or in a file beside the model.
#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/visit_dtype.h"
#include "limpid/formats/onnx/wire/detail/contents.h"
#include "limpid/formats/onnx/wire/detail/wire.h"

namespace limpid::onnx::detail {
namespace {

// Numbers of the fields, of TensorProto and StringStringEntryProto.
constexpr std::uint32_t kDims = 1, kDataType = 2, kSegment = 3, kFloatData = 4, kInt32Data = 5,
                        kInt64Data = 7, kName = 8, kRawData = 9, kDoubleData = 10,
                        kExternalData = 13, kDataLocation = 14;
constexpr std::uint32_t kKey = 1, kValue = 2;

constexpr std::string_view kElementTypes[] = {
    "undefined", "float32", "uint8",     "int8",       "uint16",  "int16",
    "int32",     "int64",   "string",    "bool",       "float16", "float64",
    "uint32",    "uint64",  "complex64", "complex128", "bfloat16"};

[[noreturn]] void broken_tensor(const std::string& what) { throw Error(ErrorCode::kFormat, what); }

struct Fields {
  std::string name;
  std::vector<std::int64_t> dims;
  std::int64_t element_type = 0;
  std::optional<std::span<const std::byte>> raw;
  bool external = false;
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

std::uint64_t parse_count(std::string_view key, std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size())
    broken_tensor(
        fmt::format("the {} {} of external data is not a number of bytes", key, in_quotes(text)));
  return count;
}

void read_external(std::span<const std::byte> entry, Fields& fields) {
  std::string_view key;
  std::string_view value;
  for (Wire wire(entry); wire.next();) {
    if (wire.field() == kKey) key = wire.text();
    if (wire.field() == kValue) value = wire.text();
  }
  if (key == "location") fields.location = value;
  if (key == "offset") fields.offset = parse_count(key, value);
  if (key == "length") fields.length = parse_count(key, value);
}

void add_dim(Fields& fields, std::int64_t dim) {
  if (fields.dims.size() == Shape::kMaxRank)
    throw Error(ErrorCode::kUnsupported, fmt::format("more than {} dimensions", Shape::kMaxRank));
  fields.dims.push_back(dim);
}

// All except the elements in typed fields.
void read_fields(std::span<const std::byte> message, Fields& fields) {
  for (Wire wire(message); wire.next();) switch (wire.field()) {
      case kDims:
        wire.each_integer([&](std::int64_t dim) { add_dim(fields, dim); });
        break;
      case kDataType:
        fields.element_type = wire.integer();
        break;
      case kRawData:
        fields.raw = wire.bytes();
        break;
      case kExternalData:
        read_external(wire.bytes(), fields);
        break;
      case kDataLocation:
        fields.external = wire.integer() == 1;
        break;
      case kSegment:
        throw Error(ErrorCode::kUnsupported, "a part of a tensor");
      default:
        break;
    }
}

// Elements that the format stores as integers: also narrow integers and 16-bit floats.
template <class T>
T element_of(std::int64_t value) {
  if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, Bf16>) {
    if (value < 0 || value > 0xffff) broken_tensor(fmt::format("{} does not fit 16 bits", value));
    return {static_cast<std::uint16_t>(value)};
  } else {
    if (value < std::int64_t{std::numeric_limits<T>::min()} ||
        value > std::int64_t{std::numeric_limits<T>::max()})
      broken_tensor(fmt::format("the element {} does not fit {}", value, name(dtype_of<T>)));
    return static_cast<T>(value);
  }
}

// Calls f with each element of a typed field.
template <class T, class F>
void each_element(std::span<const std::byte> message, const F& f) {
  for (Wire wire(message); wire.next();) {
    if constexpr (std::is_floating_point_v<T>) {
      if (wire.field() == (sizeof(T) == 4 ? kFloatData : kDoubleData)) wire.each_real<T>(f);
    } else {
      if (wire.field() == (sizeof(T) == 8 ? kInt64Data : kInt32Data))
        wire.each_integer([&](std::int64_t value) { f(element_of<T>(value)); });
    }
  }
}

template <class T>
Tensor read_typed(std::span<const std::byte> message, const Shape& shape) {
  std::int64_t count = 0;
  each_element<T>(message, [&](T) { ++count; });
  if (count != shape.elements())
    broken_tensor(
        fmt::format("got {} elements for {}", count, to_string(Type{dtype_of<T>, shape})));
  return Tensor::generate<T>(shape, [&](std::span<T> out) {
    std::size_t i = 0;
    each_element<T>(message, [&](T value) { out[i++] = value; });
  });
}

Tensor read_typed(std::span<const std::byte> message, const Type& type) {
  return visit(type.dtype,
               [&]<class T>(std::type_identity<T>) { return read_typed<T>(message, type.shape); });
}

Tensor read_raw(std::span<const std::byte> raw, const Type& type) {
  if (raw.size() != type.bytes())
    broken_tensor(
        fmt::format("{1} has {0} bytes, expected {2}", raw.size(), to_string(type), type.bytes()));
  return Tensor::generate_bytes(type, [&](std::span<std::byte> out) {
    if (!raw.empty()) std::memcpy(out.data(), raw.data(), raw.size());
  });
}

// A C++ bool may only be 0 or 1.
void check_bools(const Tensor& tensor) {
  for (const std::byte b : tensor.bytes())
    if (std::to_integer<int>(b) > 1)
      broken_tensor(fmt::format("the element {} is not a bool", std::to_integer<int>(b)));
}

Tensor elements_of(std::span<const std::byte> message, const Fields& fields, Budget& budget,
                   ExternalData& external_data) {
  const Type type{dtype_of_element_type(fields.element_type), Shape(fields.dims)};
  if (fields.external)
    return external_data.read(type, fields.location, fields.offset, fields.length);
  // Checked before allocating: an element takes at least one byte of the file.
  if (type.shape.elements() > static_cast<std::int64_t>(message.size()))
    broken_tensor(fmt::format("{} does not fit {} bytes", to_string(type), message.size()));
  budget.charge(type.bytes());
  return fields.raw ? read_raw(*fields.raw, type) : read_typed(message, type);
}

}  // namespace

Dtype dtype_of_element_type(std::int64_t element_type) {
  switch (element_type) {
    case 1:
      return Dtype::kF32;
    case 2:
      return Dtype::kU8;
    case 3:
      return Dtype::kI8;
    case 6:
      return Dtype::kI32;
    case 7:
      return Dtype::kI64;
    case 9:
      return Dtype::kBool;
    case 10:
      return Dtype::kF16;
    case 11:
      return Dtype::kF64;
    case 16:
      return Dtype::kBf16;
    default:
      break;
  }
  const auto known = static_cast<std::uint64_t>(element_type) < std::size(kElementTypes);
  throw Error(ErrorCode::kUnsupported,
              fmt::format("elements of type {}",
                          known ? kElementTypes[element_type] : std::to_string(element_type)));
}

std::pair<std::string, Tensor> read_tensor(std::span<const std::byte> message, Budget& budget,
                                           ExternalData& external_data) {
  Fields fields;
  for (Wire wire(message); wire.next();)
    if (wire.field() == kName) fields.name = wire.text();
  try {
    read_fields(message, fields);
    Tensor tensor = elements_of(message, fields, budget, external_data);
    if (tensor.dtype() == Dtype::kBool) check_bools(tensor);
    return {std::move(fields.name), std::move(tensor)};
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("tensor {}: {}", in_quotes(fields.name), e.what()));
  }
}

}  // namespace limpid::onnx::detail
