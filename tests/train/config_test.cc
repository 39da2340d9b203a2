// The configuration of a run: what the table of keys promises of every key.
#include "limpid/train/config/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <tuple>

#include "limpid/core/error.h"
#include "limpid/data/text/text_windows.h"
#include "limpid/formats/safetensors.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/train/run/checkpoint.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid::train {
namespace {

Split data_of(Task task, std::int64_t rows) {
  Dataset train;
  train.task = task;
  train.inputs = Tensor::zeros({Dtype::kF32, {rows, 5}});
  train.classes = task == Task::kClassification ? 3 : 0;
  train.targets = task == Task::kClassification ? Tensor::zeros({Dtype::kI32, {rows}})
                                                : Tensor::zeros({Dtype::kF32, {rows, 2}});
  return {train, {}, {}};
}

Split pictures_of(std::int64_t rows) {
  Split data = data_of(Task::kClassification, rows);
  data.train.inputs = Tensor::zeros({Dtype::kF32, {rows, 3 * 16 * 20}});
  data.train.picture = PictureShape{3, 16, 20};
  return data;
}

Split sequences_of(std::int64_t rows) {
  Split data = data_of(Task::kClassification, rows);
  data.train.inputs = Tensor::generate<float>({rows, 12}, [](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i * i % 7);
  });
  data.train.sequence = SequenceShape{4, 3};
  return data;
}

Split text_of(const TrainConfig& config, std::int64_t tokens = 400) {
  const WindowOptions options = window_options_of(config);
  Dataset train =
      windows_of(Tensor::zeros({Dtype::kI32, {tokens}}), options.context,
                 options.every_token ? TokenWindows::Kind::kShifted : TokenWindows::Kind::kSliding);
  train.classes = 11;
  return {train, {}, {}};
}

// A text that the key takes.
std::string some_value(const ConfigKey& key) {
  if (key.choices) return key.choices().back();
  switch (key.kind()) {
    case ConfigKey::Kind::kText:
      return "text";
    case ConfigKey::Kind::kSwitch:
      return "true";
    case ConfigKey::Kind::kIntegers:
      return "7,8";
    case ConfigKey::Kind::kInteger:
      return "5";
    case ConfigKey::Kind::kNumber:
      return key.low < 0.5 ? "0.5" : "1.5";
  }
  return "";
}

TEST(Config, EveryKeyReadsBackWhatItWrites) {
  std::set<std::string_view> seen;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_TRUE(seen.insert(key.path).second) << key.path;
    EXPECT_TRUE(seen.insert(key.flag).second) << key.flag;
    EXPECT_FALSE(key.help.empty() || key.otherwise.empty()) << key.path;
    TrainConfig config;
    set_from_text(config, key, some_value(key));
    for (const ConfigKey& other : config_keys())
      EXPECT_EQ(is_chosen(config, other), other.path == key.path) << key.path << " " << other.path;
    const std::string json = to_json(config).dump({.indent = 2});
    EXPECT_GT(json.size(), 2u) << key.path;
    EXPECT_EQ(to_json(parse_train_config(json, "test")).dump({.indent = 2}), json);
    EXPECT_EQ(to_json(overridden({}, config)).dump({.indent = 2}), json);
  }
}

TEST(Config, AFaultOfAFileNamesIt) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string(100'000, '['), std::string("{\"lr\": 1e999}"),
        std::string("{} {}"), std::string("{\"seed\": 1, \"seed\": 1}"), std::string("[]"),
        std::string(R"({"model": {"layers": "5,3"}})"),
        std::string(R"({"model": {"layers": [5, "3"]}})"), std::string(R"({"model": 3})"),
        std::string(R"({"hidden": 3})"), std::string(R"({"clip": {"rate": 3}})"),
        std::string(R"({"model": {"name": "gpt", "preset": "llama", "rotary_base": 1}})")})
    expect_refused(ErrorCode::kParse, [&] { parse_train_config(text, "run.json"); });
  EXPECT_EQ(parse_train_config(R"({"model": {"bias": false, "layers": 5}})", "test").bias, false);
}

TEST(Config, EveryRangeHolds) {
  for (const ConfigKey& key : config_keys()) {
    if (key.kind() != ConfigKey::Kind::kInteger && key.kind() != ConfigKey::Kind::kNumber) continue;
    TrainConfig config;
    EXPECT_THROW(set_from_text(config, key, "-1"), Error) << key.path;
    EXPECT_THROW(set_from_text(config, key, "nan"), Error) << key.path;
    EXPECT_THROW(set_from_text(config, key, "inf"), Error) << key.path;
    EXPECT_THROW(set_from_text(config, key, "1x"), Error) << key.path;
    EXPECT_THROW(set_from_text(config, key, ""), Error) << key.path;
    if (key.open_low) {
      const std::string low = std::to_string(static_cast<std::int64_t>(key.low));
      EXPECT_THROW(set_from_text(config, key, low), Error) << key.path;
      EXPECT_NO_THROW(set_from_text(config, key, low + ".001")) << key.path;
    }
    if (key.open_high) {
      EXPECT_THROW(set_from_text(config, key, "1"), Error) << key.path;
    }
    if (!std::isfinite(key.high)) continue;
    std::string above = "1e31";
    if (key.kind() == ConfigKey::Kind::kInteger)
      above = std::to_string(static_cast<std::int64_t>(key.high + std::max(1.0, key.high / 1000)));
    EXPECT_THROW(set_from_text(config, key, above), Error) << key.path;
  }
}

