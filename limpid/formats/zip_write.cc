// The writing of ZIP archives.
#include <zlib.h>

#include <algorithm>

#include "limpid/core/error.h"
#include "limpid/core/utf8.h"
#include "limpid/formats/detail/zip.h"

namespace limpid::detail {
namespace {

constexpr std::uint16_t kVersion = 20;    // 2.0, that of the format without ZIP64
constexpr std::uint16_t kUtf8 = 1 << 11;  // the flag of a name that is UTF-8
constexpr std::uint32_t kFirstDay = 0x21
                                    << 16;  // 1980-01-01, 00:00: the same bytes whenever written
constexpr std::size_t kMostEntries = 0xfffe, kMostBytes = 0xfffffffe;  // all ones mean ZIP64

class Record {
 public:
  explicit Record(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  Record& u16(std::uint64_t number) { return put(number, 2); }
  Record& u32(std::uint64_t number) { return put(number, 4); }
  Record& text(std::string_view text) {
    const auto part = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), part.begin(), part.end());
    return *this;
  }

 private:
  Record& put(std::uint64_t number, int count) {
    for (int i = 0; i < count; ++i)
      bytes_.push_back(static_cast<std::byte>(number >> 8 * i & 0xff));
    return *this;
  }
  std::vector<std::byte>& bytes_;
};

}  // namespace

void ZipWriter::add(const std::string& name, std::span<const std::byte> bytes) {
  if (name.size() > 0xffff || !is_utf8(name))
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("zip: expected a name of at most 65535 bytes of UTF-8, got {}",
                            in_quotes(name)));
  if (entries_ == kMostEntries)
    throw Error(ErrorCode::kUnsupported, fmt::format("zip: more than {} entries", kMostEntries));
  const bool ascii = std::all_of(name.begin(), name.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  const std::size_t start = archive_.size();
  // The fields that both headers of an entry contain.
  const auto common = [&](Record record) {
    record.u16(kVersion).u16(ascii ? 0 : kUtf8).u16(0).u32(kFirstDay);
    record.u32(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    record.u32(bytes.size()).u32(bytes.size()).u16(name.size()).u16(0);
  };
  common(Record(archive_).u32(kZipLocal));
  Record(archive_).text(name);
  archive_.insert(archive_.end(), bytes.begin(), bytes.end());
  common(Record(directory_).u32(kZipCentral).u16(kVersion));
  Record(directory_).u16(0).u16(0).u16(0).u32(0).u32(start).text(name);
  ++entries_;
}

std::vector<std::byte> ZipWriter::finish() && {
  const std::size_t start = archive_.size();
  if (start > kMostBytes - directory_.size())
    throw Error(ErrorCode::kUnsupported, fmt::format("zip: more than {} bytes", kMostBytes));
  archive_.insert(archive_.end(), directory_.begin(), directory_.end());
  Record end(archive_);
  end.u32(kZipEnd)
      .u16(0)
      .u16(0)
      .u16(entries_)
      .u16(entries_)
      .u32(directory_.size())
      .u32(start)
      .u16(0);
  return std::move(archive_);
}

}  // namespace limpid::detail
