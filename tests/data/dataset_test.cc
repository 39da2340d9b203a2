#include "limpid/data/dataset.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <tuple>

#include "limpid/data/batches.h"
#include "limpid/data/row_reader.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;

using namespace std::string_literals;

// Two images of 1 x 3 pixels, and three; with their labels.
const std::string kTrainImages = "\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\3\0\x33\xff\1\2\3"s;
const std::string kTrainLabels = "\0\0\x08\1\0\0\0\2\2\0"s;
const std::string kTestImages = "\0\0\x08\3\0\0\0\3\0\0\0\1\0\0\0\3\0\0\0\0\0\0\0\0\0"s;
const std::string kTestLabels = "\0\0\x08\1\0\0\0\3\0\1\2"s;

// A folder of the four files, in which a test breaks one.
class IdxFolder : public ::testing::Test {
 protected:
  IdxFolder() {
    put("train-images-idx3-ubyte", kTrainImages);
    put("train-labels-idx1-ubyte", kTrainLabels);
    put("t10k-images-idx3-ubyte", kTestImages);
    put("t10k-labels-idx1-ubyte", kTestLabels);
  }
  void put(std::string_view name, const std::string& content) {
    testing::write(folder_ / name, bytes_of(content));
  }
  void refused(ErrorCode code) {
    expect_refused(code, [&] { load_idx_folder(folder_.path()); });
  }

  testing::TemporaryFolder folder_;
};

TEST_F(IdxFolder, GivesBothParts) {
  const Split split = load_idx_folder(folder_.path());
  EXPECT_TRUE(split.train.inputs.same_bits(Tensor::from<float>(
      Shape{2, 3}, {0.0f, 0.2f, 1.0f, 1.0f / 255.0f, 2.0f / 255.0f, 3.0f / 255.0f})));
  EXPECT_TRUE(split.train.targets.same_bits(Tensor::from<std::int32_t>(Shape{2}, {2, 0})));
  EXPECT_EQ(split.train.size(), 2);
  EXPECT_EQ(split.test.size(), 3);
  EXPECT_EQ(split.test.inputs.shape(), (Shape{3, 3}));
  EXPECT_EQ(split.train.classes, 3);
  EXPECT_EQ(split.test.classes, 3);
  EXPECT_EQ(split.train.name, folder_.path().filename().string());
  EXPECT_EQ(load_idx_folder(folder_.path() / "").train.name, split.train.name);
  EXPECT_EQ(split.train.picture, (PictureShape{1, 1, 3}));
  EXPECT_EQ(data_config_from_json(JsonView(to_json(data_config(split.train)))),
            data_config(split.train));
}

// Pixels stay bytes until a row is read.
TEST_F(IdxFolder, ConvertsRowsWhenTheyAreRead) {
  const Split split = load_idx_folder(folder_.path());
  EXPECT_TRUE(split.train.inputs.has_deferred_rows());
  EXPECT_TRUE(gather_rows(split.train.inputs, std::vector<std::int32_t>{1, 0, 1})
                  .same_bits(gather_rows(split.train.rows(0, 2).inputs.read_once(),
                                         std::vector<std::int32_t>{1, 0, 1})));
}

TEST_F(IdxFolder, TakesEachWayOfNamingTheFiles) {
  const Split expected = load_idx_folder(folder_.path());
  fs::rename(folder_ / "train-images-idx3-ubyte", folder_ / "train-images.idx3-ubyte");
  fs::remove(folder_ / "t10k-images-idx3-ubyte");
  testing::write(folder_ / "t10k-images-idx3-ubyte.gz", testing::gzip(bytes_of(kTestImages)));
  fs::remove(folder_ / "t10k-labels-idx1-ubyte");
  testing::write(folder_ / "t10k-labels.idx1-ubyte.gz", testing::gzip(bytes_of(kTestLabels)));
  const Split split = load_idx_folder(folder_.path());
  EXPECT_TRUE(split.train.inputs.same_bits(expected.train.inputs));
  EXPECT_TRUE(split.test.inputs.same_bits(expected.test.inputs));
  EXPECT_TRUE(split.test.targets.same_bits(expected.test.targets));
}

