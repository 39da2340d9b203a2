#include "limpid/formats/npy.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "limpid/core/half.h"
#include "limpid/core/key.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"
#include "tests/source_folder.h"

namespace limpid {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::crc_of;
using testing::little;
using testing::raw_deflate;
using testing::zip_archive;
using testing::zip_entry;
using testing::ZipRecord;
using namespace std::literals;

const std::string kFolder = testing::source_folder() / "tests/formats/numpy/";

Tensor load(const std::string& name) { return load_npy(kFolder + name + ".npy"); }
Bytes bytes_of_file(const std::string& name) { return bytes_of(testing::read(kFolder + name)); }
Tensor parse_text(std::string_view file) { return parse_npy(bytes_of(file), "a.npy"); }

// 3 i - 4, as the fixtures have it.
template <class T>
Tensor counted(const Shape& shape) {
  return Tensor::generate<T>(shape, [](std::span<T> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<T>(3 * static_cast<int>(i) - 4);
  });
}

// A file of version 1 with this header text.
std::string file_of(std::string_view header, std::string_view data = "") {
  std::string file = "\x93NUMPY\x01\0"s;
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + std::string(header) + std::string(data);
}

TEST(Npy, ReadsWhatNumPyWrote) {
  const Shape shape{2, 3};
  EXPECT_TRUE(load("f4").same_bits(counted<float>(shape)));
  EXPECT_TRUE(load("f8").same_bits(counted<double>(shape)));
  EXPECT_TRUE(load("i4").same_bits(counted<std::int32_t>(shape)));
  EXPECT_TRUE(load("i8").same_bits(counted<std::int64_t>(shape)));
  EXPECT_TRUE(load("u1").same_bits(Tensor::from<std::uint8_t>(shape, {0, 3, 6, 9, 12, 15})));
  EXPECT_TRUE(
      load("b1").same_bits(Tensor::from<bool>(shape, {false, true, false, true, false, true})));
  const Tensor halves = load("f2");
  ASSERT_EQ(halves.type(), (Type{Dtype::kF16, shape}));
  EXPECT_EQ(halves.values<F16>()[0].bits, 0xc400);  // -4
  EXPECT_EQ(halves.values<F16>()[5].bits, 0x4980);  // 11
  EXPECT_TRUE(load("vector").same_bits(counted<float>(Shape{5})));
  EXPECT_TRUE(load("scalar").same_bits(Tensor::scalar(-4.0f)));
  EXPECT_TRUE(load("empty").same_bits(counted<float>(Shape{0, 3})));
}

TEST(Npy, ReadsEveryVersionOrderAndByteOrder) {
  for (const char* name : {"version2", "version3"}) EXPECT_TRUE(load(name).same_bits(load("f4")));
  for (const char* name : {"f4", "f8", "f2", "i4", "i8"})
    EXPECT_TRUE(load("big_"s + name).same_bits(load(name))) << name;
  const Shape shape{2, 3, 4};
  EXPECT_TRUE(load("fortran_f4").same_bits(counted<float>(shape)));
  EXPECT_TRUE(load("fortran_i8").same_bits(counted<std::int64_t>(shape)));
  EXPECT_TRUE(load("fortran_big_f8").same_bits(counted<double>(shape)));
  EXPECT_EQ(load("fortran_u1").values<std::uint8_t>()[23], 69);
  EXPECT_EQ(load("fortran_u1").values<std::uint8_t>()[1], 3);
}

TEST(Npy, ReadsHeadersThatAreWrittenOtherwise) {
  for (const char* header : {"{\"shape\":(2,),'fortran_order':False,'descr':'|u1'}",
                             "{'descr': '=u1', 'fortran_order': True, 'shape': (2L,), }  \n"})
    EXPECT_TRUE(parse_text(file_of(header, "\1\2"))
                    .same_bits(Tensor::from<std::uint8_t>(Shape{2}, {1, 2})));
  // NumPy writes this of a transposed matrix.
  const char* const turned = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }";
  EXPECT_TRUE(parse_text(file_of(turned, "\1\4\2\5\3\6"))
                  .same_bits(Tensor::from<std::uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6})));
  const char* const bytes = "{'descr': '|i1', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_TRUE(
      parse_text(file_of(bytes, "\1\xff")).same_bits(Tensor::from<std::int8_t>(Shape{2}, {1, -1})));
}

