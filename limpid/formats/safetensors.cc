#include "limpid/formats/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/json.h"
#include "limpid/formats/detail/borrow.h"
#include "limpid/formats/detail/report.h"
#include "limpid/formats/file.h"

namespace limpid {
namespace {

using detail::Reporter;

static_assert(std::endian::native == std::endian::little, "the format's data is little-endian");

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kHeaderAlignment = 8;

struct SafetensorsDtype {
  std::string_view name;
  Dtype dtype;
};
constexpr std::array kSafetensorsDtypes = {
    SafetensorsDtype{"F32", Dtype::kF32},   SafetensorsDtype{"F64", Dtype::kF64},
    SafetensorsDtype{"BF16", Dtype::kBf16}, SafetensorsDtype{"F16", Dtype::kF16},
    SafetensorsDtype{"I32", Dtype::kI32},   SafetensorsDtype{"I64", Dtype::kI64},
    SafetensorsDtype{"I8", Dtype::kI8},     SafetensorsDtype{"U8", Dtype::kU8},
    SafetensorsDtype{"BOOL", Dtype::kBool},
};
// Element types of the format that no tensor of ours has.
constexpr std::array<std::string_view, 13> kForeignDtypes = {
    "I16",         "U16",         "U32",     "U64",     "F8_E4M3", "F8_E5M2", "F8_E8M0",
    "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F6_E2M3", "F6_E3M2", "F4",      "C64"};

std::string_view format_name(Dtype dtype) {
  return std::find_if(kSafetensorsDtypes.begin(), kSafetensorsDtypes.end(),
                      [&](const SafetensorsDtype& d) { return d.dtype == dtype; })
      ->name;
}

// ---------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------

// One tensor as the header describes it: its fields in the order in which they may be checked.
struct Entry {
  std::string name;
  std::optional<Dtype> dtype;
  std::optional<std::vector<std::int64_t>> dims;
  std::optional<std::vector<std::uint64_t>> offsets;

  std::uint64_t begin() const { return (*offsets)[0]; }
  std::uint64_t end() const { return (*offsets)[1]; }
};

// Receives the header's JSON event by event and holds it against the one structure that the format
// allows. A document tree would have lost duplicate keys; and whatever nests deeper than a tensor's
// lists ends here, so that no depth is too great.
class HeaderReader final : public JsonEvents {
 public:
  explicit HeaderReader(const Reporter& report) : report_(report) {}

  std::vector<Entry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;

  void null() override { unexpected("null"); }
  void boolean(bool value) override { unexpected(value ? "true" : "false"); }
  void negative(std::int64_t value) override { unexpected(fmt::format("{}", value)); }
  void integer(std::uint64_t value) override;
  void number(double, const std::string& text) override { unexpected(text); }
  void string(std::string& value) override;
  void begin_object() override;
  void key(std::string& name) override;
  void end_object() override;
  void begin_array() override;
  void end_array() override;
  void fault(std::size_t position, const std::string&) override {
    report_.broken("the header is not UTF-8 JSON: fault at its byte {}", position);
  }

 private:
  enum class At { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };

  [[noreturn]] void unexpected(std::string_view came) const;
  void set_dtype(const std::string& name);

  Entry& entry() { return entries.back(); }
  std::string tensor() const { return "tensor " + in_quotes(entries.back().name); }

