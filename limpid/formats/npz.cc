// .npz archives.
#include <memory>
#include <string>

#include "limpid/core/error.h"
#include "limpid/formats/detail/npy.h"
#include "limpid/formats/detail/report.h"
#include "limpid/formats/detail/unpacked_size.h"
#include "limpid/formats/detail/zip.h"
#include "limpid/formats/file.h"
#include "limpid/formats/npy.h"

namespace limpid {
namespace {

constexpr std::string_view kSuffix = ".npy";

// The array's name of an entry.
std::string array_name(const detail::ZipEntry& entry, const detail::Reporter& report) {
  const std::string& name = entry.name;
  if (name.size() <= kSuffix.size() ||
      name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0)
    report.unsupported("{} is not a .npy file", in_quotes(name));
  return name.substr(0, name.size() - kSuffix.size());
}

}  // namespace

Params load_npz(const std::filesystem::path& path) {
  return parse_npz(read_file(path, kMaxNpyBytes).bytes(), path.string());
}

Params parse_npz(std::span<const std::byte> bytes, std::string_view where) {
  const detail::Reporter report("npz", where);
  const std::vector<detail::ZipEntry> entries = detail::read_zip_directory(bytes, report);
  if (entries.size() > kMaxNpzCount)
    report.unsupported("has {} arrays, at most {} are supported", entries.size(), kMaxNpzCount);
  std::uint64_t total = 0, packed = 0;
  for (const detail::ZipEntry& entry : entries) {
    if (entry.size > kMaxNpyBytes - total)
      report.unsupported("its arrays have more than {} bytes", kMaxNpyBytes);
    total += entry.size;
    packed += entry.packed.size();
  }
  detail::refuse_bomb(packed, total, report);
  Params arrays;
  for (const detail::ZipEntry& entry : entries) {
    const std::string name = array_name(entry, report);
    const std::string place = fmt::format("{}, {}", where, entry.name);
    if (entry.deflated) {
      const auto file = std::make_shared<const Tensor>(detail::unpack(entry, report));
      arrays.set(name, detail::parse_npy(file->bytes(), place, file));
    } else {
      detail::check_checksum(entry, entry.packed, report);
      arrays.set(name, parse_npy(entry.packed, place));
    }
  }
  return arrays;
}

std::vector<std::byte> serialize_npz(const Params& arrays) {
  detail::ZipWriter archive;
  for (const auto& [name, array] : arrays) {
    if (name.empty())
      throw Error(ErrorCode::kInvalidArgument, "npz: an array of the archive has no name");
    archive.add(name + std::string(kSuffix), serialize_npy(array));
  }
  return std::move(archive).finish();
}

void save_npz(const std::filesystem::path& path, const Params& arrays) {
  const std::vector<std::byte> bytes = serialize_npz(arrays);
  const std::span<const std::byte> part(bytes);
  write_file_atomically(path, {&part, 1});
}

}  // namespace limpid