TEST(Npy, WritesWhatNumPyWrites) {
  for (const char* name : {"f4", "f8", "f2", "i4", "i8", "u1", "b1", "vector", "scalar", "empty"})
    EXPECT_EQ(testing::text_of(serialize_npy(load(name))), testing::read(kFolder + name + ".npy"))
        << name;
  const testing::TemporaryFolder folder;
  save_npy(folder / "x.npy", load("f4"));
  EXPECT_TRUE(load_npy(folder / "x.npy").same_bits(load("f4")));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"x.npy"}));
  expect_refused(ErrorCode::kUnsupported, [] {
    serialize_npy(Tensor::zeros({Dtype::kBf16, Shape{2}}));
  });
}

// What is written into the file later shows in the array.
TEST(Npy, MapsLargeFilesAndBorrowsTheirBytes) {
  const testing::TemporaryFolder folder;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (16777216,), }";
  header.resize(118, ' ');  // so that the elements are aligned
  testing::write(folder / "a.npy", bytes_of(file_of(header)));
  const std::size_t end = 128 + (std::size_t{64} << 20);
  std::filesystem::resize_file(folder / "a.npy", end);  // sparse
  const Tensor array = map_npy(folder / "a.npy");
  testing::overwrite(folder / "a.npy", end - 4, bytes_of("\0\0\x80\x3f"s));
  EXPECT_EQ(array.values<float>().back(), 1.0f);
}

TEST(NpyFault, RefusesWhatIsNoArrayOfNumbers) {
  expect_refused(ErrorCode::kUnsupported, [] { load("objects"); });
  expect_refused(ErrorCode::kUnsupported, [] { load("records"); });
  expect_refused(ErrorCode::kUnsupported, [] { load("complex"); });
  expect_refused(ErrorCode::kIo, [] { load("none"); });
}

