// The ONNX project's own tests, where available: in a folder beside the project, and in Debian's
// libonnx-testdata. A test is not supported if it has an operator or an element type that Limpid
// lacks, or computes in f16, which is storage only. All others pass.
#include <filesystem>
#include <iostream>
#include <set>

#include "limpid/formats/onnx/node_test.h"
#include "tests/formats/helpers.h"
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
  const Counts counts = run_all(folder);
  EXPECT_GT(counts.passed, 500u);
  EXPECT_EQ(counts.beyond, 0u);
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

}  // namespace
}  // namespace limpid::testing
