#include "limpid/formats/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "limpid/core/error.h"
#include "limpid/formats/detail/borrow.h"
#include "limpid/formats/detail/byte_order.h"
#include "limpid/formats/detail/npy.h"
#include "limpid/formats/detail/report.h"
#include "limpid/formats/file.h"

namespace limpid {
namespace {

using detail::Reporter;
using namespace std::string_view_literals;

constexpr std::string_view kMagic = "\x93NUMPY"sv;
// NumPy's own limit: longer headers are of records.
constexpr std::size_t kMaxHeader = 10'000;

struct NpyDtype {
  std::string_view name;  // without the sign of the byte order
  Dtype dtype;
};
constexpr std::array kNpyDtypes = {NpyDtype{"f4", Dtype::kF32}, NpyDtype{"f8", Dtype::kF64},
                                   NpyDtype{"f2", Dtype::kF16}, NpyDtype{"i4", Dtype::kI32},
                                   NpyDtype{"i8", Dtype::kI64}, NpyDtype{"i1", Dtype::kI8},
                                   NpyDtype{"u1", Dtype::kU8},  NpyDtype{"b1", Dtype::kBool}};

struct Header {
  Type type;
  bool big_endian = false;
  bool fortran_order = false;
};

// The header's text: a Python dict of three literals.
class HeaderText {
 public:
  HeaderText(std::string_view text, const Reporter& report) : rest_(text), report_(report) {}

  Header parse() {
    std::optional<bool> fortran_order;
    std::optional<std::string_view> descr;
    std::optional<std::vector<std::int64_t>> shape;
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !descr)
        descr = description();
      else if (key == "fortran_order" && !fortran_order)
        fortran_order = boolean();
      else if (key == "shape" && !shape)
        shape = dimensions();
      else
        report_.broken("the header has the unexpected key {}", in_quotes(key));
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!rest_.empty()) refuse("its end");
    if (!descr || !fortran_order || !shape)
      report_.broken("the header lacks descr, fortran_order or shape");
    return header(*descr, *fortran_order, *shape);
  }

 private:
  [[noreturn]] void refuse(std::string_view expected) const {
    report_.broken(
        "the header is not a dict of descr, fortran_order and shape: expected {}, got {}", expected,
        in_quotes(rest_.substr(0, 16)));
  }

  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(" \t\n")));
  }
  bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(std::string_view(&c, 1));
  }

  std::string_view string() {
    skip_blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    if ((quote != '\'' && quote != '"') || end == std::string_view::npos) refuse("a string");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  std::string_view description() {
    skip_blanks();
    if (!rest_.empty() && (rest_.front() == '[' || rest_.front() == '('))
      report_.unsupported("has an array of records, expected numbers");
    return string();
  }

  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {"True"sv, "False"sv})
      if (rest_.substr(0, word.size()) == word) {
        rest_.remove_prefix(word.size());
        return word == "True";
      }
    refuse("True or False");
  }

  std::vector<std::int64_t> dimensions() {
    std::vector<std::int64_t> dims;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      std::int64_t dim = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dim);
      if (error != std::errc{}) refuse("a dimension");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      take('L');  // as Python 2 wrote them
      dims.push_back(dim);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    if (dims.size() > Shape::kMaxRank)
      report_.unsupported("{} dimensions, at most {} are supported", dims.size(), Shape::kMaxRank);
    return dims;
  }

  Header header(std::string_view descr, bool fortran_order,
                const std::vector<std::int64_t>& dims) const {
    const bool has_order = !descr.empty() && (descr[0] == '<' || descr[0] == '>' ||
                                              descr[0] == '|' || descr[0] == '=');
    const auto known = std::find_if(kNpyDtypes.begin(), kNpyDtypes.end(), [&](const NpyDtype& d) {
      return has_order && d.name == descr.substr(1);
    });
    if (known == kNpyDtypes.end())
      report_.unsupported(
          "elements of type {} are not supported; f2, f4, f8, i1, i4, i8, u1 and b1 are",
          in_quotes(descr));
    try {
      return {{known->dtype, Shape(dims)}, descr[0] == '>', fortran_order};
    } catch (const Error& error) {
      report_.broken("{}", error.what());
    }
  }

  std::string_view rest_;
  const Reporter& report_;
};

