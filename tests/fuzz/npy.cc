// NumPy's arrays.
#include "limpid/formats/npy.h"

#include "limpid/core/error.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void read(std::span<const std::byte> bytes) {
  const Tensor array = parse_npy(bytes, "fuzz");
  touch(array);
  require(parse_npy(serialize_npy(array), "fuzz").same_bits(array),
          "an array is read as it was written");
  const MemoryFile file(bytes);
  require(load_npy(file.path()).same_bits(array), "a file holds what its bytes hold");
}

std::vector<Bytes> seeds() { return fixtures("formats/numpy", ".npy"); }

std::vector<std::string> words() {
  return {"\x93NUMPY",
          "'descr': ",
          "'fortran_order': ",
          "'shape': ",
          "True",
          "False",
          "'<f4'",
          "'>f8'",
          "'|b1'",
          "'|O'",
          "(2, 3)",
          "(),",
          "(5L,)",
          "[('a', '<i4')]",
          "-1",
          "4294967297",
          "9223372036854775807"};
}

}  // namespace

const Target& npy() {
  static const Target target{"npy", read, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
