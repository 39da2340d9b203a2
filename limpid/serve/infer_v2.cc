#include "limpid/serve/infer_v2.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "limpid/core/half.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/json.h"
#include "limpid/core/number_text.h"
#include "limpid/core/visit_dtype.h"
#include "limpid/data/pictures/fit_picture.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/serve/http_error.h"

namespace limpid::serve {
namespace {

namespace dom = simdjson::dom;

// A position in a body, such as "inputs[0].data"; formatted only for an error message.
struct Where {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  std::string_view name;
  std::size_t index = kNone;
  std::string_view member = {};  // with a leading dot

  Where at(std::string_view its_member) const { return {name, index, its_member}; }
};
constexpr Where kBody{"the body"};

}  // namespace
}  // namespace limpid::serve

template <>
struct fmt::formatter<limpid::serve::Where> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const limpid::serve::Where& where, Context& context) const {
    if (where.index == limpid::serve::Where::kNone)
      return fmt::format_to(context.out(), "{}{}", where.name, where.member);
    return fmt::format_to(context.out(), "{}[{}]{}", where.name, where.index, where.member);
  }
};

namespace limpid::serve {
namespace {

template <class... Parts>
[[noreturn]] void refuse(fmt::format_string<Parts...> message, Parts&&... parts) {
  throw HttpError(400, fmt::format(message, std::forward<Parts>(parts)...));
}

struct DtypeName {
  Dtype dtype;
  std::string_view name;
};
constexpr DtypeName kNames[] = {
    {Dtype::kF32, "FP32"}, {Dtype::kF64, "FP64"},  {Dtype::kBf16, "BF16"},
    {Dtype::kF16, "FP16"}, {Dtype::kI32, "INT32"}, {Dtype::kI64, "INT64"},
    {Dtype::kI8, "INT8"},  {Dtype::kU8, "UINT8"},  {Dtype::kBool, "BOOL"},
};

// ---- members of objects

dom::object object_of(const dom::element& element, const Where& what) {
  dom::object object;
  if (element.get(object)) refuse("{}: expected an object", what);
  return object;
}

std::string_view string_of(const dom::element& element, const Where& what) {
  std::string_view text;
  if (element.get(text)) refuse("{}: expected a string", what);
  return text;
}

std::optional<dom::element> find(const dom::object& object, std::string_view key,
                                 const Where& where) {
  std::optional<dom::element> found;
  for (const dom::key_value_pair member : object) {
    if (member.key != key) continue;
    if (found) refuse("{}: {} comes twice", where, key);
    found = member.value;
  }
  return found;
}

dom::element at(const dom::object& object, std::string_view key, const Where& where) {
  const std::optional<dom::element> found = find(object, key, where);
  if (!found) refuse("{}: expected {}", where, key);
  return *found;
}

dom::array array_at(const dom::object& object, std::string_view key, const Where& where) {
  dom::array array;
  if (at(object, key, where).get(array)) refuse("{}: {}: expected an array", where, key);
  return array;
}

// A member of an object's "parameters"; empty if there is none of this name.
template <class T>
std::optional<T> parameter(const dom::object& object, std::string_view key, const Where& where,
                           std::string_view expected) {
  const std::optional<dom::element> parameters = find(object, "parameters", where);
  if (!parameters) return std::nullopt;
  const Where inner = where.at(".parameters");
  const std::optional<dom::element> found = find(object_of(*parameters, inner), key, inner);
  if (!found) return std::nullopt;
  T value{};
  if (found->get(value)) refuse("{}.{}: expected {}", inner, key, expected);
  return value;
}
std::optional<bool> flag(const dom::object& object, std::string_view key, const Where& where) {
  return parameter<bool>(object, key, where, "true or false");
}
std::optional<std::uint64_t> size_parameter(const dom::object& object, std::string_view key,
                                            const Where& where) {
  return parameter<std::uint64_t>(object, key, where, "a number of bytes");
}

// ---- elements from JSON

double number_of(const dom::element& element, const Where& where) {
  double value = 0;
  if (!element.get(value)) return value;
  std::string_view text;
  if (!element.get(text)) {
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  refuse("{}: expected a number, \"NaN\", \"Infinity\" or \"-Infinity\"", where);
}

// JSON numbers are finite; refuses one that overflows the element type.
void check_range(bool fits, std::string_view dtype, const Where& where) {
  if (!fits) refuse("{}: a number is beyond {}", where, dtype);
}

void read_element(const dom::element& element, const Where& where, double& to) {
  to = number_of(element, where);
}
void read_element(const dom::element& element, const Where& where, float& to) {
  const double value = number_of(element, where);
  to = static_cast<float>(value);
  check_range(std::isfinite(to) || !std::isfinite(value), "FP32", where);
}
void read_element(const dom::element& element, const Where& where, Bf16& to) {
  const double value = number_of(element, where);
  to = to_bf16(value);
  check_range(std::isfinite(to_f32(to)) || !std::isfinite(value), "BF16", where);
}
void read_element(const dom::element& element, const Where& where, F16& to) {
  const double value = number_of(element, where);
  to = to_f16(value);
  check_range(std::isfinite(to_f32(to)) || !std::isfinite(value), "FP16", where);
}
template <std::integral T>
void read_element(const dom::element& element, const Where& where, T& to) {
  std::int64_t value = 0;
  if (element.get(value)) refuse("{}: expected an integer", where);
  check_range(std::in_range<T>(value), v2_name(dtype_of<T>), where);
  to = static_cast<T>(value);
}
void read_element(const dom::element& element, const Where& where, bool& to) {
  if (element.get(to)) refuse("{}: expected true or false", where);
}

// Fills `to` with all elements, from a flat list or from lists nested like the shape.
template <class T>
class Filler {
 public:
  Filler(const Shape& shape, std::span<T> to, const Where& where)
      : shape_(shape), to_(to), where_(where) {}

  void fill(const dom::array& data) {
    const auto first = data.begin();
    if (first != data.end() && (*first).is_array() && shape_.rank() > 1)
      fill_nested(data, 0);
    else
      fill_flat(data);
    if (filled_ != to_.size()) refuse_count();
  }

 private:
  void fill_flat(const dom::array& data) {
    for (const dom::element element : data) {
      if (filled_ == to_.size()) refuse_count();
      read_element(element, where_, to_[filled_++]);
    }
  }
  void fill_nested(const dom::array& data, std::size_t axis) {
    std::int64_t count = 0;
    for (const dom::element element : data) {
      ++count;
      if (axis + 1 == shape_.rank()) {
        if (filled_ == to_.size()) refuse_count();
        read_element(element, where_, to_[filled_++]);
        continue;
      }
      dom::array inner;
      if (element.get(inner)) refuse("{}: expected lists as the shape has them", where_);
      fill_nested(inner, axis + 1);
    }
    if (count != shape_[axis])
      refuse("{}: expected {} elements along axis {}, got {}", where_, shape_[axis], axis, count);
  }
  [[noreturn]] void refuse_count() const {
    refuse("{}: expected {} numbers for the shape {}", where_, to_.size(), to_string(shape_));
  }

  const Shape& shape_;
  std::span<T> to_;
  const Where& where_;
  std::size_t filled_ = 0;
};

template <class T>
Tensor tensor_of_json(const Shape& shape, const dom::array& data, const Where& where) {
  return Tensor::generate<T>(shape,
                             [&](std::span<T> to) { Filler<T>(shape, to, where).fill(data); });
}

Tensor tensor_of_json(const Type& type, const dom::array& data, const Where& where) {
  return visit(type.dtype, [&]<class T>(std::type_identity<T>) {
    return tensor_of_json<T>(type.shape, data, where);
  });
}

Tensor tensor_of_bytes(const Type& type, std::string_view bytes, const Where& where) {
  if (type.dtype == Dtype::kBool &&
      std::any_of(bytes.begin(), bytes.end(), [](char c) { return c != 0 && c != 1; }))
    refuse("{}: expected bytes of 0 and 1", where);
  return Tensor::generate_bytes(type, [&](std::span<std::byte> to) {
    if (!to.empty()) std::memcpy(to.data(), bytes.data(), to.size());
  });
}

// ---- parsing a request

class Reader {
 public:
  Reader(const Signature& model, const Limits& limits, std::string_view json,
         std::string_view binary)
      : model_(model), limits_(limits), json_bytes_(json.size()), binary_(binary) {}

  InferRequest read(const dom::element& document) {
    const dom::object root = object_of(document, kBody);
    if (const auto id = find(root, "id", kBody)) request_.id = string_of(*id, {"id"});
    if (const auto parameters = find(root, "parameters", kBody))
      if (const auto neuron =
              find(object_of(*parameters, {"parameters"}), "neuron", {"parameters"}))
        request_.neuron = string_of(*neuron, {"parameters.neuron"});
    read_inputs(root);
    read_outputs(root);
    return std::move(request_);
  }

  // Some of the `expected` tensors, all with the same number of rows, and no further bytes.
  std::vector<std::optional<Tensor>> read_tensors(const dom::object& root, const char* key,
                                                  const std::vector<Input>& expected) {
    std::vector<std::optional<Tensor>> tensors(expected.size());
    std::size_t number = 0;
    for (const dom::element element : array_at(root, key, kBody)) {
      const Where where{key, number};
      const dom::object object = object_of(element, where);
      const std::string_view name = string_of(at(object, "name", where), where.at(".name"));
      const std::size_t i = place_of(expected, name, where);
      if (tensors[i]) refuse("{}: {} comes twice", where, in_quotes(name));
      const Type type = type_of(object, expected[i].type, where);
      if (number++ > 0 && type.shape[0] != request_.rows)
        refuse("{}.shape: expected {} rows as of the first tensor, got {}", where, request_.rows,
               type.shape[0]);
      request_.rows = type.shape[0];
      tensors[i] = data_of(object, type, where);
    }
    if (!binary_.empty()) refuse("expected no bytes after the last tensor, got {}", binary_.size());
    return tensors;
  }

 private:
  void read_inputs(const dom::object& root) {
    std::vector<std::optional<Tensor>> inputs = read_tensors(root, "inputs", model_.inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i]) refuse("inputs: expected {}", in_quotes(model_.inputs[i].name));
      request_.inputs.push_back(std::move(*inputs[i]));
    }
  }

