// A program that rounds upwards, or flushes subnormals, gets the same from the library: data, first
// weights, Functions, text of numbers, training runs.
#include <gtest/gtest.h>

#include <cfenv>
#include <optional>

#include "limpid/core/json.h"
#include "limpid/limpid.h"
#include "tests/flush_subnormals.h"
#include "tests/hosts/everything.h"

namespace limpid::hosts {
namespace {

using testing::flush_subnormals;

class FloatModes : public ::testing::Test {
 protected:
  void SetUp() override { std::fegetenv(&before_); }
  void TearDown() override { std::fesetenv(&before_); }

 private:
  std::fenv_t before_{};
};

// Whether subnormals are kept, and the direction of rounding, as a sum shows them.
std::string modes_now() {
  volatile float tiny = 0x1p-126f, half = 0.5f, one = 1.0f, less = -1.0f, bit = 0x1p-30f;
  volatile float flushed = tiny * half, above = one + bit, below = less + bit;
  return std::string(flushed == 0.0f ? "flushes" : "keeps") + (above > 1.0f    ? " up"
                                                               : below > -1.0f ? " to zero"
                                                                               : " nearest");
}

void expect_the_same_after(void (*set)(), const std::string& modes) {
  const Parts expected = everything();
  set();
  ASSERT_EQ(modes_now(), modes);
  const Parts got = everything();
  const std::string after = modes_now();
  std::fesetenv(FE_DFL_ENV);
  EXPECT_EQ(after, modes);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(got[i] == expected[i]) << got[i].first << " differs where the program " << modes;
}

TEST_F(FloatModes, RoundingUpwardsDoesNotShow) {
  expect_the_same_after([] { std::fesetround(FE_UPWARD); }, "keeps up");
}

TEST_F(FloatModes, RoundingToZeroDoesNotShow) {
  expect_the_same_after([] { std::fesetround(FE_TOWARDZERO); }, "keeps to zero");
}

TEST_F(FloatModes, FlushingSubnormalsDoesNotShow) {
  expect_the_same_after(flush_subnormals, "flushes nearest");
}

// On x86, std::fegetround() looks at the unit of long double, of which modes_now() knows nothing.
TEST_F(FloatModes, ReadingJsonKeepsTheRoundingOfLongDouble) {
  for (const int mode : {FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    std::fesetround(mode);
    static_cast<void>(Json::parse("[0.1]"));
    const int after = std::fegetround();
    std::fesetenv(FE_DFL_ENV);
    EXPECT_EQ(after, mode);
  }
}

TEST_F(FloatModes, AProgramsOwnCodeHasTheDefaultInAFunctionThatItWrites) {
  flush_subnormals();
  std::fesetround(FE_UPWARD);
  std::string inside;
  trace("f", {{"x", {Dtype::kF32, {}}}}, [&](std::span<const Value> in) {
    inside = modes_now();
    return std::vector<Value>{in[0]};
  });
  const std::string after = modes_now();
  std::fesetenv(FE_DFL_ENV);
  EXPECT_EQ(inside, "keeps nearest");
  EXPECT_EQ(after, "flushes up");
}

// The first Builder ends first, and then one that began and ended in between.
TEST_F(FloatModes, BuildersThatAreNotNestedHaveTheDefaultUntilTheLastEnds) {
  flush_subnormals();
  std::fesetround(FE_UPWARD);
  auto first = std::make_optional<Builder>("first");
  auto second = std::make_optional<Builder>("second");
  std::vector<std::string> modes{modes_now()};
  std::make_optional<Builder>("nested").reset();
  modes.push_back(modes_now());
  first.reset();
  modes.push_back(modes_now());
  auto third = std::make_optional<Builder>("third");
  second.reset();
  modes.push_back(modes_now());
  third.reset();
  const std::string after = modes_now();
  std::fesetenv(FE_DFL_ENV);
  EXPECT_EQ(modes, std::vector<std::string>(4, "keeps nearest"));
  EXPECT_EQ(after, "flushes up");
}

}  // namespace
}  // namespace limpid::hosts
