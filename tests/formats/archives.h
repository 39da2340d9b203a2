// gzip streams and ZIP archives by hand, so that they may be wrong in any way. Leans on zlib alone.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace limpid::testing {

using Bytes = std::vector<std::byte>;

inline void require_zlib(bool holds) {
  if (!holds) throw std::runtime_error("zlib failed");
}

// The gzip stream of `bytes`.
inline Bytes gzip(std::span<const std::byte> bytes) {
  z_stream stream{};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  require_zlib(deflateInit2(&stream, 9, Z_DEFLATED, kGzipOnly, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes packed(deflateBound(&stream, bytes.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  require_zlib(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// The content of a complete gzip stream of at most `limit` bytes; otherwise nothing.
inline Bytes gunzip(std::span<const std::byte> packed, std::size_t limit) {
  z_stream stream{};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  require_zlib(inflateInit2(&stream, kGzipOnly) == Z_OK);
  Bytes content(limit);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(content.data());
  stream.avail_out = static_cast<uInt>(content.size());
  const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  content.resize(whole ? stream.total_out : 0);
  inflateEnd(&stream);
  return content;
}

inline std::string raw_deflate(std::string_view text) {
  // A gzip stream without its header of ten bytes and its trailer of eight.
  const Bytes whole = gzip(std::as_bytes(std::span(text)));
  return {reinterpret_cast<const char*>(whole.data()) + 10, whole.size() - 18};
}

inline std::uint64_t crc_of(std::string_view text) {
  return crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
}

inline std::string little(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, number >>= 8) text += static_cast<char>(number & 0xff);
  return text;
}

// What a record of the directory says of an entry.
struct ZipRecord {
  std::string name;
  std::uint64_t offset, packed, size, crc, method = 0, flags = 0;
  std::string extra = {};

  std::string text() const {
    return "PK\1\2" + little(20, 4) + little(flags, 2) + little(method, 2) + little(0, 4) +
           little(crc, 4) + little(packed, 4) + little(size, 4) + little(name.size(), 2) +
           little(extra.size(), 2) + little(0, 10) + little(offset, 4) + name + extra;
  }
};

// An entry's local header and its packed bytes.
inline std::string zip_entry(const std::string& name, const std::string& data,
                             std::uint64_t method = 0) {
  return "PK\3\4" + little(20, 4) + little(method, 2) + little(0, 16) + little(name.size(), 2) +
         little(0, 2) + name + data;
}

inline std::string zip_archive(const std::string& entries, const std::vector<ZipRecord>& records) {
  std::string directory;
  for (const ZipRecord& record : records) directory += record.text();
  return entries + directory + "PK\5\6" + little(0, 4) + little(records.size(), 2) +
         little(records.size(), 2) + little(directory.size(), 4) + little(entries.size(), 4) +
         little(0, 2);
}

}  // namespace limpid::testing
