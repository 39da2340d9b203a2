// NumPy's archives.
#include "limpid/core/error.h"
#include "limpid/formats/npy.h"
#include "tests/formats/archives.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void read(std::span<const std::byte> bytes) {
  const Params arrays = parse_npz(bytes, "fuzz");
  for (const auto& [name, array] : arrays) touch(array);
}

std::vector<Bytes> seeds() { return fixtures("formats/numpy", ".npz"); }

std::vector<std::string> words() {
  return {"PK\1\2", "PK\3\4", "PK\5\6",           "PK\6\6",  "PK\6\7",
          "x.npy",  ".npy",   "\xff\xff\xff\xff", "\xff\xff"};
}

// An archive of one array whose bytes are changed: the checksum holds, every other one is deflated.
Bytes within(std::span<const std::byte> file, const Change& change) {
  Bytes array = file.size() % 2 == 0
                    ? serialize_npy(Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}))
                    : serialize_npy(Tensor::zeros({Dtype::kBool, Shape{40}}));
  change(array);
  const std::string text(text_of(array));
  const std::string packed = testing::raw_deflate(text);
  const bool deflated = packed.size() % 2 == 0;
  const testing::ZipRecord record{"x.npy",
                                  0,
                                  deflated ? packed.size() : text.size(),
                                  text.size(),
                                  testing::crc_of(text),
                                  deflated ? 8U : 0U};
  return bytes_of(testing::zip_archive(
      testing::zip_entry("x.npy", deflated ? packed : text, record.method), {record}));
}

}  // namespace

const Target& npz() {
  static const Target target{"npz", read, seeds, words, within};
  return target;
}

}  // namespace limpid::fuzz
