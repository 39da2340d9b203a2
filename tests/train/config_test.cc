// The configuration of a run: what the table of keys promises of every key.
#include "limpid/train/config/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "limpid/core/error.h"
#include "limpid/data/text/text_windows.h"
#include "limpid/formats/safetensors.h"
#include "limpid/function/builder.h"
#include "limpid/function/interpret.h"
#include "limpid/train/run/checkpoint.h"
#include "tests/formats/helpers.h"

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

TEST(Config, ALongListNamesTheLimit) {
  const auto list = [](std::size_t count) {
    std::string text = "1";
    for (std::size_t i = 1; i < count; ++i) text += ",1";
    return text;
  };
  const auto keys = config_keys();
  const auto hidden = std::find_if(keys.begin(), keys.end(),
                                   [](const ConfigKey& key) { return key.flag == "--hidden"; });
  TrainConfig config;
  set_from_text(config, *hidden, list(1024));
  EXPECT_EQ(config.hidden->size(), 1024U);
  try {
    set_from_text(config, *hidden, list(1025));
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("a list of at most 1024, each an integer from 1"),
              std::string::npos)
        << e.what();
  }
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

TEST(Config, AFaultNamesItsFile) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string(100'000, '['), std::string("{\"lr\": 1e999}"),
        std::string("{} {}"), std::string("{\"seed\": 1, \"seed\": 1}")}) {
    try {
      parse_train_config(text, "run.json");
      ADD_FAILURE() << text.substr(0, 20);
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()).find("configuration 'run.json': "), 0u) << e.what();
      EXPECT_EQ(std::string(e.what()).find("json.exception"), std::string::npos) << e.what();
    }
  }
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

