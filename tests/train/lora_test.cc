// Runs that train adapters of a model, and what they leave of it.
#include <gtest/gtest.h>

#include <fstream>

#include "limpid/core/error.h"
#include "limpid/core/half.h"
#include "limpid/formats/file.h"
#include "limpid/function/text.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/models/adapter.h"
#include "limpid/models/generate.h"
#include "limpid/nn/generation.h"
#include "limpid/train/config/detail/first_model.h"
#include "limpid/train/loop/evaluator.h"
#include "limpid/train/run/run.h"
#include "limpid/train/run/run_setup.h"
#include "limpid/transforms/quantize.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

class LoraRun : public ::testing::Test {
 protected:
  LoraRun() {
    std::ofstream text(folder_ / "text.txt");
    for (int i = 0; i < 60; ++i) text << "the cat sat on a mat. ";
    text.close();
    TrainConfig config;
    config.data = data();
    config.model = "gpt";
    config.context = 8;
    config.width = 8;
    config.heads = 2;
    config.layers = TrainConfig::Integers{2};
    config.steps = 3;
    train::Run run(config, RunOptions{.folder = base()});
    run.train();
    base_ = run.model();
  }

  std::string data() const { return "text:" + (folder_ / "text.txt").string(); }
  std::string base() const { return (folder_ / "base").string(); }

  TrainConfig tuning() const {
    TrainConfig config;
    config.data = data();
    config.from = base();
    config.lora_rank = 2;
    config.lora_targets = "q_proj,layers.1.mlp.down_proj";
    config.steps = 4;
    config.rate = 0.01;
    return config;
  }

  limpid::testing::TemporaryFolder folder_;
  Model base_;
};

TEST_F(LoraRun, ChangesNothingButItsTargets) {
  const std::string folder = (folder_ / "tuned").string();
  train::Run run(tuning(), RunOptions{.folder = folder});
  const EndEvent end = run.train();
  const Model model = run.model();
  EXPECT_EQ(limpid::to_text(model.function), limpid::to_text(base_.function));
  EXPECT_EQ(model.params.names(), base_.params.names());
  for (const auto& [name, value] : model.params) {
    const bool is_target =
        name.ends_with("q_proj.weight") || name == "layers.1.mlp.down_proj.weight";
    EXPECT_EQ(value.same_bits(base_.params.at(name)), !is_target) << name;
  }
  // The optimiser has state of the adapters alone.
  EXPECT_EQ(run.trainer().problem().parameters().size(), 6u);
  // The adapter of the folder makes the same model of the first one.
  const Model merged = merge_adapter(base_, load_adapter(folder + "/adapter"));
  for (const auto& [name, value] : merged.params)
    EXPECT_TRUE(value.same_bits(model.params.at(name))) << name;
  EXPECT_EQ(hash_of_model(load_model(folder + "/model.safetensors")), hash_of_model(model));
  // What was scored is what was saved.
  TestResult test =
      Evaluator(model.function, run.trainer().problem().losses, run.data().test)(model.params);
  EXPECT_EQ(test.metrics.at("loss"), end.test.metrics.at("loss"));
  // A run without adapters leaves none of an earlier one.
  TrainConfig plain = tuning();
  plain.lora_rank.reset(), plain.lora_targets.reset();
  train::Run(plain, RunOptions{.folder = folder, .overwrite = true}).train();
  EXPECT_FALSE(std::filesystem::exists(folder + "/adapter/adapter_model.safetensors"));
}

TEST_F(LoraRun, ResumesToTheSameBits) {
  train::Run whole(tuning(), RunOptions{});
  whole.train();
  const std::string folder = (folder_ / "halves").string();
  {
    train::Run half(tuning(), RunOptions{.folder = folder});
    half.train([left = 2]() mutable { return --left == 0; });
  }
  train::Run rest(tuning(), RunOptions{.folder = folder});
  rest.resume();
  rest.train();
  for (const auto& [name, value] : rest.model().params)
    EXPECT_TRUE(value.same_bits(whole.model().params.at(name))) << name;
}

// The samples of a run are of the merged model.
TEST_F(LoraRun, GeneratesAsItsModelDoes) {
  train::Run run(tuning(), RunOptions{});
  run.train();
  const Model model = run.model();
  const Problem& problem = run.trainer().problem();
  nn::LanguageModel trained = problem.language_model(run.trainer().model(), {});
  nn::LanguageModel saved = language_model_of(model, {});
  const std::vector<std::int32_t> prompt{1, 2, 3};
  const auto logits = [&](nn::LanguageModel& of) {
    nn::Generation generation(of, prompt, {.key = Key(1)});
    std::vector<std::int32_t> tokens;
    while (tokens.size() < 12) {
      while (!generation.ready()) of.step();
      tokens.push_back(generation.draw());
    }
    return tokens;
  };
  EXPECT_EQ(logits(trained), logits(saved));
}

// Published weights are mostly bf16: what goes on with them is f32 of the same values.
TEST_F(LoraRun, BeginsWithNarrowWeights) {
  const Quantized narrow = quantize(base_.function, base_.params, {.to = Dtype::kBf16});
  ASSERT_EQ(narrow.params.at("layers.0.mlp.up_proj.weight").dtype(), Dtype::kBf16);
  save_model(folder_ / "narrow.safetensors", {narrow.function, narrow.params, base_.config});
  TrainConfig config = tuning();
  config.from = (folder_ / "narrow.safetensors").string();
  for (const bool adapted : {true, false}) {
    if (!adapted) config.lora_rank.reset(), config.lora_targets.reset();
    const RunSetup setup(config, train::load_data(config));
    Params begun = setup.problem.init(Key(1));
    begun.merge("", setup.problem.non_trainable);
    const Params params = setup.problem.model(begun, "").params;
    for (const auto& [name, value] : params) {
      const Tensor& before = narrow.params.at(name);
      if (before.dtype() == Dtype::kF32) {
        EXPECT_TRUE(value.same_bits(before)) << name;
        continue;
      }
      for (std::int64_t i = 0; i < value.elements(); ++i)
        ASSERT_EQ(value.values<float>()[static_cast<std::size_t>(i)],
                  to_f32(before.values<Bf16>()[static_cast<std::size_t>(i)]));
    }
  }
}

TEST_F(LoraRun, RefusesWhatDoesNotFit) {
  const auto with = [&](const auto& change) {
    TrainConfig config = tuning();
    change(config);
    expect_refused(ErrorCode::kInvalidArgument, [&] {
      RunSetup(config, limpid::load_data(data(), {.text = {8, true}}));
    });
  };
  with([](TrainConfig& c) { c.from.reset(); });
  with([](TrainConfig& c) { c.freeze = "layers"; });
  with([](TrainConfig& c) { c.lora_rank.reset(); });
  with([](TrainConfig& c) { c.lora_rank = 9; });
  with([](TrainConfig& c) { c.lora_targets = "q_proj,"; });
}

}  // namespace
}  // namespace limpid::train
