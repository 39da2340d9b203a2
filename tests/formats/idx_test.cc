#include "limpid/formats/idx.h"

#include <cstdint>

#include "limpid/core/key.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::gzip;

using namespace std::string_literals;

Tensor parse(std::span<const std::byte> bytes) { return parse_idx(bytes, "a"); }
Tensor parse(const std::string& text) { return parse(bytes_of(text)); }

// u8 [2, 3] of 0 to 5.
const std::string kIdxSample = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03\0\1\2\3\4\5"s;
const Tensor& sample() {
  static const Tensor tensor = Tensor::from<std::uint8_t>(Shape{2, 3}, {0, 1, 2, 3, 4, 5});
  return tensor;
}

TEST(Idx, ReadsEachElementType) {
  EXPECT_TRUE(parse(kIdxSample).same_bits(sample()));
  EXPECT_TRUE(parse("\0\0\x09\x01\0\0\0\x02\x02\xff"s)
                  .same_bits(Tensor::from<std::int8_t>(Shape{2}, {2, -1})));
  EXPECT_TRUE(parse("\0\0\x0C\x01\0\0\0\x02\0\0\1\2\xff\xff\xff\xfe"s)
                  .same_bits(Tensor::from<std::int32_t>(Shape{2}, {258, -2})));
  EXPECT_TRUE(parse("\0\0\x0D\x01\0\0\0\x02\x3f\x80\0\0\xc0\x20\0\0"s)
                  .same_bits(Tensor::from<float>(Shape{2}, {1.0f, -2.5f})));
  EXPECT_TRUE(parse("\0\0\x0E\x01\0\0\0\x01\x3f\xf8\0\0\0\0\0\0"s)
                  .same_bits(Tensor::from<double>(Shape{1}, {1.5})));
}