  static std::size_t place_of(const std::vector<Input>& all, std::string_view name,
                              const Where& where) {
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].name == name) return i;
    refuse("{}: the model has no {}", where, in_quotes(name));
  }

  // The shape in the request: rows, then the shape of one example.
  Type type_of(const dom::object& object, const Type& one, const Where& where) const {
    const std::string_view dtype = string_of(at(object, "datatype", where), where.at(".datatype"));
    if (dtype != v2_name(one.dtype))
      refuse("{}.datatype: expected {}, got {}", where, v2_name(one.dtype), in_quotes(dtype));
    std::vector<std::int64_t> dims;
    for (const dom::element element : array_at(object, "shape", where)) {
      std::int64_t dim = 0;
      if (element.get(dim) || dim < 0) refuse("{}.shape: expected integers of 0 or more", where);
      if (dims.size() == Shape::kMaxRank)
        refuse("{}.shape: expected at most {} dimensions", where, Shape::kMaxRank);
      dims.push_back(dim);
    }
    const bool fits = dims.size() == one.shape.rank() + 1 &&
                      std::equal(dims.begin() + 1, dims.end(), one.shape.begin());
    if (!fits)
      refuse("{}.shape: expected [N{}{}, got [{}]", where, one.shape.rank() > 0 ? ", " : "",
             to_string(one.shape).substr(1), fmt::join(dims, ", "));
    if (dims[0] > limits_.rows)
      throw HttpError(413, fmt::format("{}.shape: expected at most {} rows, got {}", where,
                                       limits_.rows, dims[0]));
    return {one.dtype, one.shape.insert(0, dims[0])};
  }

  Tensor data_of(const dom::object& object, const Type& type, const Where& where) {
    const std::optional<std::uint64_t> size = size_parameter(object, "binary_data_size", where);
    const std::optional<dom::element> data = find(object, "data", where);
    if (size) {
      if (data) refuse("{}: expected data or binary_data_size, got both", where);
      if (*size != type.bytes())
        refuse("{}: binary_data_size: expected {} bytes for {}, got {}", where, type.bytes(),
               to_string(type), *size);
      if (*size > binary_.size())
        refuse("{}: expected {} bytes after the JSON, got {}", where, *size, binary_.size());
      const std::string_view bytes = binary_.substr(0, type.bytes());
      binary_.remove_prefix(type.bytes());
      return tensor_of_bytes(type, bytes, where);
    }
    if (!data) refuse("{}: expected data", where);
    dom::array array;
    if (data->get(array)) refuse("{}.data: expected an array", where);
    // Each element takes at least a digit and a comma, so the body's size bounds the allocation.
    if (static_cast<std::uint64_t>(type.shape.elements()) > json_bytes_)
      refuse("{}.data: expected {} numbers for the shape", where, type.shape.elements());
    return tensor_of_json(type, array, where.at(".data"));
  }

  void read_outputs(const dom::object& root) {
    const bool binary = flag(root, "binary_data_output", kBody).value_or(false);
    const std::optional<dom::element> outputs = find(root, "outputs", kBody);
    if (outputs) {
      dom::array array;
      if (outputs->get(array)) refuse("outputs: expected an array");
      std::size_t number = 0;
      for (const dom::element element : array) {
        const Where where{"outputs", number++};
        const dom::object object = object_of(element, where);
        const std::string_view name = string_of(at(object, "name", where), where.at(".name"));
        const std::size_t i = place_of(model_.outputs, name, where);
        for (const InferRequest::Wanted& other : request_.outputs)
          if (other.output == i) refuse("{}: the output {} comes twice", where, in_quotes(name));
        request_.outputs.push_back({i, flag(object, "binary_data", where).value_or(binary)});
      }
    }
    if (request_.outputs.empty())
      for (std::size_t i = 0; i < model_.outputs.size(); ++i)
        request_.outputs.push_back({i, binary});
    std::size_t row = 0;
    for (const Input& output : model_.outputs) row += output.type.bytes();
    if (row > 0 && static_cast<std::size_t>(request_.rows) > limits_.answer / row)
      throw HttpError(413, fmt::format("outputs: expected at most {} bytes, got {} rows of {}",
                                       limits_.answer, request_.rows, row));
    request_.output_bytes = row * static_cast<std::size_t>(request_.rows);
  }

  const Signature& model_;
  const Limits& limits_;
  std::size_t json_bytes_;
  std::string_view binary_;
  InferRequest request_;
};

