// A network of one's own in the whole machinery: the bits of the library's, and what is refused.
#include "limpid/train/loop/custom_model.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/function/builder.h"
#include "limpid/inspect/op_example.h"
#include "limpid/nn/mlp.h"
#include "limpid/ops/ops.h"
#include "limpid/train/run/run.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid::train::custom {
namespace {

using limpid::testing::TemporaryFolder;

constexpr std::int64_t kFeatures = 3;

// Whether the first feature exceeds the second; or the difference.
Split points(Task task = Task::kClassification) {
  const auto part = [&](std::int64_t rows, std::uint64_t key) {
    Dataset data;
    data.task = task;
    data.name = "points";
    data.inputs = random_tensor({Dtype::kF32, {rows, kFeatures}}, Key(key), -1, 1);
    const auto x = data.inputs.values<float>();
    const auto difference = [&](std::size_t i) { return x[i * kFeatures] - x[i * kFeatures + 1]; };
    if (task == Task::kClassification) {
      data.classes = 2;
      data.targets = Tensor::generate<std::int32_t>({rows}, [&](std::span<std::int32_t> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = difference(i) > 0;
      });
    } else {
      data.targets = Tensor::generate<float>({rows, 1}, [&](std::span<float> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = difference(i);
      });
    }
    return data;
  };
  return {part(50, 1), part(20, 2), part(30, 3)};
}

const nn::Mlp& network() {
  static const nn::Mlp net = nn::mlp({kFeatures, 8, 2}, tanh);
  return net;
}

TrainConfig settings(const std::string& more = "") {
  return parse_train_config(
      R"({"epochs": 3, "batch": 8, "optimizer": {"name": "adam", "lr": 0.01})" + more + "}",
      "test");
}

CustomModel own() { return {.inference = network().function(), .params = network().init(Key(5))}; }

// The parameters at the end.
Params trained(const TrainConfig& config, const CustomModel& model, const Split& data = points()) {
  train::Run run(config, data, model);
  run.train();
  return run.model().params;
}

void expect_same(const Params& a, const Params& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, value] : a) EXPECT_TRUE(value.same_bits(b.at(name))) << name;
}

TEST(CustomModel, TrainsToTheBitsOfTheLibrarysNetwork) {
  const TrainConfig config = settings();
  const Split data = points();
  const TrainOptions options =
      options_of(complete(settings(R"(, "model": {"name": "custom"})"), data), data);
  Problem problem = mlp_problem(network(), Task::kClassification, {}, {});
  problem.init = [](Key) { return network().init(Key(5)); };
  Trainer trainer(problem, data, options);
  while (trainer.ending() == Ending::kNone) trainer.step();
  expect_same(trained(config, own()), trainer.model());
}

TEST(CustomModel, ShardsAndMicroBatchesAreThoseOfOthers) {
  const Params whole = trained(settings(R"(, "accumulate": 2)"), own());
  EXPECT_FALSE(whole.at("layers.0.weight").same_bits(own().params.at("layers.0.weight")));
  expect_same(trained(settings(R"(, "accumulate": 2)"), own()), whole);
  trained(settings(R"(, "shards": 3)"), own());
}

TEST(CustomModel, ResumesToTheSameBits) {
  const TemporaryFolder folder;
  const Params whole = trained(settings(), own());
  const RunOptions options{.folder = folder / "run"};
  {
    train::Run run(settings(), points(), own(), options);
    int left = 5;
    run.train([&] { return --left == 0; });
  }
  CustomModel other = own();
  other.params.set("layers.0.bias", Tensor::from<float>({8}, std::vector<float>(8, 1)));
  train::Run wrong(settings(), points(), other, options);
  expect_refused(ErrorCode::kInvalidArgument, [&] { wrong.resume(); });
  train::Run run(settings(), points(), own(), options);
  run.resume();
  run.train();
  expect_same(run.model().params, whole);
}

TEST(CustomModel, FrozenParametersStay) {
  CustomModel model = own();
  model.frozen = {"layers.0.weight"};
  const Params params = trained(settings(), model);
  EXPECT_TRUE(params.at("layers.0.weight").same_bits(model.params.at("layers.0.weight")));
  EXPECT_FALSE(params.at("layers.1.weight").same_bits(model.params.at("layers.1.weight")));
}

// Of (output, target) of one example.
Function loss_function(const Type& output, const Type& target) {
  return trace("loss", {{"output", output}, {"target", target}},
               [](std::span<const Value> in) { return std::vector<Value>{abs(in[0] - in[1])}; });
}

TEST(CustomModel, MayHaveALossOfItsOwn) {
  const nn::Mlp net = nn::mlp({kFeatures, 4, 1}, tanh);
  CustomModel model{.inference = net.function(), .params = net.init(Key(5))};
  const Split data = points(Task::kRegression);
  const Params by_name = trained(settings(R"(, "loss": {"name": "mae"})"), model, data);
  model.loss = loss_function({Dtype::kF32, {1}}, {Dtype::kF32, {1}});
  expect_same(trained(settings(), model, data), by_name);
}

TEST(CustomModel, DrawsWithAKeyForEachExample) {
  CustomModel model = own();
  std::vector<Input> inputs = network().function().inputs();
  inputs.push_back({"key", {Dtype::kI64, {}}});
  model.training = trace("training", inputs, [&](std::span<const Value> in) {
    std::vector<Value> arguments(in.begin(), in.end() - 1);
    arguments.back() = dropout(arguments.back(), in.back(), 0.5);
    return in[0].builder().inline_function(network().function(), arguments);
  });
  const Params params = trained(settings(), model);
  expect_same(trained(settings(), model), params);
  EXPECT_FALSE(
      params.at("layers.0.weight").same_bits(trained(settings(), own()).at("layers.0.weight")));
}

TEST(CustomModel, RefusesWhatDoesNotFit) {
  const auto refused = [](ErrorCode code, const auto& change, const std::string& more = "") {
    CustomModel model = own();
    change(model);
    expect_refused(code, [&] { train::Run(settings(more), points(), model); });
  };
  const auto nothing = [](CustomModel&) {};
  refused(ErrorCode::kInvalidArgument, nothing, R"(, "model": {"name": "mlp"})");
  refused(ErrorCode::kInvalidArgument,
          [](CustomModel& m) { m.params.set("w", Tensor::scalar(1.0f)); });
  refused(ErrorCode::kShape,
          [](CustomModel& m) { m.params.set("layers.1.bias", Tensor::scalar(1.0f)); });
  refused(ErrorCode::kInvalidArgument, [](CustomModel& m) { m.params = {}; });
  refused(ErrorCode::kNotFound, [](CustomModel& m) { m.frozen = {"weight"}; });
  refused(ErrorCode::kInvalidArgument, [](CustomModel& m) { m.training = m.inference; });
  refused(ErrorCode::kInvalidArgument, [](CustomModel& m) { m.loss = m.inference; });
  refused(ErrorCode::kShape, [](CustomModel& m) {
    m.loss = loss_function({Dtype::kF32, {1}}, {Dtype::kF32, {1}});
  });
  const nn::Mlp wide = nn::mlp({4, 2}, tanh);
  refused(ErrorCode::kShape,
          [&](CustomModel& m) { m = {.inference = wide.function(), .params = wide.init(Key(0))}; });
  expect_refused(ErrorCode::kInvalidArgument,
                 [] { train::Run(settings(R"(, "model": {"name": "custom"})"), points()); });
}

}  // namespace
}  // namespace limpid::train::custom
