// ZIP archives in memory (PKWARE's APPNOTE 6.3): the entries that their directory lists, stored or
// deflated. Leans on report.h and zlib; included by sources alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "limpid/formats/detail/report.h"

namespace limpid::detail {

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

// Unpacks an entry into `out`, which has entry.size bytes. Throws where these are not exactly what
// is in it, or the checksum differs.
void unpack(const ZipEntry& entry, std::span<std::byte> out, const Reporter& report);

}  // namespace limpid::detail