// One parser per thread, replaced after a large body to free its memory.
class ThreadParser {
 public:
  ~ThreadParser() {
    if (parser().capacity() > kKept) parser() = dom::parser();
  }
  dom::element parse(std::string_view json) {
    dom::element document;
    // Later versions of simdjson skip it; earlier ones, and the other readers here, do not.
    if (json.starts_with("\xef\xbb\xbf")) refuse("the body: expected JSON, got a byte order mark");
    const simdjson::error_code error = parser().parse(json.data(), json.size()).get(document);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error) refuse("the body: expected JSON: {}", simdjson::error_message(error));
    return document;
  }

 private:
  static constexpr std::size_t kKept = 1 << 20;
  static dom::parser& parser() {
    thread_local dom::parser parser;
    return parser;
  }
};

// ---- numbers to JSON

// The fewest digits that read back as x. Readers parse digits without point or exponent as
// integers, which lack -0 and values beyond 64 bits: writes these as floating-point numbers.
template <std::floating_point T>
char* shortest(char* begin, char* end, T x) {
  if (x == 0) {
    constexpr std::string_view kZero = "-0.0";
    return std::signbit(x) ? std::copy(kZero.begin(), kZero.end(), begin)
                           : std::to_chars(begin, end, 0).ptr;
  }
  constexpr T kLarge = T{0x1p50};
  return std::abs(x) < kLarge ? std::to_chars(begin, end, x).ptr
                              : std::to_chars(begin, end, x, std::chars_format::scientific).ptr;
}

