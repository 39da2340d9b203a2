#include "limpid/compile/profile.h"

#include <gtest/gtest.h>

#include "limpid/limpid.h"

namespace limpid {
namespace {

Function two_layers() {
  return trace("f", {{"x", {Dtype::kF32, {64, 32}}}, {"w", {Dtype::kF32, {48, 32}}}},
               [](std::span<const Value> in) {
                 const Value y = softmax(linear(in[0], in[1]), -1);
                 return std::vector<Value>{matmul(y, in[1]), sum(y, 0)};
               });
}

TEST(Profile, HasEveryBandOfThePlanInItsOrder) {
  const Function f = two_layers();
  const std::vector<Tensor> inputs = {nn::normal(1.0)(Key(1), {64, 32}),
                                      nn::normal(1.0)(Key(2), {48, 32})};
  for (const int threads : {1, 2}) {
    ThreadPool pool({.threads = threads});
    std::string steps;
    for (const BandTime& band : profile(f, inputs, 3, &pool)) {
      EXPECT_GT(band.microseconds, 0) << band.steps;
      steps += band.steps;
    }
    EXPECT_EQ(steps, compile(f).plan());
  }
}

TEST(Profile, RefusesWhatTheFunctionDoes) { EXPECT_THROW(profile(two_layers(), {}, 1), Error); }

}  // namespace
}  // namespace limpid
