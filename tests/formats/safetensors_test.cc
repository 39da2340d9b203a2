#include "limpid/formats/safetensors.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "limpid/core/key.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::text_of;

// A file with this header, padded by nothing, and this data.
Bytes safetensors_file(std::string_view header, std::string_view data) {
  const std::uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  return bytes_of(file.append(header).append(data));
}

Safetensors parsed(std::span<const std::byte> file) { return parse_safetensors(file, "model"); }

// One of everything: each dtype, a scalar, an empty tensor, names that JSON must escape.
Safetensors sample_safetensors() {
  Safetensors content;
  Params& t = content.tensors;
  t.set("flags", Tensor::from<bool>(Shape{3}, {true, false, true}));
  t.set("layers.0.weight", Tensor::from<float>(Shape{2, 3}, {1, -0.0f, 0.5f, 1e-45f, -7, 3e38f}));
  t.set("signed bytes", Tensor::from<std::int8_t>(Shape{3}, {-128, 0, 127}));
  t.set("bytes", Tensor::from<std::uint8_t>(Shape{5}, {0, 1, 127, 128, 255}));
  t.set("scalar", Tensor::scalar(std::numeric_limits<double>::quiet_NaN()));
  t.set("empty", Tensor::zeros({Dtype::kI64, Shape{4, 0, 2}}));
  t.set("half", Tensor::from<F16>(Shape{1, 2}, {F16{0x3c00}, F16{0xffff}}));
  t.set("brain", Tensor::from<Bf16>(Shape{1}, {Bf16{0x3f80}}));
  t.set("steps", Tensor::from<std::int64_t>(Shape{1}, {INT64_MIN}));
  t.set("caf\xc3\xa9 \"x\"\n", Tensor::from<std::int32_t>(Shape{2}, {-1, INT32_MAX}));
  content.metadata = {{"format", "pt"}, {"", ""}, {"a\tb", "\xe2\x82\xac \\ \x01"}};
  return content;
}

void expect_same(const Safetensors& a, const Safetensors& b) {
  EXPECT_EQ(a.metadata, b.metadata);
  ASSERT_EQ(a.tensors.names(), b.tensors.names());
  for (const auto& [name, tensor] : a.tensors)
    EXPECT_TRUE(tensor.same_bits(b.tensors.at(name))) << name;
}

// ---------------------------------------------------------------------------------------------
// What is well-formed
// ---------------------------------------------------------------------------------------------

TEST(Safetensors, WritesTheBytesOfTheReference) {
  // The file of one tensor in the tests of the format's reference implementation.
  Safetensors content;
  content.tensors.set("attn.0", Tensor::from<float>(Shape{1, 2, 3}, {0, 1, 2, 3, 4, 5}));
  const std::string expected =
      std::string("\x40\0\0\0\0\0\0\0", 8) +
      R"({"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}})" +
      std::string("\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40", 24);
  EXPECT_EQ(text_of(serialize_safetensors(content)), expected);
}

TEST(Safetensors, ReadsAFileOfTheReference) {
  // The example in the documentation of the reference: its header is not padded.
  const Safetensors content = parsed(bytes_of(
      std::string("<\0\0\0\0\0\0\0", 8) +
      R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})" + std::string(16, '\0')));
  EXPECT_EQ(content.tensors.names(), std::vector<std::string>{"test"});
  EXPECT_TRUE(content.tensors.at("test").same_bits(Tensor::zeros({Dtype::kI32, Shape{2, 2}})));
  EXPECT_TRUE(content.metadata.empty());
}

TEST(Safetensors, WritesMetadataFirstPadsTheHeaderAndAlignsTheData) {
  Safetensors content;
  content.metadata = {{"k", "v"}, {"b", "w"}};
  content.tensors.set("z", Tensor::from<std::uint8_t>(Shape{1}, {9}));
  content.tensors.set("a", Tensor::scalar(2.0));
  const std::string header =
      R"({"__metadata__":{"k":"v","b":"w"},"z":{"dtype":"U8","shape":[1],"data_offsets":[8,9]},)"
      R"("a":{"dtype":"F64","shape":[],"data_offsets":[0,8]}})";
  ASSERT_EQ(header.size(), 138u);
  EXPECT_EQ(text_of(serialize_safetensors(content)), std::string("\x90\0\0\0\0\0\0\0", 8) + header +
                                                         "      " +
                                                         std::string("\0\0\0\0\0\0\0\x40\x09", 9));
}

