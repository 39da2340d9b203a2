// The ONNX project's own tests, where available: in a folder beside the project, and in Debian's
// libonnx-testdata. A test is not supported if it has an operator or an element type that Limpid
// lacks, or computes in f16, which is storage only. All others pass.
#include <cstring>
#include <filesystem>
#include <iostream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "limpid/formats/onnx/node_test.h"
#include "tests/formats/helpers.h"
#include "tests/onnx/models.h"
#include "tests/refusals.h"
#include "tests/source_folder.h"

namespace limpid::testing {
namespace {

namespace fs = std::filesystem;

bool is_beyond(const std::string& reason) {
  for (const char* why :
       {"operators that Limpid does not have", "elements of type ", "is not a tensor", " is f16["})
    if (reason.find(why) != std::string::npos) return true;
  return false;
}

struct Counts {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t beyond = 0;
};

// Runs every test of a folder except those named.
Counts run_all(const fs::path& folder, const std::set<std::string>& left_out = {}) {
  Counts counts;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!fs::exists(entry.path() / "model.onnx") || left_out.contains(name)) continue;
    const onnx::NodeTest test = onnx::run_node_test(entry.path());
    if (test.passed) {
      ++counts.passed;
    } else if (is_beyond(test.reason)) {
      ++counts.beyond;
    } else {
      ++counts.failed;
      ADD_FAILURE() << name << ": " << test.reason;
    }
  }
  std::cout << folder.string() << ": " << counts.passed << " passed, " << counts.failed
            << " failed, " << counts.beyond << " beyond what is read\n";
  return counts;
}

TEST(Yardstick, TheFolderBesideTheProject) {
  const fs::path folder = testing::source_folder().parent_path() / "shared/onnx-node-tests";
  if (!fs::exists(folder)) GTEST_SKIP() << "skipped: no data";
  EXPECT_GE(run_all(folder).passed, 608u);
}

TEST(Yardstick, DebiansTestData) {
  const fs::path folder = "/usr/share/libonnx-testdata/data";
  if (!fs::exists(folder)) GTEST_SKIP() << "skipped: no data";
  // The model of this test lacks the epsilon that its outputs were made with; later versions have
  // it.
  EXPECT_GT(run_all(folder / "node", {"test_adam_multiple"}).passed, 700u);
  run_all(folder / "simple");
  run_all(folder / "pytorch-converted");
  run_all(folder / "pytorch-operator");
}

// A folder that is a test in the ONNX project's format.
class NodeTestFolder : public ::testing::Test {
 protected:
  void model(const ::onnx::ModelProto& m) { write(folder_ / "model.onnx", bytes_of_model(m)); }

  // A model that gives its inputs x0, x1, ... back: an input file is what comes, an output file
  // what is expected.
  void echo(int type, const std::vector<std::string>& dims, int count = 1) {
    ::onnx::ModelProto m = empty_model();
    for (int i = 0; i < count; ++i) {
      const std::string x = "x" + std::to_string(i);
      const std::string y = "y" + std::to_string(i);
      add_input(*m.mutable_graph(), x, type, dims);
      add_node(*m.mutable_graph(), "Identity", {x}, {y});
      add_output(*m.mutable_graph(), y);
    }
    model(m);
  }

  template <class T>
  void file(const std::string& name, int type, const std::vector<T>& values,
            const std::vector<std::int64_t>& dims) {
    ::onnx::TensorProto tensor;
    tensor.set_data_type(type);
    for (const std::int64_t d : dims) tensor.add_dims(d);
    std::string raw(values.size() * sizeof(T), '\0');
    std::memcpy(raw.data(), values.data(), raw.size());
    tensor.set_raw_data(raw);
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    write(path, bytes_of(tensor.SerializeAsString()));
  }

  onnx::NodeTest run() const { return onnx::run_node_test(folder_.path()); }

