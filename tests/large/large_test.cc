// A table of more than 2^31 numbers, in a file of more than 2^31 bytes, and more than 2^32 bytes of
// floats: what reads them and what computes with them counts in 64 bits.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "limpid/limpid.h"
#include "tests/formats/helpers.h"

namespace limpid {
namespace {

constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kRows = (std::int64_t{1} << 25) + 3;
constexpr std::uint64_t kBytes = std::uint64_t{kRows} * kColumns;
constexpr std::uint64_t kNeeded = std::uint64_t{6} << 30;

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::uint64_t kib = 0;
  for (std::string word; file >> word;)
    if (word == "MemAvailable:" && file >> kib) break;
  return kib << 10;
}

// i8 [kRows, kColumns]: zeros, but for the last row and the one that 2^31 numbers are before. It
// has no bytes on the disk but theirs.
std::filesystem::path write_table(const std::filesystem::path& folder) {
  std::string header =
      fmt::format(R"({{"table":{{"dtype":"I8","shape":[{},{}],"data_offsets":[0,{}]}}}})", kRows,
                  kColumns, kBytes);
  header.append((8 - header.size() % 8) % 8, ' ');
  const std::filesystem::path path = folder / "table.safetensors";
  std::ofstream out(path, std::ios::binary);
  const std::uint64_t length = header.size();
  char bytes[8];
  std::memcpy(bytes, &length, sizeof bytes);
  out.write(bytes, sizeof bytes);
  out << header;
  const auto write_row = [&](std::int64_t row, char value) {
    out.seekp(static_cast<std::streamoff>(8 + header.size()) + row * kColumns);
    out << std::string(kColumns, value);
  };
  write_row(kRows - 3, 2);
  write_row(kRows - 1, -5);
  EXPECT_TRUE(out.flush());
  return path;
}

TEST(Large, TablesOfMoreThanTwoToThe31Numbers) {
  if (available_memory() < kNeeded) GTEST_SKIP() << "skipped: less than 6 GiB of free memory";
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = write_table(folder.path());
  const Tensor table = load_safetensors(path).tensors.at("table");
  EXPECT_EQ(table.bytes().size(), kBytes);

  const Function f =
      trace("large", {{"table", table.type()}, {"ids", {Dtype::kI32, {3}}}},
            [](std::span<const Value> in) {
              return std::vector<Value>{embedding(in[1], in[0]), slice(in[0], 0, kRows - 2, kRows)};
            });
  const auto last = static_cast<std::int32_t>(kRows - 1);
  const Tensor ids = Tensor::from({3}, std::vector<std::int32_t>{last, 0, last - 2});
  const std::vector<Tensor> results = compile(f)(std::vector<Tensor>{table, ids});
  const auto row_of = [](const Tensor& t, std::size_t row) {
    const auto values = t.values<std::int8_t>().subspan(row * kColumns, kColumns);
    return std::vector<int>(values.begin(), values.end());
  };
  EXPECT_EQ(row_of(results[0], 0), std::vector<int>(kColumns, -5));
  EXPECT_EQ(row_of(results[0], 1), std::vector<int>(kColumns, 0));
  EXPECT_EQ(row_of(results[0], 2), std::vector<int>(kColumns, 2));
  EXPECT_EQ(row_of(results[1], 0), std::vector<int>(kColumns, 0));
  EXPECT_EQ(row_of(results[1], 1), std::vector<int>(kColumns, -5));
}

// The last 1,024 rows lie after 2^32 bytes. All but the last row are zeros, which take no memory.
TEST(Large, ElementsAfterTwoToThe32Bytes) {
  constexpr std::int64_t kWide = 1024, kMany = (std::int64_t{1} << 20) + 1024;
  const Type type{Dtype::kF32, {kMany, kWide}};
  void* const map = ::mmap(nullptr, type.bytes(), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) GTEST_SKIP() << "skipped: no address space of 4 GiB";
#ifdef MADV_HUGEPAGE
  (void)::madvise(map, type.bytes(), MADV_HUGEPAGE);
#endif
  static_cast<float*>(map)[(kMany - 1) * kWide + 5] = -3;
  const Executable sums = compile(trace("sums", {{"x", type}}, [](std::span<const Value> in) {
    return std::vector<Value>{sum(abs(in[0]), 1)};
  }));
  std::vector<float> expected(kMany), got(kMany, 1);
  expected.back() = 3;
  const void* const in[] = {map};
  void* const out[] = {got.data()};
  Workspace(sums).run(in, out);
  EXPECT_TRUE(got == expected);
  ::munmap(map, type.bytes());
}

}  // namespace
}  // namespace limpid
