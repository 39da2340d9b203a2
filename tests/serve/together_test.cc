// A thread's posts: delivered at once, or together at the end of its work.
#include "limpid/serve/together.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace limpid::serve {
namespace {

// A receiver that records posts and the effects of its tasks.
struct Noted final : Receiver {
  Noted(std::string& its_log, char its_name) : log(its_log), name(its_name) {}

  void post(Tasks tasks) noexcept override {
    log += name;
    for (const auto& task : tasks) task();
    log += ';';
  }

  std::string& log;
  char name;
};

void tell(const std::shared_ptr<Noted>& receiver, char what) {
  Together::hand_over(receiver, [&to = receiver->log, what] { to += what; });
}

TEST(Together, HandsOverAtOnceWithoutOne) {
  std::string log;
  const auto a = std::make_shared<Noted>(log, 'A');
  tell(a, '1');
  tell(a, '2');
  EXPECT_EQ(log, "A1;A2;");
}

TEST(Together, HandsOverToEachReceiverOnceInItsOrder) {
  std::string log;
  const auto a = std::make_shared<Noted>(log, 'A');
  const auto b = std::make_shared<Noted>(log, 'B');
  {
    const Together together;
    tell(a, '1');
    tell(b, '2');
    tell(a, '3');
    EXPECT_EQ(log, "");
    // Those of another thread are not delayed.
    std::thread([&] { tell(b, '4'); }).join();
    EXPECT_EQ(log, "B4;");
  }
  EXPECT_EQ(log, "B4;A13;B2;");
  tell(a, '5');
  EXPECT_EQ(log, "B4;A13;B2;A5;");
}

TEST(Together, HasANumberThatNoOtherHas) {
  EXPECT_EQ(Together::round(), 0u);
  std::uint64_t first = 0;
  {
    const Together together;
    first = Together::round();
    EXPECT_NE(first, 0u);
    EXPECT_EQ(Together::round(), first);
  }
  EXPECT_EQ(Together::round(), 0u);
  const Together together;
  EXPECT_NE(Together::round(), 0u);
  EXPECT_NE(Together::round(), first);
}

}  // namespace
}  // namespace limpid::serve