// Writes NaN and infinities as strings; returns false for other numbers.
template <std::floating_point T>
bool write_special(std::string& json, T x) {
  if (std::isfinite(x)) return false;
  json += std::isnan(x) ? "\"NaN\"" : x > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return true;
}

constexpr std::size_t kDigits = 32;

void write_element(std::string& json, double x) {
  if (write_special(json, x)) return;
  char text[kDigits];
  json.append(text, shortest(text, text + kDigits, x));
}
// The fewest digits of an f32, read as f64, may lie exactly between two f32: then writes those of
// f64.
void write_element(std::string& json, float x) {
  if (write_special(json, x)) return;
  char text[kDigits];
  char* end = shortest(text, text + kDigits, x);
  double back = 0;
  std::from_chars(text, end, back);
  if (static_cast<float>(back) != x) end = shortest(text, text + kDigits, static_cast<double>(x));
  json.append(text, end);
}
template <class T>
void write_half(std::string& json, T x) {
  if (write_special(json, to_f32(x))) return;
  write_element(json, as_printed(x));
}
void write_element(std::string& json, Bf16 x) { write_half(json, x); }
void write_element(std::string& json, F16 x) { write_half(json, x); }
void write_element(std::string& json, bool x) { json += x ? "true" : "false"; }
template <std::integral T>
void write_element(std::string& json, T x) {
  char text[24];
  json.append(text, std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(x)).ptr);
}