  const Reporter& report_;
  At at_ = At::kStart;
  std::string key_;  // the last key seen on the level of at_
  std::set<std::string> names_;
  std::set<std::string> metadata_keys_;
};

void HeaderReader::unexpected(std::string_view came) const {
  switch (at_) {
    case At::kTop:
      report_.broken("{}: expected an object, got {}", in_quotes(key_), came);
    case At::kMetadata:
      report_.broken("__metadata__: the value of {} must be a string, got {}", in_quotes(key_),
                     came);
    case At::kTensor:
      report_.broken("{}: {} must be {}, got {}", tensor(), key_,
                     key_ == "dtype" ? "a string" : "a list", came);
    case At::kShape:
      report_.broken("{}: shape must hold non-negative integers, got {}", tensor(), came);
    case At::kOffsets:
      report_.broken("{}: data_offsets must hold non-negative integers, got {}", tensor(), came);
    case At::kStart:
    case At::kEnd:
      break;
  }
  report_.broken("the header must be one object, got {}", came);
}

void HeaderReader::integer(std::uint64_t value) {
  if (at_ == At::kShape) {
    if (value > static_cast<std::uint64_t>(INT64_MAX))
      report_.broken("{}: dimension {} overflows", tensor(), value);
    if (entry().dims->size() == Shape::kMaxRank)
      report_.unsupported("{}: shape has more than {} dimensions", tensor(), Shape::kMaxRank);
    entry().dims->push_back(static_cast<std::int64_t>(value));
  } else if (at_ == At::kOffsets) {
    if (entry().offsets->size() == 2)
      report_.broken("{}: data_offsets must be [begin, end], got more", tensor());
    entry().offsets->push_back(value);
  } else {
    unexpected(fmt::format("{}", value));
  }
}

void HeaderReader::string(std::string& value) {
  if (at_ == At::kMetadata)
    metadata.emplace_back(key_, std::move(value));
  else if (at_ == At::kTensor && key_ == "dtype")
    set_dtype(value);
  else
    unexpected("the string " + in_quotes(value));
}

void HeaderReader::set_dtype(const std::string& name) {
  const auto known = std::find_if(kSafetensorsDtypes.begin(), kSafetensorsDtypes.end(),
                                  [&](const SafetensorsDtype& d) { return d.name == name; });
  if (known != kSafetensorsDtypes.end()) {
    entry().dtype = known->dtype;
    return;
  }
  if (std::find(kForeignDtypes.begin(), kForeignDtypes.end(), name) != kForeignDtypes.end())
    report_.unsupported("{}: dtype {} is not supported", tensor(), name);
  report_.broken("{}: unknown dtype {}", tensor(), in_quotes(name));
}

void HeaderReader::begin_object() {
  if (at_ == At::kStart) {
    at_ = At::kTop;
  } else if (at_ == At::kTop) {
    if (key_ == kMetadataKey) {
      at_ = At::kMetadata;
    } else {
      if (entries.size() == kMaxSafetensorsCount)
        report_.unsupported("more than {} tensors", kMaxSafetensorsCount);
      entries.push_back({key_, {}, {}, {}});
      at_ = At::kTensor;
    }
  } else {
    unexpected("an object");
  }
}

void HeaderReader::key(std::string& name) {
  key_ = name;
  if (at_ == At::kTop) {
    if (name.empty()) report_.broken("a tensor's name is empty");
    if (!names_.insert(name).second) report_.broken("duplicate name {}", in_quotes(name));
  } else if (at_ == At::kMetadata) {
    if (!metadata_keys_.insert(name).second)
      report_.broken("__metadata__: duplicate key {}", in_quotes(name));
    if (metadata_keys_.size() > kMaxSafetensorsCount)
      report_.unsupported("__metadata__: more than {} keys", kMaxSafetensorsCount);
  } else {
    const bool twice = name == "dtype"          ? entry().dtype.has_value()
                       : name == "shape"        ? entry().dims.has_value()
                       : name == "data_offsets" ? entry().offsets.has_value()
                                                : false;
    if (twice) report_.broken("{}: duplicate field {}", tensor(), name);
    if (name != "dtype" && name != "shape" && name != "data_offsets")
      report_.broken("{}: unknown field {}", tensor(), in_quotes(name));
  }
}

void HeaderReader::end_object() {
  if (at_ == At::kTop) {
    at_ = At::kEnd;
    return;
  }
  if (at_ == At::kTensor) {
    if (!entry().dtype) report_.broken("{}: dtype is missing", tensor());
    if (!entry().dims) report_.broken("{}: shape is missing", tensor());
    if (!entry().offsets) report_.broken("{}: data_offsets is missing", tensor());
  }
  at_ = At::kTop;
}

void HeaderReader::begin_array() {
  if (at_ == At::kTensor && key_ == "shape") {
    entry().dims.emplace();
    at_ = At::kShape;
  } else if (at_ == At::kTensor && key_ == "data_offsets") {
    entry().offsets.emplace();
    at_ = At::kOffsets;
  } else {
    unexpected("a list");
  }
}

void HeaderReader::end_array() {
  if (at_ == At::kOffsets && entry().offsets->size() != 2)
    report_.broken("{}: data_offsets must be [begin, end], got {} numbers", tensor(),
                   entry().offsets->size());
  at_ = At::kTensor;
}

// The header's text; the data begins where it ends.
std::string_view header_text(std::span<const std::byte> file, const Reporter& report) {
  if (file.size() < kLengthBytes)
    report.broken("{} bytes, expected at least the {} of the header's length", file.size(),
                  kLengthBytes);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kMaxSafetensorsHeader)
    report.broken("the header's length is {}, the limit is {}", length, kMaxSafetensorsHeader);
  if (length > file.size() - kLengthBytes)
    report.broken("the header's length is {}, but only {} bytes follow", length,
                  file.size() - kLengthBytes);
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes,
                              static_cast<std::size_t>(length));
  if (text.empty() || text.front() != '{')
    report.broken("the header must begin with '{{', got {}",
                  text.empty() ? "nothing" : in_quotes(text.substr(0, 1)));
  return text;
}

