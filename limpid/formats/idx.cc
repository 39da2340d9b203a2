#include "limpid/formats/idx.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/formats/detail/byte_order.h"
#include "limpid/formats/detail/report.h"
#include "limpid/formats/detail/unpacked_size.h"
#include "limpid/formats/file.h"

namespace limpid {
namespace {

using detail::Reporter;

constexpr std::size_t kMagicBytes = 4;
constexpr std::size_t kDimBytes = 4;
constexpr std::uint64_t kMaxIdxFile = kMaxIdxBytes + kMagicBytes + kDimBytes * Shape::kMaxRank;

// A sequential source of the bytes of an IDX file.
class Source {
 public:
  virtual ~Source() = default;
  // Fills `out` with the next bytes, up to the end; returns how many.
  virtual std::size_t read(std::span<std::byte> out) = 0;
  // An upper bound on the remaining bytes.
  virtual std::uint64_t bound() const = 0;
  // Throws if the file cannot have `count` more bytes, before memory is allocated for them.
  virtual void check(std::uint64_t count) const = 0;
  // The next `count` bytes where they are in memory; empty if they have to be unpacked.
  virtual std::span<const std::byte> look(std::uint64_t count) const = 0;
  // Called after the last read: throws if more bytes follow.
  virtual void finish() = 0;
};

class PlainSource : public Source {
 public:
  PlainSource(std::span<const std::byte> bytes, const Reporter& report)
      : rest_(bytes), report_(report) {}

  std::size_t read(std::span<std::byte> out) override {
    const std::size_t n = std::min(out.size(), rest_.size());
    std::copy_n(rest_.begin(), n, out.begin());
    rest_ = rest_.subspan(n);
    return n;
  }
  std::uint64_t bound() const override { return rest_.size(); }
  void check(std::uint64_t) const override {}
  std::span<const std::byte> look(std::uint64_t count) const override { return rest_.first(count); }
  void finish() override {
    if (!rest_.empty()) report_.broken("{} bytes too many after the array", rest_.size());
  }

 private:
  std::span<const std::byte> rest_;
  const Reporter& report_;
};

class GzipSource : public Source {
 public:
  GzipSource(std::span<const std::byte> bytes, const Reporter& report)
      : all_(bytes), rest_(bytes), report_(report) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<std::byte> out) override {
    std::size_t done = 0;
    while (done < out.size() && !ended_) done += step(out.subspan(done));
    made_ += done;
    return done;
  }
  std::uint64_t bound() const override {
    // zlib holds back at most its window.
    constexpr std::uint64_t kWindow = 1 << 16;
    return rest_.size() * detail::kMostDeflated + kWindow;
  }
  void check(std::uint64_t count) const override;
  std::span<const std::byte> look(std::uint64_t) const override { return {}; }
  void finish() override {
    std::byte extra{};
    if (read({&extra, 1}) != 0) report_.broken("bytes too many after the array");
    if (!rest_.empty()) report_.broken("{} bytes too many after the gzip stream", rest_.size());
  }

 private:
  std::size_t step(std::span<std::byte> out);

  std::span<const std::byte> all_, rest_;
  const Reporter& report_;
  z_stream stream_{};
  std::uint64_t made_ = 0;
  bool ended_ = false;
};

void GzipSource::check(std::uint64_t count) const {
  detail::refuse_bomb(all_.size(), made_ + count, report_);
  if (detail::is_modest(all_.size(), made_ + count)) return;
  GzipSource again(all_, report_);
  std::array<std::byte, std::size_t{1} << 16> place;
  for (std::uint64_t left = made_ + count; left > 0;) {
    const std::size_t n =
        again.read(std::span(place).first(std::min<std::uint64_t>(left, place.size())));
    if (n == 0)
      report_.broken("ended after {} of the {} bytes that its header declares", again.made_,
                     made_ + count);
    left -= n;
  }
}

// One call of zlib, whose counters have 32 bits.
std::size_t GzipSource::step(std::span<std::byte> out) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
  const auto given = static_cast<uInt>(std::min(rest_.size(), kMostAtOnce));
  const auto wanted = static_cast<uInt>(std::min(out.size(), kMostAtOnce));
  // zlib never writes through next_in; its type is older than const.
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
  stream_.avail_in = given;
  stream_.next_out = reinterpret_cast<Bytef*>(out.data());
  stream_.avail_out = wanted;
  const int status = inflate(&stream_, Z_NO_FLUSH);
  rest_ = rest_.subspan(given - stream_.avail_in);
  ended_ = status == Z_STREAM_END;
  if (status == Z_BUF_ERROR) report_.broken("the gzip stream is truncated");
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status != Z_OK && !ended_)
    report_.broken("the gzip stream is broken: {}",
                   stream_.msg == nullptr ? "it needs a dictionary" : stream_.msg);
  return wanted - stream_.avail_out;
}

