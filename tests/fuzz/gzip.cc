// IDX files in gzip.
#include "limpid/formats/idx.h"
#include "tests/formats/archives.h"
#include "tests/fuzz/idx_files.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void read(std::span<const std::byte> bytes) { touch(parse_idx(bytes, "fuzz")); }

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const Bytes& file : idx_files()) all.push_back(testing::gzip(file));
  return all;
}

std::vector<std::string> words() {
  return {"\x1f\x8b\x08", "\xff\xff\xff\xff", "\x08\x04", "\x08\x08", "\x08\x10"};
}

Bytes within(std::span<const std::byte> file, const Change& change) {
  Bytes content = testing::gunzip(file, std::size_t{1} << 20);
  if (content.empty()) return bytes_of(file);
  change(content);
  return testing::gzip(content);
}

}  // namespace

const Target& gzip() {
  static const Target target{"gzip", read, seeds, words, within};
  return target;
}

}  // namespace limpid::fuzz
