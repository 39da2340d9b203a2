// Weights in files beside the model: only there, and only their own bytes.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "tests/onnx/models.h"
#include "tests/refusals.h"

namespace limpid::testing {
namespace {

#ifdef __linux__
// The maximum that one call of pread moves.
std::size_t most_bytes = std::numeric_limits<std::size_t>::max();
#endif

namespace fs = std::filesystem;

// A model whose weight, f32 [2], lies elsewhere.
::onnx::ModelProto model_with(const std::string& location, const std::string& offset = "",
                              const std::string& length = "") {
  ::onnx::ModelProto model = model_of("() => (y) { y = Identity(w) }");
  auto& w = add_initializer(*model.mutable_graph(), "w", kFloat, {2});
  w.set_data_location(::onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location},
                                   {"offset", offset},
                                   {"length", length}}) {
    if (value.empty() && key != "location") continue;
    auto& entry = *w.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
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
  void refused(const ::onnx::ModelProto& model, ErrorCode code, int line = __builtin_LINE()) {
    expect_refused(
        code, [&] { load(model); }, line);
  }

  TemporaryFolder folder_;
};

TEST_F(External, BytesOfAFileBesideTheModel) {
  const Tensor w = load(model_with("weights", "4", "8")).params.at("w");
  EXPECT_TRUE(w.same_bits(Tensor::from<float>({2}, {2, 3})));
}

#ifdef __linux__
// As some systems give the bytes of large files.
TEST_F(External, BytesThatComeInParts) {
  most_bytes = 3;
  const Tensor w = load(model_with("weights", "4", "8")).params.at("w");
  most_bytes = std::numeric_limits<std::size_t>::max();
  EXPECT_TRUE(w.same_bits(Tensor::from<float>({2}, {2, 3})));
}

TEST_F(External, FilesAreClosed) {
  const auto open_files = [] {
    const fs::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  load(model_with("weights", "4", "8"));
  const auto before = open_files();
  for (int i = 0; i < 5; ++i) load(model_with("weights", "4", "8"));
  EXPECT_EQ(open_files(), before);
}
#endif

TEST_F(External, OnlyPlainNames) {
  const std::string absolute = (folder_ / "outside").string();
  for (const std::string& name :
       {std::string("../outside"), absolute, std::string(".."), std::string("."), std::string(),
        std::string("a/../weights"), std::string("..\\outside"), std::string("weights\0x", 9)})
    refused(model_with(name), ErrorCode::kFormat);
}

TEST_F(External, NoLinksAndNoFolders) {
  fs::create_symlink(folder_ / "outside", folder_ / "inner/link");
  refused(model_with("link"), ErrorCode::kIo);
  fs::create_directory(folder_ / "inner/deep");
  refused(model_with("deep"), ErrorCode::kIo);
  // Nobody writes to it.
  ASSERT_EQ(::mkfifo((folder_ / "inner/pipe").c_str(), 0600), 0);
  refused(model_with("pipe"), ErrorCode::kIo);
  refused(model_with("missing"), ErrorCode::kIo);
}

TEST_F(External, NothingOutsideOfTheFile) {
  refused(model_with("weights", "12"), ErrorCode::kFormat);
  refused(model_with("weights", "17"), ErrorCode::kFormat);
  refused(model_with("weights", "18446744073709551615"), ErrorCode::kFormat);
  refused(model_with("weights", "8", "18446744073709551615"), ErrorCode::kFormat);
  refused(model_with("weights", "0", "4"), ErrorCode::kFormat);
  refused(model_with("weights", "0", "12"), ErrorCode::kFormat);
  for (const char* offset : {"-4", "4x", "0x4", " 4"})
    refused(model_with("weights", offset), ErrorCode::kFormat);
}

// A file makes room for its bytes once, however many tensors name it.
TEST_F(External, OneFileIsCountedOnce) {
  constexpr std::int64_t kFloats = (17 << 20) / 4;
  write(folder_ / "inner/large", {});
  fs::resize_file(folder_ / "inner/large", 4 * kFloats);  // sparse
  ::onnx::ModelProto model = model_with("large");
  auto& graph = *model.mutable_graph();
  graph.mutable_initializer(0)->set_dims(0, kFloats);
  for (const char* name : {"v", "u"}) {
    ::onnx::TensorProto& more = *graph.add_initializer();
    more = graph.initializer(0);
    more.set_name(name);
  }
  refused(model, ErrorCode::kUnsupported);
}

TEST_F(External, NeverFromMemory) {
  expect_refused(ErrorCode::kUnsupported, [&] { import(model_with("weights")); });
}

}  // namespace
}  // namespace limpid::testing

#ifdef __linux__
// Stands before the C library's.
extern "C" ssize_t pread(int fd, void* out, std::size_t n, off_t offset) {
  return ::syscall(SYS_pread64, fd, out, std::min(n, limpid::testing::most_bytes), offset);
}
#endif