std::unique_ptr<Source> open(std::span<const std::byte> bytes, const Reporter& report) {
  const bool gzip = bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
  if (gzip) return std::make_unique<GzipSource>(bytes, report);
  return std::make_unique<PlainSource>(bytes, report);
}

std::uint32_t big_endian(std::span<const std::byte, 4> b) {
  std::uint32_t value = 0;
  for (const std::byte byte : b) value = value << 8 | std::to_integer<std::uint32_t>(byte);
  return value;
}

Dtype element_type(std::uint32_t code, const Reporter& report) {
  switch (code) {
    case 0x08:
      return Dtype::kU8;
    case 0x09:
      return Dtype::kI8;
    case 0x0C:
      return Dtype::kI32;
    case 0x0D:
      return Dtype::kF32;
    case 0x0E:
      return Dtype::kF64;
    case 0x0B:
      report.unsupported("element type 0x{:02x} (short) is not supported", code);
    default:
      report.broken("unknown element type 0x{:02x}", code);
  }
}

std::uint32_t read_word(Source& source, std::string_view what, const Reporter& report) {
  std::array<std::byte, 4> word{};
  const std::size_t n = source.read(word);
  if (n != word.size()) report.broken("ended after {} of the {} bytes of {}", n, word.size(), what);
  return big_endian(word);
}

Type read_header(Source& source, const Reporter& report) {
  const std::uint32_t magic = read_word(source, "the magic number", report);
  if (magic >> 16 != 0)
    report.broken("the magic number must begin with 00 00, got {:02x} {:02x}", magic >> 24,
                  magic >> 16 & 0xff);
  const Dtype dtype = element_type(magic >> 8 & 0xff, report);
  const std::uint32_t rank = magic & 0xff;
  if (rank == 0) report.broken("the number of dimensions is 0");
  if (rank > Shape::kMaxRank)
    report.unsupported("{} dimensions, at most {} are supported", rank, Shape::kMaxRank);
  std::vector<std::int64_t> dims;
  for (std::uint32_t i = 0; i < rank; ++i)
    dims.push_back(read_word(source, fmt::format("dimension {}", i), report));
  try {
    return {dtype, Shape(dims)};
  } catch (const Error& error) {
    report.broken("{}", error.what());
  }
}

void check_size(const Type& type, const Source& source, const Reporter& report) {
  if (type.bytes() > kMaxIdxBytes)
    report.unsupported("{} has {} bytes, the limit is {}", to_string(type), type.bytes(),
                       kMaxIdxBytes);
  if (type.bytes() > source.bound())
    report.broken("{} needs {} bytes, at most {} follow the header", to_string(type), type.bytes(),
                  source.bound());
  source.check(type.bytes());
}

// `owner` keeps the bytes in memory, so that the array need not be copied; nullptr: it must be.
Tensor parse_idx(std::span<const std::byte> bytes, std::string_view where,
                 const std::shared_ptr<const void>& owner) {
  const Reporter report("idx", where);
  const std::unique_ptr<Source> source = open(bytes, report);
  const Type type = read_header(*source, report);
  check_size(type, *source, report);
  const std::span<const std::byte> in_place = source->look(type.bytes());
  if (owner && size_of(type.dtype) == 1 && !in_place.empty() &&
      in_place.data() + in_place.size() == bytes.data() + bytes.size())
    return Tensor::borrow(type, in_place, owner);
  return Tensor::generate_bytes(type, [&](std::span<std::byte> out) {
    const std::size_t n = source->read(out);
    if (n != out.size())
      report.broken("ended after {} of the {} bytes of {}", n, out.size(), to_string(type));
    source->finish();
    detail::reverse_each(out, size_of(type.dtype));
  });
}

}  // namespace

Tensor load_idx(const std::filesystem::path& path) {
  return parse_idx(read_file(path, kMaxIdxFile).bytes(), path.string());
}

Tensor map_idx(const std::filesystem::path& path) {
  const auto file = std::make_shared<const Tensor>(read_or_map_file(path, kMaxIdxFile));
  return parse_idx(file->bytes(), path.string(), file);
}

Tensor parse_idx(std::span<const std::byte> bytes, std::string_view where) {
  return parse_idx(bytes, where, nullptr);
}

}  // namespace limpid
