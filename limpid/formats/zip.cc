// The reading of ZIP archives.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <set>
#include <string_view>

#include "limpid/core/utf8.h"
#include "limpid/formats/detail/unpacked_size.h"
#include "limpid/formats/detail/zip.h"

namespace limpid::detail {
namespace {

constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kLocator64 = 0x07064b50;
// The content of a 32-bit field whose value is in a ZIP64 record.
constexpr std::uint64_t kIn64 = 0xffffffff;
constexpr std::uint64_t kZip64Field = 0x0001;

constexpr std::uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56,
                        kLocator64Bytes = 20;

// Reads little-endian numbers with bounds checks.
class Bytes {
 public:
  Bytes(std::span<const std::byte> bytes, const Reporter& report)
      : bytes_(bytes), report_(report) {}

  std::uint64_t size() const { return bytes_.size(); }
  std::span<const std::byte> part(std::uint64_t at, std::uint64_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at)
      report_.broken("{} bytes at {} lie outside of the archive's {}", count, at, bytes_.size());
    return bytes_.subspan(at, count);
  }
  std::uint64_t number(std::uint64_t at, std::uint64_t count) const {
    std::uint64_t value = 0;
    const std::span<const std::byte> in = part(at, count);
    for (std::size_t i = in.size(); i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(in[i]);
    return value;
  }
  std::uint64_t u16(std::uint64_t at) const { return number(at, 2); }
  std::uint64_t u32(std::uint64_t at) const { return number(at, 4); }
  std::uint64_t u64(std::uint64_t at) const { return number(at, 8); }
  std::string text(std::uint64_t at, std::uint64_t count) const {
    const auto in = part(at, count);
    return {reinterpret_cast<const char*>(in.data()), in.size()};
  }

 private:
  std::span<const std::byte> bytes_;
  const Reporter& report_;
};

struct Directory {
  std::uint64_t entries, size, start;
};

// The end record is last in the file, except for a comment whose length it holds.
std::uint64_t find_end(const Bytes& bytes, const Reporter& report) {
  constexpr std::uint64_t kMostComment = 65'535;
  if (bytes.size() < kEndBytes) report.broken("is too short for a ZIP archive");
  for (std::uint64_t comment = 0; comment <= kMostComment; ++comment) {
    if (bytes.size() < kEndBytes + comment) break;
    const std::uint64_t at = bytes.size() - kEndBytes - comment;
    if (bytes.u32(at) == kZipEnd && bytes.u16(at + 20) == comment) return at;
  }
  report.broken("has no directory at its end: it is not a ZIP archive, or is truncated");
}

Directory find_directory(const Bytes& bytes, const Reporter& report) {
  std::uint64_t end = find_end(bytes, report);
  if (bytes.u16(end + 4) != 0 || bytes.u16(end + 6) != 0)
    report.unsupported("is one of several parts of an archive");
  Directory directory{bytes.u16(end + 10), bytes.u32(end + 12), bytes.u32(end + 16)};
  if (end >= kLocator64Bytes && bytes.u32(end - kLocator64Bytes) == kLocator64) {
    const std::uint64_t end64 = bytes.u64(end - kLocator64Bytes + 8);
    if (bytes.part(end64, kEnd64Bytes).size() != kEnd64Bytes || bytes.u32(end64) != kEnd64)
      report.broken("has no ZIP64 record where its locator points");
    directory = {bytes.u64(end64 + 32), bytes.u64(end64 + 40), bytes.u64(end64 + 48)};
    end = end64;
  }
  if (directory.size > end || directory.start != end - directory.size)
    report.broken("its directory of {} bytes at {} does not end at its end record, at {}",
                  directory.size, directory.start, end);
  if (directory.entries > directory.size / kCentralBytes)
    report.broken("its directory of {} bytes cannot list {} entries", directory.size,
                  directory.entries);
  return directory;
}

// Sizes and offset of an entry that do not fit its record: consecutive numbers in one extra field.
void read_zip64(const Bytes& bytes, std::uint64_t at, std::uint64_t length, std::uint64_t& size,
                std::uint64_t& packed, std::uint64_t& offset, const Reporter& report) {
  if (size != kIn64 && packed != kIn64 && offset != kIn64) return;
  for (const std::uint64_t end = at + length; end - at >= 4;) {
    const std::uint64_t count = bytes.u16(at + 2);
    if (count > end - at - 4) break;
    if (bytes.u16(at) == kZip64Field) {
      const Bytes field(bytes.part(at + 4, count), report);
      std::uint64_t place = 0;
      for (std::uint64_t* number : {&size, &packed, &offset})
        if (*number == kIn64) {
          *number = field.u64(place);
          place += 8;
        }
      return;
    }
    at += 4 + count;
  }
  report.broken("a size is missing from its ZIP64 field");
}

// The position of an entry: its local header and its packed bytes.
struct Extent {
  std::uint64_t start, end;
};

struct Listed {
  ZipEntry entry;
  Extent extent;
  std::uint64_t next;  // where the next record of the directory begins
};

Listed read_entry(const Bytes& bytes, std::uint64_t at, const Reporter& report) {
  if (bytes.u32(at) != kZipCentral) report.broken("its directory has no entry at {}", at);
  const std::uint64_t flags = bytes.u16(at + 8), method = bytes.u16(at + 10);
  const std::uint64_t name = bytes.u16(at + 28), extra = bytes.u16(at + 30);
  std::uint64_t packed = bytes.u32(at + 20), size = bytes.u32(at + 24), offset = bytes.u32(at + 42);
  Listed listed{{bytes.text(at + kCentralBytes, name),
                 {},
                 0,
                 method == 8,
                 static_cast<std::uint32_t>(bytes.u32(at + 16))},
                {},
                at + kCentralBytes + name + extra + bytes.u16(at + 32)};
  ZipEntry& entry = listed.entry;
  read_zip64(bytes, at + kCentralBytes + name, extra, size, packed, offset, report);
  if (utf8_fault(entry.name) != name)
    report.broken("the name {} is not UTF-8", in_quotes(entry.name));
  if ((flags & 1) != 0) report.unsupported("{} is encrypted", in_quotes(entry.name));
  if (method != 0 && method != 8)
    report.unsupported("{} is compressed by method {}, supported are 0 (stored) and 8 (deflate)",
                       in_quotes(entry.name), method);
  if (bytes.u32(offset) != kZipLocal || bytes.u16(offset + 8) != method ||
      bytes.u16(offset + 26) != name || bytes.text(offset + kLocalBytes, name) != entry.name)
    report.broken("{} is not at {}, where the directory lists it", in_quotes(entry.name), offset);
  const std::uint64_t data = offset + kLocalBytes + name + bytes.u16(offset + 28);
  entry.packed = bytes.part(data, packed);
  entry.size = size;
  listed.extent = {offset, data + packed};
  if (entry.deflated ? size / kMostDeflated > packed : size != packed)
    report.broken("{} cannot hold {} bytes in {}", in_quotes(entry.name), size, packed);
  return listed;
}

void check_overlaps(std::vector<Extent> extents, std::uint64_t directory, const Reporter& report) {
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.start < b.start; });
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (extents[i].end > (i + 1 < extents.size() ? extents[i + 1].start : directory))
      report.broken("its entries overlap at {}", extents[i].end);
}