// What was unpacked, and perhaps changed, goes before its archive.
TEST_F(IdxFolder, TakesAPlainFileBeforeAPackedOne) {
  const Split expected = load_idx_folder(folder_.path());
  const auto packed = testing::gzip(bytes_of("\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\3old..."s));
  testing::write(folder_ / "train-images-idx3-ubyte.gz", packed);
  EXPECT_TRUE(load_idx_folder(folder_.path()).train.inputs.same_bits(expected.train.inputs));
  fs::rename(folder_ / "train-images-idx3-ubyte", folder_ / "train-images.idx3-ubyte");
  fs::rename(folder_ / "train-images-idx3-ubyte.gz", folder_ / "train-images.idx3-ubyte.gz");
  EXPECT_TRUE(load_idx_folder(folder_.path()).train.inputs.same_bits(expected.train.inputs));
}

TEST_F(IdxFolder, HasTwoClassesAtLeast) {
  put("train-labels-idx1-ubyte", "\0\0\x08\1\0\0\0\2\0\0"s);
  put("t10k-labels-idx1-ubyte", "\0\0\x08\1\0\0\0\3\0\0\1"s);
  EXPECT_EQ(load_idx_folder(folder_.path()).train.classes, 2);
}

TEST_F(IdxFolder, NamesTheFileThatIsMissing) {
  fs::remove(folder_ / "t10k-labels-idx1-ubyte");
  refused(ErrorCode::kIo);
  expect_refused(ErrorCode::kIo, [&] { load_idx_folder(folder_ / "none"); });
}

TEST_F(IdxFolder, RefusesArraysOfAnotherKind) {
  const auto images = "train-images-idx3-ubyte", labels = "train-labels-idx1-ubyte",
             test_images = "t10k-images-idx3-ubyte", test_labels = "t10k-labels-idx1-ubyte";
  for (const auto& [name, content, whole] : {
           std::tuple{labels, "\0\0\x08\1\0\0\0\1\2"s, kTrainLabels},
           {labels, "\0\0\x08\1\0\0\0\3\2\0\1"s, kTrainLabels},
           {labels, kTrainImages, kTrainLabels},
           {test_labels, "\0\0\x08\1\0\0\0\3\0\3\2"s, kTestLabels},
           {images, kTrainLabels, kTrainImages},
           {images, "\0\0\x0c\3\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\0"s, kTrainImages},
           {images, "\0\0\x08\3\0\0\0\2\0\0\0\0\0\0\0\3"s, kTrainImages},
           {test_images, "\0\0\x08\3\0\0\0\3\0\0\0\1\0\0\0\1abc"s, kTestImages},
           {test_images, "\0\0\x08\3\0\0\0\3\0\0\0\2\0\0\0\2abcdabcdabcd"s, kTestImages},
           {test_images, kTestImages + "x", kTestImages},
       }) {
    put(name, content);
    refused(ErrorCode::kFormat);
    put(name, whole);
  }
}