// The header of a file, and the bytes after it.
std::pair<Header, std::span<const std::byte>> split_header(std::span<const std::byte> bytes,
                                                           const Reporter& report) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, kMagic.size()) != kMagic)
    report.broken("does not begin with the magic string of .npy");
  const std::size_t version = text.size() > 6 ? static_cast<unsigned char>(text[6]) : 0;
  if (text.size() > 7 && (version < 1 || version > 3 || text[7] != 0))
    report.unsupported("has version {}.{}, supported are 1.0, 2.0 and 3.0", version,
                       static_cast<int>(text[7]));
  const std::size_t start = version == 1 ? 10 : 12;
  if (text.size() < start) report.broken("ended in its header");
  std::size_t length = 0;
  for (std::size_t i = start; i-- > 8;) length = length << 8 | static_cast<unsigned char>(text[i]);
  if (length > kMaxHeader)
    report.unsupported("a header of {} bytes, at most {} are supported", length, kMaxHeader);
  if (text.size() - start < length) report.broken("ended in its header");
  const Header header = HeaderText(text.substr(start, length), report).parse();
  return {header, bytes.subspan(start + length)};
}

// Copies elements from Fortran order, in which the first axis runs fastest, to row-major order.
void from_fortran_order(std::span<const std::byte> from, std::span<std::byte> to,
                        const Shape& shape, std::size_t size) {
  std::vector<std::size_t> strides;  // in `from`, in bytes
  std::size_t stride = size;
  for (const std::int64_t dim : shape) {
    strides.push_back(stride);
    stride *= static_cast<std::size_t>(dim);
  }
  std::vector<std::int64_t> index(shape.rank());
  std::size_t source = 0;
  for (std::size_t place = 0; place < to.size(); place += size) {
    std::memcpy(to.data() + place, from.data() + source, size);
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < shape[axis]) break;
      source -= strides[axis] * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
}

constexpr std::uint64_t kMaxNpyFile = kMaxNpyBytes + kMaxHeader + 12;

}  // namespace

Tensor load_npy(const std::filesystem::path& path) {
  const auto file = std::make_shared<const Tensor>(read_file(path, kMaxNpyFile));
  return detail::parse_npy(file->bytes(), path.string(), file);
}

Tensor map_npy(const std::filesystem::path& path) {
  const auto file = std::make_shared<const Tensor>(read_or_map_file(path, kMaxNpyFile));
  return detail::parse_npy(file->bytes(), path.string(), file);
}

Tensor parse_npy(std::span<const std::byte> bytes, std::string_view where) {
  return detail::parse_npy(bytes, where, nullptr);
}

Tensor detail::parse_npy(std::span<const std::byte> bytes, std::string_view where,
                         const std::shared_ptr<const void>& owner) {
  const Reporter report("npy", where);
  const auto [header, data] = split_header(bytes, report);
  const Type& type = header.type;
  if (type.bytes() > kMaxNpyBytes)
    report.unsupported("{} has {} bytes, the limit is {}", to_string(type), type.bytes(),
                       kMaxNpyBytes);
  if (type.bytes() != data.size())
    report.broken("{} has {} bytes, {} follow the header", to_string(type), type.bytes(),
                  data.size());
  if (type.dtype == Dtype::kBool &&
      std::any_of(data.begin(), data.end(), [](std::byte b) { return b > std::byte{1}; }))
    report.broken("a bool is neither 0 nor 1");
  const bool turned = header.fortran_order && type.shape.rank() > 1;
  const std::size_t size = size_of(type.dtype);
  if (!turned && (!header.big_endian || size == 1)) return borrow_or_copy(type, data, owner);
  return Tensor::generate_bytes(type, [&, &head = header, &from = data](std::span<std::byte> out) {
    if (turned)
      from_fortran_order(from, out, type.shape, size);
    else
      std::copy(from.begin(), from.end(), out.begin());
    if (head.big_endian) reverse_each(out, size);
  });
}

std::vector<std::byte> serialize_npy(const Tensor& tensor) {
  const auto known = std::find_if(kNpyDtypes.begin(), kNpyDtypes.end(),
                                  [&](const NpyDtype& d) { return d.dtype == tensor.dtype(); });
  if (known == kNpyDtypes.end())
    throw Error(ErrorCode::kUnsupported, fmt::format("npy: NumPy has no {}", name(tensor.dtype())));
  const Shape& shape = tensor.shape();
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
                  size_of(tensor.dtype()) == 1 ? '|' : '<', known->name,
                  fmt::join(shape.begin(), shape.end(), ", "), shape.rank() == 1 ? "," : "");
  // Room for a first dimension of 21 digits, then to a multiple of 64 bytes with the ten before.
  if (shape.rank() > 0) header.append(21 - std::to_string(shape[0]).size(), ' ');
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string start(kMagic);
  start += "\x01\0"sv;
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);
  std::vector<std::byte> bytes;
  for (const std::string& text : {start, header}) {
    const auto part = std::as_bytes(std::span(text));
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  bytes.insert(bytes.end(), tensor.bytes().begin(), tensor.bytes().end());
  return bytes;
}

void save_npy(const std::filesystem::path& path, const Tensor& tensor) {
  const std::vector<std::byte> bytes = serialize_npy(tensor);
  const std::span<const std::byte> part(bytes);
  write_file_atomically(path, {&part, 1});
}

}  // namespace limpid