TEST(Config, LargeClassificationsHaveARecipeOfTheirOwn) {
  const TrainConfig large = complete({}, data_of(Task::kClassification, 10'000));
  EXPECT_EQ(*large.optimizer, "sgd");
  EXPECT_EQ(large.optimizer_numbers.at("momentum"), 0.9);
  EXPECT_EQ(*large.epochs, 10);
  EXPECT_EQ(*large.layers, (TrainConfig::Integers{5, 256, 128, 3}));
  const TrainConfig small = complete({}, data_of(Task::kClassification, 4));
  EXPECT_EQ(*small.optimizer, "adam");
  EXPECT_EQ(*small.epochs, 1000);
  EXPECT_EQ(*complete({}, data_of(Task::kRegression, 10'000)).loss, "mse");
}

// docs/reference/train.md has them, too.
TEST(Config, WhatNobodyChoseIsTheUsual) {
  const Split data = data_of(Task::kClassification, 20'000);
  TrainConfig config;
  const TrainConfig c = complete(config, data);
  EXPECT_EQ(*c.accumulate, 1);
  EXPECT_EQ(*c.shards, 1);
  EXPECT_EQ(*c.label_smoothing, 0);
  EXPECT_FALSE(c.delta);
  EXPECT_FALSE(c.clip_norm);
  EXPECT_EQ(*c.warmup, 0);
  EXPECT_EQ(*c.decay_every, 10);
  EXPECT_EQ(*c.decay_factor, 0.1);
  EXPECT_EQ(*c.seed, 0);
  EXPECT_EQ(*c.patience, 0);
  EXPECT_EQ(*c.metric, "loss");
  EXPECT_EQ(*c.min_delta, 0);
  EXPECT_FALSE(*c.check_finite);
  EXPECT_FALSE(*c.log_shards);
  EXPECT_EQ(*c.checkpoint_every, 0);
  EXPECT_EQ(*c.log_every, 1);  // an epoch has 157 steps
  EXPECT_EQ(c.optimizer_switches.at("nesterov"), false);
  EXPECT_EQ(c.optimizer_switches.at("decay_vectors"), false);
  const TrainOptions options = options_of(c, data);
  EXPECT_EQ(options.shards, 1);
  EXPECT_EQ(options.hash_shards_every, 0);
  EXPECT_FALSE(options.early_stopping);
  EXPECT_EQ(options.schedule.every, 1570);

  config.batch = 10;
  EXPECT_EQ(*complete(config, data).log_every, 20);
  config.steps = 1500;
  EXPECT_EQ(*complete(config, data).log_every, 15);
  config.loss = "huber";
  const Split numbers = data_of(Task::kRegression, 20);
  EXPECT_EQ(*complete(config, numbers).delta, 1);
  EXPECT_EQ(loss_of(complete(config, numbers)).delta, 1);
  config.loss = "mae";
  config.delta = 2;
  try {
    complete(config, numbers);
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "config.loss.delta: the loss mae has no such option");
  }
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
  try {
    complete(config, data);
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "config.log_shards: expected 2 or more shards");
  }
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

// What a text of an option, or a file, should have been.
TEST(Config, AFaultSaysWhatIsExpected) {
  const auto fault = [](std::string_view flag, std::string_view text) {
    const auto keys = config_keys();
    const auto key =
        std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& k) { return k.flag == flag; });
    TrainConfig config;
    try {
      set_from_text(config, *key, text);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(fault("--bias", "yes"), "--bias: expected true or false, got 'yes'");
  EXPECT_EQ(fault("--bias", "false"), "nothing");
  for (const ConfigKey& key : config_keys())
    if (key.flag == "--bias")
      for (const bool bias : {true, false}) {
        TrainConfig config;
        set_from_text(config, key, bias ? "true" : "false");
        EXPECT_EQ(config.bias, bias);
      }
  EXPECT_EQ(fault("--rotary-base", "0"), "--rotary-base: expected a number above 1, got '0'");
  EXPECT_EQ(fault("--momentum", "1"), "nothing");
  EXPECT_EQ(fault("--momentum", "0"), "nothing");
  EXPECT_EQ(fault("--epochs", "1000000000"), "nothing");
  EXPECT_EQ(fault("--huber-delta", "0"), "--huber-delta: expected a positive number, got '0'");
  EXPECT_EQ(fault("--momentum", "2"), "--momentum: expected a number from 0 to 1, got '2'");
  EXPECT_EQ(fault("--beta1", "1"), "--beta1: expected a number from 0 to below 1, got '1'");
  EXPECT_EQ(fault("--epochs", "1.5"),
            "--epochs: expected an integer from 0 to 1000000000, got '1.5'");
  EXPECT_EQ(fault("--seed", "-1"),
            "--seed: expected an integer from 0 to 9200000000000000000, got '-1'");
  EXPECT_EQ(fault("--model", "rnn"), "--model: expected one of mlp, charlm, gpt, got 'rnn'");
  const auto fault_of_file = [](std::string_view text) {
    try {
      parse_train_config(text, "run.json");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(
      fault_of_file(R"({"model": {"layers": "5,3"}})")
          .find("configuration 'run.json': config.model.layers: expected a list of at most 1024"),
      0U);
  EXPECT_EQ(
      fault_of_file(R"({"model": {"layers": [5, "3"]}})")
          .find("configuration 'run.json': config.model.layers: expected a list of at most 1024"),
      0U);
  EXPECT_EQ(fault_of_file(R"({"model": 3})"),
            "configuration 'run.json': config.model: expected an object, got 3");
  EXPECT_EQ(fault_of_file(R"([])"), "configuration 'run.json': expected an object, got []");
  EXPECT_NE(fault_of_file(R"({"hidden": 3})").find("; there is config.model.hidden"),
            std::string::npos);
  // It lists each known key beside it once.
  EXPECT_EQ(fault_of_file(R"({"rate": 3})")
                .find("configuration 'run.json': config.rate: unknown key; expected one of data, "
                      "task, tokenizer, model, loss, optimizer, schedule, clip, epochs, steps, "),
            0U);
  EXPECT_EQ(fault_of_file(R"({"clip": {"rate": 3}})"),
            "configuration 'run.json': config.clip.rate: unknown key; expected one of value, norm");
  EXPECT_EQ(parse_train_config(R"({"model": {"bias": false, "layers": 5}})", "test").bias, false);
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

Split text_of(const TrainConfig& config, std::int64_t tokens = 400) {
  const WindowOptions options = window_options_of(config);
  Dataset train =
      windows_of(Tensor::zeros({Dtype::kI32, {tokens}}), options.context,
                 options.every_token ? TokenWindows::Kind::kShifted : TokenWindows::Kind::kSliding);
  train.classes = 11;
  return {train, {}, {}};
}

void expect_refused(const TrainConfig& chosen, const Split& data, const std::string& part) {
  try {
    complete(chosen, data);
    ADD_FAILURE() << part;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(Config, OptionsOfAnotherLossAreRefused) {
  TrainConfig config;
  config.label_smoothing = 0.1;
  for (const Task task : {Task::kMultiLabel, Task::kRegression})
    expect_refused(config, data_of(task, 4), "loss.label_smoothing");
  EXPECT_EQ(loss_of(complete(config, data_of(Task::kClassification, 4))).label_smoothing, 0.1);
}

TEST(Config, BatchNormNeedsTwoExamplesInEveryMicroBatch) {
  const auto fault = [](std::int64_t rows, std::int64_t batch, std::int64_t shards) {
    TrainConfig config;
    config.norm = "batch";
    config.batch = batch;
    config.shards = shards;
    try {
      complete(config, data_of(Task::kClassification, rows));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(fault(16, 8, 1), "none");
  EXPECT_EQ(fault(18, 8, 1), "none");
  EXPECT_EQ(fault(17, 8, 1),
            "config.batch: the last batch of an epoch would have one of the 17 examples, but batch "
            "norm needs two; choose another size");
  EXPECT_EQ(fault(16, 8, 3), "none");
  EXPECT_EQ(fault(20, 8, 3).find("config.shards: shard 1 of a batch of 4 would have a micro-batch "
                                 "of one example"),
            0U);
  EXPECT_EQ(fault(16, 8, 8).find("config.shards: shard 0 of a batch of 8 would"), 0U);
}

TEST(Config, LayersAreTwoSizesOrMore) {
  TrainConfig config;
  config.layers = {5};
  expect_refused(config, data_of(Task::kClassification, 4),
                 "config.model.layers: expected at least 2 sizes, got 1");
  config.layers = {5, 2};
  expect_refused(config, data_of(Task::kClassification, 4), "2 outputs, but the data has 3");
  config.layers = {5, 4};
  EXPECT_EQ(*complete(config, data_of(Task::kClassification, 4)).layers, *config.layers);
  config.layers = {4, 3};
  expect_refused(config, data_of(Task::kClassification, 4), "4 inputs, but the data has 5");
  config.layers = {5, 3};  // of a regression on two numbers
  expect_refused(config, data_of(Task::kRegression, 4), "3 outputs, but the data has 2");
}

TEST(Config, EarlyStoppingHasAPatience) {
  TrainConfig config;
  config.min_delta = 0.1;
  Split data = data_of(Task::kClassification, 4);
  expect_refused(config, data, "early_stopping.min_delta: expected early_stopping.patience");
  config.patience = 0;  // who says so wants a run with one to go on without
  EXPECT_EQ(*complete(config, data).patience, 0);
  data.validation = data.train;
  config.patience = 2;
  EXPECT_EQ(*complete(config, data).min_delta, 0.1);
}

TEST(Config, TextHasAModelAndARecipeOfItsOwn) {
  TrainConfig config;
  config.context = 6;
  config.embedding = 4;
  const Split data = text_of(config);
  const TrainConfig c = complete(config, data);
  EXPECT_EQ(*c.model, "charlm");
  EXPECT_EQ(*c.layers, (TrainConfig::Integers{24, 128, 128, 11}));
  EXPECT_EQ(*c.optimizer, "adamw");
  EXPECT_EQ(*c.rate, 0.002);
  EXPECT_EQ(*c.schedule, "cosine");
  EXPECT_EQ(*c.tokenizer, "characters");
  EXPECT_EQ(to_json(complete(parse_train_config(to_json(c).dump(), "test"), data)), to_json(c));
  const nn::CharLm net = char_lm_of(c);
  EXPECT_EQ(net.vocabulary, 11);
  EXPECT_EQ(net.context, window_options_of(c).context);
  EXPECT_EQ(window_options_of({}).context, 8);
  EXPECT_FALSE(window_options_of({}).every_token);
  config.embedding.reset();
  EXPECT_EQ(char_lm_of(complete(config, data)).embedding, nn::CharLm{}.embedding);

  config.norm = "batch";
  expect_refused(config, data, "model.norm");
  config.norm.reset();
  config.model = "mlp";
  expect_refused(config, data, "model.context: the model mlp has no such option");
  TrainConfig other;
  other.model = "mlp";
  expect_refused(other, data, "model.name");
  config.model = "charlm";
  expect_refused(config, data_of(Task::kClassification, 4), "model.name");
  config.model.reset();
  expect_refused(config, data_of(Task::kClassification, 4),
                 "model.context: the model mlp has no such option");
  config = {};
  config.tokenizer = "bytes";
  expect_refused(config, data_of(Task::kClassification, 4),
                 "tokenizer: expected a text, but the data is for classification");
  config = {};
  config.sample_every = 5;
  expect_refused(config, data_of(Task::kClassification, 4), "sample_every");
}

TEST(Config, AGptHasKeysAndARecipeOfItsOwn) {
  TrainConfig config;
  config.model = "gpt";
  const Split data = text_of(config);
  const TrainConfig c = complete(config, data);
  EXPECT_EQ(to_json(complete(parse_train_config(to_json(c).dump(), "test"), data)), to_json(c));
  EXPECT_EQ(*c.layers, (TrainConfig::Integers{4}));
  EXPECT_EQ(*c.steps, 2000);
  EXPECT_FALSE(c.epochs);
  EXPECT_EQ(c.optimizer_numbers.at("beta2"), 0.99);
  EXPECT_EQ(*c.clip_norm, 1);
  EXPECT_EQ(*c.warmup, 100);
  EXPECT_EQ(*c.sample_every, 200);
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
    EXPECT_EQ(gpt_of(complete(overridden(c, preset), data), 11).norm, nn::GptNorm::kRms);
    EXPECT_EQ(gpt_of(complete(overridden(c, preset), data), 11).bias, net.bias);
    EXPECT_EQ(gpt_of(complete(overridden(c, preset), data), 11).positions, net.positions);
    EXPECT_EQ(gpt_of(complete(overridden(c, preset), data), 11).feed_forward, net.feed_forward);
    EXPECT_EQ(gpt_of(complete(overridden(c, preset), data), 11).tied, net.tied);
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

  const auto refuses = [&](const std::function<void(TrainConfig&)>& change,
                           const std::string& part) {
    TrainConfig chosen = config;
    change(chosen);
    expect_refused(chosen, data, part);
  };
  refuses(
      [](TrainConfig& t) {
        t.layers = {1, 2};
      },
      "model.layers: expected 1 number for a gpt, got 2");
  refuses([](TrainConfig& t) { t.hidden = TrainConfig::Integers{}; },
          "model.hidden: expected 1 number for a gpt, got 0");
  refuses([](TrainConfig& t) { t.heads = 3; },
          "config.model: gpt: expected heads that divide the width");
  refuses([](TrainConfig& t) { t.norm = "batch"; }, "model.norm");
  refuses([](TrainConfig& t) { t.activation = "relu"; },
          "model.activation: the model gpt has no such option");
  refuses([](TrainConfig& t) { t.embedding = 3; },
          "model.embedding: the model gpt has no such option");
  refuses([](TrainConfig& t) { t.rotary_base = 500.0; }, "model.rotary_base");
  refuses([](TrainConfig& t) { t.steps = 3, t.epochs = 3; }, "epochs: expected epochs or steps");
  TrainConfig wide;
  wide.width = 7;
  expect_refused(wide, text_of(wide), "model.width: the model charlm has no such option");
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

TEST(Checkpoint, RefusesAnotherFormat) {
  Safetensors file = parse_safetensors(serialize_checkpoint({TrainState{}, "a run\n"}), "a");
  for (auto& [key, value] : file.metadata)
    if (key == "limpid.checkpoint") value = "2";
  try {
    parse_checkpoint(serialize_safetensors(file), "a");
    ADD_FAILURE() << "a checkpoint of another format was read";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kUnsupported);
    EXPECT_STREQ(e.what(), "checkpoint 'a': limpid.checkpoint is '2', expected '1'");
  }
}

TEST(Checkpoint, RefusesTensorsOfNoState) {
  Safetensors file = parse_safetensors(serialize_checkpoint({TrainState{}, "a run\n"}), "a");
  EXPECT_NO_THROW(parse_checkpoint(serialize_safetensors(file), "a"));
  file.tensors.set("parameters.weight", Tensor::scalar(1.5f));
  try {
    parse_checkpoint(serialize_safetensors(file), "a");
    ADD_FAILURE() << "a checkpoint with another tensor was read";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kFormat);
    EXPECT_STREQ(e.what(), "checkpoint 'a': 1 tensors do not belong to a training state");
  }
}

TEST(Checkpoint, NamesWhatAnotherFileLacks) {
  const Safetensors whole = parse_safetensors(serialize_checkpoint({TrainState{}, "a run\n"}), "a");
  const auto fault = [](const Safetensors& file) {
    try {
      parse_checkpoint(serialize_safetensors(file), "a");
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kFormat);
      return std::string(e.what());
    }
    return std::string("none");
  };
  Safetensors file = whole;
  file.metadata.pop_back();
  EXPECT_EQ(fault(file),
            "checkpoint 'a': is a safetensors file, but not a checkpoint: no limpid.run in its "
            "metadata");
  file.metadata.clear();
  EXPECT_EQ(fault(file),
            "checkpoint 'a': is a safetensors file, but not a checkpoint: no limpid.checkpoint in "
            "its metadata");
  file = whole;
  file.tensors.set("state.step", Tensor::scalar(1.5f));
  EXPECT_EQ(fault(file).find("checkpoint 'a': state.step: "), 0U) << fault(file);
}

TEST(Config, RefusesWhatDoesNotFitTheData) {
  const Split data = data_of(Task::kClassification, 4);
  TrainConfig other;
  other.task = "regression";
  expect_refused(other, data, "config.task: regression, but the data is for classification");
  // A table has the task that it is given.
  expect_refused({}, data_of(Task::kNextToken, 4),
                 "config.task: next_token, but the data is no text");
  TrainConfig patient;
  patient.patience = 2;
  expect_refused(patient, data, "config.early_stopping.patience: the data has no validation set");
  TrainConfig both;
  both.hidden = {7};
  both.layers = {5, 7, 3};
  expect_refused(both, data,
                 "config.model.hidden: expected model.hidden or model.layers, got both");
}

// The recipe of a gpt has a beta2 for adamw; with adam, which the user chose, it does not count.
TEST(Config, AnOptimizerThatIsChosenHasItsUsualNumbers) {
  TrainConfig config;
  config.model = "gpt";
  config.optimizer = "adam";
  EXPECT_EQ(complete(config, text_of(config)).optimizer_numbers.at("beta2"), 0.999);
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

// Its key and the model have the same bound.
TEST(Config, ARotaryBaseIsAboveOne) {
  const std::string low = R"({"model": {"name": "gpt", "preset": "llama", "rotary_base": 1)";
  limpid::testing::expect_error(ErrorCode::kParse,
                                "config.model.rotary_base: expected a number above 1, got 1",
                                [&] { parse_train_config(low + "}}", "test"); });
  const TrainConfig config = parse_train_config(low + ".0001}}", "test");
  EXPECT_NO_THROW(complete(config, text_of(config)));
  EXPECT_NE(train_reference().find("| above 1 | 10000 | Base of the rotary"), std::string::npos);
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
  expect_refused(overridden(adam, over([](TrainConfig& c) {
                              c.optimizer = "rmsprop";
                              c.optimizer_numbers["beta1"] = 0.5;
                            })),
                 data, "optimizer.beta1: rmsprop: has no beta1");
  // And so is one of a file that chooses nothing else.
  TrainConfig momentum;
  momentum.optimizer_numbers["momentum"] = 0.5;
  expect_refused(overridden(momentum, over([](TrainConfig& c) { c.optimizer = "adam"; })), data,
                 "optimizer.momentum: adam: has no momentum");

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
  expect_refused(overridden(classes, over([](TrainConfig& c) { c.task = "regression"; })), numbers,
                 "outputs, but the data has 2; model.hidden (--hidden) instead takes both from the "
                 "data");

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

TEST(Config, AListMayBeEmpty) {
  TrainConfig config;
  for (const ConfigKey& key : config_keys())
    if (key.flag == "--hidden") set_from_text(config, key, "none");
  ASSERT_TRUE(config.hidden);
  EXPECT_TRUE(config.hidden->empty());
}

}  // namespace
}  // namespace limpid::train