template <class T>
void write_elements(std::string& json, const Tensor& tensor) {
  bool first = true;
  for (const T& x : tensor.values<T>()) {
    if (!first) json += ',';
    first = false;
    write_element(json, x);
  }
}

void write_quoted(std::string& json, const std::string& text) {
  json += Json(text).dump({.replace_invalid = true});
}

Json shape_json(const Shape& shape) {
  Json dims = Json::array({-1});
  for (const std::int64_t dim : shape) dims.push_back(dim);
  return dims;
}

Json tensors_json(const std::vector<Input>& tensors) {
  Json all = Json::array();
  for (const Input& tensor : tensors)
    all.push_back(Json{{"name", tensor.name},
                       {"datatype", v2_name(tensor.type.dtype)},
                       {"shape", shape_json(tensor.type.shape)}});
  return all;
}

}  // namespace

void write_numbers(std::string& json, const Tensor& tensor) {
  visit(tensor.dtype(), [&]<class T>(std::type_identity<T>) { write_elements<T>(json, tensor); });
}

std::string_view v2_name(Dtype dtype) {
  for (const DtypeName& n : kNames)
    if (n.dtype == dtype) return n.name;
  return "";
}

std::optional<std::size_t> json_bytes_of(const Request& request) {
  const std::string* const text = request.header("inference-header-content-length");
  if (!text) return std::nullopt;
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), bytes);
  if (error != std::errc{} || end != text->data() + text->size())
    refuse("Inference-Header-Content-Length: expected a number of bytes");
  return bytes;
}

namespace {

// A body, split into JSON and the bytes after it.
std::pair<std::string_view, std::string_view> parts_of(std::string_view body,
                                                       std::optional<std::size_t> json_bytes) {
  const std::size_t size = json_bytes.value_or(body.size());
  if (size > body.size())
    refuse("Inference-Header-Content-Length: expected at most {}, the bytes of the body, got {}",
           body.size(), size);
  return {body.substr(0, size), body.substr(size)};
}

}  // namespace

