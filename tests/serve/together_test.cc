// What a thread hands over: at once, or together at the end of what it does.
#include "limpid/serve/together.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace limpid::serve {
namespace {

// A receiver that writes down when it is posted to and what its tasks do.
struct Receiver {
  std::string* log;
  char name;

  void tell(char what) const {
    Together::hand_over(
        this,
        [this](const Together::Task& task) {
          *log += name;
          task();
          *log += ';';
        },
        [to = log, what] { *to += what; });
  }
};

TEST(Together, HandsOverAtOnceWithoutOne) {
  std::string log;
  const Receiver a{&log, 'A'};
  a.tell('1');
  a.tell('2');
  EXPECT_EQ(log, "A1;A2;");
}

TEST(Together, HandsOverToEachReceiverOnceInItsOrder) {
  std::string log;
  const Receiver a{&log, 'A'}, b{&log, 'B'};
  {
    const Together together;
    a.tell('1');
    b.tell('2');
    a.tell('3');
    EXPECT_EQ(log, "");
    // Another thread's are not kept.
    std::thread([&] { b.tell('4'); }).join();
    EXPECT_EQ(log, "B4;");
  }
  EXPECT_EQ(log, "B4;A13;B2;");
  a.tell('5');
  EXPECT_EQ(log, "B4;A13;B2;A5;");
}

}  // namespace
}  // namespace limpid::serve