class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Whether `packed` is a whole stream of exactly out.size() bytes.
  bool run(std::span<const std::byte> packed, std::span<std::byte> out) {
    while (!out.empty()) {
      const std::size_t made = step(packed, out);
      if (made == 0) return false;
      out = out.subspan(made);
    }
    return ends(packed);
  }

  // As above, for any `size` bytes, which are discarded.
  bool holds(std::span<const std::byte> packed, std::uint64_t size) {
    std::array<std::byte, std::size_t{1} << 16> place;
    while (size > 0) {
      const std::size_t made =
          step(packed, std::span(place).first(std::min<std::uint64_t>(size, place.size())));
      if (made == 0) return false;
      size -= made;
    }
    return ends(packed);
  }

 private:
  // One call of zlib: takes from `packed`, says how much it made. 0 at the end and where the stream
  // is broken.
  std::size_t step(std::span<const std::byte>& packed, std::span<std::byte> out) {
    if (status_ != Z_OK) return 0;
    const auto given = static_cast<uInt>(std::min(packed.size(), kChunk));
    const auto wanted = static_cast<uInt>(std::min(out.size(), kChunk));
    // zlib never writes through next_in; its type is older than const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
    stream_.avail_in = given;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = wanted;
    status_ = inflate(&stream_, Z_NO_FLUSH);
    if (status_ == Z_MEM_ERROR) throw std::bad_alloc();
    packed = packed.subspan(given - stream_.avail_in);
    return wanted - stream_.avail_out;
  }

  // Whether the stream and `packed` are at their end together.
  bool ends(std::span<const std::byte> packed) {
    std::byte surplus{};  // receives what a stream holds beyond its size
    while (status_ == Z_OK)
      if (step(packed, {&surplus, 1}) != 0) return false;
    return status_ == Z_STREAM_END && packed.empty();
  }

  // zlib's counters hold 32 bits.
  static constexpr std::size_t kChunk = std::size_t{1} << 30;
  z_stream stream_{};
  int status_ = Z_OK;
};

}  // namespace

std::vector<ZipEntry> read_zip_directory(std::span<const std::byte> archive,
                                         const Reporter& report) {
  const Bytes bytes(archive, report);
  const Directory directory = find_directory(bytes, report);
  std::vector<ZipEntry> entries;
  std::vector<Extent> extents;
  std::set<std::string> names;
  std::uint64_t at = directory.start;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    Listed listed = read_entry(bytes, at, report);
    if (!names.insert(listed.entry.name).second)
      report.broken("two entries are named {}", in_quotes(listed.entry.name));
    at = listed.next;
    extents.push_back(listed.extent);
    entries.push_back(std::move(listed.entry));
  }
  if (at != directory.start + directory.size)
    report.broken("its directory ends at {}, expected {}", at, directory.start + directory.size);
  check_overlaps(std::move(extents), directory.start, report);
  return entries;
}

void check_checksum(const ZipEntry& entry, std::span<const std::byte> bytes,
                    const Reporter& report) {
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (crc != entry.crc32) report.broken("the checksum of {} is wrong", in_quotes(entry.name));
}

Tensor unpack(const ZipEntry& entry, const Reporter& report) {
  const auto refuse = [&] {
    report.broken("{} does not unpack to the {} bytes that the directory declares",
                  in_quotes(entry.name), entry.size);
  };
  if (!is_modest(entry.packed.size(), entry.size) && !Inflater().holds(entry.packed, entry.size))
    refuse();
  Tensor bytes = Tensor::generate_bytes({Dtype::kU8, Shape{static_cast<std::int64_t>(entry.size)}},
                                        [&](std::span<std::byte> out) {
                                          if (!Inflater().run(entry.packed, out)) refuse();
                                        });
  check_checksum(entry, bytes.bytes(), report);
  return bytes;
}

}  // namespace limpid::detail
