// Worker: tasks that begin one after another, on one thread or several.
#include "limpid/serve/worker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <vector>

namespace limpid::serve {
namespace {

// A task that keeps the worker busy until it is told to end.
class Busy {
 public:
  explicit Busy(Worker& worker) {
    EXPECT_TRUE(worker.post([this] {
      entered_.set_value();
      open_.get_future().wait();
    }));
    entered_.get_future().wait();
  }
  void end() { open_.set_value(); }

 private:
  std::promise<void> entered_, open_;
};

TEST(Worker, RunsTasksInTheirOrderAndLetsSixteenWait) {
  std::promise<void> ended;
  std::vector<int> order;
  Worker worker;
  Busy busy(worker);
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(worker.post([&order, i] { order.push_back(i); }));
  EXPECT_TRUE(worker.post([&ended] { ended.set_value(); }));
  EXPECT_FALSE(worker.post([&order] { order.push_back(-1); }));
  busy.end();
  ended.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
}

TEST(Worker, RunsAsManyTasksAtATimeAsItHasThreads) {
  Worker worker(2);
  Busy first(worker), second(worker);  // each waits until its task has begun
  second.end();
  std::promise<void> ended;
  EXPECT_TRUE(worker.post([&ended] { ended.set_value(); }));
  ended.get_future().wait();
  first.end();
}

// What a client no longer waits for takes neither time nor a place.
TEST(Worker, DropsTasksThatAreGivenUp) {
  std::promise<void> ended;
  std::vector<int> order;
  Worker worker;
  Busy busy(worker);
  std::vector<std::shared_ptr<Ticket>> tickets;
  for (int i = 0; i < 16; ++i) {
    tickets.push_back(std::make_shared<Ticket>());
    EXPECT_TRUE(worker.post([&order, i] { order.push_back(i); }, tickets.back()));
  }
  const auto last = [&ended] { ended.set_value(); };
  EXPECT_FALSE(worker.post(last));
  tickets[3]->give_up();
  EXPECT_TRUE(worker.post(last));
  EXPECT_FALSE(worker.post(last));
  tickets[5]->give_up();  // there is no other task to make room for
  busy.end();
  ended.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
}

// A server that ends does not read the models that wait.
TEST(Worker, EndsAfterTheTaskThatRuns) {
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool in_time = true;
  std::function<void()> again;
  {
    Worker worker;
    // Another one always waits.
    again = [&] {
      in_time = std::chrono::steady_clock::now() < late;
      if (in_time) worker.post(again);
    };
    ASSERT_TRUE(worker.post(again));
  }
  EXPECT_TRUE(in_time);
}

}  // namespace
}  // namespace limpid::serve
