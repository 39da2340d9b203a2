// ONNX models.
#include "limpid/formats/onnx/onnx.h"

#include <algorithm>
#include <numeric>
#include <system_error>

#include "bench/onnx_writer.h"
#include "limpid/function/text.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

using Model = bench::OnnxModel;

void read(std::span<const std::byte> bytes) {
  const onnx::Imported model = onnx::parse_onnx(bytes, {.dimensions = {{"N", 2}}, .known = {}});
  verify(model.function);
  for (const auto& [name, tensor] : model.params) touch(tensor);
  const std::string text = to_text(model.function);
  require(to_text(parse_function(text)) == text,
          "an imported Function is printed and read as it is");
}

Bytes file_of(const Model& model) {
  return saved([&](const std::filesystem::path& path) { model.write(path.string()); });
}

Bytes perceptron() {
  std::vector<float> numbers(12);
  std::iota(numbers.begin(), numbers.end(), -3.5f);
  Model model;
  model.input("x", {2, 3});
  model.weight("w", {4, 3}, numbers);
  model.weight("b", {4}, std::span(numbers).first(4));
  model.node("Gemm", {"x", "w", "b"}, {"h"}, {{"transB", std::int64_t{1}}, {"alpha", 0.5f}});
  model.node("LeakyRelu", {"h"}, {"a"}, {{"alpha", 0.1f}});
  model.node("Softmax", {"a"}, {"y"}, {{"axis", std::int64_t{-1}}});
  model.output("y", {2, 4});
  return file_of(model);
}

// A chain of operators of one input.
Bytes chain(const std::vector<std::string>& operators) {
  Model model;
  model.input("x", {2, 3});
  std::string last = "x";
  for (const std::string& name : operators) {
    model.node(name, {last}, {name});
    last = name;
  }
  model.output(last, {2, 3});
  return file_of(model);
}

Bytes shapes() {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  Model model;
  model.input("x", {2, 3});
  model.weight("w", {3, 2}, numbers);
  model.node("Shape", {"w"}, {"s"});
  model.node("Reshape", {"x", "s"}, {"r"});
  model.node("Transpose", {"r"}, {"t"});
  model.node("Concat", {"t", "x"}, {"c"}, {{"axis", std::int64_t{1}}});
  model.node("Flatten", {"c"}, {"y"}, {{"axis", std::int64_t{0}}});
  model.output("y", {1, 12});
  return file_of(model);
}

std::vector<Bytes> written_by_us() {
  return {perceptron(), chain({"Exp", "Tanh", "Erf", "Neg", "Relu", "Sigmoid"}),
          chain({"Identity", "Abs", "Sqrt"}), shapes()};
}

// Models of the ONNX project where Debian's package of them is here: small ones, one of several
// alike.
std::vector<Bytes> seeds() {
  namespace fs = std::filesystem;
  std::vector<Bytes> all = written_by_us();
  const fs::path folder = "/usr/share/libonnx-testdata/data/node";
  std::vector<fs::path> paths;
  std::error_code none_here;
  for (const fs::directory_entry& test : fs::directory_iterator(folder, none_here))
    paths.push_back(test.path());
  std::sort(paths.begin(), paths.end());
  constexpr std::size_t kEvery = 5;
  constexpr std::size_t kMostBytes = 2000;
  for (std::size_t i = 0; i < paths.size(); i += kEvery)
    if (Bytes file = file_bytes(paths[i] / "model.onnx"); file.size() <= kMostBytes)
      all.push_back(std::move(file));
  return all;
}

std::vector<std::string> words() {
  std::vector<std::string> all = {"axis",     "axes",      "alpha",
                                  "value",    "to",        "perm",
                                  "keepdims", "shape",     "ai.onnx.preview.training",
                                  "equation", "ij,jk->ik", "location",
                                  "../x"};
  for (const char* name : {"Add",
                           "MatMul",
                           "Gemm",
                           "Einsum",
                           "Reshape",
                           "Shape",
                           "Gather",
                           "Slice",
                           "Concat",
                           "Expand",
                           "Range",
                           "ConstantOfShape",
                           "Constant",
                           "Cast",
                           "Split",
                           "Squeeze",
                           "Unsqueeze",
                           "Tile",
                           "Pad",
                           "Where",
                           "If",
                           "Loop",
                           "ReduceSum",
                           "TopK",
                           "CumSum",
                           "OneHot",
                           "Softmax",
                           "LayerNormalization",
                           "Dropout",
                           "Attention",
                           "Adam",
                           "Transpose",
                           "ScatterElements",
                           "GatherND",
                           "Trilu"})
    all.emplace_back(name);
  return all;
}

}  // namespace

const Target& onnx_model() {
  static const Target target{"onnx_model", read, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