TEST(Config, ACompleteOneIsItsOwnCompletion) {
  for (const Task task : {Task::kClassification, Task::kMultiLabel, Task::kRegression})
    for (const std::int64_t rows : {4, 20'000})
      for (const std::string& optimizer : optim::optimizer_names()) {
        const Split data = data_of(task, rows);
        TrainConfig config;
        config.optimizer = optimizer;
        const TrainConfig once = complete(config, data);
        const TrainConfig read = parse_train_config(to_json(once).dump(), "test");
        EXPECT_EQ(to_json(complete(read, data)), to_json(once));
        EXPECT_EQ(network_of(read).sizes.front(), 5);
        EXPECT_EQ(network_of(read).sizes.back(), data.train.outputs());
        EXPECT_EQ(optim::name(options_of(read, data).rule.optimizer), optimizer);
      }
}

// What nobody chose, for each kind of data and of model.
TEST(Config, RecipesAreThePublishedOnes) {
  const auto expect_recipe = [](const char* chosen, const auto& data_for) {
    const TrainConfig config = parse_train_config(chosen, "test");
    expect_message(to_json(complete(config, data_for(config))).dump());
  };
  for (const Task task : {Task::kClassification, Task::kMultiLabel, Task::kRegression})
    for (const std::int64_t rows : {4, 20'000})
      expect_recipe("{}", [&](const TrainConfig&) { return data_of(task, rows); });
  for (const char* text : {R"({"model": {"name": "charlm"}})", R"({"model": {"name": "gpt"}})",
                           R"({"model": {"name": "gpt", "preset": "gpt2"}})",
                           R"({"model": {"name": "gpt", "preset": "llama"}})",
                           R"({"model": {"name": "gpt"}, "optimizer": {"name": "adam"}})",
                           R"({"model": {"name": "lstm"}})", R"({"model": {"name": "gru"}})"})
    expect_recipe(text, [](const TrainConfig& c) { return text_of(c); });
  for (const char* text : {R"({"model": {"name": "lstm"}})", R"({"model": {"name": "gru"}})"})
    expect_recipe(text, [](const TrainConfig&) { return sequences_of(400); });
  for (const char* text :
       {R"({"model": {"name": "cnn"}})", R"({"model": {"name": "cnn", "preset": "lenet"}})",
        R"({"model": {"name": "cnn", "preset": "resnet18"}})",
        R"({"model": {"name": "cnn"}, "recipe": "good"})",
        R"({"model": {"name": "cnn"}, "recipe": "best"})", R"({"recipe": "quick"})",
        R"({"recipe": "good"})", R"({"recipe": "best"})"})
    expect_recipe(text, [](const TrainConfig&) { return pictures_of(20'000); });
}

TEST(Config, ACnnIsOneOfItsPresetsOnPictures) {
  const auto refused = [](const char* text, const Split& data) {
    expect_refused(ErrorCode::kInvalidArgument,
                   [&] { complete(parse_train_config(text, "test"), data); });
  };
  const Split pictures = pictures_of(40);
  refused(R"({"model": {"name": "cnn"}})", data_of(Task::kClassification, 40));
  refused(R"({"model": {"name": "cnn", "preset": "llama"}})", pictures);
  refused(R"({"model": {"name": "cnn", "norm": "layer"}})", pictures);
  refused(R"({"model": {"name": "cnn", "width": 70000}})", pictures);
  refused(R"({"model": {"name": "cnn"}, "batch": 39})", pictures);  // a batch of one
  refused(R"({"model": {"name": "gpt", "preset": "lenet"}})",
          text_of(parse_train_config(R"({"model": {"name": "gpt"}})", "test")));
  refused(R"({"model": {"name": "gpt"}, "recipe": "good"})",
          text_of(parse_train_config(R"({"model": {"name": "gpt"}})", "test")));
  TrainConfig config;
  config.model = "cnn";
  config.preset = "lenet";
  const TrainConfig complete_one = complete(config, pictures);
  EXPECT_EQ(complete_one.norm, "none");
  EXPECT_EQ(cnn_of(complete_one, pictures.train).function().inputs().back().type,
            (Type{Dtype::kF32, {3, 16, 20}}));
}

TEST(Config, RecurrentNetworksReadTextsAndSequences) {
  const auto refused = [](const char* text, const Split& data) {
    expect_refused(ErrorCode::kInvalidArgument,
                   [&] { complete(parse_train_config(text, "test"), data); });
  };
  const Split sequences = sequences_of(40);
  refused(R"({"model": {"name": "lstm"}})", data_of(Task::kClassification, 40));
  refused(R"({"model": {"name": "lstm"}})", pictures_of(40));  // of three channels
  refused(R"({"model": {"name": "gru", "context": 5}})", sequences);
  refused(R"({"model": {"name": "gru", "tied": true}})", sequences);
  refused(R"({"model": {"name": "gru", "layers": [2, 3]}})", sequences);
  refused(R"({"model": {"name": "gru", "layers": 2000}})", sequences);
  refused(R"({"model": {"name": "gru", "heads": 2}})", sequences);
  TrainConfig config = parse_train_config(
      R"({"model": {"name": "gru", "layers": 3, "width": 8, "context": 9, "tied": true}})", "test");
  EXPECT_EQ(window_options_of(config).context, 9);
  EXPECT_TRUE(window_options_of(config).every_token);
  const Split text = text_of(config);
  const TrainConfig of_text = complete(config, text);
  EXPECT_EQ(to_json(complete(parse_train_config(to_json(of_text).dump(), "test"), text)),
            to_json(of_text));
  config = {};
  config.model = "lstm";
  const TrainConfig of_numbers = complete(config, sequences);
  EXPECT_FALSE(of_numbers.context || of_numbers.tied);
  EXPECT_EQ(to_json(complete(parse_train_config(to_json(of_numbers).dump(), "test"), sequences)),
            to_json(of_numbers));
}

TEST(Config, TheLogHasAHundredStepsOfAnEpochOrOfAShorterRun) {
  const Split data = data_of(Task::kClassification, 20'000);
  TrainConfig config;
  EXPECT_EQ(options_of(complete(config, data), data).schedule.every, 1570);
  config.batch = 10;
  EXPECT_EQ(*complete(config, data).log_every, 20);
  config.steps = 1500;
  EXPECT_EQ(*complete(config, data).log_every, 15);
}

TEST(Config, SmallDataHasAThousandSteps) {
  const auto epochs = [](std::int64_t rows) {
    return *complete({}, data_of(Task::kRegression, rows)).epochs;
  };
  EXPECT_EQ(epochs(32), 1000);
  EXPECT_EQ(epochs(33), 500);
  EXPECT_EQ(epochs(70), 334);
  EXPECT_EQ(epochs(320), 100);
  EXPECT_EQ(epochs(32'000), 100);
}

TEST(Config, ShardsAreHashedAsOftenAsTheLogHasSteps) {
  TrainConfig config;
  config.log_shards = true;
  const Split data = data_of(Task::kClassification, 20);
  config.shards = 2;
  config.log_every = 7;
  const TrainOptions options = options_of(complete(config, data), data);
  EXPECT_EQ(options.shards, 2);
  EXPECT_EQ(options.hash_shards_every, 7);
}

// The recipe's rate is that of its optimiser alone.
TEST(Config, AnotherOptimizerHasItsUsualRate) {
  for (const std::string& optimizer : optim::optimizer_names()) {
    TrainConfig config;
    config.optimizer = optimizer;
    const Split data = data_of(Task::kClassification, 4);
    const TrainConfig c = complete(config, data);
    EXPECT_EQ(*c.rate, optim::usual_rate(options_of(c, data).rule.optimizer)) << optimizer;
  }
  EXPECT_EQ(*complete({}, data_of(Task::kClassification, 4)).rate, 0.005);
}

TEST(Config, EveryChoiceReachesTheTraining) {
  TrainConfig config;
  config.dropout = 0.25;
  config.batch = 3;
  config.accumulate = 2;
  config.epochs = 9;
  config.schedule = "step";
  config.rate = 0.75;
  config.warmup = 4;
  config.decay_every = 1.5;
  config.decay_factor = 0.5;
  config.clip_value = 3.0;
  config.clip_norm = 2.0;
  config.seed = 7;
  config.patience = 5;
  config.metric = "accuracy";
  config.min_delta = 0.125;
  config.check_finite = true;
  Split data = data_of(Task::kClassification, 20);
  data.validation = data.train;
  const TrainConfig c = complete(config, data);
  EXPECT_EQ(network_of(c).dropout, 0.25);
  const TrainOptions options = options_of(c, data);
  EXPECT_EQ(options.epochs, 9);
  EXPECT_EQ(options.batch, 3);
  EXPECT_EQ(options.accumulate, 2);
  EXPECT_EQ(options.schedule.kind, optim::Schedule::Kind::kStep);
  EXPECT_EQ(options.schedule.rate, 0.75);
  EXPECT_EQ(options.schedule.warmup, 4);
  EXPECT_EQ(options.schedule.every, 6);  // an epoch is four updates, of at most 6 rows
  EXPECT_EQ(options.schedule.factor, 0.5);
  EXPECT_EQ(options.rule.clip.value, 3.0);
  EXPECT_EQ(options.rule.clip.norm, 2.0);
  EXPECT_EQ(options.seed, 7u);
  EXPECT_EQ(options.metric, "accuracy");
  ASSERT_TRUE(options.early_stopping);
  EXPECT_EQ(options.early_stopping->patience, 5);
  EXPECT_EQ(options.early_stopping->min_delta, 0.125);
  EXPECT_TRUE(options.check_finite);
}

TEST(Config, WhatOverridesAKeyReplacesThoseThatMeanTheSame) {
  TrainConfig hidden, layers, epochs, steps;
  hidden.hidden = {7};
  layers.layers = {5, 6, 3};
  epochs.epochs = 2;
  steps.steps = 9;
  EXPECT_EQ(to_json(overridden(layers, hidden)), to_json(hidden));
  EXPECT_EQ(to_json(overridden(hidden, layers)), to_json(layers));
  EXPECT_EQ(to_json(overridden(steps, epochs)), to_json(epochs));
  EXPECT_EQ(to_json(overridden(epochs, steps)), to_json(steps));
}

// What the text of an option should have been.
TEST(Config, AnOptionTakesWhatItsKindAllows) {
  const auto key_of = [](std::string_view flag) {
    const auto keys = config_keys();
    return *std::find_if(keys.begin(), keys.end(),
                         [&](const ConfigKey& k) { return k.flag == flag; });
  };
  const auto list = [](std::size_t count) {
    std::string text = "1";
    for (std::size_t i = 1; i < count; ++i) text += ",1";
    return text;
  };
  TrainConfig config;
  for (const bool bias : {true, false}) {
    set_from_text(config, key_of("--bias"), bias ? "true" : "false");
    EXPECT_EQ(config.bias, bias);
  }
  set_from_text(config, key_of("--hidden"), list(1024));
  EXPECT_EQ(config.hidden->size(), 1024U);
  set_from_text(config, key_of("--hidden"), "none");
  EXPECT_EQ(config.hidden, TrainConfig::Integers{});
  for (const char* text : {"0", "1"}) set_from_text(config, key_of("--momentum"), text);
  set_from_text(config, key_of("--epochs"), "1000000000");
  for (const auto& [flag, text] :
       std::vector<std::pair<const char*, std::string>>{{"--hidden", list(1025)},
                                                        {"--bias", "yes"},
                                                        {"--rotary-base", "0"},
                                                        {"--huber-delta", "0"},
                                                        {"--momentum", "2"},
                                                        {"--beta1", "1"},
                                                        {"--epochs", "1.5"},
                                                        {"--seed", "-1"},
                                                        {"--model", "rnn"}})
    expect_refused(ErrorCode::kInvalidArgument,
                   [&, f = flag, &t = text] { set_from_text(config, key_of(f), t); });
}

TEST(Config, ALossFitsItsTasks) {
  using Kind = Loss::Kind;
  for (const Task task :
       {Task::kClassification, Task::kMultiLabel, Task::kRegression, Task::kNextToken})
    for (const std::string& loss : all_names<Loss::Kind>()) {
      const Kind kind = from_name<Loss::Kind>(loss);
      const bool one_class = task == Task::kClassification || task == Task::kNextToken;
      const bool wanted = one_class ? kind == Kind::kCrossEntropy
                          : task == Task::kMultiLabel
                              ? kind == Kind::kBinaryCrossEntropy
                              : kind == Kind::kMse || kind == Kind::kMae || kind == Kind::kHuber;
      EXPECT_EQ(fits(kind, task), wanted) << loss << " " << limpid::name(task);
    }
}

TEST(Config, BatchNormNeedsTwoExamplesInEveryMicroBatch) {
  const auto completed = [](std::int64_t rows, std::int64_t batch, std::int64_t shards) {
    TrainConfig config;
    config.norm = "batch";
    config.batch = batch;
    config.shards = shards;
    complete(config, data_of(Task::kClassification, rows));
  };
  completed(16, 8, 1);
  completed(18, 8, 1);
  completed(16, 8, 3);
  for (const auto& [rows, batch, shards] : {std::tuple{17, 8, 1}, {20, 8, 3}, {16, 8, 8}})
    expect_refused(ErrorCode::kInvalidArgument,
                   [&, r = rows, b = batch, s = shards] { completed(r, b, s); });
}

TEST(Config, ACharLmReadsWindowsOfItsContext) {
  TrainConfig config;
  config.context = 6;
  config.embedding = 4;
  const Split data = text_of(config);
  const TrainConfig c = complete(config, data);
  EXPECT_EQ(*c.layers, (TrainConfig::Integers{24, 128, 128, 11}));
  EXPECT_EQ(to_json(complete(parse_train_config(to_json(c).dump(), "test"), data)), to_json(c));
  const nn::CharLm net = char_lm_of(c);
  EXPECT_EQ(net.vocabulary, 11);
  EXPECT_EQ(net.context, window_options_of(c).context);
  EXPECT_EQ(net.embedding, 4);
  EXPECT_FALSE(window_options_of({}).every_token);
}

TEST(Config, AGptHasKeysAndARecipeOfItsOwn) {
  TrainConfig config;
  config.model = "gpt";
  const Split data = text_of(config);
  const TrainConfig c = complete(config, data);
  EXPECT_EQ(to_json(complete(parse_train_config(to_json(c).dump(), "test"), data)), to_json(c));
  TrainConfig short_run = config;
  short_run.steps = 5;
  EXPECT_EQ(*complete(short_run, data).sample_every, 1);
  EXPECT_TRUE(window_options_of(c).every_token);
  nn::Gpt usual;
  usual.vocabulary = 11;
  EXPECT_EQ(gpt_of(c, 11).config(), usual.config());

  for (const auto& [name, shaped] :
       {std::pair{"gpt2", nn::gpt2_shaped()}, {"llama", nn::llama_shaped()}}) {
    TrainConfig preset = config;
    preset.preset = name;
    preset.width = 96;
    nn::Gpt net = shaped;
    net.vocabulary = 11;
    net.width = 96;
    const TrainConfig whole = complete(preset, data);
    EXPECT_EQ(gpt_of(whole, 11).config(), net.config());
    EXPECT_EQ(gpt_of(complete(overridden(c, preset), data), 11).norm, net.norm);
    // Options beside the preset override it, and a file's choices do not count.
    preset.norm = "rms";
    net.norm = nn::GptNorm::kRms;
    EXPECT_EQ(gpt_of(complete(preset, data), 11).config(), net.config());
    const nn::Gpt over = gpt_of(complete(overridden(c, preset), data), 11);
    EXPECT_EQ(over.norm, nn::GptNorm::kRms);
    EXPECT_EQ(over.bias, net.bias);
    EXPECT_EQ(over.positions, net.positions);
    EXPECT_EQ(over.feed_forward, net.feed_forward);
    EXPECT_EQ(over.tied, net.tied);
  }
  TrainConfig turned = config;
  turned.positions = "rotary";
  turned.rotary_base = 500.0;
  turned.dropout = 0.25;
  EXPECT_EQ(gpt_of(complete(turned, data), 11).rotary_base, 500);
  EXPECT_EQ(gpt_of(complete(turned, data), 11).dropout, 0.25);

  const TrainConfig read = parse_train_config(
      R"({"model": {"name": "gpt", "layers": 3, "hidden": 40}, "epochs": 2, "tokenizer": "bytes"})",
      "test");
  const TrainConfig three = complete(read, data);
  EXPECT_EQ(gpt_of(three, 11).layers, 3);
  EXPECT_EQ(gpt_of(three, 11).hidden, 40);
  EXPECT_FALSE(three.steps);
  TrainConfig over;
  over.layers = {2};
  over.steps = 7;
  const TrainConfig two = complete(overridden(read, over), data);
  EXPECT_EQ(gpt_of(two, 11).layers, 2);
  EXPECT_EQ(gpt_of(two, 11).hidden, 40);
  EXPECT_EQ(*options_of(two, data).steps, 7);
  EXPECT_EQ(*two.warmup, 0);
  TrainConfig wider;  // the blocks of the file stay
  wider.hidden = {50};
  const TrainConfig fifty = complete(overridden(read, wider), data);
  EXPECT_EQ(gpt_of(fifty, 11).layers, 3);
  EXPECT_EQ(gpt_of(fifty, 11).hidden, 50);
  EXPECT_EQ(*two.log_every, 1);
}

// For an output that is 3 too high, and for one of two classes with a probability of 3/4.
TEST(Config, ALossIsThatOfItsKindAndItsNumbers) {
  const auto first = [](const Loss& loss, const Tensor& output, const Tensor& target) {
    const Function f = trace("loss", {{"output", output.type()}, {"target", target.type()}},
                             [&](std::span<const Value> in) {
                               return std::vector<Value>{losses_of(loss, in[0], in[1])};
                             });
    const std::vector<Tensor> inputs{output, target};
    return static_cast<double>(interpret(f, inputs)[0].values<float>()[0]);
  };
  const Tensor output = Tensor::from<float>({1, 1}, {4}), target = Tensor::from<float>({1, 1}, {1});
  EXPECT_EQ(first({.kind = Loss::Kind::kMse}, output, target), 9);
  EXPECT_EQ(first({.kind = Loss::Kind::kMae}, output, target), 3);
  EXPECT_EQ(first({.kind = Loss::Kind::kHuber, .delta = 1}, output, target), 2.5);
  EXPECT_EQ(first({.kind = Loss::Kind::kHuber, .delta = 2}, output, target), 4);
  const Tensor logits = Tensor::from<float>({1, 2}, {0, std::log(3.0f)});
  const Tensor label = Tensor::from<std::int32_t>({1}, {1});
  EXPECT_NEAR(first({}, logits, label), -std::log(0.75), 1e-6);
  EXPECT_NEAR(first({.class_weights = {5, 2}}, logits, label), -2 * std::log(0.75), 1e-6);
  EXPECT_NEAR(first({.label_smoothing = 0.5}, logits, label),
              -0.75 * std::log(0.75) - 0.25 * std::log(0.25), 1e-6);
}

TEST(Config, AModelRemembersItsLoss) {
  for (const Loss& loss : {Loss{}, Loss{.label_smoothing = 0.25}, Loss{.label_smoothing = 1},
                           Loss{Loss::Kind::kMae}, Loss{.kind = Loss::Kind::kHuber, .delta = 2}}) {
    const auto read = loss_config_of({{}, {}, "{\"loss\": " + to_json(loss).dump() + "}"});
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kind, loss.kind);
    EXPECT_EQ(read->label_smoothing, loss.label_smoothing);
    EXPECT_EQ(read->delta, loss.delta);
  }
  EXPECT_EQ(to_json(Loss{Loss::Kind::kMae}).dump(), "{\"name\":\"mae\"}");
  EXPECT_FALSE(loss_config_of({{}, {}, ""}));
  EXPECT_FALSE(loss_config_of({{}, {}, "{}"}));
  for (const char* broken :
       {"{", R"({"loss": 3})", R"({"loss": {"name": "what"}})", R"({"loss": {"name": 1}})",
        R"({"loss": {"name": "huber", "delta": 0}})",
        R"({"loss": {"name": "cross_entropy", "label_smoothing": 2}})"})
    EXPECT_THROW(loss_config_of({{}, {}, broken}), Error) << broken;
}

TEST(Checkpoint, ReadsBackWhatItWrites) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path path = folder / "checkpoint.safetensors";
  TrainState state;
  state.seed = ~std::uint64_t{0};
  state.step = 7;
  state.params = {{"a.b", Tensor::scalar(1.5f)}, {"c", Tensor::zeros({Dtype::kF32, {2, 0}})}};
  state.non_trainable = {{"mean", Tensor::scalar(2.5f)}};
  state.optimizer = {{"power", Tensor::scalar(0.1)}};
  state.loss_sum = 0.1;
  state.gradient_norm_sum = std::numeric_limits<double>::infinity();
  state.best_epoch = 3;
  state.best_score = -0.0;
  state.best = state.non_trainable;
  save_checkpoint(path, {state, "a run\n"});
  const Checkpoint read = load_checkpoint(path);
  EXPECT_EQ(read.run, "a run\n");
  EXPECT_EQ(read.state.seed, state.seed);
  EXPECT_EQ(read.state.step, state.step);
  EXPECT_EQ(read.state.loss_sum, state.loss_sum);
  EXPECT_EQ(read.state.gradient_norm_sum, state.gradient_norm_sum);
  EXPECT_EQ(read.state.best_epoch, state.best_epoch);
  EXPECT_TRUE(std::signbit(read.state.best_score));
  const auto expect_same = [](const Params& a, const Params& b) {
    ASSERT_EQ(a.names(), b.names());
    for (const auto& [name, value] : a) EXPECT_TRUE(value.same_bits(b.at(name))) << name;
  };
  expect_same(read.state.params, state.params);
  expect_same(read.state.non_trainable, state.non_trainable);
  expect_same(read.state.optimizer, state.optimizer);
  expect_same(read.state.best, state.best);
}

TEST(Checkpoint, RefusesAnotherFile) {
  const Safetensors whole = parse_safetensors(serialize_checkpoint({TrainState{}, "a run\n"}), "a");
  const auto parsed = [](const Safetensors& file) {
    parse_checkpoint(serialize_safetensors(file), "a");
  };
  parsed(whole);
  Safetensors file = whole;
  for (auto& [key, value] : file.metadata)
    if (key == "limpid.checkpoint") value = "2";
  expect_refused(ErrorCode::kUnsupported, [&] { parsed(file); });
  file = whole;
  file.metadata.pop_back();
  expect_refused(ErrorCode::kFormat, [&] { parsed(file); });
  file.metadata.clear();
  expect_refused(ErrorCode::kFormat, [&] { parsed(file); });
  for (const char* tensor : {"state.step", "parameters.weight"}) {
    file = whole;
    file.tensors.set(tensor, Tensor::scalar(1.5f));
    expect_refused(ErrorCode::kFormat, [&] { parsed(file); });
  }
}

// Choices that contradict each other or the data.
TEST(Config, RefusesWhatDoesNotFit) {
  const std::function<Split(const TrainConfig&)>
      classes = [](const TrainConfig&) { return data_of(Task::kClassification, 4); },
      labels = [](const TrainConfig&) { return data_of(Task::kMultiLabel, 4); },
      numbers = [](const TrainConfig&) { return data_of(Task::kRegression, 4); },
      tokens = [](const TrainConfig&) { return data_of(Task::kNextToken, 4); },
      text = [](const TrainConfig&config) { return text_of(config); };
  const auto completed = [](const char* json, const auto& data_for) {
    const TrainConfig config = parse_train_config(json, "test");
    return complete(config, data_for(config));
  };
  for (const auto& [json, data] : std::vector<std::pair<const char*, decltype(classes)>>{
           {R"({"task": "regression"})", classes},
           {"{}", tokens},
           {R"({"early_stopping": {"patience": 2}})", classes},
           {R"({"early_stopping": {"min_delta": 0.1}})", classes},
           {R"({"model": {"hidden": [7], "layers": [5, 7, 3]}})", classes},
           {R"({"model": {"layers": [5]}})", classes},
           {R"({"model": {"layers": [5, 2]}})", classes},
           {R"({"model": {"layers": [4, 3]}})", classes},
           {R"({"model": {"layers": [5, 3]}})", numbers},
           {R"({"log_shards": true})", classes},
           {R"({"loss": {"label_smoothing": 0.1}})", labels},
           {R"({"loss": {"class_weights": "balanced"}})", labels},
           {R"({"loss": {"class_weights": "1,2"}})", classes},
           {R"({"loss": {"class_weights": "1,2,-3"}})", classes},
           {R"({"loss": {"class_weights": "1,,4"}})", classes},
           {R"({"loss": {"class_weights": "equal"}})", classes},
           {R"({"loss": {"class_weights": "balanced"}})", text},
           {R"({"loss": {"label_smoothing": 0.1}})", numbers},
           {R"({"loss": {"name": "mae", "delta": 2}})", numbers},
           {R"({"model": {"norm": "batch"}})", text},
           {R"({"model": {"name": "mlp", "context": 6}})", text},
           {R"({"model": {"name": "mlp"}})", text},
           {R"({"model": {"width": 7}})", text},
           {R"({"model": {"name": "charlm"}})", classes},
           {R"({"model": {"context": 6}})", classes},
           {R"({"tokenizer": "bytes"})", classes},
           {R"({"sample_every": 5})", classes},
           {R"({"model": {"name": "gpt", "layers": [1, 2]}})", text},
           {R"({"model": {"name": "gpt", "hidden": []}})", text},
           {R"({"model": {"name": "gpt", "heads": 3}})", text},
           {R"({"model": {"name": "gpt", "norm": "batch"}})", text},
           {R"({"model": {"name": "gpt", "activation": "relu"}})", text},
           {R"({"model": {"name": "gpt", "embedding": 3}})", text},
           {R"({"model": {"name": "gpt", "rotary_base": 500}})", text},
           {R"({"model": {"name": "gpt"}, "steps": 3, "epochs": 3})", text}}) {
    SCOPED_TRACE(json);
    expect_refused(ErrorCode::kInvalidArgument, [&, j = json, &d = data] { completed(j, d); });
  }
  // And what does.
  const auto three = [](const TrainConfig&) {
    Split data = data_of(Task::kClassification, 4);
    data.train.targets = Tensor::from<std::int32_t>({4}, {0, 1, 2, 0});
    return data;
  };
  const auto weights = [&](const char* json) {
    return loss_of(completed(json, three)).class_weights;
  };
  EXPECT_EQ(weights(R"({"loss": {"class_weights": "1,2.5,0"}})"), (std::vector<double>{1, 2.5, 0}));
  EXPECT_EQ(weights(R"({"loss": {"class_weights": "balanced"}})"),
            (std::vector<double>{4. / 3 / 2, 4. / 3, 4. / 3}));
  EXPECT_EQ(loss_of(completed(R"({"loss": {"label_smoothing": 0.1}})", classes)).label_smoothing,
            0.1);
  EXPECT_EQ(loss_of(completed(R"({"loss": {"name": "huber"}})", numbers)).delta, 1);
  EXPECT_EQ(completed(R"({"model": {"layers": [5, 4]}})", classes).layers,
            (TrainConfig::Integers{5, 4}));
  // With a patience of 0 a run with one goes on without.
  completed(R"({"early_stopping": {"patience": 0, "min_delta": 0.1}})", classes);
  completed(R"({"model": {"name": "gpt", "preset": "llama", "rotary_base": 1.0001}})", text);
}

TEST(Config, ASwitchOfAnOptimizerIsOnWhereItIsChosen) {
  const Split data = data_of(Task::kClassification, 4);
  for (const bool nesterov : {true, false}) {
    TrainConfig config;
    config.optimizer = "sgd";
    config.optimizer_switches["nesterov"] = nesterov;
    const TrainOptions options = options_of(complete(config, data), data);
    EXPECT_EQ(options.rule.optimizer,
              optim::Optimizer(
                  optim::Sgd{.momentum = 0.9, .nesterov = nesterov, .decay_vectors = false}));
  }
}

TEST(Config, WhatOverridesAKeyReplacesTheNumbersOfItsShape) {
  TrainConfig file, preset;
  file.model = "gpt";
  file.rotary_base = 500.0;
  preset.preset = "llama";
  EXPECT_FALSE(overridden(file, preset).rotary_base);
  // The sizes of a gpt mean different things, whoever says that it is one.
  TrainConfig blocks, gpt;
  blocks.layers = {3};
  gpt.model = "gpt";
  gpt.hidden = {50};
  EXPECT_EQ(overridden(blocks, gpt).layers, blocks.layers);
}

// A run's config.json names every key.
TEST(Config, AnotherKindDropsTheKeysThatOnlyTheOldOneHas) {
  const auto over = [](const std::function<void(TrainConfig&)>& change) {
    TrainConfig chosen;
    change(chosen);
    return chosen;
  };
  // Optimisers: from each to each other, with what both have.
  const Split data = data_of(Task::kClassification, 4);
  for (const std::string& from : optim::optimizer_names())
    for (const std::string& to : optim::optimizer_names()) {
      SCOPED_TRACE(from + " " + to);
      TrainConfig file = complete(over([&](TrainConfig& c) {
                                    c.optimizer = from;
                                    c.optimizer_numbers["weight_decay"] = 0.125;
                                    c.rate = 0.25;
                                  }),
                                  data);
      const TrainConfig now =
          complete(overridden(file, over([&](TrainConfig& c) { c.optimizer = to; })), data);
      EXPECT_EQ(now.optimizer_numbers.at("weight_decay"), 0.125);
      EXPECT_EQ(now.rate, 0.25);
      TrainConfig fresh;
      fresh.optimizer = to;
      std::vector<std::string> names, expected;
      for (const auto& [name, value] : now.optimizer_numbers)
        if (value) names.push_back(name);
      for (const auto& [name, value] : complete(fresh, data).optimizer_numbers)
        expected.push_back(name);
      EXPECT_EQ(names, expected);
    }
  // A key that the command line chooses itself is refused.
  TrainConfig adam = complete(over([](TrainConfig& c) { c.optimizer = "adam"; }), data);
  const auto expect_contradiction = [](const TrainConfig& config, const Split& with) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { complete(config, with); });
  };
  expect_contradiction(overridden(adam, over([](TrainConfig& c) {
                                    c.optimizer = "rmsprop";
                                    c.optimizer_numbers["beta1"] = 0.5;
                                  })),
                       data);
  // And so is one of a file that chooses nothing else.
  TrainConfig momentum;
  momentum.optimizer_numbers["momentum"] = 0.5;
  expect_contradiction(overridden(momentum, over([](TrainConfig& c) { c.optimizer = "adam"; })),
                       data);

  // Losses and tasks.
  const Split numbers = data_of(Task::kRegression, 4);
  TrainConfig huber =
      complete(over([](TrainConfig& c) { c.loss = "huber", c.delta = 2.0; }), numbers);
  EXPECT_FALSE(
      complete(overridden(huber, over([](TrainConfig& c) { c.loss = "mae"; })), numbers).delta);
  EXPECT_EQ(overridden(huber, over([](TrainConfig& c) { c.loss = "huber"; })).delta, 2);
  TrainConfig classes = complete({}, data);
  ASSERT_TRUE(classes.label_smoothing);
  const TrainConfig regression = over([](TrainConfig& c) {
    c.task = "regression";
    c.hidden = TrainConfig::Integers{4};
  });
  EXPECT_EQ(complete(overridden(classes, regression), numbers).loss, "mse");
  // What remains says how to go on.
  expect_contradiction(overridden(classes, over([](TrainConfig& c) { c.task = "regression"; })),
                       numbers);

  // Models.
  TrainConfig gpt = over([](TrainConfig& c) {
    c.model = "gpt";
    c.preset = "llama";
    c.dropout = 0.25;
  });
  const Split text = text_of(gpt);
  TrainConfig file = complete(gpt, text);
  const TrainConfig charlm =
      complete(overridden(file, over([](TrainConfig& c) { c.model = "charlm"; })), text);
  EXPECT_FALSE(file.preset) << "its numbers stand for it";
  EXPECT_EQ(charlm.norm, "none");
  EXPECT_EQ(charlm.layers->size(), 4U);
  EXPECT_EQ(charlm.dropout, 0.25);
  EXPECT_EQ(charlm.context, file.context);
  const TrainConfig back =
      complete(overridden(charlm, over([](TrainConfig& c) { c.model = "gpt"; })), text);
  EXPECT_EQ(back.layers, TrainConfig::Integers{nn::Gpt{}.layers});
  EXPECT_EQ(back.norm, "layer");
  EXPECT_EQ(overridden(file, over([](TrainConfig& c) { c.model = "gpt"; })).layers, file.layers);
  // Positions.
  ASSERT_TRUE(file.rotary_base);
  EXPECT_FALSE(
      complete(overridden(file, over([](TrainConfig& c) { c.positions = "learned"; })), text)
          .rotary_base);
  EXPECT_TRUE(overridden(file, over([](TrainConfig& c) { c.positions = "rotary"; })).rotary_base);
}

}  // namespace
}  // namespace limpid::train
