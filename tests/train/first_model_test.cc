// Runs that begin with another model: what they take over, what begins anew, what stays as it is.
#include "limpid/train/config/detail/first_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "limpid/core/error.h"
#include "limpid/function/text.h"
#include "limpid/train/run/run.h"
#include "limpid/train/run/run_setup.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

using limpid::testing::TemporaryFolder;

TrainConfig of_digits() {
  TrainConfig config;
  config.data = "digits:3,count=40";
  config.model = "cnn";
  config.width = 2;
  config.steps = 3;
  config.batch = 10;
  return config;
}

// The model of a short run, in a folder.
Model trained(const TrainConfig& config, const std::filesystem::path& folder) {
  Run run(config, RunOptions{.folder = folder.string()});
  run.train();
  return run.model();
}

TrainConfig from(const std::filesystem::path& folder, const std::string& data) {
  TrainConfig config;
  config.from = folder.string();
  config.data = data;
  config.steps = 4;
  config.batch = 10;
  return config;
}

Split three_classes() {
  Split data = limpid::load_data("digits:4,count=60");
  for (Dataset* part : {&data.train, &data.test}) {
    part->classes = 3;
    std::vector<std::int32_t> labels;
    for (const std::int32_t label : part->targets.values<std::int32_t>())
      labels.push_back(label % 3);
    part->targets = Tensor::from(part->targets.shape(), labels);
  }
  return data;
}

class FirstModel : public ::testing::Test {
 protected:
  FirstModel() : first_(trained(of_digits(), folder_.path() / "first")) {}

  void refused(const TrainConfig& config, Split data,
               ErrorCode code = ErrorCode::kInvalidArgument) {
    expect_refused(code, [&] { RunSetup(config, std::move(data)); });
  }

  TemporaryFolder folder_;
  Model first_;
};

TEST_F(FirstModel, IsWhereARunBegins) {
  const TrainConfig config = from(folder_.path() / "first", "digits:4,count=60");
  const RunSetup setup(config, train::load_data(config));
  const Params begun = setup.problem.init(Key(9));
  for (const auto& [name, value] : begun) EXPECT_TRUE(value.same_bits(first_.params.at(name)));
  for (const auto& [name, value] : setup.problem.non_trainable)
    EXPECT_TRUE(value.same_bits(first_.params.at(name))) << name;
  EXPECT_EQ(begun.size() + setup.problem.non_trainable.size(), first_.params.size());
  EXPECT_EQ(limpid::to_text(setup.problem.inference), limpid::to_text(first_.function));
  // A complete configuration is its own completion.
  EXPECT_EQ(to_text(RunSetup(setup.config, train::load_data(setup.config)).config),
            to_text(setup.config));
}

TEST_F(FirstModel, ALastLayerForOtherClassesBeginsAnew) {
  const TrainConfig config = from(folder_.path() / "first", "digits:4,count=60");
  const RunSetup setup(config, three_classes());
  const Params begun = setup.problem.init(Key(9));
  EXPECT_EQ(begun.at("head.0.weight").shape()[0], 3);
  EXPECT_TRUE(
      begun.at("blocks.0.0.conv.weight").same_bits(first_.params.at("blocks.0.0.conv.weight")));
  ASSERT_EQ(setup.data.train.notes.size(), 1u);
  expect_message(setup.data.train.notes.front());
}

TEST_F(FirstModel, FrozenParametersKeepTheirBits) {
  TrainConfig config = from(folder_.path() / "first", "digits:4,count=60");
  config.freeze = "blocks";
  train::Run run(config, three_classes(), RunOptions{});
  run.train();
  const Model model = run.model();
  for (const auto& [name, value] : model.params)
    if (name.starts_with("blocks") && name.find("running") == std::string::npos) {
      EXPECT_TRUE(value.same_bits(first_.params.at(name))) << name;
    }
  EXPECT_FALSE(model.params.at("head.0.weight")
                   .same_bits(run.trainer().problem().init(Key(0)).at("head.0.weight")));
  // Resumed after two steps, it ends with the same bits.
  config.freeze = "blocks.0,blocks.1,blocks.2";
  const std::string folder = (folder_.path() / "halves").string();
  {
    train::Run half(config, three_classes(), RunOptions{.folder = folder});
    half.train([left = 2]() mutable { return --left == 0; });
  }
  train::Run rest(config, three_classes(), RunOptions{.folder = folder});
  rest.resume();
  rest.train();
  for (const auto& [name, value] : rest.model().params)
    EXPECT_TRUE(value.same_bits(model.params.at(name))) << name;
}