TEST(Safetensors, WritesAFileOfNothing) {
  EXPECT_EQ(text_of(serialize_safetensors({})), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(parsed(serialize_safetensors({})).tensors.empty());
}

TEST(Safetensors, ComesBackFromMemory) {
  const Bytes file = serialize_safetensors(sample_safetensors());
  expect_same(parsed(file), sample_safetensors());
  EXPECT_EQ(serialize_safetensors(parsed(file)), file);
}

TEST(Safetensors, ComesBackFromAFile) {
  const testing::TemporaryFolder folder;
  save_safetensors(folder / "m.safetensors", sample_safetensors());
  EXPECT_EQ(testing::read(folder / "m.safetensors"),
            text_of(serialize_safetensors(sample_safetensors())));
  const Safetensors content = load_safetensors(folder / "m.safetensors");
  std::filesystem::remove(folder / "m.safetensors");
  expect_same(content, sample_safetensors());
}

TEST(Safetensors, BorrowsTheFileInMemoryWhereItIsAligned) {
  const testing::TemporaryFolder folder;
  Safetensors two;
  two.tensors.set("b", Tensor::from<float>(Shape{4}, {1, 2, 3, 4}));
  two.tensors.set("c", Tensor::from<float>(Shape{4}, {5, 6, 7, 8}));
  save_safetensors(folder / "aligned", two);
  const Safetensors aligned = load_safetensors(folder / "aligned");
  // Both lie in one buffer, end to end.
  EXPECT_EQ(aligned.tensors.at("b").bytes().data() + 16, aligned.tensors.at("c").bytes().data());

  testing::write(
      folder / "odd",
      safetensors_file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                       std::string_view("\0\0\x80\x3f", 4)));  // the data begins at byte 62
  const Safetensors odd = load_safetensors(folder / "odd");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(odd.tensors.at("a").bytes().data()) % 4, 0u);
  EXPECT_EQ(odd.tensors.at("a").item<float>(), 1.0f);
}

