// IDX files, plain.
#include "limpid/formats/idx.h"

#include "tests/fuzz/idx_files.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void read(std::span<const std::byte> bytes) { touch(parse_idx(bytes, "fuzz")); }

std::vector<std::string> words() {
  return {std::string("\0\0\x08\x03", 4),
          std::string("\0\0\x09\x01", 4),
          std::string("\0\0\x0c\x02", 4),
          std::string("\0\0\x0d\x01", 4),
          std::string("\0\0\x0e\x08", 4),
          "\xff\xff\xff\xff",
          "\x1f\x8b\x08"};
}

}  // namespace

const Target& idx() {
  static const Target target{"idx", read, idx_files, words};
  return target;
}

}  // namespace limpid::fuzz
