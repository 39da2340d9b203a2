// Writes the cases as files, for ONNX Runtime to run: models, the elements of tensors, and
// cases.json, which says which belong together.
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <string>

#include "limpid/core/json.h"
#include "limpid/formats/file.h"
#include "tests/onnx_export/cases.h"

namespace limpid::testing {
namespace {

void write(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  write_file_atomically(path, {&bytes, 1});
}

class Folder {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  void add(const Case& c) {
    const std::string model = fmt::format("{}.onnx", cases_.size());
    onnx::save_onnx(path_ / model, c.function, c.params, c.options);
    Json inputs = Json::array();
    for (std::size_t i = 0; i < c.inputs.size(); ++i)
      if (c.is_data(i)) inputs.push_back(tensor(c.model.inputs()[i].name, c.inputs[i]));
    Json outputs = Json::array();
    for (const Tensor& t : c.expected()) outputs.push_back(tensor("", t));
    cases_.push_back(
        {{"name", c.name}, {"model", model}, {"inputs", inputs}, {"outputs", outputs}});
  }

  void finish() const {
    const std::string text = cases_.dump();
    write(path_ / "cases.json", std::as_bytes(std::span(text)));
  }

 private:
  Json tensor(const std::string& name, const Tensor& t) {
    const std::string file = fmt::format("{}.bin", tensors_++);
    write(path_ / file, t.bytes());
    Json shape = Json::array();
    for (const std::int64_t dim : t.shape()) shape.push_back(dim);
    return {{"name", name}, {"dtype", limpid::name(t.dtype())}, {"shape", shape}, {"file", file}};
  }

  std::filesystem::path path_;
  Json cases_ = Json::array();
  int tensors_ = 0;
};

}  // namespace
}  // namespace limpid::testing

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: onnx_export_cases FOLDER\n");
    return 2;
  }
  try {
    limpid::testing::Folder folder(argv[1]);
    for (const auto& c : limpid::testing::op_cases()) folder.add(c);
    for (const auto& c : limpid::testing::model_cases()) folder.add(c);
    folder.finish();
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "onnx_export_cases: {}\n", e.what());
    return 1;
  }
}
