// limpid onnx-test: runs test folders in the ONNX project's format.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/limpid/support/command.h"
#include "apps/limpid/support/output.h"
#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/formats/onnx/node_test.h"

namespace limpid::tool {
namespace {

namespace fs = std::filesystem;

struct OnnxTestArguments {
  std::vector<std::string> folders;
  bool json = false;
};

// The folder itself if it has a model, else all its folders that have one, sorted by name.
std::vector<fs::path> tests_of(const fs::path& folder) {
  if (fs::exists(folder / "model.onnx")) return {folder};
  std::vector<fs::path> tests;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (fs::exists(entry.path() / "model.onnx")) tests.push_back(entry.path());
  if (tests.empty())
    throw UsageError(
        fmt::format("expected a folder with a model.onnx, or a folder of such folders, got {}",
                    in_quotes(folder.string())));
  std::sort(tests.begin(), tests.end());
  return tests;
}

void onnx_test(const OnnxTestArguments& options) {
  std::size_t passed = 0;
  std::size_t failed = 0;
  Json tests = Json::array();
  for (const std::string& folder : options.folders)
    for (const fs::path& path : tests_of(folder)) {
      const onnx::NodeTest test = onnx::run_node_test(path);
      const std::string name = path.filename().string();
      ++(test.passed ? passed : failed);
      if (options.json) {
        Json one{{"test", name}, {"passed", test.passed}, {"random", test.random}};
        if (!test.passed) one["reason"] = test.reason;
        tests.push_back(std::move(one));
        continue;
      }
      if (!test.passed) print(fmt::format("FAILED {}: {}\n", name, test.reason));
      if (test.passed && test.random)
        print(fmt::format("{}: random, so only counts, shapes and dtypes are compared\n", name));
    }
  if (options.json)
    print_json(Json{{"passed", passed}, {"failed", failed}, {"tests", std::move(tests)}});
  else
    print(fmt::format("{} passed, {} failed\n", passed, failed));
  if (failed > 0)
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{} of {} tests failed", failed, passed + failed));
}

}  // namespace

void add_onnx_test(Command& app) {
  auto options = std::make_shared<OnnxTestArguments>();
  Command command = app.command(
      "onnx-test", "Run test folders in the ONNX project's format: model.onnx and test_data_set_K");
  command.option("DIR", options->folders, "Test folder, or a folder of test folders")
      .path("DIR")
      .required();
  command.flag("--json", options->json, "Print JSON");
  command.run([options] { onnx_test(*options); });
}

}  // namespace limpid::tool
