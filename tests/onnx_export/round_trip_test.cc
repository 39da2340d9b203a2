// What is written as ONNX and read again gives the numbers that were given before.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "limpid/formats/onnx/onnx.h"
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

// What is tried of each case, and counted.
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

TEST(OnnxRoundTrip, EveryExampleOfEveryOp) { try_cases(op_cases()); }
TEST(OnnxRoundTrip, Models) { try_cases(model_cases()); }

}  // namespace
}  // namespace limpid::testing
