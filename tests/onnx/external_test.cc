// Weights in files beside the model: only there, and only their own bytes.
#include <filesystem>

#include "tests/onnx/models.h"

namespace limpid::testing {
namespace {

namespace fs = std::filesystem;

// A model whose weight, f32 [2], lies elsewhere.
::onnx::ModelProto model_with(const std::string& location, const std::string& offset = "",
                              const std::string& length = "") {
  ::onnx::ModelProto model = empty_model();
  auto& graph = *model.mutable_graph();
  auto& w = add_initializer(graph, "w", kFloat, {2});
  w.set_data_location(::onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location},
                                   {"offset", offset},
                                   {"length", length}}) {
    if (value.empty() && key != "location") continue;
    auto& entry = *w.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  add_node(graph, "Identity", {"w"}, {"y"});
  add_output(graph, "y");
  return model;
}

class External : public ::testing::Test {
 protected:
  External() {
    fs::create_directory(folder_ / "inner");
    const std::vector<float> values{1, 2, 3, 4};
    write(folder_ / "inner/weights", std::as_bytes(std::span(values)));
    write(folder_ / "outside", std::as_bytes(std::span(values)));
  }

  onnx::Imported load(const ::onnx::ModelProto& model) {
    write(folder_ / "inner/m.onnx", bytes_of_model(model));
    return onnx::load_onnx(folder_ / "inner/m.onnx");
  }
  void refused(const ::onnx::ModelProto& model, ErrorCode code, std::string_view message,
               int line = __builtin_LINE()) {
    expect_error(
        code, message, [&] { load(model); }, line);
  }

  TemporaryFolder folder_;
};

TEST_F(External, BytesOfAFileBesideTheModel) {
  const Tensor w = load(model_with("weights", "4", "8")).params.at("w");
  EXPECT_TRUE(w.same_bits(Tensor::from<float>({2}, {2, 3})));
}

TEST_F(External, OnlyPlainNames) {
  const std::string absolute = (folder_ / "outside").string();
  for (const std::string& name :
       {std::string("../outside"), absolute, std::string(".."), std::string("."), std::string(),
        std::string("a/../weights"), std::string("..\\outside"), std::string("weights\0x", 9)})
    refused(model_with(name), ErrorCode::kFormat,
            "is not the name of a file in the model's folder");
}

TEST_F(External, NoLinksAndNoFolders) {
  fs::create_symlink(folder_ / "outside", folder_ / "inner/link");
  refused(model_with("link"), ErrorCode::kIo, "is a link");
  fs::create_directory(folder_ / "inner/deep");
  refused(model_with("deep"), ErrorCode::kIo, "is not a regular file");
  refused(model_with("missing"), ErrorCode::kIo, "No such file");
}

TEST_F(External, NothingOutsideOfTheFile) {
  refused(model_with("weights", "12"), ErrorCode::kFormat,
          "8 bytes at offset 12 are outside of its 16 bytes");
  refused(model_with("weights", "17"), ErrorCode::kFormat, "are outside of its");
  refused(model_with("weights", "18446744073709551615"), ErrorCode::kFormat, "are outside of its");
  refused(model_with("weights", "8", "18446744073709551615"), ErrorCode::kFormat,
          "are outside of its");
  refused(model_with("weights", "0", "4"), ErrorCode::kFormat, "f32[2] has 4 bytes, expected 8");
  refused(model_with("weights", "0", "12"), ErrorCode::kFormat, "f32[2] has 12 bytes, expected 8");
  for (const char* offset : {"-4", "4x", "0x4", " 4"})
    refused(model_with("weights", offset), ErrorCode::kFormat, "is not a number of bytes");
}

TEST_F(External, NeverFromMemory) {
  expect_error(ErrorCode::kUnsupported, "the model was not loaded from a file",
               [&] { import(model_with("weights")); });
}

}  // namespace
}  // namespace limpid::testing