InferRequest parse_infer(const Signature& model, std::string_view body,
                         std::optional<std::size_t> json_bytes, const Limits& limits) {
  const auto [json, binary] = parts_of(body, json_bytes);
  ThreadParser parser;
  return Reader(model, limits, json, binary).read(parser.parse(json));
}

InferRequest parse_picture(const Signature& model, const std::optional<PictureShape>& shape,
                           std::string_view body, const Limits& limits) {
  if (!shape)
    throw HttpError(415, fmt::format("the model {} was not trained on pictures: expected JSON",
                                     in_quotes(model.name)));
  InferRequest request;
  request.rows = 1;
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    request.outputs.push_back({i, false});
    request.output_bytes += model.outputs[i].type.bytes();
  }
  if (request.output_bytes > limits.answer)
    throw HttpError(413, fmt::format("outputs: expected at most {} bytes, got {}", limits.answer,
                                     request.output_bytes));
  request.inputs.push_back(Tensor::generate<float>(
      model.inputs.front().type.shape.insert(0, 1), [&](std::span<float> numbers) {
        read_picture(std::as_bytes(std::span(body)), "the body", *shape, numbers,
                     {.pixels = limits.pixels});
      }));
  return request;
}

std::vector<std::optional<Tensor>> parse_outputs(const Signature& model, std::string_view body,
                                                 std::optional<std::size_t> json_bytes) {
  const auto [json, binary] = parts_of(body, json_bytes);
  const Limits limits{.rows = std::numeric_limits<std::int64_t>::max()};
  ThreadParser parser;
  return Reader(model, limits, json, binary)
      .read_tensors(object_of(parser.parse(json), {"the answer"}), "outputs", model.outputs);
}

Response infer_response(const Signature& model, const InferRequest& request,
                        std::span<const Tensor> outputs, std::uint64_t input_hash) {
  std::string json;
  json.reserve(256);
  const auto add = [&]<class... Parts>(fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(json), format, std::forward<Parts>(parts)...);
  };
  json += R"({"model_name":)";
  write_quoted(json, model.name);
  add(R"(,"model_version":"{}",)", model.version);
  if (!request.id.empty()) {
    json += R"("id":)";
    write_quoted(json, request.id);
    json += ',';
  }
  json += R"("outputs":[)";
  bool first = true, binary = false;
  for (const InferRequest::Wanted& wanted : request.outputs) {
    const Tensor& tensor = outputs[wanted.output];
    if (!first) json += ',';
    first = false;
    json += R"({"name":)";
    write_quoted(json, model.outputs[wanted.output].name);
    add(R"(,"datatype":"{}","shape":[{}],)", v2_name(tensor.dtype()),
        fmt::join(tensor.shape().dims(), ","));
    if (wanted.binary) {
      binary = true;
      add(R"("parameters":{{"binary_data_size":{}}}}})", tensor.bytes().size());
    } else {
      json += R"("data":[)";
      write_numbers(json, tensor);
      json += "]}";
    }
  }
  json += "]}";
  Response response;
  if (binary) {
    response.content_type = "application/octet-stream";
    response.headers.push_back({"Inference-Header-Content-Length", std::to_string(json.size())});
    for (const InferRequest::Wanted& wanted : request.outputs) {
      const std::span<const std::byte> bytes = outputs[wanted.output].bytes();
      if (wanted.binary) json.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  }
  response.body = std::move(json);
  const Receipt receipt{
      .model = model.hash, .input = input_hash, .output = hash_of_numbers(outputs)};
  response.headers.push_back({"Limpid-Receipt", to_text(receipt)});
  return response;
}

std::string metadata_json(const Signature& model, std::span<const std::int64_t> versions) {
  Json names = Json::array();
  for (const std::int64_t version : versions) names.push_back(std::to_string(version));
  return Json{{"name", model.name},
              {"versions", names},
              {"platform", "limpid"},
              {"inputs", tensors_json(model.inputs)},
              {"outputs", tensors_json(model.outputs)}}
      .dump({.replace_invalid = true});
}

}  // namespace limpid::serve