TEST(Mnist, LoadsAsItIsKnown) {
  const std::optional<fs::path> folder = testing::data_folder("mnist");
  if (!folder) GTEST_SKIP() << "skipped: no data";
  const Split split = load_idx_folder(*folder);
  EXPECT_EQ(split.train.inputs.shape(), (Shape{60'000, 784}));
  EXPECT_EQ(split.test.inputs.shape(), (Shape{10'000, 784}));
  EXPECT_EQ(split.train.classes, 10);
  EXPECT_EQ(split.train.name, "mnist");
  std::array<int, 10> counts{};
  for (const std::int32_t label : split.train.targets.values<std::int32_t>())
    ++counts[static_cast<std::size_t>(label)];
  EXPECT_EQ(counts, (std::array{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}));
  double sum = 0;
  for (const float pixel : split.train.inputs.values<float>()) sum += pixel;
  EXPECT_NEAR(sum / 60'000 / 784, 0.1307, 0.00005);  // the mean that everybody subtracts
}

TEST(GatherRows, OfALargeDataSetAreNotCopied) {
  constexpr std::int64_t kRows = 3000, kWidth = 2000;
  Dataset data;
  data.targets = Tensor::zeros({Dtype::kI32, {kRows}});
  data.inputs = Tensor::deferred_rows({Dtype::kF32, {kRows, kWidth}},
                                      [](std::int64_t first, std::int64_t count, auto bytes) {
                                        auto* out = reinterpret_cast<float*>(bytes.data());
                                        for (std::int64_t i = 0; i < count * kWidth; ++i)
                                          out[i] = static_cast<float>(first * kWidth + i);
                                      });
  std::vector<std::int32_t> rows;
  for (std::int32_t r = kRows; r-- > 0;) rows.push_back(r);
  const Dataset turned = gather_rows(data, rows), few = gather_rows(data, std::span(rows).first(3));
  EXPECT_TRUE(turned.inputs.has_deferred_rows());
  EXPECT_FALSE(turned.targets.has_deferred_rows());
  EXPECT_TRUE(few.inputs.has_deferred_rows());
  EXPECT_TRUE(few.inputs.same_bits(turned.inputs.rows(0, 3)));
  EXPECT_EQ(turned.inputs.rows(1, 1).values<float>()[7], (kRows - 2) * kWidth + 7);
  Dataset wide = data;
  wide.targets = data.inputs;
  for (const std::int32_t none : {-1, std::int32_t{kRows}}) {
    rows[100] = none;
    EXPECT_THROW(gather_rows(data, rows), Error) << none;
    EXPECT_THROW(gather_rows(wide, rows), Error) << none;
  }
}

// In order, where a block is computed at once; and in any other.
TEST(RowReader, GivesTheRowsOfATable) {
  constexpr std::int64_t kRows = 10'000;
  std::int64_t read = 0;
  const Tensor deferred = Tensor::deferred_rows(
      {Dtype::kF32, {kRows, 5}}, [&](std::int64_t first, std::int64_t count, auto bytes) {
        ++read;
        auto* out = reinterpret_cast<float*>(bytes.data());
        for (std::int64_t i = 0; i < count * 5; ++i) out[i] = static_cast<float>(first * 5 + i);
      });
  const Tensor plain = deferred.read_once();
  read = 0;
  RowReader<float> rows(deferred), expected(plain);
  ASSERT_EQ(rows.size(), kRows);
  ASSERT_EQ(rows.width(), 5U);
  for (std::int64_t r = 0; r < kRows; ++r) ASSERT_TRUE(std::ranges::equal(rows[r], expected[r]));
  EXPECT_LE(read, 5);
  for (const std::int64_t r : {9999, 0, 1, 7, 6, 5000, 5000, 5001})
    ASSERT_TRUE(std::ranges::equal(rows[r], expected[r]));
  EXPECT_THROW(RowReader<std::int32_t>{deferred}, Error);
}

TEST(RowReader, GivesRowsThatAreWiderThanABlock) {
  constexpr std::int64_t kWidth = 20'000;
  const Tensor deferred = Tensor::deferred_rows(
      {Dtype::kF32, {3, kWidth}}, [](std::int64_t first, std::int64_t count, auto bytes) {
        auto* out = reinterpret_cast<float*>(bytes.data());
        for (std::int64_t i = 0; i < count * kWidth; ++i)
          out[i] = static_cast<float>(first * kWidth + i);
      });
  RowReader<float> rows(deferred);
  for (std::int64_t r = 0; r < 3; ++r) {
    ASSERT_EQ(rows[r].size(), static_cast<std::size_t>(kWidth));
    EXPECT_EQ(rows[r].back(), static_cast<float>((r + 1) * kWidth - 1));
  }
}

}  // namespace
}  // namespace limpid
