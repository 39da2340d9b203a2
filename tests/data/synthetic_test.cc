#include "limpid/data/synthetic.h"

#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <string>

#include "tests/formats/helpers.h"
#include "tests/refusals.h"

namespace limpid {
namespace {

TEST(Synthetic, HaveTheSameBitsOnEveryMachine) {
  const std::map<std::string, std::uint64_t, std::less<>> hashes = {
      {"xor", 0xed8e0419b86705b1u},   {"and", 0x14d671773c51a1e5u},
      {"or", 0xde452386b10940dbu},    {"spiral", 0x3840feae5a3a69feu},
      {"moons", 0x35b476817dc5d363u}, {"circles", 0xcf3695ac339f5b7du},
      {"arms", 0xb046b1f0ded0a6a4u},  {"sine", 0x51960e8201a5c89au},
      {"abs", 0xe9b77bdf307452fcu}};
  EXPECT_EQ(synthetic_names().size(), hashes.size());
  for (const std::string_view name : synthetic_names()) {
    const Dataset data = synthetic(name, Key(0), {.count = 50, .noise = 0.25});
    const std::uint64_t both[] = {hash(data.inputs), hash(data.targets)};
    EXPECT_EQ(hash(std::as_bytes(std::span(both))), hashes.find(name)->second) << name;
  }
}

TEST(Synthetic, TruthTablesAreTheirFourRows) {
  const std::map<std::string, std::vector<std::int32_t>> targets = {
      {"xor", {0, 1, 1, 0}}, {"and", {0, 0, 0, 1}}, {"or", {0, 1, 1, 1}}};
  for (const auto& [name, expected] : targets) {
    const Dataset data = synthetic(name, Key(0));
    EXPECT_TRUE(data.inputs.same_bits(Tensor::from<float>(Shape{4, 2}, {0, 0, 0, 1, 1, 0, 1, 1})));
    EXPECT_TRUE(data.targets.same_bits(Tensor::from(Shape{4}, expected))) << name;
    EXPECT_EQ(data.classes, 2);
    EXPECT_EQ(data.name, name);
    EXPECT_EQ(data.feature_names, (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(data.target_names, std::vector<std::string>());
  }
}

// Every point of the shapes fulfils the equation of its class.
TEST(Synthetic, ShapesAreWhatTheyAreCalled) {
  const auto each = [](std::string_view name, const auto& check) {
    const Dataset data = synthetic(name, Key(3), {.count = 500, .noise = 0.0});
    const auto xy = data.inputs.values<float>();
    for (std::size_t i = 0; i < 500; ++i) {
      const std::int32_t label = data.targets.values<std::int32_t>()[i];
      ASSERT_EQ(label, static_cast<std::int32_t>(i) % static_cast<std::int32_t>(data.classes));
      check(static_cast<double>(xy[2 * i]), static_cast<double>(xy[2 * i + 1]), label);
    }
  };
  each("circles", [](double x, double y, int inner) {
    EXPECT_NEAR(std::hypot(x, y), inner == 1 ? 0.5 : 1, 1e-6);
  });
  each("moons", [](double x, double y, int lower) {
    EXPECT_NEAR(lower == 1 ? std::hypot(x - 1, y - 0.5) : std::hypot(x, y), 1, 1e-6);
    EXPECT_TRUE(lower == 1 ? y <= 0.5 + 1e-6 : y >= -1e-6);
  });
  each("spiral", [](double x, double y, int second) {
    const double t = std::hypot(x, y);
    const double angle = 3 * std::numbers::pi * t + (second == 1 ? std::numbers::pi : 0);
    EXPECT_NEAR(x, t * std::cos(angle), 1e-5);
    EXPECT_NEAR(y, t * std::sin(angle), 1e-5);
  });
  each("arms", [](double x, double y, int arm) {
    const double t = std::hypot(x, y);
    const double angle = 2 * std::numbers::pi * (t + arm / 3.0);
    EXPECT_NEAR(x, t * std::cos(angle), 1e-5);
    EXPECT_NEAR(y, t * std::sin(angle), 1e-5);
  });
  EXPECT_EQ(synthetic("arms", Key(3)).classes, 3);
}

// Data of a name and a seed stay the data that they were.
TEST(Synthetic, HaveTheirRowsAndTheirNoiseByDefault) {
  const std::map<std::string, SyntheticOptions, std::less<>> defaults = {
      {"xor", {4, 0.0}},        {"and", {4, 0.0}},      {"or", {4, 0.0}},
      {"spiral", {1000, 0.02}}, {"moons", {1000, 0.1}}, {"circles", {1000, 0.05}},
      {"arms", {1000, 0.02}},   {"sine", {1000, 0.0}},  {"abs", {1000, 0.0}}};
  for (const std::string_view name : synthetic_names()) {
    const Dataset got = synthetic(name, Key(2));
    const Dataset want = synthetic(name, Key(2), defaults.find(name)->second);
    EXPECT_TRUE(got.inputs.same_bits(want.inputs)) << name;
    EXPECT_TRUE(got.targets.same_bits(want.targets)) << name;
  }
}

TEST(Synthetic, RowsDependOnKeyAndNumberAlone) {
  for (const std::string_view name : synthetic_names()) {
    const Dataset few = synthetic(name, Key(5), {.count = 3, .noise = 0.1});
    const Dataset many = synthetic(name, Key(5), {.count = 20, .noise = 0.1});
    EXPECT_TRUE(few.inputs.same_bits(many.inputs.rows(0, 3))) << name;
    EXPECT_TRUE(few.targets.same_bits(many.targets.rows(0, 3))) << name;
  }
}

TEST(Synthetic, PartsShareNothingButTruth) {
  const Split moons = synthetic_split("moons", 4, {.count = 30});
  EXPECT_TRUE(
      moons.train.inputs.same_bits(synthetic("moons", Key(4).fold_in(0), {.count = 30}).inputs));
  EXPECT_TRUE(
      moons.test.inputs.same_bits(synthetic("moons", Key(4).fold_in(1), {.count = 30}).inputs));
  EXPECT_EQ(moons.validation.size(), 0);
  EXPECT_EQ(synthetic_split("sine", 0).train.size(), 1000);
  const Split gate = synthetic_split("xor", 4);
  EXPECT_TRUE(gate.train.inputs.same_bits(gate.test.inputs));
}

TEST(Synthetic, RefuseWhatMakesNoSense) {
  expect_refused(ErrorCode::kNotFound, [] { synthetic("star", Key(0)); });
  for (const std::string_view name : {"moons", "sine"}) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { synthetic(name, Key(0), {.count = -1}); });
    expect_refused(ErrorCode::kInvalidArgument, [&] {
      synthetic(name, Key(0), {.count = std::numeric_limits<std::int64_t>::max()});
    });
    for (const double noise : {-0.5, std::nan(""), HUGE_VAL})
      expect_refused(ErrorCode::kInvalidArgument,
                     [&] { synthetic(name, Key(0), {.noise = noise}); });
  }
}

}  // namespace
}  // namespace limpid
