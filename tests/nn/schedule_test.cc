// Learning rates over a run.
#include "limpid/optim/schedule.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace limpid::optim