TEST_F(FirstModel, RefusesWhatDoesNotFitIt) {
  const std::string digits = "digits:4,count=60";
  const TrainConfig good = from(folder_.path() / "first", digits);
  const auto with = [&](const auto& change) {
    TrainConfig config = good;
    change(config);
    refused(config, three_classes());
  };
  with([](TrainConfig& c) { c.width = 3; });
  with([](TrainConfig& c) { c.model = "mlp"; });
  with([](TrainConfig& c) { c.recipe = "quick"; });
  with([](TrainConfig& c) { c.freeze = "block"; });
  with([](TrainConfig& c) { c.freeze = "head"; });
  with([](TrainConfig& c) { c.from.reset(), c.freeze = "blocks"; });
  TrainConfig all = good;
  all.freeze = "blocks,head";
  refused(all, limpid::load_data(digits));
  refused(from(folder_.path() / "first", "moons"), limpid::load_data("moons"));
  refused(from(folder_.path() / "none", digits), three_classes(), ErrorCode::kIo);
  Model own = first_;
  own.config = R"({"model": "custom"})";
  save_model(folder_.path() / "own.safetensors", own);
  refused(from(folder_.path() / "own.safetensors", digits), three_classes());
}

TEST_F(FirstModel, ALanguageModelGoesOnWithItsTokens) {
  const auto text = [&](const char* name, const std::string& content) {
    std::ofstream(folder_.path() / name) << content;
    return "text:" + (folder_.path() / name).string();
  };
  std::string words;
  for (int i = 0; i < 60; ++i) words += "the cat sat on a mat. ";
  TrainConfig config;
  config.data = text("a.txt", words);
  config.model = "gpt";
  config.context = 8;
  config.width = 8;
  config.heads = 2;
  config.layers = TrainConfig::Integers{1};
  config.steps = 2;
  const Model gpt = trained(config, folder_.path() / "gpt");
  std::string other = words;
  std::reverse(other.begin(), other.end());
  const TrainConfig next = from(folder_.path() / "gpt", text("b.txt", other));
  const RunSetup setup(next, train::load_data(next));
  EXPECT_EQ(setup.data.train.input_type().shape, (Shape{8}));
  for (const auto& [name, value] : setup.problem.init(Key(1)))
    EXPECT_TRUE(value.same_bits(gpt.params.at(name))) << name;
  const TrainConfig more = from(folder_.path() / "gpt", text("c.txt", words + "XYZ?" + words));
  refused(more, train::load_data(more));
}

TEST(FirstMlp, ScalesItsInputsAsBefore) {
  const TemporaryFolder folder;
  TrainConfig config;
  config.data = "sine:1,count=40,standardize=zscore";
  config.hidden = TrainConfig::Integers{4};
  config.steps = 2;
  const Model first = trained(config, folder.path() / "first");
  ASSERT_TRUE(first.params.find("standardize.input.center"));
  const TrainConfig next = from(folder.path() / "first", "sine:2,count=40");
  const RunSetup setup(next, train::load_data(next));
  EXPECT_TRUE(setup.problem.non_trainable.at("standardize.input.center")
                  .same_bits(first.params.at("standardize.input.center")));
  EXPECT_FALSE(setup.problem.non_trainable.at("standardize.output.scale")
                   .same_bits(first.params.at("standardize.output.scale")));
}

}  // namespace
}  // namespace limpid::train
