// A thread's posts: delivered at once, or together at the end of its work.
#include "limpid/serve/deferred_posts.h"

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
  DeferredPosts::post(receiver, [&to = receiver->log, what] { to += what; });
}

TEST(DeferredPosts, HandsOverAtOnceWithoutOne) {
  std::string log;
  const auto a = std::make_shared<Noted>(log, 'A');
  tell(a, '1');
  tell(a, '2');
  EXPECT_EQ(log, "A1;A2;");
}

TEST(DeferredPosts, HandsOverToEachReceiverOnceInItsOrder) {
  std::string log;
  const auto a = std::make_shared<Noted>(log, 'A');
  const auto b = std::make_shared<Noted>(log, 'B');
  {
    const DeferredPosts deferred;
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

TEST(DeferredPosts, HasANumberThatNoOtherHas) {
  EXPECT_EQ(DeferredPosts::round(), 0u);
  std::uint64_t first = 0;
  {
    const DeferredPosts deferred;
    first = DeferredPosts::round();
    EXPECT_NE(first, 0u);
    EXPECT_EQ(DeferredPosts::round(), first);
  }
  EXPECT_EQ(DeferredPosts::round(), 0u);
  const DeferredPosts deferred;
  EXPECT_NE(DeferredPosts::round(), 0u);
  EXPECT_NE(DeferredPosts::round(), first);
}

}  // namespace
}  // namespace limpid::serve
