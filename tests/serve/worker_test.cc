// Worker: tasks of one thread, one after another.
#include "limpid/serve/worker.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace limpid::serve {
namespace {

TEST(Worker, RunsTasksInTheirOrderAndLetsSixteenWait) {
  std::promise<void> entered, open, ended;
  std::vector<int> order;
  Worker worker;
  ASSERT_TRUE(worker.post([&] {
    entered.set_value();
    open.get_future().wait();
  }));
  entered.get_future().wait();
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(worker.post([&order, i] { order.push_back(i); }));
  EXPECT_TRUE(worker.post([&ended] { ended.set_value(); }));
  EXPECT_FALSE(worker.post([&order] { order.push_back(-1); }));
  open.set_value();
  ended.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
}

}  // namespace
}  // namespace limpid::serve