Type checked_type(const Entry& entry, const Reporter& report) {
  try {
    return Type{*entry.dtype, Shape(*entry.dims)};
  } catch (const Error& error) {
    report.broken("tensor {}: {}", in_quotes(entry.name), error.what());
  }
}

void check_length(const Entry& entry, const Type& type, const Reporter& report) {
  if (entry.begin() > entry.end())
    report.broken("tensor {}: data_offsets [{}, {}] end before they begin", in_quotes(entry.name),
                  entry.begin(), entry.end());
  if (entry.end() - entry.begin() != type.bytes())
    report.broken("tensor {}: data_offsets [{}, {}] hold {} bytes, {} needs {}",
                  in_quotes(entry.name), entry.begin(), entry.end(), entry.end() - entry.begin(),
                  to_string(type), type.bytes());
}

// The data sections must lie end to end from the first byte to the last.
void check_layout(const std::vector<Entry>& entries, std::size_t data_size,
                  const Reporter& report) {
  std::vector<const Entry*> by_place;
  for (const Entry& entry : entries) by_place.push_back(&entry);
  std::stable_sort(by_place.begin(), by_place.end(),
                   [](const Entry* a, const Entry* b) { return *a->offsets < *b->offsets; });
  std::uint64_t end = 0;
  for (const Entry* entry : by_place) {
    if (entry->begin() != end)
      report.broken("tensor {}: data_offsets begin at {}, {}: the data before it ends at {}",
                    in_quotes(entry->name), entry->begin(),
                    entry->begin() > end ? "leaving a hole" : "overlapping another tensor", end);
    end = entry->end();
  }
  if (end != data_size)
    report.broken("the tensors' data ends at byte {}, the file holds {} bytes of data", end,
                  data_size);
}

void check_bools(const Entry& entry, std::span<const std::byte> data, const Reporter& report) {
  if (*entry.dtype != Dtype::kBool) return;
  const auto bad = std::find_if(data.begin(), data.end(),
                                [](std::byte b) { return std::to_integer<int>(b) > 1; });
  if (bad != data.end())
    report.broken("tensor {}: a bool must be 0 or 1, element {} is {}", in_quotes(entry.name),
                  bad - data.begin(), std::to_integer<int>(*bad));
}

Safetensors parse(std::span<const std::byte> file, std::string_view where,
                  const std::shared_ptr<const void>& owner) {
  const Reporter report("safetensors", where);
  const std::string_view text = header_text(file, report);
  HeaderReader header(report);
  read_json(text, header);

  std::vector<Type> types;
  for (const Entry& entry : header.entries) {
    types.push_back(checked_type(entry, report));
    check_length(entry, types.back(), report);
  }
  const std::span<const std::byte> data = file.subspan(kLengthBytes + text.size());
  check_layout(header.entries, data.size(), report);

  Safetensors content;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Entry& entry = header.entries[i];
    const auto part = data.subspan(static_cast<std::size_t>(entry.begin()), types[i].bytes());
    check_bools(entry, part, report);
    content.tensors.set(entry.name, detail::borrow_or_copy(types[i], part, owner));
  }
  content.metadata = std::move(header.metadata);
  return content;
}

// ---------------------------------------------------------------------------------------------
// Writing
// ---------------------------------------------------------------------------------------------

[[noreturn]] void refuse_to_save(std::string_view what) {
  throw Error(ErrorCode::kInvalidArgument, fmt::format("save safetensors: {}", what));
}

std::string json_string(std::string_view what, const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Error&) {
    refuse_to_save(fmt::format("{} {} is not UTF-8", what, in_quotes(text)));
  }
}

