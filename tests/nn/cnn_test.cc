// Convolutional networks: their names and types, one example as a batch, and what they refuse.
// PyTorch's numbers are compared with in tests/golden.
#include "limpid/nn/cnn.h"

#include <gtest/gtest.h>

#include "limpid/compile/executable.h"
#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/mlp.h"
#include "limpid/transforms/vmap.h"
#include "tests/refusals.h"

namespace limpid::nn {
namespace {

Cnn tiny(CnnPreset preset) {
  return {.picture = {3, 16, 20}, .outputs = 4, .preset = preset, .filters = 2};
}

TEST(Cnn, TakesItsParametersInTheirOrder) {
  for (const std::string& preset : all_names<CnnPreset>())
    for (const CnnNorm norm : {CnnNorm::kNone, CnnNorm::kBatch}) {
      Cnn net = tiny(from_name<CnnPreset>(preset));
      net.norm = norm;
      std::vector<Input> expected = inputs_of(net.init(Key(1)));
      for (const Input& input : inputs_of(net.init_state())) expected.push_back(input);
      expected.push_back({"x", {Dtype::kF32, net.picture}});
      const Function f = net.function();
      EXPECT_EQ(f.inputs(), expected) << preset;
      EXPECT_EQ(f.type(f.outputs()[0].value), (Type{Dtype::kF32, {4}})) << preset;
      EXPECT_EQ(net.init_state().empty(), norm == CnnNorm::kNone);
      EXPECT_EQ(Cnn::from_config(net.config()).config(), net.config());
    }
}

// The law of batches: what an example gives does not depend on the others.
TEST(Cnn, GivesAnExampleTheSameBitsInAnyBatch) {
  constexpr std::int64_t kRows = 5;
  for (const std::string& preset : all_names<CnnPreset>()) {
    const Cnn net = tiny(from_name<CnnPreset>(preset));
    const Function one = net.function();
    std::vector<Tensor> inputs = net.init(Key(2)).values();
    for (const Tensor& value : net.init_state().values()) inputs.push_back(value);
    const std::size_t params = inputs.size();
    const Tensor x = random_tensor({Dtype::kF32, net.picture.insert(0, kRows)}, Key(3), -1, 1);
    std::vector<std::optional<std::int64_t>> axes(params);
    axes.push_back(0);
    inputs.push_back(x);
    const Tensor together = compile(vmap(one, axes, kRows))(inputs)[0];
    for (std::int64_t row = 0; row < kRows; ++row) {
      inputs.back() = x.rows(row, 1).reshape(net.picture);
      EXPECT_TRUE(compile(one)(inputs)[0].same_bits(together.rows(row, 1).reshape({4}))) << preset;
    }
  }
}

TEST(Cnn, RefusesWhatItCannotBe) {
  const auto refused = [](const Cnn& net) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { net.init(Key(0)); });
  };
  Cnn net = tiny(CnnPreset::kLenet);
  net.picture = {1, 11, 16};
  refused(net);
  net.picture = {16, 16};
  refused(net);
  net.picture = {1, 16, 0};
  refused(net);
  net = tiny(CnnPreset::kSmall);
  net.outputs = 0;
  refused(net);
  net = tiny(CnnPreset::kSmall);
  net.dropout = 1;
  refused(net);
  expect_refused(ErrorCode::kParse, [] { Cnn::from_config(R"({"model": "cnn"})"); });
  expect_refused(ErrorCode::kInvalidArgument, [] { Cnn::from_config(R"({"model": "mlp"})"); });
  const Cnn small = tiny(CnnPreset::kSmall);
  const Params params = small.init(Key(0));
  std::vector<Input> inputs = inputs_of(params);
  inputs.push_back({"x", {Dtype::kF32, {1, 3, 20, 16}}});
  expect_refused(ErrorCode::kShape, [&] {
    trace("f", inputs, [&](std::span<const Value> in) {
      return std::vector<Value>{small(args_of(params, in.first(params.size())), in.back())};
    });
  });
}

}  // namespace
}  // namespace limpid::nn
