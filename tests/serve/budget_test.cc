// Budget: what requests share is used to its last unit, and comes back.
#include "limpid/serve/budget.h"

#include <gtest/gtest.h>

#include <optional>

namespace limpid::serve {
namespace {

TEST(Budget, IsUsedToItsLastUnitAndComesBack) {
  Budget budget(10);
  auto seven = budget.take(7);
  EXPECT_EQ(budget.take(4), nullptr);
  EXPECT_EQ(budget.taken(), 7u);
  const auto three = budget.take(3);
  EXPECT_NE(three, nullptr);
  EXPECT_EQ(budget.taken(), 10u);
  EXPECT_EQ(budget.take(1), nullptr);
  seven.reset();
  EXPECT_EQ(budget.taken(), 3u);
  EXPECT_NE(budget.take(7), nullptr);
}

TEST(Budget, SharesOutliveIt) {
  std::optional<Budget> budget(10);
  auto share = budget->take(10);
  budget.reset();
  share.reset();
}

}  // namespace
}  // namespace limpid::serve
