// ONNX export and import: the imported model gives the same numbers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "limpid/formats/model.h"
#include "limpid/formats/onnx/example_model.h"
#include "limpid/formats/onnx/export.h"
#include "limpid/formats/onnx/onnx.h"
#include "limpid/inspect/op_example.h"
#include "limpid/inspect/promise.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/transforms/quantize.h"
#include "limpid/transforms/vmap.h"
#include "tests/formats/helpers.h"
#include "tests/onnx_export/cases.h"
#include "tests/onnx_export/difference.h"

namespace limpid::testing {
namespace {

constexpr double kTolerance = 1e-5;

// The outputs of the model, read again.
std::vector<Tensor> read_and_run(const Case& c) {
  onnx::ImportOptions options;
  options.dimensions["N"] = kBatch;
  const onnx::Imported read =
      onnx::parse_onnx(onnx::serialize_onnx(c.function, c.params, c.options), options);
  std::vector<Tensor> inputs;
  for (const Input& in : read.function.inputs()) {
    const Tensor* param = read.params.find(in.name);
    inputs.push_back(param ? *param : c.inputs[c.model.input_index(in.name)]);
  }
  return compile(read.function)(inputs);
}

// The checks of each case, and their counts.
struct Tally {
  int same_bits = 0;
  double most = 0;
};

void try_case(const Case& c, Tally& tally) {
  SCOPED_TRACE(c.name);
  try {
    const std::vector<Tensor> got = read_and_run(c), expected = c.expected();
    ASSERT_EQ(got.size(), expected.size());
    double most = 0;
    bool same = true;
    for (std::size_t i = 0; i < got.size(); ++i) {
      most = std::max(most, difference(got[i], expected[i]));
      same = same && got[i].same_bits(expected[i]);
    }
    EXPECT_LE(most, kTolerance);
    tally.same_bits += same;
    tally.most = std::max(tally.most, most);
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

void try_cases(const std::vector<Case>& cases) {
  Tally tally;
  for (const Case& c : cases) try_case(c, tally);
  fmt::print("{} of {} with the same bits, the others differ by {:.2g} at most\n", tally.same_bits,
             cases.size(), tally.most);
}

// 8-bit weights stay as they are and products with them become quantized_linear again. So bits,
// size and metadata survive the round trip, with dynamic and with fixed batch size.
TEST(OnnxRoundTrip, OfAModelKeepsWeightsOf8BitsAndTheConfig) {
  const nn::Mlp net = nn::mlp({40, 30, 5}, relu);
  const Quantized small = quantize(net.function(), net.init(Key(1)), {.to = Dtype::kI8});
  const Model model{small.function, small.params, R"({"tokenizer": {"kind": "bytes"}})"};
  const TemporaryFolder folder;
  save_model(folder / "m", model);
  for (const auto& batch : {std::optional<std::int64_t>(), std::optional<std::int64_t>(1)}) {
    onnx::ExportOptions options{.metadata = {{onnx::kConfigKey, model.config}}};
    Function written = model.function;
    if (batch) {
      std::vector<std::optional<std::int64_t>> axes(written.inputs().size());
      axes[written.input_index("x")] = 0;
      written = vmap(written, axes, *batch);
    } else {
      options.batch = "N";
    }
    onnx::save_onnx(folder / "m.onnx", written, model.params, options);
    const Model back = onnx::load_onnx_model(folder / "m.onnx");
    EXPECT_EQ(back.note, "");
    EXPECT_EQ(back.config, model.config);
    for (const auto& [name, tensor] : model.params)
      EXPECT_TRUE(back.params.at(name).same_bits(tensor)) << name;
    const Tensor x = random_tensor({Dtype::kF32, {9, 40}}, Key(2));
    EXPECT_EQ(hash_of_numbers(predict(back, x)), hash_of_numbers(predict(model, x)));
    save_model(folder / "back", back);
    EXPECT_LT(std::filesystem::file_size(folder / "back"),
              std::filesystem::file_size(folder / "m") * 11 / 10);
  }
}

TEST(OnnxRoundTrip, EveryExampleOfEveryOp) { try_cases(op_cases()); }
TEST(OnnxRoundTrip, Models) { try_cases(model_cases()); }

}  // namespace
}  // namespace limpid::testing
