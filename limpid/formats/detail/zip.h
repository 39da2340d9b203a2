// ZIP archives in memory (PKWARE's APPNOTE 6.3): stored or deflated entries of their directory.
// Depends on core, report.h and zlib; included only by sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "limpid/core/tensor.h"
#include "limpid/formats/detail/report.h"

namespace limpid::detail {

// Signatures of records.
inline constexpr std::uint32_t kZipLocal = 0x04034b50;
inline constexpr std::uint32_t kZipCentral = 0x02014b50;
inline constexpr std::uint32_t kZipEnd = 0x06054b50;

struct ZipEntry {
  std::string name;
  std::span<const std::byte> packed;
  std::uint64_t size = 0;  // uncompressed
  bool deflated = false;
  std::uint32_t crc32 = 0;
};

// The entries of an archive, whose bytes must outlive them. Throws by the reporter if the directory
// contradicts itself or the entries, entries overlap, a name is repeated, an entry claims a size
// that its bytes cannot hold, or a feature is not supported.
std::vector<ZipEntry> read_zip_directory(std::span<const std::byte> archive,
                                         const Reporter& report);

// Throws unless the checksum of an entry's contents matches.
void check_checksum(const ZipEntry& entry, std::span<const std::byte> bytes,
                    const Reporter& report);

// The contents of a deflated entry, u8 [size]. Throws if the contents do not have exactly this size
// (checked before a large allocation), or if the checksum differs.
Tensor unpack(const ZipEntry& entry, const Reporter& report);

// Writes an archive of stored entries in memory. The same entries give the same bytes. Names must
// be distinct.
class ZipWriter {
 public:
  // Throws kInvalidArgument for a name that is not UTF-8 or has more than 65535 bytes.
  void add(const std::string& name, std::span<const std::byte> bytes);
  // Returns the archive; this object cannot be used afterwards. Throws kUnsupported beyond 4 GiB,
  // which would need ZIP64.
  std::vector<std::byte> finish() &&;

 private:
  std::vector<std::byte> archive_;
  std::vector<std::byte> directory_;
  std::size_t entries_ = 0;
};

}  // namespace limpid::detail