// What was loaded survives that the file is cut short later; what was mapped shows what is written
// into the file.
TEST(Safetensors, LoadsOrMapsAFile) {
  const testing::TemporaryFolder folder;
  Safetensors content;
  content.tensors.set("a", Tensor::from<std::uint8_t>(Shape{1}, {1}));
  content.tensors.set("b", Tensor::zeros({Dtype::kU8, Shape{100'000}}));
  save_safetensors(folder / "m", content);
  const Tensor loaded = load_safetensors(folder / "m").tensors.at("b");
  const Tensor mapped = map_safetensors(folder / "m").tensors.at("b");
  const std::size_t size = std::filesystem::file_size(folder / "m");
  testing::overwrite(folder / "m", size - 1, bytes_of("x"));
  EXPECT_EQ(mapped.values<std::uint8_t>().back(), 'x');
  std::filesystem::resize_file(folder / "m", 0);
  EXPECT_EQ(loaded.values<std::uint8_t>().back(), 0);
}

TEST(Safetensors, KeepsTheOrderOfTheHeaderWhateverTheOrderOfTheData) {
  const Safetensors content = parsed(safetensors_file(
      R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}, "__metadata__":{"x":"y"},)"
      R"( "a":{"data_offsets":[0,1],"shape":[1],"dtype":"U8"}}  )",
      "AB"));
  EXPECT_EQ(content.tensors.names(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(content.tensors.at("a").item<std::uint8_t>(), 'A');
  EXPECT_EQ(content.tensors.at("b").item<std::uint8_t>(), 'B');
  EXPECT_EQ(content.metadata[0].second, "y");
}

TEST(Safetensors, TakesEmptyTensorsBetweenOthers) {
  const Safetensors content =
      parsed(safetensors_file(R"({"c":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                              R"("e":{"dtype":"F32","shape":[0],"data_offsets":[1,1]},)"
                              R"("f":{"dtype":"F64","shape":[9,0],"data_offsets":[2,2]},)"
                              R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                              "AB"));
  EXPECT_EQ(content.tensors.at("f").shape(), (Shape{9, 0}));
  EXPECT_EQ(content.tensors.at("c").item<std::uint8_t>(), 'B');
}

// ---------------------------------------------------------------------------------------------
// What is not
// ---------------------------------------------------------------------------------------------

TEST(SafetensorsFault, InTheLength) {
  expect_refused(ErrorCode::kFormat, [] { parsed({}); });
  expect_refused(ErrorCode::kFormat, [] { parsed(Bytes(7)); });
  const auto with_length = [](std::uint64_t length) {
    Bytes file(16, std::byte{' '});
    std::memcpy(file.data(), &length, 8);
    return file;
  };
  expect_refused(ErrorCode::kFormat, [&] { parsed(with_length(100'000'001)); });
  expect_refused(ErrorCode::kFormat, [&] { parsed(with_length(UINT64_MAX)); });
  expect_refused(ErrorCode::kFormat, [&] { parsed(with_length(100'000'000)); });
  expect_refused(ErrorCode::kFormat, [&] { parsed(with_length(9)); });
  expect_refused(ErrorCode::kFormat, [&] { parsed(with_length(8)); });
  expect_refused(ErrorCode::kFormat, [&] { parsed(with_length(0)); });
}

// Of well-formed length, with so many bytes of data.
void expect_refused_headers(ErrorCode code, std::size_t data,
                            const std::vector<std::string_view>& headers) {
  for (const std::string_view header : headers) {
    SCOPED_TRACE(header);
    const Bytes file = safetensors_file(header, std::string(data, '\0'));
    expect_refused(code, [&] { parsed(file); });
  }
}

using namespace std::string_view_literals;

TEST(SafetensorsFault, InSyntax) {
  expect_refused_headers(
      ErrorCode::kFormat, 0,
      {"{", "{}x", "{}{}", "{}\0"sv, "{}\0 garbage"sv, "{/**/}", R"({"a":1,})",
       R"({"__metadata__":{"k":"v",}})", R"({'a':{}})", "{\"__metadata__\":{\"k\":\"\xff\"}}",
       "{\"__metadata__\":{\"\xc0\xaf\":\"\"}}", "{\"__metadata__\":{\"k\":\"\xed\xa0\x80\"}}",
       R"({"__metadata__":{"k":"\ud800"}})", "{\"__metadata__\":{\"k\":\"\n\"}}", "\xef\xbb\xbf{}",
       "[]", " {}"});
}

TEST(SafetensorsFault, InStructure) {
  expect_refused_headers(ErrorCode::kFormat, 0,
                         {R"({"a":null})",
                          R"({"a":[]})",
                          R"({"a":"x"})",
                          R"({"a":true})",
                          R"({"":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                          R"({"a":{}})",
                          R"({"a":{"dtype":"U8","data_offsets":[0,0]}})",
                          R"({"a":{"dtype":"U8","shape":[0]}})",
                          R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}})",
                          R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":{"y":[]}}})",
                          R"({"a":{"dtype":1}})",
                          R"({"a":{"dtype":["U8"]}})",
                          R"({"a":{"shape":{}}})",
                          R"({"a":{"shape":3}})",
                          R"({"a":{"data_offsets":"[0,1]"}})",
                          R"({"__metadata__":[]})",
                          R"({"__metadata__":{"k":1}})",
                          R"({"__metadata__":{"k":null}})",
                          R"({"__metadata__":{"k":{}}})",
                          R"({"__metadata__":{"k":[]}})"});
}

TEST(SafetensorsFault, InDuplicateKeys) {
  expect_refused_headers(
      ErrorCode::kFormat, 0,
      {R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
       R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
       R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
       R"("\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
       R"({"__metadata__":{},"__metadata__":{}})", R"({"__metadata__":{},"__metadata\u005f_":{}})",
       R"({"__metadata__":{"k":"v","k":"v"}})", R"({"__metadata__":{"k":"v","\u006b":"v"}})",
       R"({"a":{"dtype":"U8","dtype":"U8"}})", R"({"a":{"shape":[0],"sh\u0061pe":[0]}})",
       R"({"a":{"data_offsets":[0,0],"data_offsets":[0,0]}})"});
}

TEST(SafetensorsFault, InFields) {
  expect_refused_headers(ErrorCode::kUnsupported, 0,
                         {R"({"a":{"dtype":"I16","shape":[0],"data_offsets":[0,0]}})",
                          R"({"a":{"dtype":"U32","shape":[0],"data_offsets":[0,0]}})",
                          R"({"a":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[0,0]}})"});
  expect_refused_headers(
      ErrorCode::kFormat, 0,
      {R"({"a":{"dtype":"f32","shape":[0],"data_offsets":[0,0]}})", R"({"a":{"shape":[-1]}})",
       R"({"a":{"shape":[-0]}})", R"({"a":{"shape":[1.0]}})", R"({"a":{"shape":[1e2]}})",
       R"({"a":{"shape":["1"]}})", R"({"a":{"shape":[[1]]}})", R"({"a":{"shape":[null]}})",
       R"({"a":{"shape":[9223372036854775808]}})", R"({"a":{"shape":[18446744073709551616]}})",
       R"({"a":{"shape":[1e999]}})",
       R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
       R"({"a":{"data_offsets":[]}})", R"({"a":{"data_offsets":[0]}})",
       R"({"a":{"data_offsets":[0,1,2]}})", R"({"a":{"data_offsets":[-1,0]}})",
       R"({"a":{"data_offsets":[0,4.0]}})", R"({"a":{"data_offsets":[[0,4]]}})"});
  expect_refused_headers(
      ErrorCode::kUnsupported, 1,
      {R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})"});
}

TEST(SafetensorsFault, InLayout) {
  expect_refused_headers(ErrorCode::kFormat, 12,
                         {R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,12]}})"});
  expect_refused_headers(ErrorCode::kFormat, 0,
                         {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,0]}})"});
  expect_refused_headers(ErrorCode::kFormat, 2,
                         {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[2,1]}})",
                          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                          R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
                          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                          R"("b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}})"});
  expect_refused_headers(ErrorCode::kFormat, 4,
                         {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                          R"("b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})"});
  expect_refused_headers(ErrorCode::kFormat, 3,
                         {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                          R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})"});
  expect_refused_headers(ErrorCode::kFormat, 1,
                         {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", R"({})",
                          R"({"a":{"dtype":"U8","shape":[1],)"
                          R"("data_offsets":[18446744073709551614,18446744073709551615]}})",
                          R"({"a":{"dtype":"U8","shape":[576460752303423487],)"
                          R"("data_offsets":[0,576460752303423487]}})"});
}

