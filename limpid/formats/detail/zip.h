// ZIP archives in memory (PKWARE's APPNOTE 6.3): the entries that their directory lists, stored or
// deflated. Leans on core, report.h and zlib; included
// by sources alone.
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
  std::uint64_t size = 0;  // of what is in it
  bool deflated = false;
  std::uint32_t crc32 = 0;
};

// The entries of an archive, whose bytes must live as long as they do. Throws, through the
// reporter, where the directory contradicts itself or the entries, entries overlap, a name comes
// twice, an entry announces more than its packed bytes can hold, or a feature is used that is not
// here.
std::vector<ZipEntry> read_zip_directory(std::span<const std::byte> archive,
                                         const Reporter& report);

// Throws where the checksum of what is in an entry is another.
void check_checksum(const ZipEntry& entry, std::span<const std::byte> bytes,
                    const Reporter& report);

// What is in a deflated entry, u8 [size]. Throws where it is not exactly that much, before memory
// of any size is asked for, or the checksum differs.
Tensor unpack(const ZipEntry& entry, const Reporter& report);

// Writes an archive of stored entries in memory; the same entries make the same bytes. The caller
// gives no name twice.
class ZipWriter {
 public:
  // Throws kInvalidArgument for a name that is not UTF-8 or has more than 65535 bytes.
  void add(const std::string& name, std::span<const std::byte> bytes);
  // The archive; this object is used up. Throws kUnsupported where it would take the ZIP64 records
  // of archives beyond 4 GiB.
  std::vector<std::byte> finish() &&;

 private:
  std::vector<std::byte> archive_;
  std::vector<std::byte> directory_;
  std::size_t entries_ = 0;
};

}  // namespace limpid::detail