  // Whether one number may come where another is expected.
  template <class T>
  bool passes(int type, T came, T wanted) {
    echo(type, {"2"});
    file<T>("test_data_set_0/input_0.pb", type, {came, came}, {2});
    file<T>("test_data_set_0/output_0.pb", type, {came, wanted}, {2});
    const onnx::NodeTest test = run();
    EXPECT_EQ(test.passed, test.reason.empty());
    return test.passed;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(NodeTestFolder, EveryOutputOfEverySetIsCompared) {
  using F = std::vector<float>;
  echo(kFloat, {"2"}, 2);
  for (const std::string set : {"test_data_set_0/", "test_data_set_1/"})
    for (const std::string i : {"0", "1"}) {
      file<float>(set + "input_" + i + ".pb", kFloat, {1, 2}, {2});
      file<float>(set + "output_" + i + ".pb", kFloat, {1, 2}, {2});
    }
  onnx::NodeTest test = run();
  EXPECT_TRUE(test.passed) << test.reason;
  EXPECT_EQ(test.sets, 2u);
  EXPECT_FALSE(test.random);

  file("test_data_set_1/output_1.pb", kFloat, F{1.5, 4}, {2});
  test = run();
  EXPECT_FALSE(test.passed);
  EXPECT_EQ(test.sets, 1u);
  expect_message(test.reason);
}

TEST_F(NodeTestFolder, NumbersOfFilesAndTypesMustBeTheModels) {
  using F = std::vector<float>;
  echo(kFloat, {"2"});
  expect_message(run().reason);
  EXPECT_FALSE(run().passed);
  file("test_data_set_0/input_0.pb", kFloat, F{1, 2}, {2});
  expect_message(run().reason);
  file("test_data_set_0/output_0.pb", kFloat, F{1, 2}, {1, 2});
  expect_message(run().reason);
  file("test_data_set_0/output_0.pb", kInt64, std::vector<std::int64_t>{1, 2}, {2});
  expect_message(run().reason);
  file("test_data_set_0/output_0.pb", kFloat, F{1, 2}, {2});
  EXPECT_TRUE(run().passed);
  file("test_data_set_0/output_1.pb", kFloat, F{1, 2}, {2});
  expect_message(run().reason);
  file("test_data_set_0/input_1.pb", kFloat, F{1, 2}, {2});
  expect_message(run().reason);
}

TEST_F(NodeTestFolder, ValuesThatAreNoTensorsAreNamed) {
  ::onnx::ModelProto m = model_of("(float[2] x) => (y) { y = Identity(x) }");
  m.mutable_graph()->mutable_output(0)->mutable_type()->mutable_sequence_type();
  model(m);
  file<float>("test_data_set_0/input_0.pb", kFloat, {1, 2}, {2});
  expect_message(run().reason);
}

TEST_F(NodeTestFolder, ValuesMayDifferByTheTolerances) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float sign : {1.0f, -1.0f}) {
    EXPECT_TRUE(passes(kFloat, sign * 1000.9f, sign * 1000.0f));
    EXPECT_FALSE(passes(kFloat, sign * 1001.1f, sign * 1000.0f));
    EXPECT_TRUE(passes(kFloat, sign * 999.1f, sign * 1000.0f));
    EXPECT_FALSE(passes(kFloat, sign * 998.9f, sign * 1000.0f));
    EXPECT_TRUE(passes(kFloat, sign * 0.9e-7f, 0.0f));
    EXPECT_FALSE(passes(kFloat, sign * 1.1e-7f, 0.0f));
    EXPECT_TRUE(passes(kFloat, sign * kInfinity, sign * kInfinity));
    EXPECT_FALSE(passes(kFloat, -sign * kInfinity, sign * kInfinity));
    EXPECT_FALSE(passes(kFloat, 1.0f, sign * kInfinity));
    EXPECT_FALSE(passes(kFloat, sign * kInfinity, 1.0f));
  }
  EXPECT_TRUE(passes(kFloat, kNan, kNan));
  EXPECT_FALSE(passes(kFloat, kNan, 1.0f));
  EXPECT_FALSE(passes(kFloat, 1.0f, kNan));
}

TEST_F(NodeTestFolder, ANanDiffersByNan) {
  echo(kFloat, {"2"});
  file<float>("test_data_set_0/input_0.pb", kFloat, {1, std::numeric_limits<float>::quiet_NaN()},
              {2});
  file<float>("test_data_set_0/output_0.pb", kFloat, {1, 2}, {2});
  expect_message(run().reason);
}

TEST_F(NodeTestFolder, NumbersOfEveryTypeAreCompared) {
  using P = ::onnx::TensorProto;
  EXPECT_FALSE(passes<double>(P::DOUBLE, 1, 2));
  EXPECT_FALSE(passes<std::int32_t>(P::INT32, 1, 2));
  EXPECT_FALSE(passes<std::int64_t>(P::INT64, 1, 2));
  EXPECT_FALSE(passes<std::int8_t>(P::INT8, 1, -1));
  EXPECT_FALSE(passes<std::uint8_t>(P::UINT8, 1, 255));
  EXPECT_FALSE(passes<std::uint8_t>(P::BOOL, 1, 0));
  EXPECT_FALSE(passes<std::uint16_t>(P::BFLOAT16, 0x3f80, 0x4000));
  EXPECT_TRUE(passes<double>(P::DOUBLE, 2, 2));
  EXPECT_TRUE(passes<std::uint8_t>(P::BOOL, 1, 1));
  EXPECT_TRUE(passes<std::uint16_t>(P::BFLOAT16, 0x4000, 0x4000));
}

TEST_F(NodeTestFolder, OfRandomNumbersTheTypesAreCompared) {
  model(model_of("() => (y) { y = RandomNormal <shape = [2]> () }"));
  file<float>("test_data_set_0/output_0.pb", kFloat, {1000, 1000}, {2});
  EXPECT_TRUE(run().passed) << run().reason;
  EXPECT_TRUE(run().random);
  file<float>("test_data_set_0/output_0.pb", kFloat, {1000, 1000, 1000}, {3});
  expect_message(run().reason);
}

}  // namespace
}  // namespace limpid::testing
