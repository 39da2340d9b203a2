#include "limpid/view/playground.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/formats/model.h"
#include "limpid/inspect/bit_hashes.h"
#include "limpid/train/loop/evaluator.h"
#include "limpid/train/run/run.h"
#include "limpid/train/run/run_setup.h"
#include "tests/refusals.h"

namespace limpid::view {
namespace {

PlayConfig moons() {
  PlayConfig config;
  config.count = 100;
  config.hidden = {6, 4};
  config.seed = 3;
  return config;
}

TEST(ViewPlayground, StepsInPartsAreTheStepsOfACommand) {
  Playground ground;
  std::string state;
  Played played;
  for (const std::int64_t steps : {0, 7, 1, 22}) {
    played = ground.play({.config = moons(), .state = state, .steps = steps});
    state = played.state;
  }
  EXPECT_EQ(played.step, 30);
  train::TrainConfig config = train_config_of(moons(), "moons:0,count=100");
  config.steps = 30;
  train::Run run(config);
  run.train();
  EXPECT_EQ(played.hash, hash_of_model(run.model()));
  const PlayExport take = ground.take_away(moons(), state, 0);
  EXPECT_EQ(take.hash, played.hash);
  expect_message(take.command);
  EXPECT_FALSE(take.model.empty());
  // One that is forgotten is computed again.
  Playground other;
  EXPECT_EQ(other.play({.config = moons(), .state = state}).hash, played.hash);
  // And an earlier state is itself.
  const std::string name = state.substr(0, state.find('@'));
  EXPECT_EQ(ground.play({.config = moons(), .state = name + "@8"}).step, 8);
}

TEST(ViewPlayground, TheSurfaceIsWhatTheModelSays) {
  Playground ground;
  const Played played = ground.play(
      {.config = moons(), .steps = 5, .grid = 3, .box = {{-1, 1, 0, 2}}, .units = true});
  ASSERT_TRUE(played.surface);
  const PlaySurface& s = *played.surface;
  ASSERT_EQ(s.values.shape(), (Shape{9, 2}));
  train::TrainConfig config = train_config_of(moons(), "moons:0,count=100");
  config.steps = 5;
  train::Run run(config);
  run.train();
  ASSERT_EQ(s.units.size(), 2u);
  ASSERT_EQ(s.units[0].values.shape(), (Shape{6, 9}));
  EXPECT_EQ(s.units[1].values.shape(), (Shape{4, 9}));
  const auto weight = played.params.at("layers.0.weight").values<float>();
  const auto bias = played.params.at("layers.0.bias").values<float>();
  for (std::size_t point = 0; point < 9; ++point) {  // row by row, y0 first
    const float x = static_cast<float>(point % 3) - 1, y = static_cast<float>(point / 3);
    const Tensor logits = predict(run.model(), Tensor::from<float>({1, 2}, {x, y}));
    const float a = logits.values<float>()[0], b = logits.values<float>()[1];
    const float p = s.values.values<float>()[2 * point + 1];  // of class 1
    EXPECT_NEAR(p, 1 / (1 + std::exp(a - b)), 1e-6) << point;
    for (std::size_t unit = 0; unit < 6; ++unit)
      EXPECT_NEAR(s.units[0].values.values<float>()[9 * unit + point],
                  std::tanh(weight[2 * unit] * x + weight[2 * unit + 1] * y + bias[unit]), 1e-6);
  }
}

TEST(ViewPlayground, LossesAreOfTheirSets) {
  Playground ground;
  const Played played = ground.play({.config = moons(), .steps = 20});
  const train::TrainConfig config = train_config_of(moons(), "moons:0,count=100");
  const train::RunSetup setup(config, train::load_data(config));
  const Dataset& other = setup.data.test;
  const auto evaluated = [&](const Dataset& data) {
    return train::Evaluator(setup.problem, data)(played.params).metrics;
  };
  EXPECT_EQ(played.loss, evaluated(setup.data.train).at("loss"));
  EXPECT_EQ(played.accuracy, evaluated(setup.data.train).at("accuracy"));
  EXPECT_EQ(played.test_loss, evaluated(other).at("loss"));
  EXPECT_EQ(played.test_accuracy, evaluated(other).at("accuracy"));
  EXPECT_NE(played.loss, played.test_loss);
  const Json said = to_json(played);
  EXPECT_EQ(said.at("loss").as_number(), played.loss);
  EXPECT_EQ(said.at("test_loss").as_number(), played.test_loss);
  EXPECT_EQ(said.at("accuracy").as_number(), played.accuracy);
  EXPECT_EQ(said.at("test_accuracy").as_number(), played.test_accuracy);
  EXPECT_NE(played.accuracy, played.test_accuracy);
  EXPECT_TRUE(said.at("finite").as_bool());
}

TEST(ViewPlayground, PointsAreOfTheirSets) {
  PlayConfig config = moons();
  config.data = "sine";  // each point has its own target
  const Split data = train::load_data(train_config_of(config, "sine:0,count=100"));
  const Dataset& other = data.test;
  const PlayPoints points = Playground().points(config);
  EXPECT_TRUE(points.inputs.same_bits(data.train.inputs));
  EXPECT_TRUE(points.targets.same_bits(data.train.targets));
  EXPECT_TRUE(points.test_inputs.same_bits(other.inputs));
  EXPECT_TRUE(points.test_targets.same_bits(other.targets));
  EXPECT_EQ(points.classes, 0);
  EXPECT_EQ(Playground().points(moons()).classes, 2);
}

TEST(ViewPlayground, EveryChoiceCounts) {
  Playground ground;
  const auto hash = [&](const PlayConfig& config) {
    return ground.play({.config = config, .steps = 20}).hash;
  };
  PlayConfig all = moons();
  all.l2 = 0.5;
  all.dropout = 0.25;
  all.noise = 0.4;
  all.activation = "relu";
  all.optimizer = "adamw";
  all.rate = 0.02;
  all.batch = 16;
  all.hidden = {5};
  const Played played = ground.play({.config = all, .steps = 20});
  expect_message(ground.take_away(all, played.state, 0).command);
  const PlayConfig none = moons();
  for (const auto& choose : std::initializer_list<std::function<void(PlayConfig&)>>{
           [&](PlayConfig& c) { c.l2 = none.l2; }, [&](PlayConfig& c) { c.dropout = none.dropout; },
           [&](PlayConfig& c) { c.noise = none.noise; },
           [&](PlayConfig& c) { c.activation = none.activation; },
           [&](PlayConfig& c) { c.optimizer = none.optimizer; },
           [&](PlayConfig& c) { c.rate = none.rate; }, [&](PlayConfig& c) { c.batch = none.batch; },
           [&](PlayConfig& c) { c.seed = none.seed + 1; }}) {
    PlayConfig other = all;
    choose(other);
    EXPECT_NE(hash(other), played.hash);
  }
}

TEST(ViewPlayground, WeightsMoveByHand) {
  Playground ground;
  const Played before = ground.play({.config = moons()});
  const Played after = ground.play({.config = moons(),
                                    .state = before.state,
                                    .moved = {{.at = "layers.0.bias", .index = {2}, .set = 1.5}}});
  EXPECT_EQ(after.params.at("layers.0.bias").values<float>()[2], 1.5f);
  EXPECT_EQ(after.step, 0);
  EXPECT_TRUE(ground.take_away(moons(), after.state, 0).command.empty());
  // One of a matrix: that of unit 3 and input 1, and no other.
  const Played matrix = ground.play(
      {.config = moons(), .state = after.state, .moved = {{"layers.0.weight", {3, 1}, 1.5}}});
  const auto old = after.params.at("layers.0.weight").values<float>();
  std::vector<float> expected(old.begin(), old.end());
  expected.at(7) = 1.5f;
  EXPECT_TRUE(
      matrix.params.at("layers.0.weight").same_bits(Tensor::from<float>(Shape{6, 2}, expected)));
  for (const MovedWeight& wrong :
       {MovedWeight{"layers.9.bias", {0}, 0}, MovedWeight{"layers.0.bias", {6}, 0},
        MovedWeight{"layers.0.bias", {0, 0}, 0}, MovedWeight{"layers.0.bias", {-1}, 0},
        MovedWeight{"layers.0.weight", {1}, 0}})
    EXPECT_THROW(ground.play({.config = moons(), .state = matrix.state, .moved = {wrong}}), Error);
}

TEST(ViewPlayground, WeightsMoveTogetherOrNotAtAll) {
  Playground ground;
  const MovedWeight one{"layers.0.bias", {2}, 1.5}, other{"layers.0.bias", {3}, -1},
      none{"layers.9.bias", {0}, 1};
  // One that cannot be computed again.
  const Played before = ground.play({.config = moons(), .steps = 5, .moved = {other}});
  EXPECT_THROW(ground.play({.config = moons(), .state = before.state, .moved = {one, none}}),
               Error);
  EXPECT_EQ(ground.play({.config = moons(), .state = before.state}).hash, before.hash);
  const Played both =
      ground.play({.config = moons(), .state = before.state, .moved = {one, other}});
  EXPECT_EQ(both.params.at("layers.0.bias").values<float>()[2], 1.5f);
  EXPECT_EQ(both.params.at("layers.0.bias").values<float>()[3], -1.0f);
}

TEST(ViewPlayground, AStateNamesOneNetwork) {
  Playground ground;
  const Played before = ground.play({.config = moons(), .steps = 5});
  const Played moved = ground.play(
      {.config = moons(), .state = before.state, .moved = {{"layers.0.bias", {2}, 1.5}}});
  EXPECT_NE(moved.state, before.state);
  EXPECT_EQ(ground.play({.config = moons(), .state = before.state}).hash, before.hash);
  EXPECT_EQ(ground.play({.config = moons(), .state = moved.state}).hash, moved.hash);
  // No steps from its configuration lead there.
  ground.play({.config = moons(), .state = moved.state, .steps = 5});
  EXPECT_THROW(ground.play({.config = moons(), .state = moved.state}), Error);
  EXPECT_THROW(ground.take_away(moons(), moved.state, 0), Error);
  // The state of another configuration, which is not kept.
  PlayConfig faster = moons();
  faster.rate = 0.05;
  EXPECT_THROW(Playground().play({.config = faster, .state = before.state}), Error);
}

TEST(ViewPlayground, FewTrainingsAreKept) {
  Playground ground;
  const auto moved = [&](double to) {
    return ground.play({.config = moons(), .moved = {{"layers.0.bias", {0}, to}}});
  };
  const Played first = moved(1);
  for (int i = 2; i <= 8; ++i) moved(i);
  EXPECT_EQ(ground.play({.config = moons(), .state = first.state}).hash, first.hash);
  for (int i = 2; i <= 9; ++i) moved(i);
  EXPECT_THROW(ground.play({.config = moons(), .state = first.state}), Error);
}

TEST(ViewPlayground, AnotherRateGoesOnWithTheWeights) {
  Playground ground;
  const Played before = ground.play({.config = moons(), .steps = 20});
  PlayConfig faster = moons();
  faster.rate = 0.05;
  const Played after = ground.play({.config = faster, .state = before.state});
  EXPECT_TRUE(after.params.at("layers.0.weight").same_bits(before.params.at("layers.0.weight")));
  EXPECT_EQ(after.loss, before.loss);
}

TEST(ViewPlayground, SaysThatATrainingDiverged) {
  Playground ground;
  EXPECT_TRUE(ground.play({.config = moons(), .steps = 5}).finite);
  PlayConfig wild = moons();
  wild.data = "sine";
  wild.optimizer = "sgd";
  wild.rate = 1e30;
  const Played diverged = ground.play({.config = wild, .steps = 50});
  EXPECT_FALSE(diverged.finite);
  EXPECT_FALSE(to_json(diverged).at("finite").as_bool());
}

TEST(ViewPlayground, AConstantColumnHasARangeToo) {
  PlayConfig config;
  config.data = "csv";
  config.target = "kind";
  config.csv = "a,b,kind\n";
  for (int i = 0; i < 20; ++i) config.csv += fmt::format("3,{},{}\n", i, i < 10 ? "x" : "y");
  Playground ground;
  const std::vector<double> box = ground.play({.config = config, .grid = 4}).surface->box;
  EXPECT_NEAR(box[0], 2.9, 1e-9);
  EXPECT_NEAR(box[1], 3.1, 1e-9);
  float low = 20, high = -1;  // of the examples of training
  const Tensor inputs = ground.points(config).inputs;
  for (std::size_t i = 1; i < static_cast<std::size_t>(inputs.elements()); i += 2) {
    low = std::min(low, inputs.values<float>()[i]);
    high = std::max(high, inputs.values<float>()[i]);
  }
  const double margin = 0.15 * static_cast<double>(high - low);
  EXPECT_NEAR(box[2], static_cast<double>(low) - margin, 1e-9);
  EXPECT_NEAR(box[3], static_cast<double>(high) + margin, 1e-9);
}

// The fewest rows that can be split into three sets.
TEST(ViewPlayground, ASmallTableHasATestSet) {
  PlayConfig config;
  config.data = "csv";
  config.target = "b";
  config.csv = "a,b\n1,2\n2,4\n3,7\n";
  Playground ground;
  const PlayPoints points = ground.points(config);
  EXPECT_EQ(points.inputs.shape(), (Shape{1, 1}));
  EXPECT_EQ(points.test_inputs.shape(), (Shape{1, 1}));
  EXPECT_NE(points.targets.values<float>()[0], points.test_targets.values<float>()[0]);
  const Played played = ground.play({.config = config});
  EXPECT_NE(played.loss, played.test_loss);
}

// Its heights are those of the outputs, which the page scales.
TEST(ViewPlayground, ACurveHasABoxOfHeightOne) {
  PlayConfig config;
  config.data = "sine";
  Playground ground;
  const PlaySurface surface = *ground.play({.config = config, .grid = 4}).surface;
  EXPECT_LT(surface.box[0], surface.box[1]);
  EXPECT_EQ(std::vector(surface.box.begin() + 2, surface.box.end()), (std::vector{0.0, 1.0}));
  EXPECT_EQ(surface.values.shape(), (Shape{4, 1}));
}

TEST(ViewPlayground, ACurveIsWhatTheModelSays) {
  PlayConfig config;
  config.data = "sine";
  Playground ground;
  const PlaySurface surface =
      *ground.play({.config = config, .steps = 5, .grid = 3, .box = {{-1, 2, 5, 6}}}).surface;
  train::TrainConfig same = train_config_of(config, "sine:0");
  same.steps = 5;
  train::Run run(same);
  run.train();
  const Tensor expected = predict(run.model(), Tensor::from<float>({3, 1}, {-1, 0.5f, 2}));
  EXPECT_TRUE(surface.values.same_bits(expected));
}

TEST(ViewPlayground, ATableOfOnesOwn) {
  PlayConfig config;
  config.data = "csv";
  config.target = "kind";
  config.csv = "a,b,kind\n";
  for (int i = 0; i < 60; ++i)
    config.csv +=
        std::to_string(i % 7) + "," + std::to_string(i % 5) + (i % 7 < 4 ? ",x\n" : ",y\n");
  config.hidden = {4};
  Playground ground;
  const Played played = ground.play({.config = config, .steps = 200, .grid = 4});
  EXPECT_GT(*played.accuracy, 0.9);
  EXPECT_EQ(ground.points(config).features, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(ground.take_away(config, played.state, 0).csv, config.csv);
  // A table's features are scaled first; that is no layer of units.
  const Played units = ground.play({.config = config, .grid = 4, .units = true});
  ASSERT_EQ(units.surface->units.size(), 1u);
  EXPECT_EQ(units.surface->units[0].values.shape(), (Shape{4, 16}));
  PlayConfig numbers = config;
  numbers.target = "b";
  numbers.csv = "a,b\n";
  for (int i = 0; i < 60; ++i) numbers.csv += fmt::format("{},{}\n", i, 0.5 * i);
  const Played curve = ground.play({.config = numbers, .grid = 8, .units = true});
  ASSERT_EQ(curve.surface->units.size(), 1u);
  EXPECT_EQ(curve.surface->units[0].values.shape(), (Shape{4, 8}));
  // It names no file of this machine.
  config.csv = "a,b,kind\n1,2\n";
  expect_refused(ErrorCode::kFormat, [&] { ground.play({.config = config}); });
}

// A column is named by whoever made the table.
TEST(ViewPlayground, ACommandQuotesWhatAShellWouldRead) {
  PlayConfig config;
  config.data = "csv";
  for (const char* const name : {"my class", "length (cm)", "$(rm *)"}) {
    config.target = name;
    config.csv = "a,b," + config.target + "\n";
    for (int i = 0; i < 20; ++i) config.csv += fmt::format("{},{},{}\n", i, i % 3, i % 2);
    Playground ground;
    const Played played = ground.play({.config = config, .steps = 1});
    expect_message(ground.take_away(config, played.state, 0).command);
  }
}

TEST(ViewPlayground, RefusesWhatIsBeyondTheLimits) {
  Playground ground;
  PlayRequest largest{.config = moons(), .grid = 128};
  largest.config.hidden = {64, 1, 1, 1, 1, 1};
  largest.config.count = 5000;
  const Played played = ground.play(largest);
  EXPECT_EQ(played.surface->values.elements(), 128 * 128 * 2);
  using Change = std::function<void(PlayRequest&)>;
  const auto refused = [&](ErrorCode code, const Change& change) {
    PlayRequest request = largest;
    change(request);
    expect_refused(code, [&] { ground.play(request); });
  };
  const auto table = [](std::string csv, std::string target) {
    return [csv = std::move(csv), target = std::move(target)](PlayRequest& r) {
      r.config.data = "csv";
      r.config.csv = csv;
      r.config.target = target;
    };
  };
  std::string rows = "a,b\n";
  for (int i = 0; i < 20'000; ++i) rows += "1,2\n";
  const std::string three = "a,b,c,kind\n1,2,3,x\n4,5,6,y\n7,8,9,x\n";
  for (const Change& change : std::initializer_list<Change>{
           [](PlayRequest& r) { r.config.hidden.push_back(1); },
           [](PlayRequest& r) { r.config.hidden[0] = 65; },
           [](PlayRequest& r) { r.config.hidden[0] = 0; },
           [](PlayRequest& r) { r.config.count = 5001; },
           [](PlayRequest& r) { r.config.count = 0; },
           [](PlayRequest& r) { r.config.seed = ~std::uint64_t{0}; },
           [](PlayRequest& r) { r.steps = 1001; }, [](PlayRequest& r) { r.steps = -1; },
           [](PlayRequest& r) { r.grid = 129; }, [](PlayRequest& r) { r.grid = -1; },
           [](PlayRequest& r) {
             r.box = std::vector<double>{1, 2};
           },
           [](PlayRequest& r) { r.state = "q"; }, [](PlayRequest& r) { r.state = "p99@1"; },
           table("", ""), table(three, "kind"), table(three, ""), table(rows, "b"),
           table("a,b\n1,2\n3,4\n5,6\n" + std::string(1 << 20, '\n'), "b")})
    refused(ErrorCode::kInvalidArgument, change);
  for (const char* const data : {"csv:/etc/passwd", "digits"})
    refused(ErrorCode::kNotFound, [&](PlayRequest& r) { r.config.data = data; });
  refused(ErrorCode::kParse, [](PlayRequest& r) { r.config.rate = -1; });
  refused(ErrorCode::kParse, [](PlayRequest& r) { r.config.activation = "fly"; });
  refused(ErrorCode::kParse, [](PlayRequest& r) { r.config.optimizer = "fly"; });
  const std::string name = played.state.substr(0, played.state.find('@'));
  for (const char* const step :
       {"", "@", "@x", "@-5", "@1x", "@99999999999999999999", "@999999999"}) {
    PlayRequest request = largest;
    request.state = name + step;
    EXPECT_THROW(ground.play(request), Error) << step;
  }
  for (const std::int64_t steps : {-1, 1'000'001})
    EXPECT_THROW(ground.take_away(moons(), "", steps), Error);
}

TEST(ViewPlayground, ARequestIsReadFromJson) {
  const Json json = Json::parse(
      R"({"config": {"data": {"name": "csv", "csv": "a,b", "target": "b", "seed": 4, "count": 9, "noise": 0.5},
          "hidden": [3, 2], "activation": "relu", "optimizer": "sgd", "rate": 0.25, "l2": 0.125, "dropout": 0.75,
          "batch": 7, "seed": 6},
          "state": "p1@2", "steps": 3, "grid": 4, "box": [0, 1, -2, 3], "units": true,
          "weights": [{"at": "w", "index": [1, 2], "set": 0.5}]})");
  const PlayRequest r = play_request_from_json(JsonView(json));
  PlayConfig c;
  c.data = "csv";
  c.csv = "a,b";
  c.target = "b";
  c.data_seed = 4;
  c.count = 9;
  c.noise = 0.5;
  c.hidden = {3, 2};
  c.activation = "relu";
  c.optimizer = "sgd";
  c.rate = 0.25;
  c.l2 = 0.125;
  c.dropout = 0.75;
  c.batch = 7;
  c.seed = 6;
  EXPECT_EQ(r.config, c);
  EXPECT_EQ(r.state, "p1@2");
  EXPECT_EQ(r.steps, 3);
  EXPECT_EQ(r.grid, 4);
  EXPECT_EQ(r.box, (std::vector<double>{0, 1, -2, 3}));
  EXPECT_TRUE(r.units);
  ASSERT_EQ(r.moved.size(), 1u);
  EXPECT_EQ(r.moved[0].index, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(r.moved[0].set, 0.5);
  // A comma would begin an option of the data.
  EXPECT_THROW(play_config_from_json(
                   JsonView(Json::parse(R"({"data": {"name": "csv", "target": "b,split=0"}})"))),
               Error);
}

TEST(ViewPlayground, ALinearModelHasItsCommand) {
  Playground ground;
  PlayConfig config = moons();
  config.hidden = {};
  const Played played = ground.play({.config = config, .steps = 3, .grid = 2, .units = true});
  EXPECT_TRUE(played.surface->units.empty());
  expect_message(ground.take_away(config, played.state, 0).command);
  // After some steps of its own, if no state is named; and before the first there is none.
  const PlayExport three = ground.take_away(config, "", 3);
  EXPECT_EQ(three.hash, played.hash);
  EXPECT_TRUE(to_json(ground.take_away(config, "", 0)).at("command").is_null());
  // A state that is given counts, and not the number of steps.
  const Played five = ground.play({.config = config, .steps = 5});
  EXPECT_EQ(ground.take_away(config, five.state, 3).hash, five.hash);
}

// More of them than plans are kept.
TEST(ViewPlayground, EachGridHasItsOwnSurface) {
  Playground ground;
  const Played first = ground.play({.config = moons(), .steps = 3});
  for (int again = 0; again < 2; ++again)
    for (std::int64_t grid = 2; grid <= 7; ++grid) {
      const auto shape = ground.play({.config = moons(), .state = first.state, .grid = grid})
                             .surface->values.shape();
      EXPECT_EQ(shape, (Shape{grid * grid, 2}));
    }
}

// Of other sizes, some weights fit the new network and some do not.
TEST(ViewPlayground, AnotherNetworkKeepsTheWeightsThatFit) {
  Playground ground;
  const Played before = ground.play({.config = moons(), .steps = 20});
  PlayConfig wider = moons();
  wider.hidden = {6, 5};
  const Played after = ground.play({.config = wider, .state = before.state});
  const Played fresh = Playground().play({.config = wider});
  EXPECT_TRUE(after.params.at("layers.0.weight").same_bits(before.params.at("layers.0.weight")));
  EXPECT_TRUE(after.params.at("layers.1.weight").same_bits(fresh.params.at("layers.1.weight")));
  EXPECT_TRUE(ground.take_away(wider, after.state, 0).command.empty());
}

}  // namespace
}  // namespace limpid::view
