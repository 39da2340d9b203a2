// CIFAR's binary files.
#include "limpid/data/pictures/cifar.h"

#include "limpid/data/load_data.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

using testing::bytes_of;
using namespace std::string_literals;

class Cifar : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& content) {
    testing::write(folder_ / name, bytes_of(content));
  }
  // A record: its labels, and pixels of which the first has this value.
  static std::string record(const std::string& labels, char value) {
    return labels + value + std::string(3071, '\xff');
  }
  void put_cifar10() {
    put("data_batch_1.bin", record("\1"s, 51) + record("\2"s, 102));
    put("data_batch_3.bin", record("\3"s, 1));
    put("test_batch.bin", record("\0"s, 2));
  }
  void put_cifar100() {
    put("train.bin", record("\1\7"s, 51));
    put("test.bin", record("\2\x63"s, 2));
  }
  void refused(ErrorCode code, CifarLabels labels = CifarLabels::kFine,
               int line = __builtin_LINE()) {
    expect_refused(
        code, [&] { load_cifar(folder_.path(), labels); }, line);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(Cifar, OfTenClasses) {
  put_cifar10();
  const Split split = load_cifar(folder_.path());
  EXPECT_EQ(split.train.inputs.shape(), (Shape{3, 3072}));
  EXPECT_EQ(split.validation.size(), 0);
  EXPECT_EQ(split.test.size(), 1);
  EXPECT_EQ(split.train.classes, 10);
  EXPECT_EQ(split.train.picture, (PictureShape{3, 32, 32}));
  EXPECT_EQ(split.train.name, folder_.path().filename().string());
  EXPECT_TRUE(split.train.targets.same_bits(Tensor::from<std::int32_t>(Shape{3}, {1, 2, 3})));
  EXPECT_EQ(split.train.inputs_of(1, 1).values<float>()[0], 102.0f / 255.0f);
  EXPECT_EQ(split.train.inputs_of(0, 3).values<float>()[3072 * 2], 1.0f / 255.0f);
  EXPECT_EQ(split.train.inputs_of(0, 1).values<float>()[3071], 1.0f);
  put("batches.meta.txt", "a\nb\nc\nd\ne\nf\r\ng\nh\ni\nj\n\n");
  const std::string spec = "cifar:" + folder_.path().string();
  EXPECT_EQ(load_data(spec).test.class_names.at(5), "f");
  EXPECT_EQ(load_data(spec + ",split=2/1").validation.size(), 1);
  EXPECT_EQ(load_examples(parse_data_spec(spec), Model{}).size(), 1);
  put("batches.meta.txt", "a\nb\n");
  refused(ErrorCode::kFormat);
  put("batches.meta.txt", "\xff");
  refused(ErrorCode::kFormat);
}

TEST_F(Cifar, OfAHundredClasses) {
  put_cifar100();
  const auto labels = [&](const std::string& more) {
    const Split split = load_data("cifar:" + folder_.path().string() + more);
    return std::tuple(split.train.targets.values<std::int32_t>()[0],
                      split.test.targets.values<std::int32_t>()[0], split.train.classes,
                      split.train.inputs_of(0, 1).values<float>()[0]);
  };
  EXPECT_EQ(labels(""), std::tuple(7, 99, 100, 0.2f));
  EXPECT_EQ(labels(",labels=coarse"), std::tuple(1, 2, 20, 0.2f));
}

TEST_F(Cifar, FilesThatAreNone) {
  refused(ErrorCode::kIo);
  put_cifar10();
  refused(ErrorCode::kInvalidArgument, CifarLabels::kCoarse);
  put("data_batch_1.bin", record("\1"s, 51) + "x");
  refused(ErrorCode::kFormat);
  put("data_batch_1.bin", "");
  refused(ErrorCode::kFormat);
  put("data_batch_1.bin", record("\1"s, 1) + record("\x0a"s, 1));
  refused(ErrorCode::kFormat);
  put_cifar10();
  std::filesystem::remove(folder_ / "test_batch.bin");
  refused(ErrorCode::kIo);
}

}  // namespace
}  // namespace limpid