TEST(Idx, ReadsEmptyArraysAndTheHighestRank) {
  EXPECT_EQ(parse("\0\0\x08\x02\0\0\0\0\0\0\0\x07"s).shape(), (Shape{0, 7}));
  const std::string one = "\0\0\0\1"s;
  EXPECT_EQ(parse("\0\0\x08\x08"s + one + one + one + one + one + one + one + one + "x").shape(),
            (Shape{1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(Idx, ReadsGzipWhateverTheFileIsCalled) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "packed", gzip(bytes_of(kIdxSample)));
  testing::write(folder / "plain.gz", bytes_of(kIdxSample));
  EXPECT_TRUE(load_idx(folder / "packed").same_bits(sample()));
  EXPECT_TRUE(load_idx(folder / "plain.gz").same_bits(sample()));
}

TEST(Idx, ReadsAGzipStreamThatPacksAsMuchAsItCan) {
  // Zeros: the bound on what packed bytes can hold must not refuse them.
  const Bytes packed = gzip(bytes_of("\0\0\x08\x01\0\x80\0\0"s + std::string(8 << 20, '\0')));
  EXPECT_LT(packed.size() * 1020, std::size_t{8} << 20);
  EXPECT_EQ(parse(packed).shape(), Shape{8 << 20});
}

TEST(IdxFault, InTheHeader) {
  expect_refused(ErrorCode::kFormat, [] { parse(""s); });
  expect_refused(ErrorCode::kFormat, [] { parse("\1\2\x08\1\0\0\0\0"s); });
  expect_refused(ErrorCode::kFormat, [] { parse("\0\2\x08\1\0\0\0\0"s); });
  expect_refused(ErrorCode::kFormat, [] { parse("\0\0\x0a\1\0\0\0\0"s); });
  expect_refused(ErrorCode::kUnsupported, [] { parse("\0\0\x0b\1\0\0\0\0"s); });
  expect_refused(ErrorCode::kFormat, [] { parse("\0\0\x08\0x"s); });
  expect_refused(ErrorCode::kUnsupported, [] { parse("\0\0\x08\x09"s + std::string(36, '\0')); });
  expect_refused(ErrorCode::kFormat, [] { parse("\0\0\x08\x02\0\0\0\1\0\0\0"s); });
  expect_refused(ErrorCode::kFormat,
                 [] { parse("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s); });
  expect_refused(ErrorCode::kUnsupported, [] { parse("\0\0\x0e\x01\x20\0\0\1"s); });
}

TEST(IdxFault, InTheSize) {
  expect_refused(ErrorCode::kFormat, [] { parse(kIdxSample.substr(0, kIdxSample.size() - 1)); });
  expect_refused(ErrorCode::kFormat, [] { parse("\0\0\x08\1\x80\0\0\0x"s); });
  expect_refused(ErrorCode::kFormat, [] { parse(kIdxSample + "xy"); });
}

// Bytes are borrowed from the file, and others are read element by element.
TEST(IdxFault, InTheSizeOfAFileThatIsBorrowed) {
  const testing::TemporaryFolder folder;
  const std::string words = "\0\0\x0C\x01\0\0\0\x01\0\0\1\2"s;
  testing::write(folder / "bytes", bytes_of(kIdxSample));
  testing::write(folder / "words", bytes_of(words));
  EXPECT_TRUE(map_idx(folder / "bytes").same_bits(sample()));
  EXPECT_TRUE(map_idx(folder / "words").same_bits(Tensor::from<std::int32_t>(Shape{1}, {258})));
  for (const std::string& whole : {kIdxSample, words}) {
    testing::write(folder / "longer", bytes_of(whole + "xy"));
    expect_refused(ErrorCode::kFormat, [&] { map_idx(folder / "longer"); });
    testing::write(folder / "shorter", bytes_of(whole.substr(0, whole.size() - 1)));
    expect_refused(ErrorCode::kFormat, [&] { map_idx(folder / "shorter"); });
  }
}

// What is borrowed begins where it begins in the file: behind a header of 12 bytes.
TEST(Idx, BorrowsBytesOfAFile) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "bytes", bytes_of(kIdxSample));
  const auto offset = [](const Tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.bytes().data()) % Tensor::kAlignment;
  };
  EXPECT_EQ(offset(map_idx(folder / "bytes")), 12u);
  EXPECT_EQ(offset(load_idx(folder / "bytes")), 0u);
}

TEST(IdxFault, InTheGzipStream) {
  const Bytes good = gzip(bytes_of(kIdxSample));
  const auto with = [&](std::size_t from_end, std::byte flip) {
    Bytes bad = good;
    bad[bad.size() - from_end] ^= flip;
    return bad;
  };
  expect_refused(ErrorCode::kFormat, [&] { parse(with(8, std::byte{1})); });
  expect_refused(ErrorCode::kFormat, [&] { parse(with(4, std::byte{1})); });
  expect_refused(ErrorCode::kFormat, [&] { parse(std::span(good).first(good.size() - 1)); });
  Bytes longer = good;
  longer.push_back(std::byte{0});
  expect_refused(ErrorCode::kFormat, [&] { parse(longer); });
  Bytes twice = good;
  twice.insert(twice.end(), good.begin(), good.end());
  expect_refused(ErrorCode::kFormat, [&] { parse(twice); });
  expect_refused(ErrorCode::kFormat, [] { parse(gzip(bytes_of(kIdxSample + "x"))); });
  expect_refused(ErrorCode::kFormat,
                 [] { parse(gzip(bytes_of(kIdxSample.substr(0, kIdxSample.size() - 1)))); });
}

TEST(IdxFault, ABombIsNeitherUnpackedNorAllocated) {
  // The stream unpacks to 64 MiB, but its header announces 6 bytes.
  const Bytes more = gzip(bytes_of(kIdxSample + std::string(64 << 20, '\0')));
  expect_refused(ErrorCode::kFormat, [&] { parse(more); });
  // The header announces 4 GiB, which a few packed bytes cannot hold.
  const Bytes less = gzip(bytes_of("\0\0\x08\x02\0\1\0\0\0\1\0\0"s));
  expect_refused(ErrorCode::kFormat, [&] { parse(less); });
  // 65 MiB, as announced, compressed to a thousandth.
  const Bytes zeros = gzip(bytes_of("\0\0\x08\x01\x04\x10\0\0"s + std::string(65 << 20, '\0')));
  expect_refused(ErrorCode::kUnsupported, [&] { parse(zeros); });
  // 60 MiB announced, which these bytes could hold but do not: detected before allocation.
  std::string noise(70'000, '\0');
  for (std::size_t i = 0; i < noise.size(); ++i)
    noise[i] = static_cast<char>(Key(3).word(i) & 0xff);
  const Bytes lies = gzip(bytes_of("\0\0\x08\x01\x03\xc0\0\0"s + noise));
  expect_refused(ErrorCode::kFormat, [&] { parse(lies); });
}

TEST(IdxFault, RefusesAFileBeyondTheLimit) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "a", {});
  std::filesystem::resize_file(folder / "a", std::uintmax_t{5} << 30);  // sparse
  for (const auto load : {load_idx, map_idx})
    expect_refused(ErrorCode::kUnsupported, [&] { load(folder / "a"); });
}

TEST(IdxFault, NamesTheFile) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "t10k", bytes_of("\0\0"s));
  expect_refused(ErrorCode::kFormat, [&] { load_idx(folder / "t10k"); });
  expect_refused(ErrorCode::kIo, [&] { load_idx(folder / "none"); });
}

TEST(IdxFuzz, EveryTruncationIsRefused) {
  const Bytes plain = bytes_of(kIdxSample);
  for (const Bytes& whole : {plain, gzip(plain)})
    for (std::size_t n = 0; n < whole.size(); ++n)
      EXPECT_THROW(parse(std::span(whole).first(n)), Error) << n << " of " << whole.size();
}

TEST(IdxFuzz, EveryFlippedBitOfGzipIsRefusedOrHarmless) {
  // The checksum covers the array, so only irrelevant fields of the gzip header may differ.
  const Bytes whole = gzip(bytes_of(kIdxSample));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    Bytes changed = whole;
    changed[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    try {
      EXPECT_TRUE(parse(changed).same_bits(sample())) << "bit " << bit;
    } catch (const Error&) {
    }
  }
}

TEST(IdxFuzz, ChangedBytesLoadOrAreRefused) {
  const Bytes whole = bytes_of(kIdxSample);
  int loaded = 0;
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    const Key key = Key(8).fold_in(round);
    Bytes changed = round % 2 == 0 ? whole : gzip(whole);
    for (std::uint64_t i = 0; i <= key.below(2, 0); ++i)
      changed[key.below(changed.size(), 2 * i + 1)] = static_cast<std::byte>(key.word(2 * i + 2));
    try {
      const Tensor tensor = parse(changed);
      EXPECT_LE(tensor.bytes().size(), whole.size());
      ++loaded;
    } catch (const Error& error) {
      EXPECT_EQ(std::string_view(error.what()).substr(0, 8), "idx 'a':");
    }
  }
  EXPECT_GT(loaded, 1000);
  EXPECT_LT(loaded, 10'000);
}

}  // namespace
}  // namespace limpid