TEST(SafetensorsFault, InABool) {
  const Bytes file = safetensors_file(R"({"a":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})",
                                      std::string_view("\0\1\2", 3));
  expect_refused(ErrorCode::kFormat, [&] { parsed(file); });
}

// Files of other programs are no broken ones.
TEST(SafetensorsFault, InATypeThatIsNotRead) {
  for (const char* dtype : {"I16", "U16", "U32", "U64", "F8_E4M3", "F8_E5M2", "F8_E8M0",
                            "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F6_E2M3", "F6_E3M2", "F4", "C64"})
    expect_refused(ErrorCode::kUnsupported, [&] {
      parsed(safetensors_file(
          fmt::format(R"({{"a":{{"dtype":"{}","shape":[0],"data_offsets":[0,0]}}}})", dtype), ""));
    });
}

TEST(SafetensorsFault, InDepth) {
  const std::string deep(1'000'000, '[');
  expect_refused(ErrorCode::kFormat, [&] { parsed(safetensors_file("{\"a\":" + deep, "")); });
  expect_refused(ErrorCode::kFormat,
                 [&] { parsed(safetensors_file("{\"a\":{\"shape\":" + deep, "")); });
}

TEST(SafetensorsFault, InCount) {
  std::string header = "{";
  for (std::size_t i = 0; i <= kMaxSafetensorsCount; ++i)
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expect_refused(ErrorCode::kUnsupported, [&] { parsed(safetensors_file(header + "}", "")); });
  header = "{\"__metadata__\":{";
  for (std::size_t i = 0; i <= kMaxSafetensorsCount; ++i)
    header += fmt::format("{}\"{}\":\"\"", i == 0 ? "" : ",", i);
  expect_refused(ErrorCode::kUnsupported, [&] { parsed(safetensors_file(header + "}}", "")); });
}

// As many as are read, and no more.
TEST(SafetensorsFault, InTheCountOfWhatIsToBeSaved) {
  Safetensors content;
  for (std::size_t i = 0; i < kMaxSafetensorsCount; ++i) {
    content.tensors.set(fmt::format("{}", i), Tensor());
    content.metadata.emplace_back(fmt::format("{}", i), "");
  }
  expect_same(parsed(serialize_safetensors(content)), content);
  Safetensors more = content;
  more.tensors.set("more", Tensor());
  expect_refused(ErrorCode::kInvalidArgument, [&] { serialize_safetensors(more); });
  content.metadata.emplace_back("more", "");
  expect_refused(ErrorCode::kInvalidArgument, [&] { serialize_safetensors(content); });
}

TEST(SafetensorsFault, NamesAreShownOnOneLineAndCut) {
  const std::string name(1000, 'n');
  expect_refused(ErrorCode::kFormat,
                 [&] { parsed(safetensors_file("{\"\\n" + name + "\":1}", "")); });
}