TEST(NpyFault, RefusesBrokenHeaders) {
  const auto refused = [](ErrorCode code, const std::string& file) {
    expect_refused(code, [&] { parse_text(file); });
  };
  const auto header = [](std::string_view descr, std::string_view shape) {
    return file_of(
        fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': {}, }}", descr, shape),
        "\1\2");
  };
  const std::string good = header("'|u1'", "(2,)");
  EXPECT_EQ(parse_text(good).elements(), 2);
  refused(ErrorCode::kFormat, "PK\3\4");
  refused(ErrorCode::kUnsupported, "\x93NUMPY\4\0\0\0"s);
  refused(ErrorCode::kUnsupported, "\x93NUMPY\1\1\0\0"s);
  EXPECT_EQ(parse_text(file_of("{'descr': '|u1', 'fortran_order': False, 'shape': ()}" +
                                   std::string(9'947, ' '),
                               "x"))
                .elements(),
            1);
  refused(ErrorCode::kUnsupported, file_of(std::string(10'001, ' ')));
  refused(ErrorCode::kUnsupported, "\x93NUMPY\2\0\xff\xff\xff\xff"s);
  refused(ErrorCode::kFormat, header("'|u1'", "(3,)"));
  refused(ErrorCode::kFormat, header("'|u1'", "()"));
  refused(ErrorCode::kFormat, good + "x");
  refused(ErrorCode::kFormat, header("'|u1'", "(-2,)"));
  refused(ErrorCode::kFormat, header("'<f8'", "(9223372036854775807, 9223372036854775807)"));
  refused(ErrorCode::kUnsupported, header("'|u1'", "(4294967297,)"));
  refused(ErrorCode::kUnsupported, header("'|u1'", "(1, 1, 1, 1, 1, 1, 1, 1, 2)"));
  refused(ErrorCode::kFormat, header("'|b1'", "(2,)"));
  refused(ErrorCode::kFormat, header("'|u1'", "(x)"));
  refused(ErrorCode::kFormat, header("'|u1'", "2"));
  refused(ErrorCode::kUnsupported, header("''", "(2,)"));
  refused(ErrorCode::kUnsupported, header("'!u1'", "(2,)"));
  refused(ErrorCode::kFormat, file_of("{'descr' '|u1'}"));
  refused(ErrorCode::kFormat, file_of("{'descr': '|u1' 'fortran"));
  refused(ErrorCode::kFormat, header("'|u1'", "(1 2)"));
  refused(ErrorCode::kFormat, file_of("{}"));
  for (const char* lacking :
       {"{'fortran_order': False, 'shape': (0,)}", "{'descr': '|u1', 'shape': (0,)}",
        "{'descr': '|u1', 'fortran_order': False}"})
    refused(ErrorCode::kFormat, file_of(lacking));
  refused(ErrorCode::kFormat, file_of("{'more': 1}"));
  refused(ErrorCode::kFormat, file_of("{'descr': '|u1', 'descr': '|u1'}"));
  refused(ErrorCode::kFormat, file_of("{'fortran_order': False, 'fortran_order': True}"));
  refused(ErrorCode::kFormat, file_of("{'shape': (2,), 'shape': (3,)}"));
  refused(ErrorCode::kFormat, file_of("{'fortran_order': 1}"));
  refused(ErrorCode::kFormat, file_of("{'descr': '|u1', 'fortran_order': False, 'shape': ()} x"));
}

// Reads, or throws an Error that names the file.
template <class F>
bool reads(const F& f, std::string_view prefix) {
  try {
    f();
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(std::string_view(error.what()).substr(0, prefix.size()), prefix);
    return false;
  }
}

Bytes changed_bytes(Bytes bytes, Key key) {
  for (std::uint64_t i = 0; i <= key.below(2, 0); ++i)
    bytes[key.below(bytes.size(), 2 * i + 1)] = static_cast<std::byte>(key.word(2 * i + 2));
  return bytes;
}

TEST(NpyFault, RefusesAFileBeyondTheLimit) {
  const testing::TemporaryFolder folder;
  testing::write(folder / "a", {});
  std::filesystem::resize_file(folder / "a", std::uintmax_t{5} << 30);  // sparse
  const auto refused = [](const auto& call) { expect_refused(ErrorCode::kUnsupported, call); };
  refused([&] { load_npy(folder / "a"); });
  refused([&] { map_npy(folder / "a"); });
  refused([&] { load_npz(folder / "a"); });
}

TEST(NpyFuzz, EveryTruncationIsRefused) {
  for (const char* name : {"f4.npy", "version2.npy", "fortran_f4.npy"}) {
    const Bytes whole = bytes_of_file(name);
    for (std::size_t n = 0; n < whole.size(); ++n)
      EXPECT_FALSE(reads([&] { parse_npy(std::span(whole).first(n), "a"); }, "npy 'a': ")) << n;
  }
}

TEST(NpyFuzz, ChangedBytesLoadOrAreRefused) {
  int loaded = 0;
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    const Bytes changed = changed_bytes(
        bytes_of_file(round % 2 == 0 ? "fortran_f4.npy" : "big_i8.npy"), Key(8).fold_in(round));
    loaded += reads([&] { parse_npy(changed, "a"); }, "npy 'a': ");
  }
  EXPECT_GT(loaded, 1000);
  EXPECT_LT(loaded, 19'000);
}

// ---- archives

TEST(Npz, ReadsWhatNumPyWrote) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const Params arrays = load_npz(kFolder + name);
    EXPECT_EQ(arrays.names(), (std::vector<std::string>{"x", "y"})) << name;
    EXPECT_TRUE(arrays.at("x").same_bits(counted<float>(Shape{2, 3}))) << name;
    EXPECT_TRUE(arrays.at("y").same_bits(counted<std::int64_t>(Shape{5}))) << name;
  }
}

TEST(Npz, ReadsWhatWasWrittenToAStream) {
  EXPECT_TRUE(
      load_npz(kFolder + "streamed.npz").at("y").same_bits(counted<std::int64_t>(Shape{5})));
}

const std::string kArray =
    file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", "\1\2");

Params parse_archive(std::string_view file) { return parse_npz(bytes_of(file), "a.npz"); }

ZipRecord good_record() { return {"x.npy", 0, kArray.size(), kArray.size(), crc_of(kArray)}; }

TEST(Npz, ReadsAnArchiveByHand) {
  EXPECT_EQ(
      parse_archive(zip_archive(zip_entry("x.npy", kArray), {good_record()})).at("x").elements(),
      2);
  EXPECT_TRUE(parse_archive(zip_archive("", {})).empty());
  // With a comment at its end.
  std::string commented = zip_archive(zip_entry("x.npy", kArray), {good_record()});
  commented.replace(commented.size() - 2, 2, little(5, 2) + "PK\5\6!");
  EXPECT_EQ(parse_archive(commented).size(), 1u);
  // And of a length of two bytes.
  commented.resize(commented.size() - 7);
  for (const std::uint64_t length : {1000, 65'535})  // the longest that a ZIP file can have
    EXPECT_EQ(parse_archive(commented + little(length, 2) + std::string(length, '!')).size(), 1u);
}

// An entry of the directory may have a comment, which lies before the next one.
TEST(Npz, ReadsEntriesWithComments) {
  const std::string first = zip_entry("x.npy", kArray);
  std::string record = good_record().text();
  record.replace(32, 2, little(4, 2));
  ZipRecord second = good_record();
  second.name = "y.npy";
  second.offset = first.size();
  const std::string directory = record + "PK\1\2" + second.text();
  const std::string entries = first + zip_entry("y.npy", kArray);
  const Params arrays =
      parse_archive(entries + directory + "PK\5\6" + little(0, 4) + little(2, 2) + little(2, 2) +
                    little(directory.size(), 4) + little(entries.size(), 4) + little(0, 2));
  EXPECT_EQ(arrays.names(), (std::vector<std::string>{"x", "y"}));
}

// More than a thousand times as large as they are packed, and too large to be believed unseen.
TEST(Npz, ReadsZerosThatArePackedAsFarAsTheyCanBe) {
  constexpr std::size_t kSize = std::size_t{49} << 20;
  const std::string array =
      file_of(fmt::format("{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}", kSize),
              std::string(kSize, '\0'));
  const std::string packed = raw_deflate(array);
  EXPECT_LT(packed.size() * 1020, kSize);
  ZipRecord record{"x.npy", 0, packed.size(), array.size(), crc_of(array), 8};
  const std::string entries = zip_entry("x.npy", packed, 8);
  EXPECT_EQ(parse_archive(zip_archive(entries, {record})).at("x").shape(), Shape{kSize});
  ++record.size;
  expect_refused(ErrorCode::kFormat, [&] { parse_archive(zip_archive(entries, {record})); });
}

TEST(Npz, ReadsZip64Records) {
  ZipRecord record = good_record();
  const std::uint64_t none = 0xffffffff;
  record.extra = little(9, 2) + little(2, 2) + "??" + little(1, 2) + little(24, 2) +
                 little(kArray.size(), 8) + little(kArray.size(), 8) + little(0, 8);
  record.packed = record.size = record.offset = none;
  const std::string entries = zip_entry("x.npy", kArray);
  EXPECT_EQ(parse_archive(zip_archive(entries, {record})).size(), 1u);
  record.extra = little(1, 2) + little(8, 2) + little(kArray.size(), 8);
  expect_refused(ErrorCode::kFormat, [&] { parse_archive(zip_archive(entries, {record})); });
  record.extra = "";
  expect_refused(ErrorCode::kFormat, [&] { parse_archive(zip_archive(entries, {record})); });
  // The position of the directory in a ZIP64 record.
  const std::string directory = good_record().text();
  const std::string end64 = "PK\6\6"s + little(44, 8) + little(45, 4) + little(0, 8) +
                            little(1, 8) + little(1, 8) + little(directory.size(), 8) +
                            little(entries.size(), 8);
  const std::string tail = "PK\6\7"s + little(0, 4) + little(entries.size() + directory.size(), 8) +
                           little(1, 4) + "PK\5\6"s + little(0, 4) + little(0xffff, 2) +
                           little(0xffff, 2) + little(none, 4) + little(none, 4) + little(0, 2);
  EXPECT_EQ(parse_archive(entries + directory + end64 + tail).size(), 1u);
}

// Each number that does not fit its record is in the ZIP64 field, in the order of size, packed size
// and position; the others are not.
TEST(Npz, ReadsNumbersOfZip64InTheirOrder) {
  const std::string first = zip_entry("x.npy", kArray), packed = raw_deflate(kArray);
  const std::string entries = first + zip_entry("y.npy", packed, 8);
  ASSERT_NE(packed.size(), kArray.size());
  const auto reads = [&](bool size, bool small, bool place) {
    ZipRecord record{"y.npy", first.size(), packed.size(), kArray.size(), crc_of(kArray), 8};
    std::string numbers;
    if (size) numbers += little(std::exchange(record.size, 0xffffffff), 8);
    if (small) numbers += little(std::exchange(record.packed, 0xffffffff), 8);
    if (place) numbers += little(std::exchange(record.offset, 0xffffffff), 8);
    record.extra = little(1, 2) + little(numbers.size(), 2) + numbers;
    return parse_archive(zip_archive(entries, {good_record(), record})).at("y").elements() == 2;
  };
  for (const bool size : {false, true})
    for (const bool small : {false, true})
      for (const bool place : {false, true})
        EXPECT_TRUE(reads(size, small, place)) << size << small << place;
}

TEST(Npz, ReadsWhatItWrites) {
  const Params arrays{{"x", load("f4")},
                      {"layers.0/bias", load("scalar")},
                      {"größe", load("b1")},
                      {"none", load("empty")},
                      {std::string(300, 'n'), load("f8")},
                      {"bytes", Tensor::from<std::int8_t>(Shape{2}, {1, -1})}};
  const testing::TemporaryFolder folder;
  save_npz(folder / "a.npz", arrays);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.npz"}));
  const Params read = load_npz(folder / "a.npz");
  ASSERT_EQ(read.names(), arrays.names());
  for (const auto& [name, array] : arrays) EXPECT_TRUE(read.at(name).same_bits(array)) << name;
  EXPECT_TRUE(parse_npz(serialize_npz({}), "a").empty());
}

// written.npz is what this gave when NumPy 1.24 opened it: make_numpy_fixtures.py checks it.
TEST(Npz, WritesTheBytesThatNumPyOpened) {
  const std::vector<std::byte> bytes = serialize_npz({{"x", load("f4")}, {"größe", load("i8")}});
  EXPECT_EQ(testing::text_of(bytes), testing::read(kFolder + "written.npz"));
}

TEST(NpzFault, RefusesToWriteWhatNumPyCannotRead) {
  expect_refused(ErrorCode::kUnsupported, [] {
    serialize_npz({{"x", Tensor::zeros({Dtype::kBf16, Shape{2}})}});
  });
  expect_refused(ErrorCode::kInvalidArgument, [] { serialize_npz({{"", load("f4")}}); });
  expect_refused(ErrorCode::kInvalidArgument, [] { serialize_npz({{"\xff", load("f4")}}); });
  expect_refused(ErrorCode::kInvalidArgument, [] {
    serialize_npz({{std::string(65'536, 'x'), load("f4")}});
  });
}

// More entries are of ZIP64.
TEST(NpzFault, RefusesToWriteMoreArraysThanTheFormatCounts) {
  Params arrays;
  const Tensor empty;
  for (std::size_t i = 0; i < 65'535; ++i) arrays.set(fmt::format("{}", i), empty);
  expect_refused(ErrorCode::kUnsupported, [&] { serialize_npz(arrays); });
}

TEST(NpzFault, RefusesWhatTheDirectoryAndTheEntriesDoNotAgreeOn) {
  const std::string entries = zip_entry("x.npy", kArray);
  const auto refused = [&](ErrorCode code, const auto& change) {
    ZipRecord record = good_record();
    change(record);
    expect_refused(code, [&] { parse_archive(zip_archive(entries, {record})); });
  };
  refused(ErrorCode::kFormat, [](ZipRecord& r) { r.name = "y.npy"; });
  refused(ErrorCode::kFormat, [](ZipRecord& r) { r.offset = 1; });
  refused(ErrorCode::kFormat, [](ZipRecord& r) { r.offset = 0xfffffff0; });
  refused(ErrorCode::kFormat, [](ZipRecord& r) { r.packed = r.size = 100'000; });
  refused(ErrorCode::kFormat, [](ZipRecord& r) { ++r.packed, ++r.size; });
  refused(ErrorCode::kFormat, [](ZipRecord& r) { r.size = 1000; });
  refused(ErrorCode::kFormat, [](ZipRecord& r) { ++r.crc; });
  refused(ErrorCode::kUnsupported, [](ZipRecord& r) { r.flags = 1; });
  refused(ErrorCode::kFormat, [](ZipRecord& r) { r.method = 8; });
  refused(ErrorCode::kUnsupported, [](ZipRecord& r) { r.method = 12; });
  expect_refused(ErrorCode::kUnsupported, [&] {
    ZipRecord record = good_record();
    record.name = "x.txt";
    parse_archive(zip_archive(zip_entry("x.txt", kArray), {record}));
  });
  expect_refused(ErrorCode::kFormat, [&] {
    ZipRecord record = good_record();
    record.name = "\xff.npy";
    parse_archive(zip_archive(zip_entry(record.name, kArray), {record}));
  });
  expect_refused(ErrorCode::kUnsupported, [&] {
    ZipRecord record = good_record();
    record.name = ".npy";
    parse_archive(zip_archive(zip_entry(".npy", kArray), {record}));
  });
  expect_refused(ErrorCode::kFormat, [&] {
    parse_archive(zip_archive(zip_entry("x.npy", "text"), {{"x.npy", 0, 4, 4, crc_of("text")}}));
  });
}

// What follows the fields of an entry is not a part of them.
TEST(NpzFault, RefusesAZip64FieldThatIsLongerThanAllFields) {
  ZipRecord record = good_record();
  record.size = 0xffffffff;
  const std::string entries = zip_entry("x.npy", kArray), size = little(kArray.size(), 8);
  record.extra = little(1, 2) + little(8, 2) + size;
  EXPECT_EQ(parse_archive(zip_archive(entries, {record})).size(), 1U);
  record.extra = little(1, 2) + little(9, 2) + size;
  expect_refused(ErrorCode::kFormat, [&] { parse_archive(zip_archive(entries, {record})); });
}

TEST(NpzFault, RefusesWhatIsNoArchive) {
  const std::string entries = zip_entry("x.npy", kArray);
  std::string file = zip_archive(entries, {good_record()});
  expect_refused(ErrorCode::kFormat, [] { parse_archive("PK"); });
  expect_refused(ErrorCode::kFormat, [&] { parse_archive(kArray); });
  expect_refused(ErrorCode::kFormat, [&] { parse_archive("x" + file); });
  std::string more = file;
  more[more.size() - 12] = 9;
  expect_refused(ErrorCode::kFormat, [&] { parse_archive(more); });
  std::string fewer = file;
  fewer[fewer.size() - 12] = 0;
  expect_refused(ErrorCode::kFormat, [&] { parse_archive(fewer); });
  for (const std::size_t number : {18, 16}) {
    std::string part = file;
    part[part.size() - number] = 1;
    expect_refused(ErrorCode::kUnsupported, [&] { parse_archive(part); });
  }
  std::string unlisted = file;
  unlisted[unlisted.find("PK\1\2") + 2] = '\3';
  expect_refused(ErrorCode::kFormat, [&] { parse_archive(unlisted); });
  const std::string locator = "PK\6\7"s + little(0, 4) + little(0, 8) + little(1, 4);
  expect_refused(ErrorCode::kFormat,
                 [&] { parse_archive(std::string(file).insert(file.size() - 22, locator)); });
  expect_refused(ErrorCode::kIo, [] { load_npz(kFolder + "none.npz"); });
}

TEST(NpzFault, RefusesMoreArraysThanItReads) {
  std::string entries;
  std::vector<ZipRecord> records;
  for (std::size_t i = 0; i < kMaxNpzCount; ++i) {
    ZipRecord record = good_record();
    record.name = fmt::format("{}.npy", i);
    record.offset = entries.size();
    entries += zip_entry(record.name, kArray);
    records.push_back(record);
  }
  EXPECT_EQ(parse_archive(zip_archive(entries, records)).size(), kMaxNpzCount);
  records.push_back(good_record());
  records.back().offset = entries.size();
  expect_refused(ErrorCode::kUnsupported, [&] {
    parse_archive(zip_archive(entries + zip_entry("x.npy", kArray), records));
  });
}

// As much as 4 MB can hold, and one array more.
TEST(NpzFault, RefusesArraysOfMoreThan4GiBTogether) {
  const std::string most(4'161'790, 'x');
  const std::string first = zip_entry("w.npy", most, 8);
  ZipRecord last = good_record();
  last.offset = first.size();
  expect_refused(ErrorCode::kUnsupported, [&] {
    parse_archive(zip_archive(first + zip_entry("x.npy", kArray),
                              {{"w.npy", 0, most.size(), 0xfffffffe, 0, 8}, last}));
  });
}

TEST(NpzFault, ABombIsNeitherUnpackedNorAllocated) {
  // 4 GiB announced, in a few bytes.
  const std::string packed = raw_deflate(kArray);
  ZipRecord record{"x.npy", 0, packed.size(), 0xfffffffe, crc_of(kArray), 8};
  const std::string entries = zip_entry("x.npy", packed, 8);
  expect_refused(ErrorCode::kFormat, [&] { parse_archive(zip_archive(entries, {record})); });
  // 64 MiB, but a few bytes announced.
  const std::string large = raw_deflate(kArray + std::string(64 << 20, '\0'));
  record = {"x.npy", 0, large.size(), kArray.size(), crc_of(kArray), 8};
  expect_refused(ErrorCode::kFormat,
                 [&] { parse_archive(zip_archive(zip_entry("x.npy", large, 8), {record})); });
  // A little more than 64 MiB, as announced, compressed to a thousandth.
  record = {"x.npy", 0, large.size(), kArray.size() + (std::size_t{64} << 20), 0, 8};
  expect_refused(ErrorCode::kUnsupported,
                 [&] { parse_archive(zip_archive(zip_entry("x.npy", large, 8), {record})); });
  // Beside a large array that is not compressed, it is no bomb: that array is read, and has bytes
  // behind its end.
  const std::string other = kArray + std::string(1 << 20, 'x');
  const std::string first = zip_entry("w.npy", other);
  const ZipRecord whole{"w.npy", 0, other.size(), other.size(), crc_of(other)};
  record.offset = first.size();
  expect_refused(ErrorCode::kFormat, [&] {
    parse_archive(zip_archive(first + zip_entry("x.npy", large, 8), {whole, record}));
  });
  // The same bytes under many names.
  record = good_record();
  expect_refused(ErrorCode::kFormat, [&] {
    parse_archive(zip_archive(zip_entry("x.npy", kArray), {record, record}));
  });
  const std::string inner = zip_entry("y.npy", kArray);
  const ZipRecord outer{"x.npy", 0, inner.size(), inner.size(), crc_of(inner)};
  const std::string outer_entry = zip_entry("x.npy", inner);
  const ZipRecord nested{"y.npy", outer_entry.size() - inner.size(), kArray.size(), kArray.size(),
                         crc_of(kArray)};
  expect_refused(ErrorCode::kFormat, [&] {
    parse_archive(zip_archive(outer_entry, {outer, nested}));
  });
}

TEST(NpzFault, RefusesDeflateThatIsNotWhole) {
  const std::string packed = raw_deflate(kArray);
  const auto expect = [&](const std::string& bytes, std::size_t size) {
    const ZipRecord record{"x.npy", 0, bytes.size(), size, crc_of(kArray), 8};
    expect_refused(ErrorCode::kFormat,
                   [&] { parse_archive(zip_archive(zip_entry("x.npy", bytes, 8), {record})); });
  };
  const ZipRecord good{"x.npy", 0, packed.size(), kArray.size(), crc_of(kArray), 8};
  EXPECT_EQ(parse_archive(zip_archive(zip_entry("x.npy", packed, 8), {good})).size(), 1u);
  expect(packed + "x", kArray.size());
  expect(packed.substr(0, packed.size() - 1), kArray.size());
  expect(packed, kArray.size() + 1);
  expect(packed, kArray.size() - 1);
  expect(packed, 0);
  expect("\xff" + packed.substr(1), kArray.size());
}

TEST(NpzFuzz, EveryTruncationIsRefused) {
  for (const char* name : {"stored.npz", "deflated.npz", "streamed.npz"}) {
    const Bytes whole = bytes_of_file(name);
    for (std::size_t n = 0; n < whole.size(); ++n)
      EXPECT_FALSE(reads([&] { parse_npz(std::span(whole).first(n), "a"); }, "np")) << n;
  }
}

TEST(NpzFuzz, ChangedBytesLoadAsTheyWereOrAreRefused) {
  const Params expected = load_npz(kFolder + "stored.npz");
  int loaded = 0;
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    const Bytes changed = changed_bytes(
        bytes_of_file(round % 2 == 0 ? "stored.npz" : "deflated.npz"), Key(8).fold_in(round));
    loaded += reads(
        [&] {
          // The checksums cover the arrays, so only irrelevant fields may differ.
          for (const auto& [name, array] : parse_npz(changed, "a"))
            EXPECT_TRUE(!expected.find(name) || array.same_bits(expected.at(name))) << round;
        },
        "np");
  }
  EXPECT_GT(loaded, 1000);
  EXPECT_LT(loaded, 15'000);
}

}  // namespace
}  // namespace limpid
