// Learning rates over a run.
#include "limpid/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "limpid/core/error.h"
#include "tests/refusals.h"

namespace limpid::optim {
namespace {

TEST(Schedule, ConstantStays) {
  const Schedule s{Schedule::Kind::kConstant, 0.5, 100, 0};
  EXPECT_EQ(s.at(0), 0.5);
  EXPECT_EQ(s.at(99), 0.5);
}

TEST(Schedule, LinearFallsToZero) {
  const Schedule s{Schedule::Kind::kLinear, 0.8, 100, 0};
  EXPECT_EQ(s.at(0), 0.8);
  EXPECT_DOUBLE_EQ(s.at(50), 0.4);
  EXPECT_DOUBLE_EQ(s.at(99), 0.008);
  EXPECT_EQ(s.at(100), 0);
  EXPECT_EQ(s.at(200), 0);
}

TEST(Schedule, WarmUpRisesThenFalls) {
  const Schedule s{Schedule::Kind::kLinear, 1, 110, 10};
  EXPECT_DOUBLE_EQ(s.at(0), 0.1);
  EXPECT_DOUBLE_EQ(s.at(9), 1);
  EXPECT_DOUBLE_EQ(s.at(10), 1);
  EXPECT_DOUBLE_EQ(s.at(60), 0.5);
}

TEST(Schedule, StepFallsAtOnce) {
  const Schedule s{Schedule::Kind::kStep, 0.5, 100, 10, 20, 0.5};
  EXPECT_EQ(s.at(10), 0.5);
  EXPECT_EQ(s.at(29), 0.5);
  EXPECT_EQ(s.at(30), 0.25);
  EXPECT_EQ(s.at(50), 0.125);
  EXPECT_EQ(s.at(70), 0.0625);
  EXPECT_EQ(s.at(149), 0.5 / 64);
}

TEST(Schedule, StepFallsInEveryStepIfThatIsAsked) {
  const Schedule s{Schedule::Kind::kStep, 0.5, 100, 0, 1, 0.5};
  EXPECT_EQ(s.at(0), 0.5);
  EXPECT_EQ(s.at(1), 0.25);
  EXPECT_EQ(s.at(3), 0.0625);
}

TEST(Schedule, RefusesStepsAndDistancesThatAreNone) {
  const auto refused = [](const Schedule& s, std::int64_t step) {
    expect_refused(ErrorCode::kInvalidArgument, [&] { s.at(step); });
  };
  for (const std::int64_t warmup : {0, 10})
    for (const std::string& kind : all_names<Schedule::Kind>())
      refused({from_name<Schedule::Kind>(kind), 0.5, 100, warmup}, -1);
  for (const std::int64_t step : {0, 20})
    refused({Schedule::Kind::kStep, 0.5, 100, 10, 0, 0.5}, step);
}

TEST(Schedule, FallsInARunOfOneStepToo) {
  for (const Schedule::Kind kind : {Schedule::Kind::kLinear, Schedule::Kind::kCosine}) {
    const Schedule s{kind, 0.5, 11, 10};
    EXPECT_EQ(s.at(10), 0.5);
    EXPECT_EQ(s.at(11), 0);
  }
}

TEST(Schedule, CosineFallsToZeroAndStays) {
  const Schedule s{Schedule::Kind::kCosine, 0.8, 100, 0};
  EXPECT_EQ(s.at(0), 0.8);
  EXPECT_DOUBLE_EQ(s.at(50), 0.4);
  EXPECT_NEAR(s.at(25), 0.4 * (1 + std::sqrt(0.5)), 1e-15);
  EXPECT_EQ(s.at(100), 0);
  EXPECT_EQ(s.at(1000), 0);
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_GT(s.at(i), s.at(i + 1));
}

TEST(Schedule, OneCycleHasARateInARunOfOneStep) {
  EXPECT_GT((Schedule{Schedule::Kind::kOneCycle, 0.5, 1, 0}.at(0)), 0);
  EXPECT_GT((Schedule{Schedule::Kind::kOneCycle, 0.5, 4, 0}.at(3)), 0);
}

// A run that was all warm-up and goes on has its rate: nothing is left to fall over.
TEST(Schedule, HasItsRateBehindAWarmUpOfAllSteps) {
  for (const Schedule::Kind kind : {Schedule::Kind::kLinear, Schedule::Kind::kCosine}) {
    const Schedule s{kind, 0.5, 10, 10};
    EXPECT_EQ(s.at(9), 0.5);
    EXPECT_EQ(s.at(10), 0.5);
    EXPECT_EQ(s.at(30), 0.5);
  }
}

TEST(Schedule, HaveNames) {
  for (const std::string& n : all_names<Schedule::Kind>())
    EXPECT_EQ(name(from_name<Schedule::Kind>(n)), n);
  EXPECT_THROW(from_name<Schedule::Kind>("never"), Error);
}

}  // namespace
}  // namespace limpid::optim