void check_names(const Safetensors& content) {
  const auto check_count = [](std::size_t count, std::string_view what) {
    if (count > kMaxSafetensorsCount)
      refuse_to_save(
          fmt::format("{} {}, at most {} are supported", count, what, kMaxSafetensorsCount));
  };
  check_count(content.tensors.size(), "tensors");
  check_count(content.metadata.size(), "keys of metadata");
  for (const auto& [name, tensor] : content.tensors) {
    if (name.empty()) refuse_to_save("a tensor's name is empty");
    if (name == kMetadataKey) refuse_to_save("'__metadata__' cannot be a tensor's name");
  }
  std::set<std::string_view> keys;
  for (const auto& [key, value] : content.metadata)
    if (!keys.insert(key).second)
      refuse_to_save(fmt::format("duplicate metadata key {}", in_quotes(key)));
}

// Indices of the tensors in the order of their data.
std::vector<std::size_t> data_order(const std::vector<Tensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return size_of(tensors[a].dtype()) > size_of(tensors[b].dtype());
  });
  return order;
}

std::string metadata_json(const Safetensors& content) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : content.metadata)
    pairs.push_back(json_string("the metadata's key", key) + ":" +
                    json_string("the metadata's value", value));
  return fmt::format("\"{}\":{{{}}}", kMetadataKey, fmt::join(pairs, ","));
}

std::string header_json(const Safetensors& content, const std::vector<std::size_t>& begins) {
  std::vector<std::string> fields;
  if (!content.metadata.empty()) fields.push_back(metadata_json(content));
  std::size_t i = 0;
  for (const auto& [name, tensor] : content.tensors) {
    const std::size_t begin = begins[i++];
    fields.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                 json_string("the name", name), format_name(tensor.dtype()),
                                 fmt::join(tensor.shape().dims(), ","), begin,
                                 begin + tensor.bytes().size()));
  }
  std::string json = fmt::format("{{{}}}", fmt::join(fields, ","));
  json.append((kHeaderAlignment - json.size() % kHeaderAlignment) % kHeaderAlignment, ' ');
  if (json.size() > kMaxSafetensorsHeader)
    refuse_to_save(
        fmt::format("a header of {} bytes, the limit is {}", json.size(), kMaxSafetensorsHeader));
  return json;
}

// The length and the header, then the bytes of the tensors, which are not copied.
struct Parts {
  std::vector<std::byte> head;
  std::vector<std::span<const std::byte>> all;
};

Parts make_parts(const Safetensors& content) {
  check_names(content);
  const std::vector<Tensor> tensors = content.tensors.values();
  const std::vector<std::size_t> order = data_order(tensors);
  std::vector<std::size_t> begins(tensors.size());
  std::size_t end = 0;
  for (const std::size_t i : order) {
    begins[i] = end;
    end += tensors[i].bytes().size();
  }

  Parts parts;
  const std::string json = header_json(content, begins);
  const std::uint64_t length = json.size();
  parts.head.resize(kLengthBytes + json.size());
  std::memcpy(parts.head.data(), &length, kLengthBytes);
  std::memcpy(parts.head.data() + kLengthBytes, json.data(), json.size());
  parts.all.emplace_back(parts.head);
  for (const std::size_t i : order) parts.all.push_back(tensors[i].bytes());
  return parts;
}

}  // namespace

Safetensors load_safetensors(const std::filesystem::path& path, std::uint64_t limit) {
  const auto file = std::make_shared<const Tensor>(read_file(path, limit));
  return parse(file->bytes(), path.string(), file);
}

Safetensors map_safetensors(const std::filesystem::path& path, std::uint64_t limit) {
  const auto file = std::make_shared<const Tensor>(map_file(path, limit));
  return parse(file->bytes(), path.string(), file);
}

Safetensors parse_safetensors(std::span<const std::byte> bytes, std::string_view where) {
  return parse(bytes, where, nullptr);
}

std::vector<std::byte> serialize_safetensors(const Safetensors& content) {
  const Parts parts = make_parts(content);
  std::vector<std::byte> bytes;
  for (const std::span<const std::byte> part : parts.all)
    bytes.insert(bytes.end(), part.begin(), part.end());
  return bytes;
}

void save_safetensors(const std::filesystem::path& path, const Safetensors& content) {
  write_file_atomically(path, make_parts(content).all);
}

}  // namespace limpid