TEST(SafetensorsFault, InAFile) {
  const testing::TemporaryFolder folder;
  expect_refused(ErrorCode::kIo, [&] { load_safetensors(folder / "none"); });
  testing::write(folder / "short", bytes_of("1234"));
  expect_refused(ErrorCode::kFormat, [&] { load_safetensors(folder / "short"); });
  expect_refused(ErrorCode::kUnsupported, [&] { load_safetensors(folder / "short", 3); });
}

TEST(SafetensorsFault, InWhatIsToBeSaved) {
  const auto saving = [](const std::string& name) {
    return [name] {
      Safetensors content;
      content.tensors.set(name, Tensor());
      serialize_safetensors(content);
    };
  };
  expect_refused(ErrorCode::kInvalidArgument, saving(""));
  expect_refused(ErrorCode::kInvalidArgument, saving("__metadata__"));
  expect_refused(ErrorCode::kInvalidArgument, saving("a\xff"));
  Safetensors content;
  content.metadata = {{"k", "1"}, {"k", "2"}};
  expect_refused(ErrorCode::kInvalidArgument, [&] { serialize_safetensors(content); });
  content.metadata = {{"k", "\x80"}};
  expect_refused(ErrorCode::kInvalidArgument, [&] { serialize_safetensors(content); });
  content.metadata = {{"\x80", "v"}};
  expect_refused(ErrorCode::kInvalidArgument, [&] { serialize_safetensors(content); });
}

TEST(SafetensorsFault, InWhatIsToBeSavedLeavesTheOldFile) {
  const testing::TemporaryFolder folder;
  save_safetensors(folder / "m", sample_safetensors());
  Safetensors broken = sample_safetensors();
  broken.tensors.set("__metadata__", Tensor());
  EXPECT_THROW(save_safetensors(folder / "m", broken), Error);
  expect_same(load_safetensors(folder / "m"), sample_safetensors());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"m"});
}

// ---------------------------------------------------------------------------------------------
// What chance does to a file
// ---------------------------------------------------------------------------------------------

TEST(SafetensorsFuzz, EveryTruncationIsRefused) {
  const Bytes file = serialize_safetensors(sample_safetensors());
  for (std::size_t n = 0; n < file.size(); ++n) {
    const Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_THROW(parsed(part), Error) << "cut to " << n << " bytes";
  }
}

// A file that loads must be consistent: writing its content and reading it again gives the same.
bool loads(const Bytes& file) {
  try {
    const Safetensors content = parsed(file);
    expect_same(parsed(serialize_safetensors(content)), content);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(std::string_view(error.what()).substr(0, 20), "safetensors 'model':");
    return false;
  }
}

TEST(SafetensorsFuzz, EveryFlippedBitLoadsOrIsRefused) {
  const Bytes file = serialize_safetensors(sample_safetensors());
  std::size_t loaded = 0;
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    Bytes changed = file;
    changed[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    loaded += loads(changed);
  }
  // Flipping a bit of a tensor's element changes nothing else: 24 + 5 + 8 + 4 + 2 + 8 + 8 bytes.
  EXPECT_GT(loaded, 59u * 8);
  EXPECT_LT(loaded, file.size() * 8 / 2);
}

TEST(SafetensorsFuzz, ChangedBytesLoadOrAreRefused) {
  constexpr std::string_view kLikely = "{}[]\",:\\0123456789-.eu \n\t\0\x7f\xff";
  const Bytes file = serialize_safetensors(sample_safetensors());
  std::size_t loaded = 0;
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    const Key key = Key(7).fold_in(round);
    Bytes changed = file;
    const std::uint32_t changes = 1 + key.below(3, 0);
    for (std::uint64_t i = 1; i <= changes; ++i) {
      const auto at = static_cast<std::ptrdiff_t>(key.below(changed.size(), 4 * i));
      const auto value = static_cast<std::byte>(kLikely[key.below(kLikely.size(), 4 * i + 1)]);
      switch (key.below(3, 4 * i + 2)) {
        case 0:
          changed[static_cast<std::size_t>(at)] = value;
          break;
        case 1:
          changed.insert(changed.begin() + at, value);
          break;
        default:
          changed.erase(changed.begin() + at);
      }
    }
    loaded += loads(changed);
  }
  EXPECT_GT(loaded, 0u);
  EXPECT_LT(loaded, 10'000u);
}

}  // namespace
}  // namespace limpid
